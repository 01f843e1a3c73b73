// SPDX-License-Identifier: GPL-2.0

//! The constants of loss recovery.
//!
//! SLEEK is the loss recovery in the UEC's simulator, which STrack's first author
//! contributed to; RFC 6298 is TCP's timeout. What is marked "ours" was found with the
//! tests and the simulator of this tree.

use crate::proto::params::parameters;

parameters! {
    /// Constants of loss recovery.
    Params, "loss_" {
        /// Packets beyond a hole that make it suspicious, percent of the widest window
        /// lately. SLEEK.
        ooo_percent = 150 in 50..=1000,
        /// The same at least, packets. SLEEK.
        ooo_packets = 5 in 1..=1024,
        /// Age from which such a hole is a loss, percent of the smoothed RTT, and the
        /// target delay. Ours: a path that is slower by one RTT.
        late_percent = 200 in 100..=1000,
        /// The same, percent of what the slowest packet lately needed. Ours.
        slowest_percent = 150 in 100..=1000,
        /// Retransmission timeout, percent of the smoothed RTT, and the target delay.
        /// Ours; RFC 6298 applies besides.
        timeout_percent = 225 in 100..=1000,
        /// How much all limits are stretched for a packet that was late, percent. Ours.
        stretch_percent = 50 in 0..=400,
        /// How much they are stretched at most, percent. Ours.
        stretch_max_percent = 400 in 100..=1600,
        /// How much of that wears off in an epoch, percent. Ours.
        stretch_decay_percent = 12 in 1..=400,
        /// Length of an epoch, for as many and up to twice as many of which the slowest
        /// packet is remembered, RTTs. Ours.
        epoch_rtts = 64 in 1..=4096,
        /// The same at least, us. Ours.
        epoch_min_us = 2000 in 1..=65535,
        /// Silence after which a probe is sent, percent of the smoothed RTT, and the
        /// target delay. SLEEK.
        probe_percent = 100 in 50..=1000,
        /// Paths of holes that are probed together. Ours; SLEEK probes one.
        probe_paths = 8 in 1..=8,
        /// How much longer a packet has than a probe that was sent after it on the same path,
        /// percent of the base RTT. RFC 8985: 25.
        probe_grace_percent = 25 in 0..=400,
        /// Packets sent after a timeout whatever the window says. Ours.
        timeout_packets = 2 in 1..=16,
        /// Packets to be acknowledged until the RTT is known well enough. Ours.
        start_packets = 64 in 0..=4096,
        /// Until then a packet has so many initial timeouts. Ours.
        start_timeouts = 5 in 1..=64,
        /// Timeouts that the paths of ACKs have to answer when they are in doubt. Ours.
        ack_doubt_timeouts = 4 in 1..=64,
        /// Pause before what a receiver had no room for is sent again, us. UE: 1 ms.
        refused_wait_us = 1000 in 1..=65535,
        /// Without delay, this part of a window lost in an RTT is no congestion yet,
        /// thousandths. Ours, like the next three.
        damage_permille = 333 in 0..=1000,
        /// Nor are so many packets.
        damage_packets = 8 in 0..=1024,
        /// What losses without delay cost per RTT at most, thousandths of the window.
        damage_cost_permille = 62 in 0..=1000,
        /// The same with delay.
        congestion_cost_permille = 500 in 0..=1000,
        /// What a loss costs, percent of that, if the packet left before delay has lowered the
        /// window. Ours.
        stale_cost_percent = 25 in 0..=100,
    }
}
