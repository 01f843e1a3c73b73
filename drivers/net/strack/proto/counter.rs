// SPDX-License-Identifier: GPL-2.0

//! Counters: what happened, and why a packet was not taken.
//!
//! There is one counter for each check a packet can fail, one for each branch
//! of loss recovery and one for each outcome of a handshake. A connection
//! counts into a small array of its own; its host drains that into whatever it
//! exports. A bitmap of touched counters makes the usual drain, with two or
//! three counters changed, cost two or three steps.

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Something worth counting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Counter {
            $($(#[$doc])* $name,)*
        }

        impl Counter {
            /// All counters, in the order of their discriminants.
            pub const ALL: &'static [Counter] = &[$(Counter::$name),*];

            /// The name under which the counter is exported.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Counter::$name => stringify!($name),)*
                }
            }
        }
    };
}

counters! {
    // Packets that are no valid STrack packets.
    /// Shorter than the part all headers have in common.
    WireTruncated,
    /// Another version of the protocol.
    WireVersion,
    /// Unknown packet type.
    WireType,
    /// Shorter than the header of its type.
    WireHeaderCut,
    /// A flag is set that the packet type does not define.
    WireFlags,
    /// A reserved field is not zero.
    WireReserved,
    /// A connection identifier is zero (or, in INIT, not zero).
    WireId,
    /// A header-only packet is followed by bytes that do not belong to it.
    WireTrailing,
    /// DATA without FIN and without payload.
    WireDataEmpty,
    /// ACK with a SACK bitmap but not the flag.
    WireAckSack,
    /// ACK with a receiver penalty above 127.
    WireAckPenalty,
    /// INIT or ACCEPT with an unusably small largest payload.
    WireMaxPayload,
    /// RESET with an unknown code.
    WireResetCode,
    /// VERSION with an impossible number of versions.
    WireVersionCount,

    // Valid packets that a connection or listener did not take.
    /// No connection has the identifier.
    DropNoConnection,
    /// The verification tag is not the connection's.
    DropTag,
    /// The packet type makes no sense in the state of the connection.
    DropState,
    /// DATA or ACK for a client whose handshake has not finished.
    DropEarly,
    /// PSN beyond the credit given.
    DropCredit,
    /// Payload beyond the window given.
    DropWindow,
    /// Payload larger than agreed.
    DropOversize,
    /// Stream offset contradicts what was received before.
    DropOffset,
    /// New data after the end of the stream.
    DropAfterFin,
    /// New data although nobody will read it any more.
    DropAfterClose,
    /// ACK of something never sent.
    DropAckUnsent,
    /// ACK older than what is known already.
    DropAckOld,
    /// ACK whose out-of-order report contradicts what was sent or itself.
    DropAckSack,
    /// ACK with an impossible number of received bytes.
    DropAckBytes,
    /// ACK that takes credit back, or gives more than is believable.
    DropAckCredit,
    /// ACK that echoes a path or time the packet it answers did not have.
    DropAckEcho,
    /// INIT with a cookie that was not made here.
    DropCookieForged,
    /// INIT with a cookie that is too old.
    DropCookieExpired,

    // Handshakes and ends.
    /// INIT sent, repetitions included.
    InitSent,
    /// INIT, or the connection's first ACCEPT, sent once more.
    HandshakeRetrans,
    /// CHALLENGE sent.
    ChallengeSent,
    /// CHALLENGE received and answered.
    ChallengeReceived,
    /// ACCEPT sent, repetitions included.
    AcceptSent,
    /// Connection set up by this end.
    ActiveOpens,
    /// Connection set up by the peer.
    PassiveOpens,
    /// Connection attempt that failed, for any reason.
    OpenFailed,
    /// VERSION received: the peer does not speak our version.
    VersionReceived,
    /// RESET sent.
    ResetSent,
    /// RESET received and believed.
    ResetReceived,
    /// Connection given up because the peer stopped answering.
    TimedOut,
    /// ICMP told that the peer cannot be reached.
    Unreachable,

    // Loss recovery and flow control.
    /// Retransmission timer expired.
    Timeouts,
    /// Packets sent again because their timeout passed.
    RetransTimeout,
    /// Packets sent again because many later ones had arrived.
    RetransFast,
    /// Packets sent again because a probe overtook them.
    RetransProbe,
    /// Packets sent again because the receiver could not take them.
    RetransRefused,
    /// Retransmissions that turned out to be needless.
    RetransSpurious,
    /// Packets that looked lost but were too young to be sent again.
    RetransHeldYoung,
    /// Reordering tolerance raised after a needless retransmission.
    ReorderRaised,
    /// Probe sent because the tail was not acknowledged.
    ProbeTail,
    /// Probe sent because the peer's window is closed.
    ProbeWindow,
    /// Probe sent to see whether an idle peer is alive.
    ProbeKeepAlive,
    /// Probe sent on a withdrawn path.
    ProbePath,
    /// Packets that arrived without payload, or that there was no room for.
    Refused,
    /// Packets received more than once.
    DupReceived,
    /// Packets received with a congestion mark.
    CeReceived,
    /// Window lowered because of marks and delay.
    WindowDecrease,
    /// Window set to what the fabric delivered, far above the delay target.
    WindowQuickAdapt,
    /// Path withdrawn after timeouts in a row.
    PathWithdrawn,
    /// Path taken back.
    PathRestored,
    /// A spare took the place of a path.
    PathReplaced,
}

const COUNT: usize = Counter::ALL.len();

// The bitmap of touched counters has so many bits.
const _: () = assert!(COUNT <= u128::BITS as usize);

/// Counts of one connection that its host has not collected yet.
#[derive(Debug)]
pub struct Counts {
    touched: u128,
    values: [u32; COUNT],
}

impl Counts {
    /// Nothing counted.
    pub const fn new() -> Self {
        Self {
            touched: 0,
            values: [0; COUNT],
        }
    }

    /// Counts `counter` once.
    pub fn add(&mut self, counter: Counter) {
        self.add_n(counter, 1);
    }

    /// Counts `counter` `n` times.
    pub fn add_n(&mut self, counter: Counter, n: u32) {
        let index = usize::from(counter as u8);
        if let Some(value) = self.values.get_mut(index) {
            *value = value.saturating_add(n);
            self.touched |= 1 << index;
        }
    }

    /// Hands every counter that was touched to `f` and starts again at zero.
    pub fn drain(&mut self, mut f: impl FnMut(Counter, u32)) {
        while self.touched != 0 {
            let index = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            if let (Some(&counter), Some(value)) =
                (Counter::ALL.get(index), self.values.get_mut(index))
            {
                f(counter, core::mem::take(value));
            }
        }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self::new()
    }
}
