// SPDX-License-Identifier: GPL-2.0

//! Whom to wake, noted while a connection's lock is held.

use crate::sys::sock::Sock;
use kernel::sync::aref::ARef;

/// Wakeups to be done once the lock is dropped.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) sock: Option<ARef<Sock>>,
    pub(super) read: bool,
    pub(super) write: bool,
    pub(super) state: bool,
    pub(super) failed: bool,
}

impl Notes {
    /// Whether somebody is to be woken.
    pub(super) fn any(&self) -> bool {
        self.read || self.write || self.state || self.failed
    }

    /// Wakes them. No lock is held.
    pub(super) fn deliver(self) {
        let Some(sock) = self.sock else { return };
        if self.failed {
            sock.report_err();
        }
        if self.state {
            sock.wake_state();
        }
        if self.read {
            sock.wake_read();
        }
        if self.write {
            sock.wake_write();
        }
    }
}
