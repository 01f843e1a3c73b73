// SPDX-License-Identifier: GPL-2.0
//! MP-RDMA (NSDI 2018): many paths, one window, and no state per path.
//!
//! Every packet is acknowledged on its own, with the path it took and the mark it
//! carried. An acknowledgement without a mark adds a packet per window, one with a mark
//! takes half a packet away, and what it allows to be sent goes where it came from: a
//! path that answers fast and unmarked is used more. Now and then a packet probes another
//! path. Paths whose packets arrive far behind those of others are left, so that the
//! receiver can keep track of what has arrived with few bits.
//!
//! Like all RoCE it is meant for networks that lose nothing; what is lost nevertheless is
//! sent again after a timeout.

use super::stream::Stream;
use super::tally::Tally;
use super::Body;
use super::End;
use super::EndCounts;
use super::Notice;
use super::Place;
use crate::net::Packet;
use crate::random::mix;
use crate::time::Ps;
use std::collections::VecDeque;

/// Bytes around the payload: those of RoCE and the paper's own header.
pub const OVERHEAD: u32 = super::roce::OVERHEAD + 8;

/// Bytes of an acknowledgement.
const ANSWER: u32 = OVERHEAD + 4;

/// How far behind the newest packet one may arrive before its path is left.
const BEHIND: u32 = 32;

/// One packet in so many probes another path.
const PROBE: u64 = 100;

/// What a packet says.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// A packet of data.
    Data {
        /// Its number.
        number: u32,
        /// Bytes of payload.
        payload: u32,
    },
    /// A packet has arrived, by the path whose port the answer carries back.
    Ack {
        /// Its number.
        number: u32,
        /// The port it came with.
        port: u16,
        /// It was marked.
        marked: bool,
    },
}

/// What a connection is made with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Bytes in a full packet.
    pub mss: u32,
    /// Paths.
    pub paths: u16,
    /// Window at the start, in packets.
    pub window: u32,
    /// Time without any answer after which what is missing is sent again.
    pub rto: Ps,
    /// Packets without payload go ahead of data in the network.
    pub priority: bool,
}

/// Makes a connection.
pub fn connect(setup: &Setup, seeds: [u64; 2], places: [Place; 2]) -> (Sender, Receiver) {
    let sender = Sender {
        place: places[0],
        setup: *setup,
        stream: Stream::new(setup.mss),
        base: 49_152 + (seeds[0] % u64::from(16_384 - setup.paths)) as u16,
        draws: seeds[0],
        una: 0,
        next: 0,
        newest: 0,
        fates: Vec::new(),
        again: VecDeque::new(),
        window: f64::from(setup.window),
        flying: 0,
        ways: VecDeque::new(),
        timeout_at: None,
        notices: Vec::new(),
        counts: EndCounts::default(),
    };
    let receiver = Receiver {
        place: places[1],
        port: 49_152 + (seeds[1] % 16_384) as u16,
        priority: setup.priority,
        tally: Tally::new(setup.mss, Notice::Received),
        due: Vec::new(),
        counts: EndCounts::default(),
    };
    (sender, receiver)
}

fn packet(place: &Place, port: u16, header: Header, priority: bool) -> Packet {
    let (size, data) = match header {
        Header::Data { payload, .. } => (payload + OVERHEAD, true),
        Header::Ack { .. } => (ANSWER, false),
    };
    Packet {
        control: !data && priority,
        ect: data,
        ..Packet::new(place, port, size, Body::MpRdma(header))
    }
}

/// What has become of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waiting,
    Flying,
    Arrived,
}

/// The sending end.
pub struct Sender {
    place: Place,
    setup: Setup,
    stream: Stream,
    /// Port of the first path, and a counter that paths are drawn with.
    base: u16,
    draws: u64,
    una: u32,
    next: u32,
    /// Behind the newest packet known to have arrived.
    newest: u32,
    fates: Vec<Fate>,
    again: VecDeque<u32>,
    window: f64,
    flying: u32,
    /// Ports that acknowledgements have come back with and that are not used yet.
    ways: VecDeque<u16>,
    timeout_at: Option<Ps>,
    notices: Vec<Notice>,
    counts: EndCounts,
}

impl Sender {
    fn draw(&mut self, below: u64) -> u64 {
        self.draws = self.draws.wrapping_add(1);
        mix(self.draws) % below
    }

    /// The path of the next packet.
    fn way(&mut self) -> u16 {
        let probe = self.draw(PROBE) == 0;
        match self.ways.pop_front().filter(|_| !probe) {
            Some(port) => port,
            None => self.base + self.draw(u64::from(self.setup.paths)) as u16,
        }
    }

