// SPDX-License-Identifier: GPL-2.0
//! Traffic patterns.

use super::sizes::Sizes;
use super::Plan;
use super::Start;
use super::Trigger;
use crate::random::Random;
use crate::scenario::bad;
use crate::scenario::BadInput;
use crate::time::Ps;
use crate::time::SEC;

/// A random cycle through all hosts: nobody sends to itself.
fn cycle(hosts: u32, random: &mut Random) -> Result<Vec<(u32, u32)>, BadInput> {
    if hosts < 2 {
        return bad(format!("workload: nothing to be sent among {hosts} host"));
    }
    let mut order: Vec<u32> = (0..hosts).collect();
    random.shuffle(&mut order);
    let next = order.iter().cycle().skip(1);
    Ok(order.iter().copied().zip(next.copied()).collect())
}

/// Each host sends to one other and receives from one other.
pub fn permutation(hosts: u32, bytes: u64, random: &mut Random) -> Result<Plan, BadInput> {
    let mut plan = Plan::default();
    for (src, dst) in cycle(hosts, random)? {
        plan.at(0, src, dst, bytes);
    }
    Ok(plan)
}

/// Each host of the first half sends to one of the second half.
pub fn across(hosts: u32, bytes: u64) -> Result<Plan, BadInput> {
    if hosts < 2 || hosts % 2 != 0 {
        return bad(format!("workload: {hosts} hosts have no two halves"));
    }
    let mut plan = Plan::default();
    for src in 0..hosts / 2 {
        plan.at(0, src, src + hosts / 2, bytes);
    }
    Ok(plan)
}

/// Host 0 sends `flows` messages to the last host, side by side.
pub fn pair(hosts: u32, bytes: u64, flows: u32) -> Result<Plan, BadInput> {
    if hosts < 2 {
        return bad(format!("workload: no pair among {hosts} host"));
    }
    few(flows.into())?;
    let mut plan = Plan::default();
    for _ in 0..flows {
        plan.at(0, 0, hosts - 1, bytes);
    }
    Ok(plan)
}

/// `senders` hosts send to host 0, taken evenly from all others.
pub fn incast(hosts: u32, bytes: u64, senders: u32) -> Result<Plan, BadInput> {
    if senders == 0 || senders >= hosts {
        return bad(format!(
            "workload: no incast of {senders} senders among {hosts} hosts"
        ));
    }
    let mut plan = Plan::default();
    for i in 0..senders {
        let src = 1 + u64::from(i) * u64::from(hosts - 1) / u64::from(senders);
        plan.at(0, src as u32, 0, bytes);
    }
    Ok(plan)
}

/// An incast to host 0, and one message to host 1, which is below the same switch.
/// That message is the first.
pub fn victim(hosts: u32, bytes: u64, senders: u32) -> Result<Plan, BadInput> {
    if hosts < 3 || senders > hosts - 3 {
        return bad(format!(
            "workload: no victim of {senders} senders among {hosts} hosts"
        ));
    }
    let mut plan = Plan::default();
    plan.at(0, hosts - 1, 1, bytes);
    for i in 0..senders {
        let src = 2 + u64::from(i) * u64::from(hosts - 3) / u64::from(senders);
        plan.at(0, src as u32, 0, bytes);
    }
    Ok(plan)
}

/// Each host sends to all others, `parallel` at a time, beginning with its neighbour.
pub fn all_to_all(hosts: u32, bytes: u64, parallel: u32) -> Result<Plan, BadInput> {
    if hosts < 2 || parallel == 0 {
        return bad(format!(
            "workload: no all-to-all of {hosts} hosts, {parallel} messages at a time"
        ));
    }
    few(f64::from(hosts) * f64::from(hosts))?;
    let mut plan = Plan::default();
    for src in 0..hosts {
        let mut sent: Vec<u32> = Vec::new();
        for step in 1..hosts {
            let dst = (src + step) % hosts;
            let before = (step as usize).checked_sub(1 + parallel as usize);
            let message = match before.map(|i| sent[i]) {
                None => plan.at(0, src, dst, bytes),
                Some(earlier) => plan.after_acked(earlier, src, dst, bytes),
            };
            sent.push(message);
        }
    }
    Ok(plan)
}

/// All-reduce of `bytes` over a ring: each host's share of the bytes goes around twice. It
/// is cut into `parts`, each of which goes on as soon as it has arrived, as collective
/// libraries do: while one is late the others keep the links busy.
pub fn ring_all_reduce(ring: &[u32], bytes: u64, parts: u32) -> Result<Plan, BadInput> {
    let n = ring.len();
    if n < 2 || parts == 0 {
        return bad(format!("workload: no ring of {n} hosts in {parts} parts"));
    }
    few(2.0 * n as f64 * n as f64 * f64::from(parts))?;
    let part = (bytes / n as u64 / u64::from(parts)).max(1);
    let mut plan = Plan::default();
    let neighbour = |i: usize| ring[(i + 1) % n];
    for _ in 0..parts {
        let mut last: Vec<u32> = (0..n)
            .map(|i| plan.at(0, ring[i], neighbour(i), part))
            .collect();
        for _ in 1..2 * (n - 1) {
            // What has arrived from the neighbour before goes on.
            last = (0..n)
                .map(|i| plan.after(&[last[(i + n - 1) % n]], ring[i], neighbour(i), part))
                .collect();
        }
    }
    Ok(plan)
}

