// SPDX-License-Identifier: GPL-2.0

//! Socket options of level `SOL_STRACK`, as `include/uapi/linux/strack.h` numbers them.

use libc::{c_int, c_void, socklen_t};
use std::io::{Error, ErrorKind, Result};
use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// The level of all options here.
pub const SOL_STRACK: i32 = 290;

/// Most paths that one connection may use.
pub const MAX_PATHS: u16 = 256;

pub(crate) const STRACK_PATHS: c_int = 1;
pub(crate) const STRACK_PROFILE: c_int = 2;
pub(crate) const STRACK_RTO_MIN: c_int = 3;
pub(crate) const STRACK_INFO: c_int = 4;
pub(crate) const STRACK_NODELAY: c_int = 5;
pub(crate) const STRACK_PATH_BYTES: c_int = 6;
pub(crate) const STRACK_PATH_POLICY: c_int = 7;
pub(crate) const STRACK_PATH_STATE: c_int = 8;
pub(crate) const STRACK_PATH_DENY: c_int = 9;
pub(crate) const STRACK_PATH_ALLOW: c_int = 10;

/// Room for the name of a profile or policy, the terminating zero included.
const NAME_MAX: usize = 16;

/// What an option's value may be made of: any bytes are a valid value, and there are no others
/// between them.
///
/// # Safety
///
/// The implementer is plain integers without padding.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: An integer.
unsafe impl Plain for u8 {}
// SAFETY: An integer.
unsafe impl Plain for c_int {}
// SAFETY: An integer.
unsafe impl Plain for u32 {}
// SAFETY: An integer.
unsafe impl Plain for u64 {}

/// Sets option `name`.
pub(crate) fn set<T: Plain>(fd: impl AsFd, name: c_int, value: T) -> Result<()> {
    set_all(fd, name, &[value])
}

/// Sets option `name` to several values in a row.
fn set_all<T: Plain>(fd: impl AsFd, name: c_int, values: &[T]) -> Result<()> {
    // SAFETY: The kernel reads the values, whose length it is told.
    let result = unsafe {
        libc::setsockopt(
            fd.as_fd().as_raw_fd(),
            SOL_STRACK,
            name,
            values.as_ptr().cast::<c_void>(),
            size_of_val(values) as socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Error::last_os_error())
    }
}

/// Gets option `name` into `values` and gives the number of bytes the kernel wrote.
pub(crate) fn get_into<T: Plain>(fd: impl AsFd, name: c_int, values: &mut [T]) -> Result<usize> {
    let mut len = size_of_val(values) as socklen_t;
    // SAFETY: The kernel writes as many bytes as it is told there is room for, and any are valid.
    let result = unsafe {
        libc::getsockopt(
            fd.as_fd().as_raw_fd(),
            SOL_STRACK,
            name,
            values.as_mut_ptr().cast::<c_void>(),
            &mut len,
        )
    };
    if result == 0 {
        Ok(len as usize)
    } else {
        Err(Error::last_os_error())
    }
}

/// Gets option `name`, all of it.
pub(crate) fn get<T: Plain + Default>(fd: impl AsFd, name: c_int) -> Result<T> {
    let mut value = [T::default()];
    let len = get_into(fd, name, &mut value)?;
    if len != size_of_val(&value) {
        return Err(Error::new(
            ErrorKind::InvalidData,
            "socket option of an unexpected length",
        ));
    }
    Ok(value[0])
}

fn name(fd: impl AsFd, option: c_int) -> Result<String> {
    let mut name = [0u8; NAME_MAX];
    let len = get_into(fd, option, &mut name)?;
    let name = name[..len].split(|byte| *byte == 0).next();
    String::from_utf8(name.unwrap_or_default().to_vec())
        .map_err(|_| Error::from(ErrorKind::InvalidData))
}

pub(crate) fn profile(fd: impl AsFd) -> Result<String> {
    name(fd, STRACK_PROFILE)
}

pub(crate) fn set_path_policy(fd: impl AsFd, policy: &str) -> Result<()> {
    set_all(fd, STRACK_PATH_POLICY, policy.as_bytes())
}

pub(crate) fn path_policy(fd: impl AsFd) -> Result<String> {
    name(fd, STRACK_PATH_POLICY)
}

