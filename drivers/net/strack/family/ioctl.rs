// SPDX-License-Identifier: GPL-2.0

//! ioctl(): how much is in the buffers.

use crate::{
    family::socket::Phase,
    sys::{
        bindings,
        sock::{
            self,
            Sock, //
        },
    },
};
use kernel::prelude::*;

/// The number that `cmd` asks for.
pub(crate) fn ioctl(sock: &Sock, cmd: u32) -> Result<i32> {
    let mut lock = sock.lock();
    let phase = &sock::inner(&mut lock).phase;
    let bytes = match (cmd, phase) {
        (bindings::TIOCINQ | bindings::TIOCOUTQ, Phase::Listening(_)) => return Err(EINVAL),
        (bindings::TIOCINQ, Phase::Active { conn, .. }) => conn.peek(|inner| inner.rx_bytes),
        (bindings::TIOCOUTQ, Phase::Active { conn, .. }) => conn.peek(|inner| inner.tx_bytes),
        (bindings::TIOCINQ | bindings::TIOCOUTQ, Phase::Idle) => 0,
        _ => return Err(ENOIOCTLCMD),
    };
    Ok(i32::try_from(bytes).unwrap_or(i32::MAX))
}
