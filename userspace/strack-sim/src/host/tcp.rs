// SPDX-License-Identifier: GPL-2.0
//! TCP as data centres use it: DCTCP on one path, and MPTCP with several subflows.
//!
//! Both are the same machine with one subflow or more. A subflow has a port of its
//! own and therefore a path of its own, numbers for its packets, a window, and loss
//! detection by three packets that overtook. Every packet is acknowledged, with its
//! own number and the mark it carried, which is what SACK and DCTCP's accurate
//! feedback amount to.
//!
//! With one subflow the window follows DCTCP (RFC 8257): once per window it is cut by
//! half of the average part of marked packets. With several it follows MPTCP: each mark
//! or loss halves the subflow's window, once per window, and the increase is linked
//! (RFC 6356) so that all subflows together take what one connection would. Data is
//! given to whichever subflow has room; what a subflow lost by timeout is given to any.

use super::tally::Tally;
use super::Body;
use super::End;
use super::EndCounts;
use super::Notice;
use super::Place;
use crate::net::Packet;
use crate::time::Ps;
use std::collections::VecDeque;

/// Bytes around the payload: Ethernet, IPv4, TCP with timestamps.
pub const OVERHEAD: u32 = 18 + 20 + 32;

/// Window at the start in packets (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;

/// Packets that have to overtake one that is called lost.
const OVERTAKERS: u32 = 3;

/// DCTCP's weight of the newest window.
const DCTCP_GAIN: f64 = 1.0 / 16.0;

/// What a packet says.
#[derive(Clone, Copy, Debug)]
pub enum Header {
    /// A packet of data.
    Data {
        /// The subflow.
        subflow: u16,
        /// Its number there.
        number: u32,
        /// Its number in the connection.
        data: u32,
        /// When it was sent.
        sent: Ps,
    },
    /// A packet has arrived.
    Ack {
        /// The subflow.
        subflow: u16,
        /// Its number there.
        number: u32,
        /// It was marked.
        marked: bool,
        /// When it was sent.
        sent: Ps,
    },
}

/// What a connection is made with.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Bytes in a full packet.
    pub mss: u32,
    /// Subflows.
    pub subflows: u16,
    /// Shortest retransmission timeout.
    pub rto_min: Ps,
    /// Packets without payload go ahead of data in the network.
    pub priority: bool,
}

/// What became of a packet of a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Flying,
    Lost,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    data: u32,
    fate: Fate,
}

#[derive(Debug)]
struct Subflow {
    port: u16,
    flights: Vec<Flight>,
    /// No packet before this one is in flight.
    una: u32,
    /// Highest number acknowledged, plus one.
    acked_to: u32,
    flying: u32,
    window: f64,
    threshold: f64,
    /// A cut is made once for all packets before this one.
    cut_until: u32,
    /// DCTCP: average part of marked packets, and counts of this window.
    alpha: f64,
    marked: u32,
    acked: u32,
    alpha_until: u32,
    srtt: f64,
    rttvar: f64,
    backoff: u32,
    timeout_at: Option<Ps>,
}

impl Subflow {
    fn new(port: u16) -> Self {
        Self {
            port,
            flights: Vec::new(),
            una: 0,
            acked_to: 0,
            flying: 0,
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            cut_until: 0,
            alpha: 1.0,
            marked: 0,
            acked: 0,
            alpha_until: 0,
            srtt: 0.0,
            rttvar: 0.0,
            backoff: 0,
            timeout_at: None,
        }
    }

    fn has_room(&self) -> bool {
        f64::from(self.flying) < self.window.max(1.0).floor()
    }

    fn next(&self) -> u32 {
        self.flights.len() as u32
    }

    fn rto(&self, least: Ps) -> Ps {
        let rto = (self.srtt + 4.0 * self.rttvar) as Ps;
        rto.max(least) << self.backoff.min(6)
    }

    fn on_rtt(&mut self, sample: f64) {
        if self.srtt == 0.0 {
            self.srtt = sample;
            self.rttvar = sample / 2.0;
        } else {
            self.rttvar += ((self.srtt - sample).abs() - self.rttvar) / 4.0;
            self.srtt += (sample - self.srtt) / 8.0;
        }
    }

    /// Cuts the window to `factor`, once per window.
    fn cut(&mut self, number: u32, factor: f64) {
        if number < self.cut_until {
            return;
        }
        self.cut_until = self.next();
        self.window = (self.window * factor).max(1.0);
        self.threshold = self.window.max(2.0);
    }
}

