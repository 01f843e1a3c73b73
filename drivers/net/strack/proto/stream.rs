// SPDX-License-Identifier: GPL-2.0

//! The life of a connection: which direction is still open.
//!
//! ```text
//!  Connecting --> Established --- our FIN ---> FinWait1 -- acked --> FinWait2
//!                     |                           |                     |
//!                 peer's FIN                  peer's FIN            peer's FIN
//!                     v                           v                     v
//!                 CloseWait                    Closing --- acked --> TimeWait
//!                     |                                              ^    |
//!                  our FIN                                           |   time
//!                     v                                              |    v
//!                  LastAck -------------------- acked ---------------+  Closed
//! ```
//!
//! The states and their names are those of TCP, and so is the reason for
//! `TimeWait`: an end cannot know whether its own last ACK arrived, and stays to
//! send it again. Unlike TCP, where every packet acknowledges, that goes for both
//! ends: the one that closed last stays too, for as long as the other may take to
//! repeat its FIN a few times.

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Client, before the ACCEPT.
    Connecting,
    /// Both directions are open.
    Established,
    /// We have ended our direction, which is not acknowledged yet.
    FinWait1,
    /// Our direction has ended, the peer's is open.
    FinWait2,
    /// Both have ended their direction at the same time.
    Closing,
    /// Both have ended their direction, the peer first.
    LastAck,
    /// The peer has ended its direction, ours is open.
    CloseWait,
    /// All is done; late packets are still answered.
    TimeWait,
    /// The connection does not exist any more.
    Closed,
}

impl State {
    /// Whether our direction has not ended yet.
    pub fn can_shut_down(self) -> bool {
        matches!(self, Self::Connecting | Self::Established | Self::CloseWait)
    }

    /// Whether DATA may be sent: the peer is known and has not got everything yet.
    pub fn sends_data(self) -> bool {
        matches!(
            self,
            Self::Established | Self::CloseWait | Self::FinWait1 | Self::Closing | Self::LastAck
        )
    }

    /// Whether the peer may still send new data.
    pub fn receives_data(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// Whether the handshake is done and the connection not closed.
    pub fn is_connected(self) -> bool {
        !matches!(self, Self::Connecting | Self::Closed)
    }

    /// The state once the handshake is done.
    #[must_use]
    pub fn on_connected(self) -> Self {
        match self {
            Self::Connecting => Self::Established,
            other => other,
        }
    }

    /// The state once our FIN is queued.
    #[must_use]
    pub fn on_local_fin(self) -> Self {
        match self {
            Self::Established => Self::FinWait1,
            Self::CloseWait => Self::LastAck,
            other => other,
        }
    }

    /// The state once our FIN is acknowledged.
    #[must_use]
    pub fn on_fin_acked(self) -> Self {
        match self {
            Self::FinWait1 => Self::FinWait2,
            Self::Closing | Self::LastAck => Self::TimeWait,
            other => other,
        }
    }

    /// The state once everything up to the peer's FIN was received.
    #[must_use]
    pub fn on_peer_fin(self) -> Self {
        match self {
            Self::Established => Self::CloseWait,
            Self::FinWait1 => Self::Closing,
            Self::FinWait2 => Self::TimeWait,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State::{self, *};

    #[test]
    fn both_orders_of_closing() {
        let active = Established.on_local_fin().on_fin_acked().on_peer_fin();
        assert_eq!(active, TimeWait);
        let passive = Established.on_peer_fin().on_local_fin().on_fin_acked();
        assert_eq!(passive, TimeWait);
        let both = Established.on_local_fin().on_peer_fin();
        assert_eq!(both, Closing);
        assert_eq!(both.on_fin_acked(), TimeWait);
    }

    #[test]
    fn nothing_leads_out_of_closed() {
        let steps: [fn(State) -> State; 4] = [
            State::on_connected,
            State::on_local_fin,
            State::on_fin_acked,
            State::on_peer_fin,
        ];
        for step in steps {
            assert_eq!(step(Closed), Closed);
        }
        assert_eq!(TimeWait.on_peer_fin(), TimeWait);
    }
}
