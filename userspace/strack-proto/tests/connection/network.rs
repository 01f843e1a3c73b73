// SPDX-License-Identifier: GPL-2.0

//! Two ends and what is between them.

use crate::{
    endpoint::{
        App,
        Endpoint,
        Piece, //
    },
    link::{
        Direction,
        Link, //
    },
    rng::Rng,
};
use std::{
    cmp::Reverse,
    collections::{
        BinaryHeap,
        HashMap, //
    },
};
use strack_proto::{
    config::Config,
    connection::{
        Connection,
        Events,
        Ids,
        Refusal,
        RxMeta,
        State,
        Transmit,
        Verdict,
        What, //
    },
    counter::Counter,
    handshake::{
        self,
        PeerAddr, //
    },
    psn::Psn,
    wire::{
        self,
        flags,
        DataHeader,
        InitHeader,
        Packet,
        ResetCode,
        ResetHeader,
        DATA_HEADER, //
    },
    Ns,
    SEC, //
};

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

pub(crate) const CLIENT_IDS: Ids = Ids {
    cid: 0x1111,
    tag: 0xaaaa_0001,
};
pub(crate) const SERVER_IDS: Ids = Ids {
    cid: 0x2222,
    tag: 0xbbbb_0002,
};

const SECRET: [u64; 2] = [3, 5];
const CLIENT_ADDR: PeerAddr = PeerAddr([1; 16]);
const COOKIE_LIFETIME: Ns = 2 * SEC;

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) to: usize,
    pub(crate) entropy: u16,
    pub(crate) ce: bool,
    pub(crate) ect: bool,
    pub(crate) header: Vec<u8>,
    pub(crate) payload: Piece,
}

impl Datagram {
    pub(crate) fn len(&self) -> usize {
        self.header.len() + usize::from(self.payload.len)
    }

    pub(crate) fn parse(&self) -> Option<Packet> {
        wire::parse(&self.header, self.len())
            .ok()
            .map(|(packet, _)| packet)
    }
}

#[derive(Debug)]
enum Event {
    /// A packet has passed its sender's access link.
    Enters(Datagram),
    Arrives(Datagram),
    Wake(usize),
}

/// A test's say in what switches trim: `true` cuts off the payload.
type Trimmer = Box<dyn FnMut(Ns, &DataHeader) -> bool>;

/// A test's say in what gets lost: `true` loses the packet.
type Censor = Box<dyn FnMut(Ns, &Datagram, &Packet) -> bool>;

pub(crate) struct Network {
    pub(crate) now: Ns,
    pub(crate) rng: Rng,
    pub(crate) ends: [Option<Endpoint>; 2],
    /// Packets to the server and to the client.
    pub(crate) directions: [Direction; 2],
    pub(crate) censor: Option<Censor>,
    pub(crate) trim: Option<Trimmer>,
    /// Hosts merge packets of one path that arrive together, and answer them together.
    pub(crate) merge: bool,
    /// When the server has no memory for packets.
    pub(crate) no_room: Option<(Ns, Ns)>,
    pub(crate) counts: [HashMap<Counter, u64>; 2],
    /// DATA packets sent by each end, retransmissions among them, in how many trains,
    /// and ACKs.
    pub(crate) data: [u64; 2],
    pub(crate) trains: [u64; 2],
    pub(crate) retransmissions: [u64; 2],
    pub(crate) acks: [u64; 2],
    pub(crate) configs: [Config; 2],
    apps: [Option<App>; 2],
    isns: [Psn; 2],
    events: BinaryHeap<Reverse<(Ns, u64)>>,
    bodies: HashMap<u64, Event>,
    serial: u64,
    wakes: [Option<Ns>; 2],
    // Packets handled since time last moved.
    at_once: u32,
}

/// What a test starts from: a client that sends and a server that reads.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) client: Config,
    pub(crate) server: Config,
    pub(crate) apps: [App; 2],
    pub(crate) isns: [u32; 2],
    pub(crate) directions: [Direction; 2],
    pub(crate) seed: u64,
}

impl Setup {
    /// `bytes` from client to server over 4 equal paths of 100 us.
    pub(crate) fn new(bytes: u64) -> Self {
        let config = Config {
            mss: 1400,
            ..Config::default()
        };
        let direction = || Direction::new(vec![Link::new(100_000); 4]);
        Self {
            client: Config {
                seed: 1,
                ..config.clone()
            },
            server: Config {
                seed: 2,
                entropy_base: 51000,
                ..config
            },
            apps: [App::writer(bytes), App::reader()],
            isns: [1000, 2000],
            directions: [direction(), direction()],
            seed: 1,
        }
    }

