// SPDX-License-Identifier: GPL-2.0

//! What the kernel tells about one connection: `struct strack_info`.

use crate::options::{self, Plain};
use std::io::{Error, ErrorKind, Result};
use std::mem::size_of;
use std::os::fd::AsFd;

/// `STRACK_INFO_VERSION`: grows when a field changes its meaning.
const VERSION: u32 = 1;

/// The state of a connection, numbered as the states of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u32)]
pub enum State {
    /// Data may flow in both directions.
    Established = 1,
    /// `connect()` is under way.
    Connecting = 2,
    /// Shut down locally, not yet acknowledged.
    FinWait1 = 4,
    /// Shut down locally, acknowledged, the peer still sends.
    FinWait2 = 5,
    /// Both directions ended; answers a peer that missed it.
    TimeWait = 6,
    /// No connection, or not any more.
    Closed = 7,
    /// The peer ended its direction, ours is open.
    CloseWait = 8,
    /// The peer ended first, our end is not yet acknowledged.
    LastAck = 9,
    /// Accepts connections.
    Listen = 10,
    /// Both ended, ours is not yet acknowledged.
    Closing = 11,
}

impl State {
    const ALL: [State; 10] = [
        State::Established,
        State::Connecting,
        State::FinWait1,
        State::FinWait2,
        State::TimeWait,
        State::Closed,
        State::CloseWait,
        State::LastAck,
        State::Listen,
        State::Closing,
    ];
}

