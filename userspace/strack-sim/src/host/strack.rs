// SPDX-License-Identifier: GPL-2.0
//! Hosts that run the protocol's own code.
//!
//! Everything the protocol decides is decided by `strack_proto`, and every packet
//! passes through its wire format. What is added here is what the kernel's engine
//! does around it: it fills packets with the application's bytes, sends what it is
//! told to, and keeps the timer.

use super::reader::Habit;
use super::reader::Reader;
use super::Body;
use super::End;
use super::EndCounts;
use super::Notice;
use super::Place;
use super::UDP_OVERHEAD;
use crate::net::Packet;
use crate::time::Ps;
use crate::time::NSEC;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use strack_proto::config;
use strack_proto::config::Config;
use strack_proto::config::PathPolicy;
use strack_proto::connection::Connection;
use strack_proto::connection::Events;
use strack_proto::connection::Ids;
use strack_proto::connection::Refusal;
use strack_proto::connection::RxMeta;
use strack_proto::connection::Transmit;
use strack_proto::connection::What;
use strack_proto::handshake;
use strack_proto::handshake::PeerAddr;
use strack_proto::psn::Psn;
use strack_proto::wire;
use strack_proto::wire::Packet as Header;
use strack_proto::wire::DATA_HEADER;
use strack_proto::Ns;

/// The protocol's clock at the beginning of the simulation: there was a time before
/// it, in which connections were made.
const EPOCH: Ns = 1_000_000_000;

/// How the path of the next packet is chosen: the protocol's policies by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Policy(pub PathPolicy);

impl TryFrom<String> for Policy {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        PathPolicy::by_name(name.as_bytes())
            .map(Self)
            .ok_or_else(|| {
                let names = PathPolicy::ALL.map(|(name, _)| name);
                format!("no policy '{name}': {}", names.join(", "))
            })
    }
}

/// A set of the protocol's algorithms by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Profile(pub config::Profile);

impl TryFrom<String> for Profile {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        config::Profile::by_name(name.as_bytes())
            .map(Self)
            .ok_or_else(|| format!("no profile '{name}': stellar, strack"))
    }
}

/// What a connection of the simulator is made with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The protocol's own parameters, without seed and ports.
    pub config: Config,
    /// Header-only packets go ahead of data in the network.
    pub priority: bool,
    /// Round trip time of the idle network, for the handshake.
    pub idle_rtt: Ps,
    /// How the receiving application reads, if not at once.
    pub habit: Option<Habit>,
    /// The last so many packets of each message are lost when they are first sent.
    pub lose_last: u32,
}

/// Packets of a message of `bytes`, and the length of each.
fn packets(bytes: u64, mss: u16) -> u32 {
    u32::try_from(bytes.div_ceil(u64::from(mss))).unwrap_or(u32::MAX)
}

fn ns(now: Ps) -> Ns {
    EPOCH + now / NSEC
}

/// One end of a connection.
pub struct Strack {
    conn: Connection,
    place: Place,
    priority: bool,
    /// Messages that are not in packets yet: number and bytes left.
    unpacked: VecDeque<(u32, u64)>,
    /// Messages on their way: number and the first packet behind it.
    waiting: VecDeque<(u32, Psn)>,
    /// Length of each packet queued, by its number.
    lengths: Vec<u16>,
    /// What the receiving end expects next.
    expected: Psn,
    /// The receiving application, if it does not read at once.
    reader: Option<Reader>,
    /// See [`Setup::lose_last`], and the first packet that was not sent yet.
    lose_last: u32,
    unsent: Psn,
    trimmed: u64,
    failed: bool,
    notices: Vec<Notice>,
}

