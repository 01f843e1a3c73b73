// SPDX-License-Identifier: GPL-2.0

//! A connection: the only type a host talks to.
//!
//! ```text
//!            queue, shutdown_send             poll_transmit, data_header
//!  writer ------------------------> +------+ ----------------------------> network
//!                                   |      |
//!  reader <------------------------ |      | <---------------------------- network
//!            rcv_nxt, consumed      +------+          on_packet
//!                                    ^    |
//!                       on_timer     |    v    deadline, events
//! ```
//!
//! The host keeps the payload, of packets to send between [`Connection::una`] and
//! [`Connection::next_queue_psn`] and of packets received from the one the
//! application reads on, both by PSN. After each call that changes something it
//! calls [`Connection::poll_transmit`] until there is nothing more to send, looks
//! at [`Connection::events`] and sets its timer to [`Connection::deadline`].
//!
//! The parts: `input` takes packets apart, `acked` is about ACKs, `recovery` about lost
//! packets, `tail` about probes for them, `cost` about what losses cost and `silence` about
//! timeouts without progress, `refused` about packets the receiver cannot take, `output` makes
//! packets, `close` ends things.

mod acked;
mod close;
mod cost;
mod info;
mod input;
mod interface;
mod output;
mod recovery;
mod refused;
mod silence;
mod tail;
mod timer;

pub use self::interface::{
    Events,
    Failure,
    Full,
    Ids,
    Info,
    RxMeta,
    Transmit,
    Verdict,
    What, //
};
pub use self::refused::Refusal;
pub use super::stream::State;

use self::{
    info::Stats,
    output::Probe,
    recovery::Recovery,
    timer::Timers, //
};
use super::{
    ack::{
        Reception,
        Schedule, //
    },
    config::{
        Config,
        KeepAlive,
        PathPolicy,
        Profile, //
    },
    counter::{
        Counter,
        Counts, //
    },
    flow::{
        RecvCredit,
        SendCredit, //
    },
    loss::Outstanding,
    psn::Psn,
    rtt::Rtt,
    spray::{
        PathState,
        Spraying, //
    },
    window::Window,
    wire::{
        InitHeader,
        ResetHeader,
        DATA_HEADER, //
    },
    Ns, //
};
use crate::host::{
    AllocError,
    Owned, //
};

/// The socket type of a byte stream, the only one there is.
const STREAM: u16 = 1;

/// The handshake as far as one end is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handshake {
    /// Client: no ACCEPT yet. The cookie is zero until there was a CHALLENGE.
    Asking { cookie_time: u64, cookie_mac: u64 },
    /// Server: ACCEPT sent, nothing heard of the client since.
    Accepting,
    /// The peer knows that we are connected.
    Done,
}

/// One end of a connection.
///
/// Settings, paths and window are kept outside: the whole is moved about while it is made, and a
/// kernel's stack is small.
pub struct Connection {
    config: Owned<Config>,
    local: Ids,
    remote: Ids,
    local_port: u16,
    remote_port: u16,
    mss: u16,
    // Largest payload the peer takes.
    peer_max_payload: u16,

    state: State,
    handshake: Handshake,
    // INIT or ACCEPT is due, how often it was sent, and when first.
    handshake_due: bool,
    handshake_tries: u8,
    handshake_began: Ns,
    failure: Option<Failure>,
    soft_error: bool,
    reset_due: Option<ResetHeader>,
    time_wait: Ns,
    time_wait_restarts: u8,

    // Sending.
    tx: Outstanding,
    snd_isn: Psn,
    fin_queued: bool,
    hold_tail: bool,
    send_credit: SendCredit,
    spray: Owned<Spraying>,
    // All entropy values ever used are within these.
    entropy_first: u16,
    entropy_last: u16,
    window: Owned<Window>,
    rtt: Rtt,
    recovery: Recovery,
    probe_due: Option<Probe>,

    // Receiving.
    rx: Reception,
    recv_credit: RecvCredit,
    acks: Schedule,
    // The last packet was refused for lack of room.
    rx_no_room: bool,
    last_heard: Ns,
    keepalive_probes: u8,

    timers: Timers,
    events: Events,
    counts: Counts,
    stats: Stats,
}

impl Connection {
    /// A client that wants to connect. The first [`Self::poll_transmit`] yields the
    /// INIT.
    pub fn connect(
        config: Config,
        local: Ids,
        isn: Psn,
        local_port: u16,
        remote_port: u16,
        now: Ns,
    ) -> Result<Self, AllocError> {
        let mut connection = Self::new(config, local, isn, now)?;
        connection.local_port = local_port;
        connection.remote_port = remote_port;
        connection.handshake_due = true;
        connection.counts.add(Counter::ActiveOpens);
        Ok(connection)
    }

