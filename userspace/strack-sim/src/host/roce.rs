// SPDX-License-Identifier: GPL-2.0
//! RoCEv2: reliable connections in order, on one path, at a rate set by DCQCN.
//!
//! A receiver takes packets in order only. One that is ahead is thrown away and
//! answered, once per gap, with the number that is expected; the sender goes back to
//! it and sends everything from there on again ("go-back-N"). That is cheap as long as
//! nothing is lost, which is why RoCE wants priority flow control.

use super::dcqcn::Dcqcn;
use super::dcqcn::NOTIFY_EVERY;
use super::stream::Stream;
use super::Body;
use super::End;
use super::EndCounts;
use super::Notice;
use super::Place;
use crate::net::Packet;
use crate::time::Ps;

/// Bytes around the payload: Ethernet, IPv4, UDP, base transport header, checksum.
pub const OVERHEAD: u32 = 18 + 20 + 8 + 12 + 4;

/// Bytes of a packet without payload: with the acknowledgement header.
const ANSWER: u32 = OVERHEAD + 4;

/// Packets that are acknowledged together, unless a message ends.
const ACK_EVERY: u32 = 16;

/// What a packet says.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// A packet of data.
    Data {
        /// Its number.
        number: u32,
        /// Bytes of payload.
        payload: u32,
        /// Acknowledge it at once.
        ack: bool,
    },
    /// All packets before this one have arrived.
    Ack(u32),
    /// A packet is missing, and all behind it were thrown away.
    Nak(u32),
    /// There was a mark.
    Notification,
}

/// What a connection is made with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Bytes in a full packet.
    pub mss: u32,
    /// Bits per second of the link.
    pub link: u64,
    /// Whether marks change the rate.
    pub dcqcn: bool,
    /// Time without any answer after which the sender starts over.
    pub rto: Ps,
    /// Packets without payload go ahead of data in the network.
    pub priority: bool,
}

/// Makes a connection.
pub fn connect(setup: &Setup, seeds: [u64; 2], places: [Place; 2]) -> (Sender, Receiver) {
    let port = |seed: u64| 49_152 + (seed % 16_384) as u16;
    let sender = Sender {
        place: places[0],
        port: port(seeds[0]),
        setup: *setup,
        stream: Stream::new(setup.mss),
        una: 0,
        next: 0,
        highest: 0,
        rate: Dcqcn::new(setup.link),
        send_at: 0,
        timeout_at: None,
        notices: Vec::new(),
        counts: EndCounts::default(),
    };
    let receiver = Receiver {
        place: places[1],
        port: port(seeds[1]),
        priority: setup.priority,
        stream: Stream::new(setup.mss),
        expected: 0,
        unacked: 0,
        gap_told: false,
        notified_at: None,
        due: Vec::new(),
        notices: Vec::new(),
        counts: EndCounts::default(),
    };
    (sender, receiver)
}

fn packet(place: &Place, port: u16, header: Header, priority: bool) -> Packet {
    let (size, data) = match header {
        Header::Data { payload, .. } => (payload + OVERHEAD, true),
        _ => (ANSWER, false),
    };
    Packet {
        control: !data && priority,
        ect: data,
        ..Packet::new(place, port, size, Body::Roce(header))
    }
}

/// The sending end.
pub struct Sender {
    place: Place,
    port: u16,
    setup: Setup,
    stream: Stream,
    una: u32,
    next: u32,
    highest: u32,
    rate: Dcqcn,
    send_at: Ps,
    timeout_at: Option<Ps>,
    notices: Vec<Notice>,
    counts: EndCounts,
}

impl Sender {
    /// Everything before `next` has arrived.
    fn acknowledge(&mut self, now: Ps, next: u32) {
        if next <= self.una {
            return;
        }
        self.una = next;
        self.next = self.next.max(next);
        self.stream.done(next, &mut self.notices, Notice::Acked);
        self.timeout_at = (self.una < self.next).then_some(now + self.setup.rto);
    }