/// Makes a connection between two hosts, in the time before `now`.
pub fn connect(setup: &Setup, seeds: [u64; 2], places: [Place; 2], now: Ps) -> [Strack; 2] {
    let half = setup.idle_rtt / 2 / NSEC;
    // A handshake takes two and a half round trips.
    let start = ns(now) - 5 * half;
    let config = |seed: u64| {
        let spread = u64::from(u16::MAX - wire_base() - setup.config.paths - setup.config.spares);
        Config {
            seed,
            entropy_base: wire_base() + (seed % spread) as u16,
            ..setup.config.clone()
        }
    };
    let ids = |seed: u64| Ids {
        cid: (seed as u32).max(1),
        tag: (seed >> 32) as u32,
    };
    let isn = |seed: u64| Psn::new((seed >> 16) as u32);
    let [a, b] = seeds;
    let memory = "memory for a connection";
    let mut client = Connection::connect(config(a), ids(a), isn(a), 700, 800, start).expect(memory);
    let address = PeerAddr([places[0].host as u8; 16]);
    let secret = [a, b];
    let Header::Init(init) = handshake_packet(&mut client, start) else {
        unreachable!("a client begins with INIT");
    };
    let challenge = handshake::challenge(&secret, start + half, &address, &init);
    pass(&mut client, start + 2 * half, &Header::Challenge(challenge));
    let Header::Init(init) = handshake_packet(&mut client, start + 2 * half) else {
        unreachable!("a challenge is answered with INIT");
    };
    let mut server =
        Connection::accept(config(b), ids(b), isn(b), &init, start + 3 * half).expect(memory);
    let accept = handshake_packet(&mut server, start + 3 * half);
    pass(&mut client, start + 4 * half, &accept);
    let ack = handshake_packet(&mut client, start + 4 * half);
    pass(&mut server, start + 5 * half, &ack);
    client.events();
    server.events();
    let [at_client, at_server] = places;
    [
        Strack::new(client, setup, at_client),
        Strack::new(server, setup, at_server),
    ]
}

/// The first entropy value there can be.
fn wire_base() -> u16 {
    strack_proto::spray::MIN_ENTROPY
}

/// What an end says next during the handshake.
fn handshake_packet(conn: &mut Connection, now: Ns) -> Header {
    let transmit = conn.poll_transmit(now).expect("a handshake goes on");
    let What::Control { len, bytes } = transmit.what else {
        unreachable!("no data before the handshake is over");
    };
    let len = usize::from(len);
    let (header, _) = wire::parse(&bytes[..len], len).expect("what was just emitted");
    header
}

fn pass(conn: &mut Connection, now: Ns, header: &Header) {
    let meta = RxMeta {
        ce: false,
        entropy: wire_base(),
        payload: 0,
    };
    conn.on_packet(now, header, meta);
}

impl Strack {
    fn new(conn: Connection, setup: &Setup, place: Place) -> Self {
        let ring = setup
            .config
            .window_packets
            .clamp(64, 4096)
            .next_power_of_two();
        let expected = conn.rcv_isn().unwrap_or(Psn::new(0));
        Self {
            expected,
            reader: setup.habit.map(|habit| Reader::new(habit, expected)),
            lose_last: setup.lose_last,
            unsent: conn.una(),
            conn,
            place,
            priority: setup.priority,
            unpacked: VecDeque::new(),
            waiting: VecDeque::new(),
            lengths: vec![0; ring as usize],
            trimmed: 0,
            failed: false,
            notices: Vec::new(),
        }
    }

    fn sends(&self) -> bool {
        self.place.peer_end % 2 == 1
    }

    /// Puts messages into packets as long as there is room for packets.
    fn pack(&mut self) {
        while let Some((message, left)) = self.unpacked.front_mut() {
            let len = (*left).min(u64::from(self.conn.mss())) as u16;
            let Ok(psn) = self.conn.queue(len) else {
                return;
            };
            let slot = psn.raw() as usize % self.lengths.len();
            self.lengths[slot] = len;
            *left -= u64::from(len);
            if *left == 0 {
                self.waiting.push_back((*message, psn.next()));
                self.unpacked.pop_front();
            }
        }
    }

    /// Looks at what has happened after a packet or a timer.
    fn look(&mut self, now: Ps) {
        let events = self.conn.events();
        if events.contains(Events::FAILED) && !self.failed {
            self.failed = true;
            self.notices.push(Notice::Failed);
        }
        let done = if self.sends() {
            self.pack();
            self.conn.una()
        } else {
            let next = self.conn.rcv_nxt();
            if let Some(reader) = &mut self.reader {
                let (psn, bytes) = reader.read(now, next);
                if bytes > 0 {
                    self.conn.consumed(psn, bytes);
                }
            } else if events.contains(Events::READABLE) {
                // The application reads all there is.
                self.conn.consumed(next, u64::MAX);
            }
            next
        };
        while let Some(&(message, _)) = self.waiting.front().filter(|(_, end)| end.le(done)) {
            self.waiting.pop_front();
            self.notices.push(if self.sends() {
                Notice::Acked(message)
            } else {
                Notice::Received(message)
            });
        }
    }