/// All-reduce of `bytes` over a binary tree: summed up towards host 0, then sent back
/// down, in `parts` that follow each other.
pub fn tree_all_reduce(hosts: u32, bytes: u64, parts: u32) -> Result<Plan, BadInput> {
    if hosts < 2 || parts == 0 {
        return bad(format!(
            "workload: no tree of {hosts} hosts in {parts} parts"
        ));
    }
    few(2.0 * f64::from(hosts) * f64::from(parts))?;
    let part = (bytes / u64::from(parts)).max(1);
    let mut plan = Plan::default();
    for _ in 0..parts {
        let mut up: Vec<Option<u32>> = vec![None; hosts as usize];
        let children = |host: u32| [2 * host + 1, 2 * host + 2];
        for host in (1..hosts).rev() {
            let from: Vec<u32> = children(host)
                .iter()
                .filter_map(|&child| up.get(child as usize).copied().flatten())
                .collect();
            let parent = (host - 1) / 2;
            up[host as usize] = Some(if from.is_empty() {
                plan.at(0, host, parent, part)
            } else {
                plan.after(&from, host, parent, part)
            });
        }
        let mut down: Vec<Option<u32>> = vec![None; hosts as usize];
        for host in 1..hosts {
            let parent = (host - 1) / 2;
            let sums: Vec<u32> = children(0)
                .iter()
                .filter_map(|&child| up.get(child as usize).copied().flatten())
                .collect();
            // Both children of a host wait for the same messages.
            let waits = match down[parent as usize] {
                Some(from) => vec![from],
                None => sums,
            };
            down[host as usize] = Some(plan.with_others(&waits, host, parent, part));
        }
    }
    Ok(plan)
}

/// Most messages that are drawn: each costs memory.
const MOST_DRAWN: f64 = 1e7;

/// Whether so many messages are not too many.
fn few(messages: f64) -> Result<(), BadInput> {
    if messages > MOST_DRAWN {
        return bad(format!("workload: {messages:.0} messages are too many"));
    }
    Ok(())
}

/// Messages that come at random times, as many as make up `load` of what hosts can
/// send.
pub struct Poisson {
    /// Sizes of the messages.
    pub sizes: Sizes,
    /// Their size if it is fixed.
    pub bytes: u64,
    /// Part of the hosts' rate.
    pub load: f64,
    /// Bits per second of each host.
    pub rate: u64,
    /// How long messages keep coming.
    pub duration: Ps,
}

impl Poisson {
    /// All messages.
    pub fn plan(&self, hosts: u32, random: &mut Random) -> Result<Plan, BadInput> {
        let possible = self.load > 0.0 && self.load <= 1.0;
        if hosts < 2 || !possible {
            return bad(format!(
                "workload: no load of {} among {hosts} hosts",
                self.load
            ));
        }
        let bytes_per_sec = self.load * self.rate as f64 / 8.0 * f64::from(hosts);
        let interval = self.sizes.mean(self.bytes) / bytes_per_sec * SEC as f64;
        few(self.duration as f64 / interval)?;
        let mut plan = Plan::default();
        let mut at = 0.0;
        loop {
            at -= (1.0 - random.unit()).ln() * interval;
            if at >= self.duration as f64 {
                return Ok(plan);
            }
            let src = random.below(u64::from(hosts)) as u32;
            let other = random.below(u64::from(hosts) - 1) as u32;
            let dst = other + u32::from(other >= src);
            let bytes = self.sizes.draw(self.bytes, random);
            plan.at(at as Ps, src, dst, bytes);
        }
    }
}

/// A permutation whose hosts send for a time and pause for a time, not all together.
pub struct OnOff {
    /// Bytes of each message, which is what a host sends at a time.
    pub bytes: u64,
    /// Time from the beginning of one to the beginning of the next.
    pub period: Ps,
    /// How long that goes on.
    pub duration: Ps,
}

impl OnOff {
    /// All messages.
    pub fn plan(&self, hosts: u32, random: &mut Random) -> Result<Plan, BadInput> {
        if self.period == 0 {
            return bad("workload: on-off without a period".to_string());
        }
        few(f64::from(hosts) * self.duration as f64 / self.period as f64)?;
        let mut plan = Plan::default();
        for (src, dst) in cycle(hosts, random)? {
            let mut at = random.below(self.period);
            while at < self.duration {
                plan.at(at, src, dst, self.bytes);
                at += self.period;
            }
        }
        Ok(plan)
    }
}

