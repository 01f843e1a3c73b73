// SPDX-License-Identifier: GPL-2.0

//! Tables of constants that can be tuned.
//!
//! An algorithm keeps its constants in one structure, which this macro makes from a
//! list: each has a name, a default, a valid range, and a comment that gives its
//! unit and where the value comes from. The list is the only place they are written
//! down in: a host publishes [`Parameter`]s as settings of its own and reads them
//! back with `read`.

/// What a host has to know of a constant to let it be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name, with a terminating zero for hosts that want one.
    pub name: &'static str,
    /// Value unless set.
    pub default: u32,
    /// Least and largest valid value.
    pub min: u32,
    /// See `min`.
    pub max: u32,
}

/// Makes a structure of constants.
macro_rules! parameters {
    (
        $(#[$doc:meta])*
        $name:ident, $prefix:literal {
            $(
                $(#[$field_doc:meta])*
                $field:ident = $default:literal in $min:literal..=$max:literal,
            )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u16,)*
        }

        impl $name {
            /// All of them, in the order of the fields.
            pub const TABLE: &'static [$crate::proto::params::Parameter] = &[
                $($crate::proto::params::Parameter {
                    name: concat!($prefix, stringify!($field), "\0"),
                    default: $default,
                    min: $min,
                    max: $max,
                },)*
            ];

            /// Takes each from `value`, which is asked in the order of [`Self::TABLE`].
            /// What is out of range is brought into it.
            pub fn read(mut value: impl FnMut() -> u32) -> Self {
                // The limits are literals that fit.
                Self {
                    $($field: value().clamp($min, $max) as u16,)*
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

pub(super) use parameters;

/// `value` times `percent` / 100.
pub(super) fn percent(value: u64, percent: u16) -> u64 {
    part::<100>(value, percent)
}

/// `value` times `permille` / 1000.
pub(super) fn permille(value: u64, permille: u16) -> u64 {
    part::<1000>(value, permille)
}

fn part<const WHOLE: u64>(value: u64, parts: u16) -> u64 {
    let parts = u64::from(parts);
    let rest = (value % WHOLE).saturating_mul(parts) / WHOLE;
    (value / WHOLE).saturating_mul(parts).saturating_add(rest)
}
