// SPDX-License-Identifier: GPL-2.0
//! One run: network, hosts and workload, and the loop that moves time.

use crate::event::EndId;
use crate::event::Event;
use crate::event::Events;
use crate::host::End;
use crate::host::Notice;
use crate::host::Place;
use crate::host::Transport;
use crate::net::flow_hash;
use crate::net::LinkId;
use crate::net::Net;
use crate::net::Node;
use crate::net::Packet;
use crate::outcome::Outcome;
use crate::random::Random;
use crate::random::Stream;
use crate::scenario::BadInput;
use crate::scenario::Scenario;
use crate::schedule::Schedule;
use crate::time::Ps;
use crate::topology;
use crate::watch::Flow;
use crate::watch::Look;
use crate::workload::Plan;
use crate::workload::Start;
use crate::workload::Trigger;
use std::collections::HashMap;
use std::collections::VecDeque;

/// The network card of a host.
#[derive(Default)]
struct Card {
    /// Ends that may have something to send, in the order of their turns.
    ready: VecDeque<EndId>,
}

/// An end of a connection and what the simulator knows about it.
struct Slot {
    end: Box<dyn End>,
    host: u32,
    /// The traffic it belongs to.
    class: u8,
    /// When its timer event comes, if there is one.
    armed: Option<Ps>,
    /// Whether it waits for its turn.
    ready: bool,
}

/// A message on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    started: Ps,
    /// Parts that have not arrived, and that are not acknowledged.
    missing: u32,
    unacked: u32,
}

/// A run.
pub struct Sim {
    events: Events,
    net: Net,
    schedule: Schedule,
    /// How often somebody looks, and at which links.
    watch: Option<(Ps, Vec<Vec<LinkId>>)>,
    /// Transport of each class of traffic, and connections per pair of hosts.
    classes: Vec<(Transport, u32)>,
    /// Bytes of the largest packet.
    mtu: u64,
    wait_for_background: bool,
    cards: Vec<Card>,
    slots: Vec<Slot>,
    /// Connections of each pair of hosts: number of the first sending end.
    pairs: HashMap<(u8, u32, u32), EndId>,
    plan: Plan,
    progress: Vec<Progress>,
    /// Messages each trigger still waits for.
    needs: Vec<u32>,
    /// Messages not acknowledged yet.
    open: usize,
    random: Random,
    outcome: Outcome,
    // Kept to save allocations.
    packets: Vec<Packet>,
    notices: Vec<Notice>,
}

impl Sim {
    /// Sets a scenario up.
    pub fn new(scenario: &Scenario) -> Result<Self, BadInput> {
        let net = topology::build(scenario)?;
        scenario.check()?;
        let hosts = scenario.topology.hosts;
        let plan = scenario.plan()?;
        let schedule = Schedule::new(&scenario.schedule, &net)?;
        let watch = scenario.watch.as_ref();
        let watch = watch
            .map(|watch| Ok((watch.every.0, watch.groups(&net)?)))
            .transpose()?;
        let background = scenario.background.iter().map(|other| &other.transport);
        let transports: Vec<_> = [&scenario.transport]
            .into_iter()
            .chain(background)
            .collect();
        let classes = transports
            .iter()
            .map(|transport| {
                let setup = transport.setup(&scenario.topology)?;
                Ok((setup, transport.connections))
            })
            .collect::<Result<_, _>>()?;
        let mtu = transports.iter().map(|transport| transport.mtu).max();
        let mut events = Events::default();
        for (number, at) in (0..).zip(schedule.times()) {
            events.at(at, Event::Change(number));
        }
        if watch.is_some() {
            events.at(0, Event::Look);
        }
        for (number, message) in (0..).zip(&plan.messages) {
            if let Start::At(at) = message.start {
                events.at(at, Event::Post(number));
            }
        }
        Ok(Self {
            events,
            net,
            schedule,
            watch,
            classes,
            mtu: u64::from(mtu.unwrap_or(0)),
            wait_for_background: scenario.wait_for_background,
            cards: (0..hosts).map(|_| Card::default()).collect(),
            slots: Vec::new(),
            pairs: HashMap::new(),
            progress: vec![Progress::default(); plan.messages.len()],
            needs: plan.triggers.iter().map(|trigger| trigger.needs).collect(),
            open: plan
                .messages
                .iter()
                .filter(|message| message.class == 0 || scenario.wait_for_background)
                .count(),
            outcome: Outcome::new(&plan),
            plan,
            random: Random::new(scenario.seed, Stream::Connections),
            packets: Vec::new(),
            notices: Vec::new(),
        })
    }

