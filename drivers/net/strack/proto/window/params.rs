// SPDX-License-Identifier: GPL-2.0

//! The constants of NSCC and of what surrounds it.
//!
//! UE is the Ultra Ethernet specification 1.0, sections 3.6.12 and 3.6.13; htsim is the
//! UEC's simulator, whose values stand in where the specification leaves one open.
//! What is marked "ours" was found with the tests and the simulator of this tree.

use crate::proto::params::parameters;

parameters! {
    /// Constants of the congestion window.
    Params, "nscc_" {
        /// Target delay, percent of the base RTT. UE: 100 without trimming, 75 with.
        target_percent = 100 in 10..=1000,
        /// What the target delay of a window of one packet has on top of that, percent of it.
        /// Ours; Swift: four to five times the target, of which a single packet gets a third.
        narrow_percent = 1200 in 0..=10000,
        /// Packets of a window that is wide: its target has nothing on top. Nor is any target
        /// above what so many packets take on the link, for being narrow. Ours; Swift: 100.
        narrow_packets = 17 in 2..=1024,
        /// Largest window, percent of the bandwidth-delay product. UE.
        max_window_percent = 150 in 50..=1000,
        /// The largest window is never below so many packets. Ours: a path for each of some
        /// links, and a little queue on each.
        max_window_packets = 12 in 2..=1024,
        /// Proportional increase, percent of a * b packets per RTT without delay. UE.
        alpha_percent = 400 in 1..=10000,
        /// Fair increase, percent of a packets per RTT. htsim.
        fair_percent = 500 in 0..=10000,
        /// Constant increase, percent of a packets per RTT. htsim.
        eta_percent = 15 in 0..=1000,
        /// Fast increase, percent of a bytes per acknowledged byte. htsim.
        fast_percent = 25 in 0..=1000,
        /// Fast increase at least, percent of an acknowledged byte. Ours: slow links.
        fast_min_percent = 50 in 0..=1000,
        /// Fast increase at most, percent of an acknowledged byte. Ours: long links.
        fast_max_percent = 100 in 0..=1000,
        /// Strength of the decrease, percent. htsim.
        gamma_percent = 80 in 0..=100,
        /// Largest decrease in one RTT, percent of the window. htsim.
        decrease_max_percent = 50 in 1..=90,
        /// Gain per RTT of the proportional increase at most, percent. Ours: above 100
        /// it overshoots.
        gain_max_percent = 50 in 1..=200,
        /// Proportional increase at most, percent of the window per RTT. Ours: what N
        /// flows add together.
        increase_max_percent = 25 in 1..=100,
        /// The same for some time after heavy loss, thousandths of the window. Ours.
        crowded_permille = 31 in 0..=1000,
        /// How many RTTs that is. Ours.
        crowded_rtts = 32 in 0..=255,
        /// Loss is heavy beyond so many thousandths of the delivered bytes. Ours.
        heavy_loss_permille = 125 in 1..=1000,
        /// It is judged over a window of data, and at least so many packets. Ours.
        loss_sample_packets = 32 in 1..=4096,
        /// Delay that counts as none, thousandths of the target. Ours; UE has 1 us.
        quiet_permille = 125 in 0..=1000,
        /// The same at least, ns. UE.
        quiet_min_ns = 1000 in 0..=65535,
        /// Packets after which accumulated increases are applied. htsim.
        adjust_packets = 8 in 1..=1024,
        /// The delay is the median of so many samples. MNSCC: clamp(window / 2, 1, 4).
        delay_samples = 3 in 1..=5,
        /// The delay is averaged over this part of a window, percent. htsim has 80
        /// samples, whatever the window.
        average_percent = 100 in 1..=1000,
        /// Average delay that counts as a mark, percent of the target. Ours: fabrics that
        /// do not mark.
        unmarked_percent = 200 in 100..=1000,
        /// Delay from which the window jumps to what was delivered, percent of the
        /// target. UE: (drops from / BDP - 1) base RTTs, with queues of five.
        qa_percent = 400 in 100..=10000,
        /// It does if less than the largest window / 2^so many was delivered. htsim.
        qa_gate = 3 in 0..=16,
        /// RTTs until the base RTT is verified first. Ours, like the next seven.
        verify_first_rtts = 32 in 1..=4096,
        /// The same if the base RTT is well above the configured one.
        verify_soon_rtts = 8 in 1..=4096,
        /// RTTs between two verifications at most.
        verify_longest_rtts = 512 in 1..=16384,
        /// How many RTTs verifying takes.
        verify_rtts = 2 in 1..=16,
        /// What the window is divided by meanwhile.
        verify_cut = 4 in 1..=64,
        /// How many RTTs it takes where packets have been marked.
        verify_marked_rtts = 3 in 1..=16,
        /// RTTs with a window that does not shrink further, and long delays without marks,
        /// after which the base RTT is measured anew.
        remeasure_rtts = 8 in 1..=255,
        /// So many packets at least, as a window of one or two may well see no mark for some
        /// RTTs of a queue that others keep.
        remeasure_packets = 32 in 1..=4096,
        /// Receiver: the sender is asked to slow down when more than this part of the
        /// receive buffer waits for the reader, percent. Ours.
        penalty_from_percent = 75 in 0..=100,
        /// Receiver: how much at most, in 128ths of what is acknowledged. UE: 64 halves a
        /// sender in one RTT. 127 is said by a receiver without room.
        penalty_max = 64 in 0..=126,
    }
}
