// SPDX-License-Identifier: GPL-2.0

//! The number of the address family.
//!
//! A module cannot add a family number to the kernel, so it borrows a reserved one and says which.
//! The number is therefore read where it is needed, and never compiled in.

use socket2::{Domain, Protocol, Socket, Type};
use std::fs;
use std::io::{Error, ErrorKind, Result};

/// Holds the number while the module is loaded.
pub(crate) const FAMILY_FILE: &str = "/sys/module/strack/parameters/family";

/// The number of the address family, for `socket()` and in addresses.
///
/// Fails with [`ErrorKind::Unsupported`] while the module is not loaded.
pub fn family() -> Result<u16> {
    match fs::read_to_string(FAMILY_FILE) {
        Ok(text) => parse(&text),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::new(
            ErrorKind::Unsupported,
            "the kernel module strack is not loaded (modprobe strack)",
        )),
        Err(error) => Err(error),
    }
}

fn parse(text: &str) -> Result<u16> {
    text.trim().parse().map_err(|_| {
        let message = format!("{FAMILY_FILE}: \"{}\" is no address family", text.trim());
        Error::new(ErrorKind::InvalidData, message)
    })
}

/// A stream socket of the family.
pub(crate) fn stream_socket(family: u16) -> Result<Socket> {
    Socket::new(
        Domain::from(i32::from(family)),
        Type::STREAM,
        None::<Protocol>,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_read_as_the_kernel_writes_it() {
        assert_eq!(parse("19\n").unwrap(), 19);
        assert_eq!(parse("").unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(parse("-1\n").unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn missing_module_is_named() {
        if fs::exists(FAMILY_FILE).unwrap() {
            return;
        }
        let error = family().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("strack is not loaded"));
    }
}
