// SPDX-License-Identifier: GPL-2.0

//! The tables of constants: what they promise, and what is written about them.

use strack_proto::{
    loss,
    params::Parameter,
    window, //
};

fn all() -> impl Iterator<Item = &'static Parameter> {
    let tables = [window::Params::TABLE, loss::Params::TABLE];
    tables.into_iter().flatten()
}

fn name(parameter: &Parameter) -> &'static str {
    let name = parameter.name.strip_suffix('\0');
    name.expect("a terminating zero")
}

#[test]
fn defaults_are_valid_and_names_are_names() {
    let mut names: Vec<_> = all().map(name).collect();
    for parameter in all() {
        let range = parameter.min..=parameter.max;
        assert!(range.contains(&parameter.default), "{parameter:?}");
        assert!(parameter.max <= u16::MAX.into(), "{parameter:?}");
        let letter = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
        assert!(name(parameter).chars().all(letter), "{parameter:?}");
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// A host passes values in the order of the table.
#[test]
fn values_arrive_where_they_belong() {
    let mut defaults = window::Params::TABLE.iter().map(|one| one.default);
    let read = window::Params::read(|| defaults.next().expect("one for each"));
    assert_eq!(read, window::Params::default());
    let mut defaults = loss::Params::TABLE.iter().map(|one| one.default);
    let read = loss::Params::read(|| defaults.next().expect("one for each"));
    assert_eq!(read, loss::Params::default());

    let place = |wanted| {
        let mut names = window::Params::TABLE.iter().map(name);
        names.position(|name| name == wanted).expect("a parameter")
    };
    let (gamma, last) = (place("nscc_gamma_percent"), place("nscc_penalty_max"));
    let mut i = 0;
    let read = window::Params::read(|| {
        i += 1;
        match i - 1 {
            n if n == gamma => 33,
            n if n == last => u32::MAX,
            n => window::Params::TABLE[n].default,
        }
    });
    // What is out of range is brought into it.
    let expected = window::Params {
        gamma_percent: 33,
        penalty_max: 126,
        ..window::Params::default()
    };
    assert_eq!(read, expected);
}

/// Each is documented with its default and its range, and nothing else is.
#[test]
fn documentation_agrees() {
    let text = include_str!("../../../../Documentation/networking/strack.rst");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("nscc_") || line.starts_with("loss_"))
        .map(|line| line.split_whitespace().take(3).collect())
        .collect();
    let expected: Vec<Vec<String>> = all()
        .map(|one| {
            let range = format!("{}-{}", one.min, one.max);
            vec![name(one).to_owned(), one.default.to_string(), range]
        })
        .collect();
    assert_eq!(rows, expected);
}
