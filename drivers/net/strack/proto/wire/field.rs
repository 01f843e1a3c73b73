// SPDX-License-Identifier: GPL-2.0

//! Integers in network byte order at fixed places of a header.
//!
//! The offsets are constants of the header layouts and the headers are arrays of
//! a fixed size, so none of the indexing depends on what a peer sends.

pub(super) fn get16<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

pub(super) fn get32<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    (u32::from(get16(header, at)) << 16) | u32::from(get16(header, at + 2))
}

pub(super) fn get64<const N: usize>(header: &[u8; N], at: usize) -> u64 {
    (u64::from(get32(header, at)) << 32) | u64::from(get32(header, at + 4))
}

pub(super) fn put16<const N: usize>(out: &mut [u8; N], at: usize, value: u16) {
    out[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn put32<const N: usize>(out: &mut [u8; N], at: usize, value: u32) {
    out[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn put64<const N: usize>(out: &mut [u8; N], at: usize, value: u64) {
    out[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

/// Whether the bytes from `from` up to `to` are all zero.
pub(super) fn is_zero<const N: usize>(header: &[u8; N], from: usize, to: usize) -> bool {
    header[from..to].iter().all(|&byte| byte == 0)
}