    fn on_ack(&mut self, now: Ps, number: u32, port: u16, marked: bool) {
        let late = number.saturating_add(BEHIND) < self.newest;
        self.newest = self.newest.max(number + 1);
        self.counts.marks += u64::from(marked);
        if marked {
            self.window -= 0.5;
        } else {
            self.window += 1.0 / self.window;
        }
        if late {
            // Its path is left, and the packet it would have carried is not sent.
            self.window -= 1.0;
        } else {
            self.ways.push_back(port);
        }
        self.window = self.window.max(1.0);
        if self.fates[number as usize] == Fate::Flying {
            self.flying -= 1;
        }
        self.fates[number as usize] = Fate::Arrived;
        while self.fates.get(self.una as usize) == Some(&Fate::Arrived) {
            self.una += 1;
        }
        self.stream.done(self.una, &mut self.notices, Notice::Acked);
        self.timeout_at = (self.flying > 0).then_some(now + self.setup.rto);
        // Answers that allow nothing, because the window is smaller now.
        let room = (self.window as u32).saturating_sub(self.flying) as usize;
        let surplus = self.ways.len().saturating_sub(room.max(1));
        self.ways.drain(..surplus);
    }

    /// The next packet that is to be sent, and whether it was sent before.
    fn pick(&mut self) -> Option<(u32, bool)> {
        while let Some(number) = self.again.pop_front() {
            if self.fates[number as usize] == Fate::Waiting {
                return Some((number, true));
            }
        }
        let number = self.next;
        (number < self.stream.len()).then(|| {
            self.next += 1;
            (number, false)
        })
    }
}

impl End for Sender {
    fn post(&mut self, _now: Ps, message: u32, bytes: u64) {
        self.stream.post(message, bytes);
        self.fates.resize(self.stream.len() as usize, Fate::Waiting);
    }

    fn receive(&mut self, now: Ps, packet: &Packet) {
        let Body::MpRdma(Header::Ack {
            number,
            port,
            marked,
        }) = packet.body
        else {
            unreachable!("no answer of an MP-RDMA receiver");
        };
        self.on_ack(now, number, port, marked);
    }

    fn wake(&mut self, now: Ps) {
        if self.timeout_at.is_none_or(|at| at > now) {
            return;
        }
        self.counts.timeouts += 1;
        self.timeout_at = None;
        for number in self.una..self.next {
            let fate = &mut self.fates[number as usize];
            if *fate == Fate::Flying {
                *fate = Fate::Waiting;
                self.again.push_back(number);
            }
        }
        self.flying = 0;
        self.ways.clear();
        self.window = (self.window / 2.0).max(1.0);
    }

    fn poll(&mut self, now: Ps, out: &mut Vec<Packet>) {
        if f64::from(self.flying) >= self.window.floor() {
            return;
        }
        let Some((number, again)) = self.pick() else {
            return;
        };
        self.fates[number as usize] = Fate::Flying;
        self.flying += 1;
        self.counts.sent += 1;
        self.counts.resent += u64::from(again);
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.setup.rto);
        }
        let header = Header::Data {
            number,
            payload: self.stream.payload(number),
        };
        let port = self.way();
        out.push(packet(&self.place, port, header, self.setup.priority));
    }

    fn deadline(&self) -> Option<Ps> {
        self.timeout_at
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    fn counts(&self) -> EndCounts {
        EndCounts {
            window: (self.window * f64::from(self.setup.mss)) as u64,
            ..self.counts
        }
    }
}

/// The receiving end.
pub struct Receiver {
    place: Place,
    port: u16,
    priority: bool,
    tally: Tally,
    due: Vec<Header>,
    counts: EndCounts,
}

impl End for Receiver {
    fn post(&mut self, _now: Ps, message: u32, bytes: u64) {
        self.tally.post(message, bytes);
    }

    fn receive(&mut self, _now: Ps, packet: &Packet) {
        let Body::MpRdma(Header::Data { number, .. }) = packet.body else {
            unreachable!("no packet of an MP-RDMA sender");
        };
        if packet.trimmed {
            self.counts.trimmed += 1;
            return;
        }
        self.due.push(Header::Ack {
            number,
            port: packet.port,
            marked: packet.ce,
        });
        let ahead = u64::from(self.tally.ahead(number));
        if self.tally.set_done(number) {
            self.counts.reordered = self.counts.reordered.max(ahead);
        } else {
            self.counts.duplicates += 1;
        }
    }

    fn poll(&mut self, _now: Ps, out: &mut Vec<Packet>) {
        let due = self.due.drain(..);
        out.extend(due.map(|header| packet(&self.place, self.port, header, self.priority)));
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.tally.notices(out);
    }

    fn counts(&self) -> EndCounts {
        EndCounts {
            arrived: self.tally.bytes(),
            ..self.counts
        }
    }
}
