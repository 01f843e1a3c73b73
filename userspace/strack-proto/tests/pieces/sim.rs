// SPDX-License-Identifier: GPL-2.0

//! A small fabric for tests of the window: some flows, each sprayed over the same
//! parallel links, each link with a queue that marks and drops.
//!
//! Losses are reported to the sender one RTT after they happened; how they are
//! found is not what is tested here. Acknowledgements are coalesced as the
//! receiver does it.

use std::{
    cmp::Reverse,
    collections::BinaryHeap, //
};
use strack_proto::{
    config::Config,
    counter::Counter,
    spray::Spraying,
    window::{
        Acked,
        Nscc,
        NsccConfig,
        Params,
        Window, //
    },
    Ns,
    SEC,
    USEC, //
};

/// The fabric and its users.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Parallel links and their speed.
    pub links: usize,
    pub link_bytes_per_sec: u64,
    /// Round trip without queues and without the time to send a packet.
    pub propagation: Ns,
    pub mtu: u32,
    /// Per link: size of the queue, and where marking begins and is certain.
    pub queue: u64,
    pub mark_from: u64,
    pub mark_all: u64,
    /// Random loss per million packets.
    pub loss_ppm: u64,
    /// Largest random delay added to an ACK.
    pub jitter: Ns,
    pub flows: usize,
    /// What the senders are told.
    pub told_bytes_per_sec: u64,
    pub told_base_rtt: Ns,
    pub initial_window: u64,
    pub duration: Ns,
}

impl Scenario {
    /// One bottleneck with a queue of five bandwidth-delay products that marks
    /// from 0.2 to 0.8 of one.
    pub fn bottleneck(bytes_per_sec: u64, propagation: Ns, mtu: u32) -> Self {
        let bdp = bytes(propagation, bytes_per_sec).max(16 * u64::from(mtu));
        Self {
            links: 1,
            link_bytes_per_sec: bytes_per_sec,
            propagation,
            mtu,
            queue: 5 * bdp,
            mark_from: bdp / 5,
            mark_all: bdp / 5 * 4,
            loss_ppm: 0,
            jitter: 0,
            flows: 1,
            told_bytes_per_sec: bytes_per_sec,
            told_base_rtt: propagation,
            initial_window: 64 * 1024,
            duration: 300 * propagation.max(100 * USEC),
        }
    }

    /// The same with queues that never mark.
    pub fn without_marks(self) -> Self {
        Self {
            mark_from: u64::MAX / 2,
            mark_all: u64::MAX,
            ..self
        }
    }

    fn capacity(&self) -> u64 {
        self.links as u64 * self.link_bytes_per_sec
    }
}

/// What came of it; everything but `fill_time` after the first third.
#[derive(Debug)]
pub struct Outcome {
    /// Delivered bytes as a share of the capacity.
    pub utilisation: f64,
    /// Lowest share of the capacity in any window of ten RTTs.
    pub worst_utilisation: f64,
    /// Lost packets as a share of those sent.
    pub loss: f64,
    /// Jain's index over the flows.
    pub fairness: f64,
    /// Mean queueing delay of delivered packets.
    pub mean_delay: Ns,
    /// When 90 % of the capacity were delivered over one RTT for the first time.
    pub fill_time: Option<Ns>,
    /// Shortest time between two decreases of a flow.
    pub decrease_gap: Ns,
    /// What the first flow takes for the base RTT in the end.
    pub base_rtt: Ns,
}

/// Bytes that take `time` at a speed.
fn bytes(time: Ns, bytes_per_sec: u64) -> u64 {
    (u128::from(time) * u128::from(bytes_per_sec) / u128::from(SEC)) as u64
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Enter {
        flow: usize,
        sent: Ns,
        ask: bool,
        entropy: u16,
    },
    Arrive {
        flow: usize,
        sent: Ns,
        marked: bool,
        ask: bool,
        queued: Ns,
    },
    AckDue {
        flow: usize,
        serial: u64,
    },
    Ack {
        flow: usize,
        bytes: u64,
        marked: bool,
        sent: Ns,
    },
    Lost {
        flow: usize,
    },
}

struct Flow {
    window: Window,
    spray: Spraying,
    inflight: u64,
    nic_free: Ns,
    // Receiver.
    greeted: bool,
    pending: u64,
    pending_packets: u32,
    ack_serial: u64,
    // Statistics.
    delivered: u64,
    last_decrease: Option<Ns>,
}

struct Link {
    busy_until: Ns,
}