/// Makes a connection.
pub fn connect(setup: &Setup, seeds: [u64; 2], places: [Place; 2]) -> (Sender, Receiver) {
    let port = |i: u16| 32_768 + ((seeds[0] >> 8) as u16 ^ i.wrapping_mul(40_503)) % 28_000;
    let sender = Sender {
        place: places[0],
        setup: *setup,
        tally: Tally::new(setup.mss, Notice::Acked),
        given: 0,
        again: VecDeque::new(),
        subflows: (0..setup.subflows).map(|i| Subflow::new(port(i))).collect(),
        turn: 0,
        counts: EndCounts::default(),
    };
    let receiver = Receiver {
        place: places[1],
        port: 32_768 + (seeds[1] % 28_000) as u16,
        priority: setup.priority,
        tally: Tally::new(setup.mss, Notice::Received),
        due: Vec::new(),
        counts: EndCounts::default(),
    };
    (sender, receiver)
}

/// The sending end.
pub struct Sender {
    place: Place,
    setup: Setup,
    /// Packets of the connection, and which of them are acknowledged.
    tally: Tally,
    /// Those that were given to a subflow.
    given: u32,
    /// Packets to be given again.
    again: VecDeque<u32>,
    subflows: Vec<Subflow>,
    turn: usize,
    counts: EndCounts,
}

impl Sender {
    /// Calls a packet of a subflow lost.
    fn lose(&mut self, subflow: usize, number: u32) {
        let flow = &mut self.subflows[subflow];
        let flight = &mut flow.flights[number as usize];
        if flight.fate != Fate::Flying {
            return;
        }
        flight.fate = Fate::Lost;
        flow.flying -= 1;
        if !self.tally.is_done(flight.data) {
            self.again.push_back(flight.data);
        }
    }

    /// What an acknowledged packet adds to the window in congestion avoidance.
    fn increase(&self, subflow: usize) -> f64 {
        let own = 1.0 / self.subflows[subflow].window;
        if self.subflows.len() == 1 {
            return own;
        }
        let known = || self.subflows.iter().filter(|flow| flow.srtt > 0.0);
        let total: f64 = known().map(|flow| flow.window).sum();
        let best = known()
            .map(|flow| flow.window / (flow.srtt * flow.srtt))
            .fold(0.0, f64::max);
        let speed: f64 = known().map(|flow| flow.window / flow.srtt).sum();
        own.min(total * best / (speed * speed) / total)
    }

    fn on_ack(&mut self, now: Ps, subflow: usize, number: u32, marked: bool, sent: Ps) {
        let single = self.subflows.len() == 1;
        let increase = self.increase(subflow);
        let flow = &mut self.subflows[subflow];
        flow.on_rtt((now - sent) as f64);
        flow.backoff = 0;
        let flight = &mut flow.flights[number as usize];
        let data = flight.data;
        match flight.fate {
            Fate::Flying => {
                flight.fate = Fate::Done;
                flow.flying -= 1;
            }
            Fate::Lost => flight.fate = Fate::Done,
            Fate::Done => {}
        }
        flow.acked_to = flow.acked_to.max(number + 1);
        flow.acked += 1;
        flow.marked += u32::from(marked);
        self.counts.marks += u64::from(marked);
        if number >= flow.alpha_until {
            let part = f64::from(flow.marked) / f64::from(flow.acked);
            flow.alpha += (part - flow.alpha) * DCTCP_GAIN;
            flow.alpha_until = flow.next();
            flow.marked = 0;
            flow.acked = 0;
        }
        if marked {
            let factor = if single { 1.0 - flow.alpha / 2.0 } else { 0.5 };
            flow.cut(number, factor);
        } else if flow.window < flow.threshold {
            flow.window += 1.0;
        } else {
            flow.window += increase;
        }
        self.advance(now, subflow);
        self.tally.set_done(data);
    }