    /// The same paths in both directions.
    pub(crate) fn paths(mut self, paths: Vec<Link>) -> Self {
        self.directions = [Direction::new(paths.clone()), Direction::new(paths)];
        self
    }

    pub(crate) fn start(self) -> Network {
        Network::new(self)
    }
}

impl Network {
    fn new(setup: Setup) -> Self {
        let [client_app, server_app] = setup.apps;
        let isns = setup.isns.map(Psn::new);
        let conn = Connection::connect(setup.client.clone(), CLIENT_IDS, isns[0], 700, 800, 0);
        let client = Endpoint::new(conn.expect("memory"), client_app, setup.seed ^ 1);
        let mut network = Self {
            now: 0,
            rng: Rng::new(setup.seed),
            ends: [Some(client), None],
            directions: setup.directions,
            censor: None,
            trim: None,
            merge: false,
            no_room: None,
            counts: Default::default(),
            data: [0; 2],
            trains: [0; 2],
            retransmissions: [0; 2],
            acks: [0; 2],
            configs: [setup.client, setup.server],
            apps: [None, Some(server_app)],
            isns,
            events: BinaryHeap::new(),
            bodies: HashMap::new(),
            serial: 0,
            wakes: [None; 2],
            at_once: 0,
        };
        network.schedule(0, Event::Wake(CLIENT));
        network
    }

    pub(crate) fn end(&mut self, which: usize) -> &mut Endpoint {
        self.ends[which].as_mut().expect("an endpoint")
    }

    pub(crate) fn client(&mut self) -> &mut Endpoint {
        self.end(CLIENT)
    }

    pub(crate) fn server(&mut self) -> &mut Endpoint {
        self.end(SERVER)
    }

    pub(crate) fn count(&self, which: usize, counter: Counter) -> u64 {
        self.counts[which].get(&counter).copied().unwrap_or(0)
    }

    /// Runs until `done` or until the time limit, and says whether it was `done`.
    pub(crate) fn run(&mut self, limit: Ns, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        while !done(self) {
            let Some(&Reverse((at, id))) = self.events.peek() else {
                return false;
            };
            if at > limit {
                self.now = limit;
                return false;
            }
            self.events.pop();
            let event = self.bodies.remove(&id).expect("its event");
            if at > self.now {
                self.at_once = 0;
            }
            self.at_once += 1;
            assert!(self.at_once < 100_000, "time stands still at {at}");
            self.now = at;
            self.handle(event);
        }
        true
    }

    /// Runs for a while.
    pub(crate) fn run_for(&mut self, time: Ns) {
        let limit = self.now + time;
        self.run(limit, |_| false);
        self.now = limit;
    }

    /// Runs until both ends have closed in order.
    pub(crate) fn finish(&mut self, limit: Ns) {
        let done = self.run(limit, |net| {
            net.ends
                .iter()
                .all(|end| end.as_ref().is_some_and(Endpoint::closed))
        });
        for which in [CLIENT, SERVER] {
            let Some(end) = &self.ends[which] else {
                panic!("no connection after {} ns", self.now);
            };
            assert!(
                done && end.conn.failure().is_none(),
                "end {which} after {} ns: {:?} {:?} written {} read {} {:?}\n{:?}\n{:?}",
                self.now,
                end.conn.state(),
                end.conn.failure(),
                end.written,
                end.read,
                end.conn.info(),
                self.counts[which],
                self.ends[1 - which]
                    .as_ref()
                    .map(|end| (end.conn.info(), end.read)),
            );
        }
        self.check_streams();
    }

    /// All that one end has written the other has read.
    pub(crate) fn check_streams(&mut self) {
        for which in [CLIENT, SERVER] {
            let wrote = self.end(which).app.write;
            assert_eq!(self.end(which).written, wrote);
            assert_eq!(self.end(1 - which).read, wrote);
            assert!(self.end(1 - which).saw(Events::PEER_FIN));
        }
    }