pub struct Sim {
    scenario: Scenario,
    now: Ns,
    events: BinaryHeap<Reverse<(Ns, u64, Event)>>,
    serial: u64,
    random: u64,
    flows: Vec<Flow>,
    links: Vec<Link>,
    // Statistics.
    warm: bool,
    sent: u64,
    lost: u64,
    delay_sum: u128,
    delay_count: u64,
    bins: Vec<u64>,
    bin: Ns,
    decrease_gap: Ns,
}

impl Sim {
    pub fn run(scenario: Scenario) -> Outcome {
        let flows = (0..scenario.flows)
            .map(|i| Flow {
                window: Window::Nscc(Nscc::new(NsccConfig {
                    link_bytes_per_sec: scenario.told_bytes_per_sec,
                    config_base_rtt: scenario.told_base_rtt,
                    mtu: scenario.mtu,
                    initial_window: scenario.initial_window,
                    min_target: 50 * USEC,
                    params: Params::default(),
                })),
                spray: Spraying::new(&Config {
                    seed: i as u64,
                    ..Config::default()
                })
                .expect("memory"),
                inflight: 0,
                nic_free: 0,
                greeted: false,
                pending: 0,
                pending_packets: 0,
                ack_serial: 0,
                delivered: 0,
                last_decrease: None,
            })
            .collect();
        let serialisation = u64::from(scenario.mtu) * SEC / scenario.link_bytes_per_sec;
        let mut sim = Self {
            bin: scenario.propagation.max(50 * USEC) + serialisation,
            links: (0..scenario.links)
                .map(|_| Link { busy_until: 0 })
                .collect(),
            scenario,
            now: 0,
            events: BinaryHeap::new(),
            serial: 0,
            random: 1,
            flows,
            warm: false,
            sent: 0,
            lost: 0,
            delay_sum: 0,
            delay_count: 0,
            bins: Vec::new(),
            decrease_gap: Ns::MAX,
        };
        sim.go();
        sim.outcome()
    }