    /// Whether a packet that is being sent is one of those that are to be lost.
    fn doomed(&mut self, psn: Psn) -> bool {
        if psn.lt(self.unsent) {
            return false;
        }
        self.unsent = psn.next();
        let lost = self.lose_last;
        let is_last = |end: Psn| psn.lt(end) && end.le(psn.add(lost));
        lost > 0 && self.waiting.iter().any(|&(_, end)| is_last(end))
    }

    fn packet(&self, transmit: &Transmit, header: [u8; 64], len: u8, payload: u16) -> Packet {
        let size = u32::from(len) + u32::from(payload) + UDP_OVERHEAD;
        let body = Body::Strack {
            header,
            len,
            payload,
        };
        Packet {
            control: payload == 0 && self.priority,
            ect: transmit.ect,
            ..Packet::new(&self.place, transmit.entropy, size, body)
        }
    }
}

impl End for Strack {
    fn post(&mut self, _now: Ps, message: u32, bytes: u64) {
        if self.sends() {
            self.unpacked.push_back((message, bytes));
            self.pack();
        } else {
            let mss = self.conn.mss();
            self.expected = self.expected.add(packets(bytes, mss));
            if let Some(reader) = &mut self.reader {
                reader.expect(bytes, mss);
            }
            self.waiting.push_back((message, self.expected));
        }
    }

    fn receive(&mut self, now: Ps, packet: &Packet) {
        let Body::Strack {
            header,
            len,
            payload,
        } = &packet.body
        else {
            unreachable!("not a packet of the protocol");
        };
        let len = usize::from(*len);
        let total = len + usize::from(*payload);
        let (header, _) = wire::parse(&header[..len], total).expect("a packet of our own");
        let meta = RxMeta {
            ce: packet.ce,
            entropy: packet.port,
            payload: if packet.trimmed { 0 } else { *payload },
        };
        match header {
            Header::Data(data) if packet.trimmed => {
                self.trimmed += 1;
                self.conn.refuse(ns(now), &data, meta, Refusal::Trimmed);
            }
            _ => {
                self.conn.on_packet(ns(now), &header, meta);
            }
        }
        self.look(now);
    }

    fn wake(&mut self, now: Ps) {
        self.conn.on_timer(ns(now));
        self.look(now);
    }

    fn poll(&mut self, now: Ps, out: &mut Vec<Packet>) {
        let Some(transmit) = self.conn.poll_transmit(ns(now)) else {
            return;
        };
        match transmit.what {
            What::Control { len, bytes } => out.push(self.packet(&transmit, bytes, len, 0)),
            What::Data { first, count, .. } => {
                for i in 0..u32::from(count) {
                    let psn = first.add(i);
                    let header = self.conn.data_header(psn).expect("a packet just named");
                    let mut short = [0; DATA_HEADER];
                    header.emit(&mut short);
                    let mut bytes = [0; 64];
                    bytes[..DATA_HEADER].copy_from_slice(&short);
                    let payload = self.lengths[psn.raw() as usize % self.lengths.len()];
                    let mut packet = self.packet(&transmit, bytes, DATA_HEADER as u8, payload);
                    packet.doomed = self.doomed(psn);
                    out.push(packet);
                }
            }
        }
    }

    fn deadline(&self) -> Option<Ps> {
        let conn = self.conn.deadline();
        let conn = conn.map(|at| at.saturating_sub(EPOCH).saturating_mul(NSEC));
        let reader = self.reader.as_ref().and_then(Reader::deadline);
        [conn, reader].into_iter().flatten().min()
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    fn counters(&mut self, all: &mut BTreeMap<&'static str, u64>) {
        self.conn.counts().drain(|counter, n| {
            *all.entry(counter.name()).or_default() += u64::from(n);
        });
    }

    fn counts(&self) -> EndCounts {
        let info = self.conn.info();
        EndCounts {
            sent: info.packets_sent,
            resent: info.retransmits,
            duplicates: info.duplicates,
            arrived: info.bytes_received,
            trimmed: self.trimmed,
            timeouts: info.timeouts,
            marks: info.ce_marks,
            reordered: u64::from(info.ooo_high_water),
            base_rtt: info.base_rtt,
            window: if self.sends() { info.cwnd } else { 0 },
        }
    }
}