    fn schedule(&mut self, at: Ns, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial)));
        self.bodies.insert(self.serial, event);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Enters(datagram) => self.enters(datagram),
            Event::Arrives(datagram) => self.arrives(&datagram),
            Event::Wake(which) => {
                // A timer may fire early: one that has been set for sooner since.
                if self.wakes[which] == Some(self.now) {
                    self.wakes[which] = None;
                }
                let now = self.now;
                if let Some(end) = &mut self.ends[which] {
                    end.conn.on_timer(now);
                }
                self.pump(which);
            }
        }
    }

    /// Sends a packet from one end to the other.
    pub(crate) fn send(&mut self, datagram: Datagram) {
        let (now, len) = (self.now, datagram.len());
        let access = &mut self.directions[1 - datagram.to].access;
        let (arrivals, _) = access.carry(now, len, &mut self.rng);
        for at in arrivals {
            self.schedule(at, Event::Enters(datagram.clone()));
        }
    }

    fn enters(&mut self, mut datagram: Datagram) {
        let packet = datagram.parse().expect("a packet of ours");
        if let Some(censor) = &mut self.censor {
            if censor(self.now, &datagram, &packet) {
                return;
            }
        }
        let (now, len) = (self.now, datagram.len());
        let direction = &mut self.directions[1 - datagram.to];
        let path = direction.path(datagram.entropy);
        let (arrivals, marked) = direction.paths[path].carry(now, len, &mut self.rng);
        datagram.ce |= marked && datagram.ect;
        for at in arrivals {
            self.schedule(at, Event::Arrives(datagram.clone()));
        }
    }

    /// A packet arrives, wherever it came from.
    pub(crate) fn arrives(&mut self, datagram: &Datagram) {
        let Some(packet) = datagram.parse() else {
            return;
        };
        let to = datagram.to;
        if let (SERVER, Packet::Init(init)) = (to, &packet) {
            self.listen(init, datagram.entropy);
            return;
        }
        let now = self.now;
        let known = self.ends[to].as_ref().is_some_and(|end| !end.closed());
        if !known {
            self.reflect(to, &packet);
            return;
        }
        let meta = RxMeta {
            ce: datagram.ce,
            entropy: datagram.entropy,
            payload: datagram.payload.len,
        };
        if let Packet::Data(header) = &packet {
            if let Some(why) = self.refusal(to, header) {
                self.end(to).conn.refuse(now, header, meta, why);
                self.pump(to);
                return;
            }
        }
        let end = self.end(to);
        match end.conn.on_packet(now, &packet, meta) {
            Verdict::Deliver { psn, len } => {
                assert_eq!(len, datagram.payload.len);
                end.keep(psn, datagram.payload);
            }
            Verdict::Handled | Verdict::Drop(_) => {}
        }
        if !(self.merge && self.brings_another(datagram)) {
            self.pump(to);
        }
    }

    /// Whether what happens next is that another packet of the same train arrives.
    fn brings_another(&self, one: &Datagram) -> bool {
        let next = self.events.peek().filter(|next| next.0 .0 == self.now);
        let event = next.and_then(|Reverse((_, id))| self.bodies.get(id));
        let Some(Event::Arrives(next)) = event else {
            return false;
        };
        (next.to, next.entropy, next.ce) == (one.to, one.entropy, one.ce)
    }

    /// Why the host cannot take a packet, if so.
    fn refusal(&mut self, to: usize, header: &DataHeader) -> Option<Refusal> {
        let now = self.now;
        if self.trim.as_mut().is_some_and(|trim| trim(now, header)) {
            return Some(Refusal::Trimmed);
        }
        let full = self
            .no_room
            .is_some_and(|(from, to)| (from..to).contains(&now));
        let new = !self.end(to).conn.has_received(header.psn);
        (to == SERVER && full && new).then_some(Refusal::NoRoom)
    }

    /// Answers a packet for a connection that does not exist.
    fn reflect(&mut self, which: usize, packet: &Packet) {
        let (Packet::Data(header) | Packet::Probe(header)) = packet else {
            return;
        };
        let reset = ResetHeader {
            flags: flags::RESET_REFLECT,
            dcid: header.scid,
            tag: header.tag,
            code: ResetCode::NoConnection,
            psn: header.psn,
        };
        self.send_header(1 - which, 50_000, &Packet::Reset(reset));
    }

    pub(crate) fn send_header(&mut self, to: usize, entropy: u16, packet: &Packet) {
        let mut bytes = [0; 64];
        let len = packet.emit(&mut bytes);
        self.send(Datagram {
            to,
            entropy,
            ce: false,
            ect: false,
            header: bytes[..len].to_vec(),
            payload: Piece { start: 0, len: 0 },
        });
    }

    fn listen(&mut self, init: &InitHeader, entropy: u16) {
        let now = self.now;
        if handshake::verify(&SECRET, now, &CLIENT_ADDR, init, COOKIE_LIFETIME).is_err() {
            let challenge = handshake::challenge(&SECRET, now, &CLIENT_ADDR, init);
            self.send_header(CLIENT, entropy, &Packet::Challenge(challenge));
            return;
        }
        match &mut self.ends[SERVER] {
            Some(end) => end.conn.on_init(now),
            None => {
                let config = self.configs[SERVER].clone();
                let conn = Connection::accept(config, SERVER_IDS, self.isns[SERVER], init, now);
                let app = self.apps[SERVER].take().expect("one server");
                let seed = self.rng.next();
                self.ends[SERVER] = Some(Endpoint::new(conn.expect("memory"), app, seed));
            }
        }
        self.pump(SERVER);
    }

    /// Does everything an end has to do now.
    pub(crate) fn pump(&mut self, which: usize) {
        let now = self.now;
        loop {
            let Some(end) = &mut self.ends[which] else {
                return;
            };
            end.work(now);
            let Some(transmit) = end.conn.poll_transmit(now) else {
                break;
            };
            self.transmit(which, &transmit);
        }
        let end = self.ends[which].as_mut().expect("an endpoint");
        end.work(now);
        let counts = &mut self.counts[which];
        end.conn.counts().drain(|counter, n| {
            *counts.entry(counter).or_default() += u64::from(n);
        });
        let deadline = end.conn.deadline();
        if let Some(at) = deadline {
            let state = end.conn.state();
            assert!(
                at > now || self.at_once < 1000,
                "deadline {at} at {now} in {state:?}"
            );
        }
        let app = end.wakes_at().filter(|&at| at > now);
        let wake = [deadline, app].into_iter().flatten().min();
        if let Some(at) = wake.map(|at| at.max(now)) {
            if self.wakes[which].is_none_or(|set| at < set) {
                self.wakes[which] = Some(at);
                self.schedule(at, Event::Wake(which));
            }
        }
    }

    fn transmit(&mut self, which: usize, transmit: &Transmit) {
        let to = 1 - which;
        match transmit.what {
            What::Control { len, bytes } => {
                let header = bytes[..usize::from(len)].to_vec();
                let datagram = Datagram {
                    to,
                    entropy: transmit.entropy,
                    ce: false,
                    ect: transmit.ect,
                    header,
                    payload: Piece { start: 0, len: 0 },
                };
                if let Some(Packet::Ack(_)) = datagram.parse() {
                    self.acks[which] += 1;
                }
                self.send(datagram);
            }
            What::Data { first, count, retx } => {
                assert!(count > 0 && (count == 1 || !retx));
                self.retransmissions[which] += u64::from(retx);
                self.data[which] += u64::from(count);
                self.trains[which] += 1;
                let mut longest = 0;
                for i in 0..u32::from(count) {
                    let psn = first.add(i);
                    let end = self.end(which);
                    let header = end.conn.data_header(psn).expect("a header");
                    assert_eq!(header.entropy, transmit.entropy);
                    assert_eq!(header.flags & flags::DATA_RETX != 0, retx);
                    let payload = end.payload(psn);
                    assert_eq!(header.offset, payload_offset(&header, payload));
                    if i == 0 {
                        longest = payload.len;
                    }
                    let last = i + 1 == u32::from(count);
                    assert!(payload.len == longest || last && payload.len < longest);
                    let mut bytes = [0; DATA_HEADER];
                    header.emit(&mut bytes);
                    self.send(Datagram {
                        to,
                        entropy: transmit.entropy,
                        ce: false,
                        ect: transmit.ect,
                        header: bytes.to_vec(),
                        payload,
                    });
                }
            }
        }
    }

    pub(crate) fn both_in(&self, state: State) -> bool {
        let mut ends = self.ends.iter();
        ends.all(|end| end.as_ref().is_some_and(|end| end.conn.state() == state))
    }
}

/// Where the payload of a packet belongs; an empty one belongs where it says.
fn payload_offset(header: &DataHeader, payload: Piece) -> u64 {
    if payload.len == 0 {
        header.offset
    } else {
        payload.start
    }
}