    /// Runs until all messages are acknowledged, or until the time limit.
    pub fn run(mut self, limit: Ps) -> Outcome {
        while self.open > 0 {
            let Some(event) = self.events.next(limit) else {
                break;
            };
            self.handle(event);
        }
        if self.watch.is_some() {
            self.look();
        }
        for slot in &mut self.slots {
            slot.end.counters(&mut self.outcome.counters);
        }
        let ends = self.slots.iter().map(|slot| slot.end.counts());
        self.outcome.finish(&self.events, &self.net, ends);
        self.outcome
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(link, packet) => {
                if self.net.arrive(&mut self.events, link, packet).is_some() {
                    self.receive(packet);
                }
            }
            Event::Free(link) => {
                self.net.free(&mut self.events, link);
                if let Node::Host(host) = self.net.links[link as usize].from {
                    self.pull(host);
                }
            }
            Event::Pause(link, stop) => self.net.pause(&mut self.events, link, stop),
            Event::Wake(end) => self.wake(end),
            Event::Post(message) => self.post(message),
            Event::Look => self.look(),
            Event::Change(number) => self.schedule.apply(number, &mut self.net),
        }
    }

    /// Looks at what is watched, and sees to it that this goes on.
    fn look(&mut self) {
        let Some((every, groups)) = &self.watch else {
            return;
        };
        let now = self.events.now();
        let pairs = self.slots.chunks_exact(2);
        let measured = pairs.filter(|pair| pair[0].class == 0);
        let flows = measured
            .map(|pair| Flow::of(&pair[0].end.counts(), &pair[1].end.counts()))
            .collect();
        let look = Look::new(now, groups, &self.net, flows);
        self.outcome.seen.looks.push(look);
        self.events.at(now + every, Event::Look);
    }

    fn receive(&mut self, id: u32) {
        let now = self.events.now();
        let packet = self.net.packets.get(id);
        let end = packet.end;
        self.slots[end as usize].end.receive(now, packet);
        self.net.packets.forget(id);
        self.touched(end);
    }

    fn wake(&mut self, end: EndId) {
        let now = self.events.now();
        let slot = &mut self.slots[end as usize];
        if slot.armed != Some(now) {
            // The timer was set for an earlier time since.
            return;
        }
        slot.armed = None;
        match slot.end.deadline() {
            Some(at) if at <= now => {
                slot.end.wake(now);
                self.touched(end);
            }
            _ => self.arm(end),
        }
    }

    /// Something has happened at an end: it may have news, and something to send.
    fn touched(&mut self, end: EndId) {
        let mut notices = std::mem::take(&mut self.notices);
        self.slots[end as usize].end.notices(&mut notices);
        for notice in notices.drain(..) {
            self.notice(notice);
        }
        self.notices = notices;
        let slot = &mut self.slots[end as usize];
        let host = slot.host;
        if end % 2 == 1 {
            // Nothing but acknowledgements, for which there is always room.
            while self.poll(end) {}
            self.arm(end);
            return;
        }
        if !slot.ready {
            slot.ready = true;
            self.cards[host as usize].ready.push_back(end);
        }
        self.arm(end);
        self.pull(host);
    }

    /// Sets the timer of an end.
    fn arm(&mut self, end: EndId) {
        let slot = &mut self.slots[end as usize];
        let Some(at) = slot.end.deadline() else {
            return;
        };
        let now = self.events.now();
        if slot.ready && at <= now {
            // All it waits for is its turn, after which it is asked again.
            return;
        }
        let at = at.max(now + 1);
        if slot.armed.is_none_or(|armed| at < armed) {
            slot.armed = Some(at);
            self.events.at(at, Event::Wake(end));
        }
    }

    /// The card of a host asks its connections for packets while there is room.
    fn pull(&mut self, host: u32) {
        while self.has_room(host) {
            let Some(end) = self.cards[host as usize].ready.pop_front() else {
                return;
            };
            if self.poll(end) {
                self.cards[host as usize].ready.push_back(end);
            } else {
                self.slots[end as usize].ready = false;
                self.arm(end);
            }
        }
    }

    /// Whether less than a packet waits at each port of a host.
    fn has_room(&self, host: u32) -> bool {
        let ports = &self.net.uplinks[host as usize];
        let links = ports.iter().map(|&port| &self.net.links[port as usize]);
        let waiting: u64 = links.map(|link| link.data_bytes()).sum();
        waiting < self.mtu * ports.len() as u64
    }

    /// Lets an end send what it has to send next, and says whether that was anything.
    fn poll(&mut self, end: EndId) -> bool {
        let now = self.events.now();
        let slot = &mut self.slots[end as usize];
        let host = slot.host;
        slot.end.poll(now, &mut self.packets);
        let any = !self.packets.is_empty();
        let mut packets = std::mem::take(&mut self.packets);
        for packet in packets.drain(..) {
            let ports = &self.net.uplinks[host as usize];
            let plane = if ports.len() > 1 {
                flow_hash(u64::from(host), &packet) as usize % ports.len()
            } else {
                0
            };
            let port = ports[plane];
            let id = self.net.packets.keep(packet);
            self.net.put(&mut self.events, port, id);
        }
        self.packets = packets;
        any
    }

    /// The sending end of the first connection of a class between two hosts.
    fn connection(&mut self, class: u8, src: u32, dst: u32) -> EndId {
        if let Some(&end) = self.pairs.get(&(class, src, dst)) {
            return end;
        }
        let first = self.slots.len() as EndId;
        for _ in 0..self.classes[usize::from(class)].1 {
            let sender = self.slots.len() as EndId;
            let place = |host, peer, peer_end| Place {
                host,
                peer,
                peer_end,
            };
            let places = [place(src, dst, sender + 1), place(dst, src, sender)];
            let seeds = [self.random.bits(), self.random.bits()];
            let now = self.events.now();
            let transport = &self.classes[usize::from(class)].0;
            for (end, host) in transport
                .connect(seeds, places, now)
                .into_iter()
                .zip([src, dst])
            {
                self.slots.push(Slot {
                    end,
                    host,
                    class,
                    armed: None,
                    ready: false,
                });
            }
        }
        self.pairs.insert((class, src, dst), first);
        first
    }

    /// A message starts.
    fn post(&mut self, number: u32) {
        let now = self.events.now();
        let message = self.plan.messages[number as usize];
        let first = self.connection(message.class, message.src, message.dst);
        let parts = u64::from(self.classes[usize::from(message.class)].1);
        let mut started = 0;
        for part in 0..parts {
            let upto = |part: u64| message.bytes * part / parts;
            let bytes = upto(part + 1) - upto(part);
            if bytes == 0 {
                continue;
            }
            started += 1;
            let sender = first + 2 * part as EndId;
            for end in [sender, sender + 1] {
                self.slots[end as usize].end.post(now, number, bytes);
            }
        }
        self.progress[number as usize] = Progress {
            started: now,
            missing: started,
            unacked: started,
        };
        for part in 0..parts as EndId {
            self.touched(first + 2 * part);
        }
    }

    fn notice(&mut self, notice: Notice) {
        let now = self.events.now();
        let fired = match notice {
            Notice::Received(number) => {
                let progress = &mut self.progress[number as usize];
                progress.missing -= 1;
                if progress.missing > 0 {
                    return;
                }
                self.outcome.received(number, now - progress.started);
                self.plan.messages[number as usize].on_received
            }
            Notice::Acked(number) => {
                let progress = &mut self.progress[number as usize];
                progress.unacked -= 1;
                if progress.unacked > 0 {
                    return;
                }
                if self.plan.messages[number as usize].class == 0 || self.wait_for_background {
                    self.open -= 1;
                }
                self.outcome.acked(number, now - progress.started, now);
                self.plan.messages[number as usize].on_acked
            }
            Notice::Failed => {
                self.outcome.failed += 1;
                return;
            }
        };
        let Some(trigger) = fired else {
            return;
        };
        if Trigger::count(&mut self.needs[trigger as usize]) {
            for &start in &self.plan.triggers[trigger as usize].starts {
                self.events.at(now, Event::Post(start));
            }
        }
    }
}