    /// Looks at the oldest packets of a subflow: done, overtaken, or waited for.
    fn advance(&mut self, now: Ps, subflow: usize) {
        let overtaken = self.subflows[subflow].acked_to.saturating_sub(OVERTAKERS);
        let mut number = self.subflows[subflow].una;
        while number < self.subflows[subflow].next() {
            if self.subflows[subflow].flights[number as usize].fate == Fate::Flying {
                if number >= overtaken {
                    break;
                }
                self.lose(subflow, number);
                self.subflows[subflow].cut(number, 0.5);
            }
            number += 1;
        }
        let least = self.setup.rto_min;
        let flow = &mut self.subflows[subflow];
        flow.una = number;
        flow.timeout_at = (flow.flying > 0).then(|| now + flow.rto(least));
    }

    /// The next packet of the connection to be given to a subflow.
    fn next_data(&mut self) -> Option<(u32, bool)> {
        while let Some(data) = self.again.pop_front() {
            if !self.tally.is_done(data) {
                return Some((data, true));
            }
        }
        let data = self.given;
        (data < self.tally.stream().len()).then(|| {
            self.given += 1;
            (data, false)
        })
    }
}

impl End for Sender {
    fn post(&mut self, _now: Ps, message: u32, bytes: u64) {
        self.tally.post(message, bytes);
    }

    fn receive(&mut self, now: Ps, packet: &Packet) {
        let Body::Tcp(Header::Ack {
            subflow,
            number,
            marked,
            sent,
        }) = packet.body
        else {
            unreachable!("no answer of a TCP receiver");
        };
        self.on_ack(now, usize::from(subflow), number, marked, sent);
    }

    fn wake(&mut self, now: Ps) {
        for subflow in 0..self.subflows.len() {
            let flow = &mut self.subflows[subflow];
            if flow.timeout_at.is_none_or(|at| at > now) {
                continue;
            }
            self.counts.timeouts += 1;
            flow.threshold = (flow.window / 2.0).max(2.0);
            flow.window = 1.0;
            flow.backoff += 1;
            flow.cut_until = flow.next();
            flow.timeout_at = None;
            for number in flow.una..flow.next() {
                self.lose(subflow, number);
            }
            self.subflows[subflow].una = self.subflows[subflow].next();
        }
    }

    fn poll(&mut self, now: Ps, out: &mut Vec<Packet>) {
        let count = self.subflows.len();
        let order = (0..count).map(|i| (self.turn + i) % count);
        let room = order
            .into_iter()
            .find(|&subflow| self.subflows[subflow].has_room());
        let Some(subflow) = room else {
            return;
        };
        let Some((data, again)) = self.next_data() else {
            return;
        };
        self.turn = subflow + 1;
        self.counts.sent += 1;
        self.counts.resent += u64::from(again);
        let least = self.setup.rto_min;
        let flow = &mut self.subflows[subflow];
        let number = flow.next();
        flow.flights.push(Flight {
            data,
            fate: Fate::Flying,
        });
        flow.flying += 1;
        if flow.timeout_at.is_none() {
            flow.timeout_at = Some(now + flow.rto(least));
        }
        let size = self.tally.stream().payload(data) + OVERHEAD;
        let body = Body::Tcp(Header::Data {
            subflow: subflow as u16,
            number,
            data,
            sent: now,
        });
        out.push(Packet {
            ect: true,
            ..Packet::new(&self.place, flow.port, size, body)
        });
    }

    fn deadline(&self) -> Option<Ps> {
        self.subflows
            .iter()
            .filter_map(|flow| flow.timeout_at)
            .min()
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.tally.notices(out);
    }

    fn counts(&self) -> EndCounts {
        let windows = self.subflows.iter().map(|flow| flow.window);
        EndCounts {
            window: (windows.sum::<f64>() * f64::from(self.setup.mss)) as u64,
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
        let Body::Tcp(Header::Data {
            subflow,
            number,
            data,
            sent,
        }) = packet.body
        else {
            unreachable!("no packet of a TCP sender");
        };
        if packet.trimmed {
            self.counts.trimmed += 1;
            return;
        }
        self.due.push(Header::Ack {
            subflow,
            number,
            marked: packet.ce,
            sent,
        });
        self.counts.duplicates += u64::from(!self.tally.set_done(data));
    }

    fn poll(&mut self, _now: Ps, out: &mut Vec<Packet>) {
        for header in self.due.drain(..) {
            let Header::Ack { subflow, .. } = header else {
                continue;
            };
            // The way back of a subflow is as fixed as the way there.
            let port = self.port ^ subflow;
            out.push(Packet {
                control: self.priority,
                ..Packet::new(&self.place, port, OVERHEAD, Body::Tcp(header))
            });
        }
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