    /// A server that has verified the cookie in `init`. The first
    /// [`Self::poll_transmit`] yields the ACCEPT.
    pub fn accept(
        config: Config,
        local: Ids,
        isn: Psn,
        init: &InitHeader,
        now: Ns,
    ) -> Result<Self, AllocError> {
        let mut connection = Self::new(config, local, isn, now)?;
        connection.local_port = init.dst_port;
        connection.remote_port = init.src_port;
        connection.remote = Ids {
            cid: init.scid,
            tag: init.stag,
        };
        connection.handshake = Handshake::Accepting;
        connection.handshake_due = true;
        connection.counts.add(Counter::PassiveOpens);
        connection.start_streams(init.psn, init.max_payload, init.credit, init.window);
        connection.on_connected(now);
        Ok(connection)
    }

    fn new(config: Config, local: Ids, isn: Psn, now: Ns) -> Result<Self, AllocError> {
        let capacity = config.window_packets.clamp(64, 4096).next_power_of_two();
        let max_payload = config.mss;
        // The peer's first PSN is learned later.
        let unknown = Psn::new(0);
        let mut connection = Self {
            local,
            remote: Ids { cid: 0, tag: 0 },
            local_port: 0,
            remote_port: 0,
            mss: config.mss,
            peer_max_payload: config.mss,
            state: State::Connecting,
            handshake: Handshake::Asking {
                cookie_time: 0,
                cookie_mac: 0,
            },
            handshake_due: false,
            handshake_tries: 0,
            handshake_began: now,
            failure: None,
            soft_error: false,
            reset_due: None,
            time_wait: config.time_wait,
            time_wait_restarts: 0,
            tx: Outstanding::new(capacity, isn)?,
            snd_isn: isn,
            fin_queued: false,
            hold_tail: false,
            send_credit: SendCredit::new(isn, 0, 0),
            spray: Owned::new(Spraying::new(&config)?)?,
            entropy_first: u16::MAX,
            entropy_last: 0,
            window: Owned::new(Window::new(&config, config.initial_window))?,
            rtt: Rtt::new(),
            recovery: Recovery::new(&config, now)?,
            probe_due: None,
            rx: Reception::new(capacity, unknown, max_payload)?,
            recv_credit: RecvCredit::new(unknown, capacity, config.rcv_window, max_payload),
            acks: Schedule::new(&config)?,
            rx_no_room: false,
            last_heard: now,
            keepalive_probes: 0,
            timers: Timers::new(),
            events: Events::default(),
            counts: Counts::new(),
            stats: Stats::default(),
            config: Owned::new(config)?,
        };
        connection.note_entropies();
        Ok(connection)
    }

    /// The peer's side of the connection has become known.
    fn start_streams(&mut self, isn: Psn, max_payload: u16, credit: u32, window: u32) {
        self.rx.start(isn);
        self.recv_credit.start(isn);
        self.peer_max_payload = max_payload;
        self.set_mss(self.mss.min(max_payload));
        self.send_credit = SendCredit::new(self.snd_isn, credit, window);
    }

    // What the writer does.

    /// Queues a packet of `len` bytes, not zero and at most [`Self::mss`].
    ///
    /// Not before the connection is established: only then is it known how much the
    /// peer takes.
    pub fn queue(&mut self, len: u16) -> Result<Psn, Full> {
        let open = matches!(self.state, State::Established | State::CloseWait);
        if !open || self.fin_queued || len == 0 {
            return Err(Full);
        }
        let psn = self.tx.push(len).ok_or(Full)?;
        self.hold_tail = false;
        Ok(psn)
    }

    /// Bytes by which the last packet queued may still grow.
    pub fn tail_room(&self) -> u16 {
        if self.fin_queued {
            return 0;
        }
        let len = self.tx.unsent_tail().map(|slot| slot.len);
        len.map_or(0, |len| self.mss.saturating_sub(len))
    }

    /// Lets the last packet queued grow. The caller has held it since it asked for
    /// [`Self::tail_room`], and grows it by no more than that, even if the path has
    /// become narrower meanwhile. False if it is not held, and has not grown.
    #[must_use]
    pub fn extend_tail(&mut self, add: u16) -> bool {
        if !self.hold_tail {
            return false;
        }
        self.tx.grow_tail(add);
        self.hold_tail = self.tail_room() > 0;
        true
    }

    /// Whether to wait until the last packet is full before sending it. One that is
    /// full already is not held.
    ///
    /// Queueing another packet, and the end of the stream, release it.
    pub fn hold_tail(&mut self, hold: bool) {
        self.hold_tail = hold && self.tail_room() > 0;
    }

    // What the reader does.

    /// The application has read everything before `psn`, and `bytes` more than at
    /// the last call.
    pub fn consumed(&mut self, psn: Psn, bytes: u64) {
        self.recv_credit
            .consumed(psn, bytes, self.rx.nxt(), self.rx.nxt_offset());
        self.tell_window();
    }

    /// How many bytes may wait for the reader. What was promised stands.
    pub fn set_rcv_window(&mut self, bytes: u32) {
        self.config.rcv_window = bytes;
        self.recv_credit.set_bytes(bytes);
        self.tell_window();
    }

    /// Tells the peer that it may send more, if it is likely to wait for that.
    fn tell_window(&mut self) {
        if !self.state.is_connected() || !self.state.receives_data() {
            return;
        }
        let (nxt, offset) = (self.rx.nxt(), self.rx.nxt_offset());
        if self.recv_credit.opens(nxt, offset) {
            self.acks.request_twice();
        } else if self.recv_credit.update_due(nxt, offset) {
            self.acks.request();
        }
    }

