// SPDX-License-Identifier: GPL-2.0

//! Numbers about a connection.

use super::{
    Connection,
    Info, //
};

/// What a connection has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stats {
    pub(super) retransmits: u64,
    pub(super) spurious: u64,
    pub(super) timeouts: u64,
    pub(super) fast_retx: u64,
    pub(super) ce_marks: u64,
    pub(super) packets_sent: u64,
    pub(super) refused: u64,
    /// The latest penalty the peer asked for.
    pub(super) penalty: u16,
}

impl Connection {
    /// Everything about the connection that is worth looking at.
    pub fn info(&self) -> Info {
        let sent = self.tx.sent_offset();
        let (patience, target) = (&self.recovery.patience, self.target_delay());
        Info {
            state: self.state,
            paths: self.spray.paths().count(),
            paths_bad: self.spray.withdrawn(),
            entropies: self.spray.paths().entropies(),
            mss: self.mss,
            cwnd: self.cwnd(),
            inflight: self.inflight_bytes(),
            inflight_packets: self.tx.in_flight(),
            backlog: self.tx.backlog(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            base_rtt: self.rtt.base(),
            retries: self.recovery.expiries,
            rto: self.rto(),
            retransmits: self.stats.retransmits,
            spurious: self.stats.spurious,
            timeouts: self.stats.timeouts,
            fast_retx: self.stats.fast_retx,
            ce_marks: self.stats.ce_marks,
            packets_sent: self.stats.packets_sent,
            bytes_sent: sent,
            packets_received: self.rx.packets(),
            bytes_received: self.rx.bytes(),
            duplicates: self.rx.duplicates(),
            ooo_high_water: self.rx.ooo_high_water(),
            send_credit: if self.send_credit.psn().gt(self.tx.nxt()) {
                self.send_credit.psn().dist_from(self.tx.nxt())
            } else {
                0
            },
            send_window: self.send_credit.offset().saturating_sub(sent),
            rcv_window: self.recv_credit.window(self.rx.nxt_offset()),
            refused: self.stats.refused,
            penalty: self.stats.penalty,
            window: self.window.derived(),
            reorder_packets: patience.overtakers(),
            reorder_age: patience.overtaken(&self.rtt, target),
            reorder_stretch: patience.stretch(),
            probe_wait: patience.probe(&self.rtt, target),
        }
    }
}