    fn can_send(&self) -> bool {
        self.next < self.stream.len()
    }
}

impl End for Sender {
    fn post(&mut self, _now: Ps, message: u32, bytes: u64) {
        self.stream.post(message, bytes);
    }

    fn receive(&mut self, now: Ps, packet: &Packet) {
        match packet.body {
            Body::Roce(Header::Ack(next)) => self.acknowledge(now, next),
            Body::Roce(Header::Nak(next)) => {
                self.acknowledge(now, next);
                if next == self.una {
                    self.next = next;
                }
            }
            Body::Roce(Header::Notification) => {
                self.counts.marks += 1;
                if self.setup.dcqcn {
                    self.rate.on_notification(now);
                }
            }
            _ => unreachable!("no answer of a RoCE receiver"),
        }
    }

    fn wake(&mut self, now: Ps) {
        self.rate.on_timer(now);
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.counts.timeouts += 1;
            self.next = self.una;
            self.timeout_at = Some(now + self.setup.rto);
        }
    }

    fn poll(&mut self, now: Ps, out: &mut Vec<Packet>) {
        if !self.can_send() || now < self.send_at {
            return;
        }
        let number = self.next;
        self.next += 1;
        self.counts.sent += 1;
        self.counts.resent += u64::from(number < self.highest);
        self.highest = self.highest.max(self.next);
        let header = Header::Data {
            number,
            payload: self.stream.payload(number),
            ack: self.stream.ends_message(number) || self.next % ACK_EVERY == 0,
        };
        let packet = packet(&self.place, self.port, header, self.setup.priority);
        let bits = f64::from(packet.size) * 8.0;
        self.rate.on_sent(u64::from(packet.size));
        self.send_at = now + (bits / self.rate.rate() * 1e12) as Ps;
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.setup.rto);
        }
        out.push(packet);
    }

    fn deadline(&self) -> Option<Ps> {
        let send = self.can_send().then_some(self.send_at);
        [send, self.timeout_at, self.rate.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    fn counts(&self) -> EndCounts {
        self.counts
    }
}

/// The receiving end.
pub struct Receiver {
    place: Place,
    port: u16,
    priority: bool,
    stream: Stream,
    expected: u32,
    unacked: u32,
    gap_told: bool,
    notified_at: Option<Ps>,
    due: Vec<Header>,
    notices: Vec<Notice>,
    counts: EndCounts,
}

impl End for Receiver {
    fn post(&mut self, _now: Ps, message: u32, bytes: u64) {
        self.stream.post(message, bytes);
    }

    fn receive(&mut self, now: Ps, packet: &Packet) {
        let Body::Roce(Header::Data { number, ack, .. }) = packet.body else {
            unreachable!("no packet of a RoCE sender");
        };
        let silent = self
            .notified_at
            .is_some_and(|at| now < at.saturating_add(NOTIFY_EVERY));
        if packet.ce && !silent {
            self.notified_at = Some(now);
            self.due.push(Header::Notification);
        }
        if packet.trimmed {
            self.counts.trimmed += 1;
            return;
        }
        if number > self.expected {
            if !self.gap_told {
                self.gap_told = true;
                self.due.push(Header::Nak(self.expected));
            }
            return;
        }
        if number < self.expected {
            self.counts.duplicates += 1;
        } else {
            self.counts.arrived += u64::from(self.stream.payload(number));
            self.expected += 1;
            self.gap_told = false;
            self.stream
                .done(self.expected, &mut self.notices, Notice::Received);
        }
        self.unacked += 1;
        if ack || self.unacked >= ACK_EVERY {
            self.unacked = 0;
            self.due.push(Header::Ack(self.expected));
        }
    }

    fn poll(&mut self, _now: Ps, out: &mut Vec<Packet>) {
        let due = self.due.drain(..);
        out.extend(due.map(|header| packet(&self.place, self.port, header, self.priority)));
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    fn counts(&self) -> EndCounts {
        self.counts
    }
}
