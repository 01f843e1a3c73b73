// SPDX-License-Identifier: GPL-2.0
//! Numbers with units, as people write them: `100G`, `2MB`, `1.5us`.

use crate::time::Ps;
use crate::time::MSEC;
use crate::time::NSEC;
use crate::time::SEC;
use crate::time::USEC;
use serde::de::Error;
use serde::de::Visitor;
use serde::Deserialize;
use serde::Deserializer;
use std::fmt;
use std::marker::PhantomData;

/// Bits per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A duration in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Ps);

/// Something that is written as a number with a unit.
trait Unit: Sized {
    /// What it is called in a message.
    const NAME: &'static str;
    /// Units and what each is worth; the empty one stands for no unit.
    const UNITS: &'static [(&'static str, u64)];

    fn new(value: u64) -> Self;
}

impl Unit for Rate {
    const NAME: &'static str = "a rate such as 100G";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("", 1),
        ("K", 1_000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
        ("T", 1_000_000_000_000),
    ];

    fn new(value: u64) -> Self {
        Self(value)
    }
}

impl Unit for Size {
    const NAME: &'static str = "a size such as 64KB or 2MiB";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("", 1),
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];

    fn new(value: u64) -> Self {
        Self(value)
    }
}

impl Unit for Time {
    const NAME: &'static str = "a time such as 12us";
    const UNITS: &'static [(&'static str, u64)] = &[
        ("ps", 1),
        ("ns", NSEC),
        ("us", USEC),
        ("ms", MSEC),
        ("s", SEC),
    ];

    fn new(value: u64) -> Self {
        Self(value)
    }
}

fn parse<U: Unit>(text: &str) -> Result<U, String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let bad = || format!("'{text}' is not {}", U::NAME);
    let worth = U::UNITS
        .iter()
        .find(|(name, _)| *name == unit.trim())
        .map(|(_, worth)| *worth)
        .ok_or_else(bad)?;
    let number: f64 = number.parse().map_err(|_| bad())?;
    let value = (number * worth as f64).round();
    if value < u64::MAX as f64 {
        Ok(U::new(value as u64))
    } else {
        Err(bad())
    }
}

/// Takes a string with a unit, or a plain number where no unit is a unit.
struct UnitVisitor<U>(PhantomData<U>);

impl<U: Unit> Visitor<'_> for UnitVisitor<U> {
    type Value = U;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(U::NAME)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<U, E> {
        parse(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<U, E> {
        parse(&value.to_string()).map_err(E::custom)
    }
}

macro_rules! unit {
    ($type:ty) => {
        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                parse(text)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(UnitVisitor(PhantomData))
            }
        }
    };
}

unit!(Rate);
unit!(Size);
unit!(Time);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        assert_eq!("100G".parse(), Ok(Rate(100_000_000_000)));
        assert_eq!("2MB".parse(), Ok(Size(2_000_000)));
        assert_eq!("16KiB".parse(), Ok(Size(16_384)));
        assert_eq!("1.5us".parse(), Ok(Time(1_500_000)));
        assert_eq!("4096".parse(), Ok(Size(4096)));
    }

    #[test]
    fn nonsense_is_named() {
        for text in ["", "G", "12", "12 parsec", "-3us", "1e3us"] {
            let error = text.parse::<Time>().unwrap_err();
            assert!(error.contains("a time such as 12us"), "{error}");
        }
    }
}