    // Knobs.

    /// The path takes `mss` bytes of payload now: new packets keep to that, within what
    /// was agreed on. Packets that are queued already keep their size.
    pub fn on_path_mtu(&mut self, mss: u16) {
        self.set_mss(self.config.mss.min(self.peer_max_payload).min(mss.max(1)));
    }

    /// Asked before everything that is sent, so that it has to cost nothing when it is the same.
    fn set_mss(&mut self, mss: u16) {
        if mss == self.mss {
            return;
        }
        self.mss = mss;
        self.window.set_mss(mss);
        self.spray.set_mss(mss);
    }

    /// Uses another number of paths.
    pub fn set_paths(&mut self, paths: u16, now: Ns) {
        self.config.paths = paths;
        self.change_spray(now);
    }

    /// Chooses paths in another way.
    pub fn set_policy(&mut self, policy: PathPolicy, now: Ns) {
        self.config.policy = policy;
        self.change_spray(now);
    }

    /// Does without an entropy value, that many behind the first, or uses it again. False
    /// if there is none, or if no path would be left.
    #[must_use]
    pub fn deny_path(&mut self, index: u16, deny: bool, now: Ns) -> bool {
        self.spray.deny(index, deny, now)
    }

    /// Shortest retransmission timeout.
    pub fn set_rto_min(&mut self, rto_min: Ns) {
        self.config.rto_min = rto_min;
    }

    /// Whether and how an idle peer is probed.
    pub fn set_keepalive(&mut self, keepalive: Option<KeepAlive>, now: Ns) {
        self.config.keepalive = keepalive;
        self.keepalive_probes = 0;
        self.arm_keepalive(now);
    }

    fn change_spray(&mut self, now: Ns) {
        self.spray.reconfigure(&self.config, now);
        self.spray.set_mss(self.mss);
        self.note_entropies();
    }

    fn note_entropies(&mut self) {
        let paths = self.spray.paths();
        let first = paths.base();
        let last = first + (paths.entropies() - 1);
        self.entropy_first = self.entropy_first.min(first);
        self.entropy_last = self.entropy_last.max(last);
    }

    // What there is to see.

    /// State.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why the connection failed, if it did.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// What has happened since the last call.
    pub fn events(&mut self) -> Events {
        core::mem::take(&mut self.events)
    }

    /// What was counted and not collected yet.
    pub fn counts(&mut self) -> &mut Counts {
        &mut self.counts
    }

    /// All packets before this one are acknowledged.
    pub fn una(&self) -> Psn {
        self.tx.una()
    }

    /// The first packet that was never sent.
    pub fn snd_nxt(&self) -> Psn {
        self.tx.nxt()
    }

    /// The number the next packet queued will get.
    pub fn next_queue_psn(&self) -> Psn {
        self.tx.tail()
    }

    /// The first packet of this end.
    pub fn snd_isn(&self) -> Psn {
        self.snd_isn
    }

    /// All packets before this one were received.
    pub fn rcv_nxt(&self) -> Psn {
        self.rx.nxt()
    }

    /// Whether a packet has been received, so that another copy only has to be acknowledged.
    pub fn has_received(&self, psn: Psn) -> bool {
        self.rx.is_duplicate(psn)
    }

    /// The first packet of the peer, once that is known.
    pub fn rcv_isn(&self) -> Option<Psn> {
        match self.handshake {
            Handshake::Asking { .. } => None,
            _ => Some(self.rx.isn()),
        }
    }

    /// Largest payload of a packet to be queued now.
    pub fn mss(&self) -> u16 {
        self.mss
    }

    /// The first entropy value in use.
    pub fn entropy_base(&self) -> u16 {
        self.spray.paths().base()
    }

    /// What has become of the entropy value that many behind the first.
    pub fn path_state(&self, index: u16) -> Option<PathState> {
        self.spray.paths().state(index)
    }

    /// The set of algorithms it was made with.
    pub fn profile(&self) -> Profile {
        self.config.profile
    }

    /// How the path of the next packet is chosen.
    pub fn policy(&self) -> PathPolicy {
        self.config.policy
    }

    /// What this end chose for the packets it receives.
    pub fn local_ids(&self) -> Ids {
        self.local
    }

    /// What the peer chose for the packets it receives; zero before it is known.
    pub fn remote_ids(&self) -> Ids {
        self.remote
    }

    /// Ports of this end and of the peer.
    pub fn ports(&self) -> (u16, u16) {
        (self.local_port, self.remote_port)
    }
}

/// Bytes of one IP packet that a train may fill: what UDP and IPv6 headers leave.
const TRAIN_BYTES: u16 = u16::MAX - 8 - 40;

/// Packets that fit into one UDP datagram train of equal packets of `len` bytes.
fn segments(len: u16) -> u32 {
    u32::from(TRAIN_BYTES) / (u32::from(len) + DATA_HEADER as u32)
}