/// What has become of an entropy value (UDP source port) of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PathState {
    /// In use.
    Good = 0,
    /// In use, but passed over for some turns after marks or losses.
    Skip = 1,
    /// Withdrawn after losses in a row, and probed.
    AssumedBad = 2,
    /// Not used because of [`crate::Stream::deny_path`].
    Denied = 3,
    /// Not in use; stands by to take the place of another one.
    Spare = 4,
}

impl TryFrom<u8> for PathState {
    type Error = Error;

    fn try_from(value: u8) -> Result<Self> {
        Ok(match value {
            0 => Self::Good,
            1 => Self::Skip,
            2 => Self::AssumedBad,
            3 => Self::Denied,
            4 => Self::Spare,
            _ => return Err(Error::from(ErrorKind::InvalidData)),
        })
    }
}

pub(crate) fn path_states(fd: impl AsFd) -> Result<Vec<PathState>> {
    let mut states = [0u8; MAX_PATHS as usize];
    let len = get_into(fd, STRACK_PATH_STATE, &mut states)?;
    states[..len]
        .iter()
        .map(|&state| PathState::try_from(state))
        .collect()
}

pub(crate) fn set_paths(fd: impl AsFd, paths: u16) -> Result<()> {
    set(fd, STRACK_PATHS, c_int::from(paths))
}

pub(crate) fn paths(fd: impl AsFd) -> Result<u16> {
    let paths: c_int = get(fd, STRACK_PATHS)?;
    u16::try_from(paths).map_err(|_| Error::from(ErrorKind::InvalidData))
}

pub(crate) fn set_rto_min(fd: impl AsFd, rto_min: Duration) -> Result<()> {
    let us = u32::try_from(rto_min.as_micros())
        .map_err(|_| Error::new(ErrorKind::InvalidInput, "longer than a minute"))?;
    set(fd, STRACK_RTO_MIN, us)
}

pub(crate) fn rto_min(fd: impl AsFd) -> Result<Duration> {
    let us: u32 = get(fd, STRACK_RTO_MIN)?;
    Ok(Duration::from_micros(us.into()))
}

pub(crate) fn set_nodelay(fd: impl AsFd, on: bool) -> Result<()> {
    set(fd, STRACK_NODELAY, c_int::from(on))
}

pub(crate) fn nodelay(fd: impl AsFd) -> Result<bool> {
    Ok(get::<c_int>(fd, STRACK_NODELAY)? != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::FAMILY_FILE;
    use crate::header;

    #[test]
    fn numbers_are_those_of_the_header() {
        for (name, value) in [
            ("SOL_STRACK", SOL_STRACK),
            ("STRACK_MAX_PATHS", MAX_PATHS.into()),
            ("STRACK_PATHS", STRACK_PATHS),
            ("STRACK_PROFILE", STRACK_PROFILE),
            ("STRACK_RTO_MIN", STRACK_RTO_MIN),
            ("STRACK_INFO", STRACK_INFO),
            ("STRACK_NODELAY", STRACK_NODELAY),
            ("STRACK_PATH_BYTES", STRACK_PATH_BYTES),
            ("STRACK_PATH_POLICY", STRACK_PATH_POLICY),
            ("STRACK_PATH_STATE", STRACK_PATH_STATE),
            ("STRACK_PATH_DENY", STRACK_PATH_DENY),
            ("STRACK_PATH_ALLOW", STRACK_PATH_ALLOW),
        ] {
            assert_eq!(header::define(name), value.to_string(), "{name}");
        }
        assert_eq!(header::define("STRACK_PROFILE_MAX"), NAME_MAX.to_string());
        assert_eq!(
            header::define("STRACK_FAMILY_FILE"),
            format!("\"{FAMILY_FILE}\"")
        );
    }

    #[test]
    fn path_states_are_those_of_the_header() {
        let members = header::members("enum", "strack_path_state");
        assert!(PathState::try_from(members.len() as u8).is_err());
        for (number, member) in members.into_iter().enumerate() {
            let (name, value) = member.split_once('=').expect("a number");
            let state = PathState::try_from(number as u8).expect("a state");
            let name = name.trim().replace("STRACK_PATH_", "").replace('_', "");
            assert_eq!(name, format!("{state:?}").to_uppercase());
            assert_eq!(value.trim(), number.to_string());
        }
    }

    #[test]
    fn endless_timeout_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let error = set_rto_min(&file, Duration::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