macro_rules! info {
    ($($(#[$doc:meta])* $name:ident: $type:ident,)*) => {
        /// State and numbers of one connection.
        ///
        /// A kernel older than this crate leaves the fields that it does not know at zero; `size`
        /// says how many bytes it knows.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        #[repr(C)]
        pub struct StrackInfo {
            $($(#[$doc])* pub $name: $type,)*
        }

        /// Name, offset and type of each field.
        #[cfg(test)]
        const FIELDS: &[(&str, usize, &str)] = &[
            $((stringify!($name), std::mem::offset_of!(StrackInfo, $name), stringify!($type)),)*
        ];
    };
}

info! {
    /// Bytes of the structure as the kernel knows it.
    size: u32,
    /// Version of the structure.
    version: u32,
    /// State as a number; see [`StrackInfo::state`].
    state: u32,
    /// Most payload bytes of one packet.
    mss: u32,
    /// Paths in use.
    paths: u32,
    /// Of these, how many are withdrawn as dead at the moment.
    paths_bad: u32,
    /// UDP source port of the first path.
    entropy_base: u32,
    /// Retransmission timeouts in a row without progress.
    retries: u32,
    /// Congestion window, bytes.
    cwnd: u64,
    /// Bytes sent and not yet known to have arrived or to be lost.
    inflight: u64,
    /// Smoothed round-trip time, 0 before the first sample.
    srtt_ns: u64,
    /// Mean deviation of it.
    rttvar_ns: u64,
    /// Least round-trip time seen (aged slowly).
    base_rtt_ns: u64,
    /// Retransmission timeout in force, back-off included.
    rto_ns: u64,
    /// Data packets sent, retransmissions included.
    packets_sent: u64,
    /// Payload bytes of these.
    bytes_sent: u64,
    /// Data packets received, duplicates included.
    packets_received: u64,
    /// Payload bytes received for the first time.
    bytes_received: u64,
    /// Packets that the peer has acknowledged.
    packets_acked: u64,
    /// Payload bytes of these.
    bytes_acked: u64,
    /// Packets sent again, for any reason.
    retransmits: u64,
    /// Of these, without waiting for a timeout.
    fast_retransmits: u64,
    /// Expiries of the retransmission timeout.
    timeouts: u64,
    /// Packets sent again although the first copy had arrived.
    spurious: u64,
    /// Packets that the peer reported as marked by the network.
    ce_marks: u64,
    /// Packets received more than once.
    duplicates: u64,
    /// Most packets ever held beyond a gap.
    ooo_high_water: u32,
    /// Packets the peer is willing to take beyond those sent.
    credit: u32,
    /// Bytes the peer is willing to take beyond those sent.
    snd_window: u32,
    /// Bytes this side is willing to take.
    rcv_window: u32,
    /// Queueing delay that the congestion window aims at.
    target_ns: u64,
    /// Queueing delay, averaged over about one window.
    delay_ns: u64,
    /// Largest congestion window, bytes.
    max_cwnd: u64,
    /// Proportional increase without delay, bytes per round trip.
    proportional: u64,
    /// Fair increase, bytes per round trip.
    fair: u64,
    /// Constant increase, bytes per round trip.
    eta: u64,
    /// Scaling by bandwidth-delay product, 65536ths.
    scale_a: u32,
    /// Scaling by target delay, limits applied, 65536ths.
    scale_b: u32,
    /// Fast increase per acknowledged byte, 65536ths.
    fast: u32,
    /// How hard the peer asks this side to slow down, 128ths.
    penalty: u32,
    /// Age from which a packet that many others have overtaken is lost.
    reorder_ns: u64,
    /// Silence after which packets in flight are asked for.
    probe_ns: u64,
    /// So many packets overtaking one are suspicious.
    reorder_packets: u32,
    /// Stretch of these limits and of the timeout by packets that were late, percent; 100
    /// is none.
    stretch: u32,
    /// Packets that the peer has seen and could not take.
    refused: u64,
}

const _: () = assert!(size_of::<StrackInfo>() == 288);

// SAFETY: Integers, those of 32 bits always in pairs, which leaves no gap.
unsafe impl Plain for StrackInfo {}

impl StrackInfo {
    /// Asks the kernel.
    pub(crate) fn of(fd: impl AsFd) -> Result<StrackInfo> {
        let mut info = [StrackInfo::default()];
        options::get_into(fd, options::STRACK_INFO, &mut info)?;
        let [info] = info;
        if info.version != VERSION {
            let message = format!("strack_info of version {}, not {VERSION}", info.version);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(info)
    }

    /// The state, if it is one that this crate knows.
    pub fn state(&self) -> Option<State> {
        State::ALL
            .into_iter()
            .find(|state| *state as u32 == self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header;

    #[test]
    fn layout_is_that_of_the_header() {
        let mut offset = 0;
        let members = header::members("struct", "strack_info");
        assert_eq!(members.len(), FIELDS.len());
        for (member, (name, at, kind)) in members.into_iter().zip(FIELDS) {
            assert_eq!(member, format!("__{kind}\tsti_{name}"));
            assert_eq!(offset, *at, "{name}");
            offset += if *kind == "u64" { 8 } else { 4 };
        }
        assert_eq!(offset, size_of::<StrackInfo>());
        assert_eq!(header::define("STRACK_INFO_VERSION"), VERSION.to_string());
    }

    #[test]
    fn places_are_fixed() {
        let place = |name| FIELDS.iter().find(|field| field.0 == name).unwrap().1;
        assert_eq!(place("state"), 8);
        assert_eq!(place("cwnd"), 32);
        assert_eq!(place("packets_sent"), 80);
        assert_eq!(place("retransmits"), 128);
        assert_eq!(place("ooo_high_water"), 176);
        assert_eq!(place("rcv_window"), 188);
    }

    #[test]
    fn states_are_those_of_the_header() {
        let members = header::members("enum", "strack_state");
        assert_eq!(members.len(), State::ALL.len());
        for (member, state) in members.into_iter().zip(State::ALL) {
            let (name, number) = member.split_once('=').unwrap();
            let name = name.trim().replace("STRACK_", "").replace('_', "");
            assert_eq!(name, format!("{state:?}").to_uppercase());
            assert_eq!(number.trim(), (state as u32).to_string());
        }
    }

    #[test]
    fn unknown_state_is_none() {
        let info = StrackInfo {
            state: 3,
            ..StrackInfo::default()
        };
        assert_eq!(info.state(), None);
    }
}