impl Plan {
    /// Adds a message that starts when another is acknowledged.
    fn after_acked(&mut self, earlier: u32, src: u32, dst: u32, bytes: u64) -> u32 {
        let trigger = self.triggers.len() as u32;
        self.messages[earlier as usize].on_acked = Some(trigger);
        let message = self.at(0, src, dst, bytes);
        self.messages[message as usize].start = Start::On(trigger);
        self.triggers.push(Trigger {
            needs: 1,
            starts: vec![message],
        });
        message
    }

    /// Adds a message from `parent` to `host` that starts when all of `others` have
    /// arrived, which may start further messages.
    fn with_others(&mut self, others: &[u32], host: u32, parent: u32, bytes: u64) -> u32 {
        let trigger = others
            .first()
            .and_then(|&other| self.messages[other as usize].on_received);
        let Some(trigger) = trigger else {
            return self.after(others, parent, host, bytes);
        };
        let message = self.at(0, parent, host, bytes);
        self.messages[message as usize].start = Start::On(trigger);
        self.triggers[trigger as usize].starts.push(message);
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn a_permutation_gives_everyone_one_to_send_and_one_to_receive() {
        let mut random = Random::new(3, Stream::Workload);
        let plan = permutation(17, 5, &mut random).unwrap();
        let sorted = |of: fn(&super::super::Message) -> u32| {
            let mut hosts: Vec<u32> = plan.messages.iter().map(of).collect();
            hosts.sort_unstable();
            hosts
        };
        let all: Vec<u32> = (0..17).collect();
        assert_eq!(sorted(|message| message.src), all);
        assert_eq!(sorted(|message| message.dst), all);
        assert!(plan
            .messages
            .iter()
            .all(|message| message.src != message.dst));
    }

    #[test]
    fn one_half_sends_across_to_the_other() {
        let plan = across(6, 5).unwrap();
        let pairs = plan
            .messages
            .iter()
            .map(|message| (message.src, message.dst));
        assert_eq!(pairs.collect::<Vec<_>>(), [(0, 3), (1, 4), (2, 5)]);
        assert!(across(5, 5).is_err() && across(0, 5).is_err());
    }

    #[test]
    fn a_ring_moves_twice_the_bytes_but_two_parts() {
        let plan = ring_all_reduce(&[0, 1, 2, 3], 4000, 1).unwrap();
        assert_eq!(plan.messages.len(), 4 * 6);
        let sent: u64 = plan.messages.iter().map(|message| message.bytes).sum();
        assert_eq!(sent, 4 * 6 * 1000);
        let first = plan.messages.iter().filter(|m| m.start == Start::At(0));
        assert_eq!(first.count(), 4);
    }

    #[test]
    fn the_parts_of_a_ring_do_not_wait_for_each_other() {
        let plan = ring_all_reduce(&[0, 1, 2, 3], 4000, 2).unwrap();
        assert_eq!(plan.messages.len(), 2 * 4 * 6);
        assert!(plan.messages.iter().all(|message| message.bytes == 500));
        let first = plan.messages.iter().filter(|m| m.start == Start::At(0));
        assert_eq!(first.count(), 2 * 4);
        assert!(plan.triggers.iter().all(|trigger| trigger.needs == 1));
    }

    #[test]
    fn a_tree_reduces_before_it_spreads() {
        let plan = tree_all_reduce(7, 100, 1).unwrap();
        assert_eq!(plan.messages.len(), 12);
        let roots: Vec<_> = plan.messages.iter().filter(|m| m.src == 0).collect();
        assert_eq!(roots.len(), 2);
        // Both wait for both sums.
        let Start::On(trigger) = roots[0].start else {
            panic!("the root sends without waiting");
        };
        assert_eq!(roots[1].start, Start::On(trigger));
        assert_eq!(plan.triggers[trigger as usize].needs, 2);
    }

    #[test]
    fn poisson_messages_make_up_the_load() {
        let mut random = Random::new(3, Stream::Workload);
        let poisson = Poisson {
            sizes: Sizes::Fixed,
            bytes: 10_000,
            load: 0.5,
            rate: 8_000_000_000,
            duration: SEC / 100,
        };
        let plan = poisson.plan(10, &mut random).unwrap();
        let sent: u64 = plan.messages.iter().map(|message| message.bytes).sum();
        // 10 hosts at half of 1 GB/s for 10 ms.
        assert!((0.9..1.1).contains(&(sent as f64 / 50e6)), "{sent}");
    }

    #[test]
    fn all_to_all_sends_the_next_when_one_is_done() {
        let plan = all_to_all(5, 10, 2).unwrap();
        assert_eq!(plan.messages.len(), 20);
        let at_once = plan.messages.iter().filter(|m| m.start == Start::At(0));
        assert_eq!(at_once.count(), 10);
    }
}
