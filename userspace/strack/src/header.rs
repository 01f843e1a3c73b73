// SPDX-License-Identifier: GPL-2.0

//! The kernel's header, read by the tests: what stands there a second time here must be the same.

const TEXT: &str = include_str!("../../../include/uapi/linux/strack.h");

/// The value of `#define name`.
pub(crate) fn define(name: &str) -> &'static str {
    TEXT.lines()
        .filter_map(|line| line.strip_prefix("#define"))
        .find_map(|line| {
            let rest = line.trim_start().strip_prefix(name)?;
            rest.starts_with(char::is_whitespace).then(|| rest.trim())
        })
        .unwrap_or_else(|| panic!("the header does not define {name}"))
}

/// The members of `struct name` or `enum name`, comments and all but the lines with a `;` or `,` left out.
pub(crate) fn members(kind: &str, name: &str) -> Vec<&'static str> {
    let (_, body) = TEXT
        .split_once(&format!("\n{kind} {name} {{\n"))
        .unwrap_or_else(|| panic!("the header has no {kind} {name}"));
    let (body, _) = body.split_once("\n};").expect("it ends");
    body.lines()
        .map(|line| line.trim().trim_end_matches([';', ',']))
        .collect()
}