    fn go(&mut self) {
        for flow in 0..self.flows.len() {
            self.send(flow);
        }
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > self.scenario.duration {
                break;
            }
            self.now = at;
            if !self.warm && at > self.scenario.duration / 3 {
                self.warm = true;
                self.flows.iter_mut().for_each(|flow| flow.delivered = 0);
                (self.sent, self.lost) = (0, 0);
                (self.delay_sum, self.delay_count) = (0, 0);
            }
            self.handle(event);
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Enter {
                flow,
                sent,
                ask,
                entropy,
            } => self.enter(flow, sent, ask, entropy),
            Event::Arrive {
                flow: index,
                sent,
                marked,
                ask,
                queued,
            } => {
                let mtu = u64::from(self.scenario.mtu);
                self.delay_sum += u128::from(queued);
                self.delay_count += 1;
                let bin = (self.now / self.bin) as usize;
                if self.bins.len() <= bin {
                    self.bins.resize(bin + 1, 0);
                }
                self.bins[bin] += mtu;
                let flow = &mut self.flows[index];
                flow.delivered += mtu;
                flow.pending += mtu;
                flow.pending_packets += 1;
                let first = !std::mem::replace(&mut flow.greeted, true);
                if first || marked || ask || flow.pending >= 16_384 || flow.pending_packets >= 8 {
                    self.ack(index, marked, sent);
                } else if flow.pending_packets == 1 {
                    let serial = flow.ack_serial;
                    self.push(
                        50 * USEC,
                        Event::AckDue {
                            flow: index,
                            serial,
                        },
                    );
                }
            }
            Event::AckDue { flow, serial } => {
                if self.flows[flow].ack_serial == serial && self.flows[flow].pending > 0 {
                    // An ACK sent by the timer yields no RTT worth having here.
                    self.ack(flow, false, Ns::MAX);
                }
            }
            Event::Ack {
                flow: index,
                bytes,
                marked,
                sent,
            } => {
                let now = self.now;
                let flow = &mut self.flows[index];
                flow.inflight -= bytes;
                let mtu = u64::from(self.scenario.mtu);
                let acked = Acked {
                    bytes,
                    marked: marked.then_some(bytes.min(mtu)),
                    rtt: now.checked_sub(sent),
                    len: mtu,
                    inflight: flow.inflight + bytes,
                };
                let event = flow.window.on_ack(now, &acked);
                if event == Some(Counter::WindowDecrease) {
                    if let Some(last) = flow.last_decrease {
                        self.decrease_gap = self.decrease_gap.min(now - last);
                    }
                    flow.last_decrease = Some(now);
                }
                self.send(index);
            }
            Event::Lost { flow: index } => {
                let mtu = u64::from(self.scenario.mtu);
                let flow = &mut self.flows[index];
                flow.inflight -= mtu;
                flow.window.on_loss(self.now, mtu);
                self.send(index);
            }
        }
    }

    fn ack(&mut self, index: usize, marked: bool, sent: Ns) {
        let jitter = match self.scenario.jitter {
            0 => 0,
            jitter => self.random() % jitter,
        };
        let flow = &mut self.flows[index];
        let bytes = std::mem::take(&mut flow.pending);
        flow.pending_packets = 0;
        flow.ack_serial += 1;
        let ack = Event::Ack {
            flow: index,
            bytes,
            marked,
            sent,
        };
        self.push(self.scenario.propagation / 2 + jitter, ack);
    }

    /// Sends what the window allows through the sender's access link.
    fn send(&mut self, index: usize) {
        let mtu = u64::from(self.scenario.mtu);
        let on_nic = mtu * SEC / self.scenario.told_bytes_per_sec;
        loop {
            let now = self.now;
            let flow = &mut self.flows[index];
            if !flow.window.can_send(flow.inflight, mtu) {
                return;
            }
            flow.inflight += mtu;
            flow.nic_free = flow.nic_free.max(now) + on_nic;
            let after = flow.nic_free - now;
            let ask = !flow.window.can_send(flow.inflight, mtu);
            let entropy = flow.spray.next(now);
            self.push(
                after,
                Event::Enter {
                    flow: index,
                    sent: now,
                    ask,
                    entropy,
                },
            );
        }
    }

    /// A packet reaches the queue of the link its entropy value selects.
    fn enter(&mut self, flow: usize, sent: Ns, ask: bool, entropy: u16) {
        let scenario = self.scenario;
        let mtu = u64::from(scenario.mtu);
        let serialisation = mtu * SEC / scenario.link_bytes_per_sec;
        let link = usize::from(entropy) % self.links.len();
        let queued = self.links[link].busy_until.saturating_sub(self.now);
        let depth = bytes(queued, scenario.link_bytes_per_sec);
        let unlucky = self.random() % 1_000_000 < scenario.loss_ppm;
        self.sent += 1;
        if unlucky || depth + mtu > scenario.queue {
            self.lost += 1;
            let rtt = scenario.propagation + queued + serialisation;
            self.push(rtt, Event::Lost { flow });
            return;
        }
        let span = scenario.mark_all - scenario.mark_from;
        let marked =
            depth > scenario.mark_from && depth - scenario.mark_from > self.random() % span.max(1);
        let leave = queued + serialisation;
        self.links[link].busy_until = self.now + leave;
        let arrive = Event::Arrive {
            flow,
            sent,
            marked,
            ask,
            queued,
        };
        self.push(leave + scenario.propagation / 2, arrive);
    }

    fn push(&mut self, after: Ns, event: Event) {
        self.serial += 1;
        self.events
            .push(Reverse((self.now + after, self.serial, event)));
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 16
    }

    fn outcome(&self) -> Outcome {
        let scenario = &self.scenario;
        let per_bin = scenario.capacity() as f64 * self.bin as f64 / SEC as f64;
        let shares: Vec<f64> = self
            .flows
            .iter()
            .map(|flow| flow.delivered as f64)
            .collect();
        let total: f64 = shares.iter().sum();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        let time = (scenario.duration - scenario.duration / 3) as f64 / SEC as f64;
        let full = |bytes: &u64| *bytes as f64 > 0.9 * per_bin;
        let complete = (scenario.duration / self.bin) as usize;
        let bins = &self.bins[..complete.min(self.bins.len())];
        let worst = bins[bins.len() / 3..]
            .windows(10)
            .map(|ten| ten.iter().sum::<u64>() as f64 / (10.0 * per_bin))
            .fold(f64::MAX, f64::min);
        Outcome {
            utilisation: total / (scenario.capacity() as f64 * time),
            worst_utilisation: worst,
            loss: self.lost as f64 / self.sent as f64,
            fairness: total * total / (squares * shares.len() as f64),
            mean_delay: (self.delay_sum / u128::from(self.delay_count.max(1))) as Ns,
            fill_time: bins.iter().position(full).map(|bin| bin as Ns * self.bin),
            decrease_gap: self.decrease_gap,
            base_rtt: self.flows[0].window.base_rtt(),
        }
    }
}
