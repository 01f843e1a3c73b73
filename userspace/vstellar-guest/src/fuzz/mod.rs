// SPDX-License-Identifier: GPL-2.0
//! A fuzzer that knows what it damages: commands, chains, work entries, doorbells, mappings.
//!
//! What is sent is nearly right, because what is all wrong is refused by the first check. A second
//! thread changes memory while the device reads it ([`changer`]). The device must
//!
//! * answer, or say that it needs a reset, and after a reset be as new;
//! * need a reset for nothing but its virtqueues, and memory that was taken away below it;
//! * write nothing where it may only read;
//! * pin nothing any more when nothing is mapped.
//!
//! What it does to the kernel is seen in the kernel's log by whoever runs this.

mod changer;
mod commands;
mod random;

use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::COMMANDS;
use crate::driver::COMMAND_BYTES;
use crate::driver::EP_STATE;
use crate::driver::SLOTS;
use crate::driver::USUAL_RAM;
use crate::endpoint::Pair;
use crate::endpoint::PAIR_LOG2;
use crate::machine::pinned_kb;
use crate::machine::Machine;
use crate::machine::Waited;
use crate::machine::CONTROL;
use crate::machine::EVENT_IDX;
use crate::machine::FEATURES;
use crate::machine::PATIENCE;
use crate::machine::SIZES;
use crate::payload::byte_at;
use crate::queue::Used;
use crate::queue::DESC_INDIRECT;
use crate::queue::DESC_NEXT;
use crate::queue::DESC_WRITE;
use crate::ram::addr;
use crate::ram::Ram;
use crate::ram::BASE;
use crate::sys;
use crate::sys::Mapping;
use crate::wire;
use crate::wire::code;
use crate::wire::rqe;
use crate::wire::Response;
use crate::wire::Sge;
use crate::wire::Sqe;
use crate::wire::Wire;
use crate::wire::RESPONSE_MAX;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use changer::Changer;
use changer::Target;
use clap::Args;
use commands::Known;
use commands::Made;
use random::Random;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use std::time::Instant;
use virtio_queue::desc::split::Descriptor;
use vstellar_core::control::Op;

/// Address of memory that the device may only read.
pub(crate) const GUARD: u64 = BASE + (1 << 32);
const GUARD_BYTES: u64 = 2 << 20;

/// Bytes that are mapped, and taken away, together.
const PIECE: u64 = 2 << 20;

/// Where the device finds the memory from [`BUFFERS`] on, which is for payload. It is so far from the
/// rest that no damage makes an address of it one of a ring's: a guest that receives into its own
/// rings has itself to blame, and nothing could be told from what is in there then.
const DATA: u64 = 0x05a3_c2e8_0000_0000;

/// The device's address of memory for payload.
fn data(at: u64) -> u64 {
    DATA.wrapping_add(at)
}

/// The device's address of a piece.
fn piece_at(at: u64) -> u64 {
    if at < BUFFERS {
        addr(at)
    } else {
        data(at)
    }
}

/// Time in which the device does what it does of its own, to something that may be of no use.
const WHILE: Duration = Duration::from_millis(50);

/// Fuzz a device.
#[derive(Args)]
pub(crate) struct Fuzz {
    /// /dev/vhost-vdpa-N of a device with the address OWN, in a namespace
    device: PathBuf,
    /// Its address
    own: IpAddr,
    /// How many inputs
    #[arg(long, default_value_t = 20_000)]
    count: u64,
    /// The same seed has the same inputs, but for the second thread
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Fuzz {
    pub(crate) fn run(&self) -> Result<()> {
        let start = Instant::now();
        let changer = Changer::new();
        let ram = Ram::new(USUAL_RAM)?;
        let report = thread::scope(|scope| {
            scope.spawn(|| changer.run(&ram, !self.seed));
            let report = self.session(ram.clone(), &changer);
            changer.stop();
            report
        });
        let mut report = report?;
        report["seed"] = self.seed.into();
        report["changes"] = changer.changes().into();
        report["elapsed_ms"] = u64::try_from(start.elapsed().as_millis())?.into();
        println!("{report}");
        Ok(())
    }

    /// All of it, while the thread is there.
    fn session(&self, ram: Ram, changer: &Changer) -> Result<serde_json::Value> {
        let mut session = Session::new(self, ram, changer)?;
        let result = session.run(self.count).and_then(|()| session.end());
        result.with_context(|| format!("seed {}, input {}", self.seed, session.inputs()))?;
        Ok(session.report())
    }
}

/// One device that is being fuzzed.
struct Session<'a> {
    own: IpAddr,
    driver: Driver,
    /// Memory that the device may only read, and what is in it.
    guard: Mapping,
    untouched: Vec<u8>,
    changer: &'a Changer,
    target: Target,
    random: Random,
    known: Known,
    pair: Option<Pair>,
    cookie: u32,
    /// Damaged inputs by kind, and those that were right.
    kinds: BTreeMap<&'static str, u64>,
    right: u64,
    statuses: BTreeMap<u16, u64>,
    resets: u64,
}

impl<'a> Session<'a> {
    fn new(fuzz: &Fuzz, ram: Ram, changer: &'a Changer) -> Result<Session<'a>> {
        let mut file = sys::memfd(c"guard")?;
        let untouched: Vec<_> = (0..GUARD_BYTES).map(byte_at).collect();
        file.write_all(&untouched)?;
        let guard = Mapping::new(Some(&file), GUARD_BYTES as usize)?;
        let mut machine = Machine::open(&fuzz.device, ram)?;
        machine.map(GUARD, GUARD_BYTES, guard.start(), true)?;
        for at in (0..USUAL_RAM).step_by(PIECE as usize) {
            map_piece(&machine, at)?;
        }
        machine.begin(FEATURES)?;
        let mut driver = Driver::silent(machine);
        driver.greet()?;
        Ok(Session {
            own: fuzz.own,
            driver,
            guard,
            untouched,
            changer,
            target: Target::Nothing,
            random: Random::new(fuzz.seed),
            known: Known::default(),
            pair: None,
            cookie: 0,
            kinds: BTreeMap::new(),
            right: 0,
            statuses: BTreeMap::new(),
            resets: 0,
        })
    }

    /// How many there were that no driver would send.
    fn inputs(&self) -> u64 {
        self.kinds.values().sum()
    }

    fn count(&mut self, kind: &'static str, inputs: u64) {
        *self.kinds.entry(kind).or_default() += inputs;
    }

    fn run(&mut self, count: u64) -> Result<()> {
        let mut steps = 0u64;
        while self.inputs() < count {
            if steps % 64 == 0 {
                self.check_guard()?;
                self.aim()?;
            }
            steps += 1;
            match self.random.below(100) {
                0..72 => self.commands()?,
                72..80 => self.chains()?,
                80..92 => self.entries()?,
                92..96 => self.doorbells()?,
                96 => self.mapping()?,
                97 => self.suspend()?,
                _ => self.restart()?,
            }
        }
        Ok(())
    }

    /// Has the second thread change something else.
    fn aim(&mut self) -> Result<()> {
        let targets = [
            Target::Nothing,
            Target::Requests,
            Target::Entries,
            Target::Entries,
            Target::Requests,
            Target::Descriptors,
        ];
        let before = self.target;
        self.target = self.random.pick(&targets).unwrap_or(Target::Nothing);
        self.changer.aim(self.target);
        if before == Target::Descriptors {
            // nobody knows what became of the queue
            self.restart()?;
        }
        Ok(())
    }

    /// Nothing was written where the device may only read.
    fn check_guard(&self) -> Result<()> {
        ensure!(
            self.guard.bytes() == self.untouched,
            "memory to be read only was written"
        );
        Ok(())
    }

    /// Resets the device, which has to be as new then.
    fn restart(&mut self) -> Result<()> {
        self.changer.aim(Target::Nothing);
        self.resets += 1;
        self.known = Known::default();
        self.pair = None;
        let index = self.random.below(2) * EVENT_IDX;
        self.driver
            .restart(FEATURES | index)
            .context("after a reset")?;
        self.changer.aim(self.target);
        Ok(())
    }

    /// What has to hold while nobody changes the rings of virtqueues.
    fn is_tame(&self) -> bool {
        self.target != Target::Descriptors
    }

    /// Some commands at once.
    fn commands(&mut self) -> Result<()> {
        if self.is_tame() {
            self.driver.discard_events()?;
        }
        let count = 1 + self.random.below(u64::from(SIZES[CONTROL]) / 2);
        let mut made: Vec<Option<(Made, u32, u32)>> = Vec::new();
        for chain in 0..count {
            self.cookie = self.cookie.wrapping_add(1);
            let command = self.known.make(&mut self.random, self.own, self.cookie);
            let room = match self.random.below(16) {
                0 => 1 + self.random.below(200) as u32,
                _ => RESPONSE_MAX as u32,
            };
            let at = COMMANDS + chain * COMMAND_BYTES;
            self.driver.machine.ram.write(at, &command.bytes);
            let queue = &mut self.driver.machine.queues[CONTROL];
            let request = (at, command.bytes.len() as u32);
            let head = 2 * chain as u16;
            queue.describe_command(head, request, (at + COMMAND_BYTES / 2, room));
            queue.prepare(head);
            made.push(Some((command, room, self.cookie)));
        }
        let queue = &mut self.driver.machine.queues[CONTROL];
        queue.publish(queue.next);
        queue.notify()?;
        let damaged = made
            .iter()
            .flatten()
            .filter(|(made, ..)| made.damaged)
            .count() as u64;
        self.count("commands", damaged);
        self.right += count - damaged;
        if !self.is_tame() {
            // whatever it was, there is no telling
            self.driver.machine.wait(CONTROL, WHILE)?;
            return self.restart();
        }
        for _ in 0..count {
            let used = match self.driver.machine.wait(CONTROL, PATIENCE)? {
                Waited::Came(used) => used,
                Waited::Broken => bail!("a command has broken the device"),
                Waited::Nothing => bail!("a command is not answered"),
            };
            self.answered(&mut made, used)?;
        }
        Ok(())
    }

    /// Looks at a response.
    fn answered(&mut self, made: &mut [Option<(Made, u32, u32)>], used: Used) -> Result<()> {
        let chain = used.id as usize / 2;
        let place = made.get_mut(chain).filter(|_| used.id % 2 == 0);
        let sent = place.and_then(Option::take);
        let Some((command, room, cookie)) = sent else {
            bail!("chain {} came back, which was not sent", used.id);
        };
        ensure!(used.len <= room, "{} bytes in a room of {room}", used.len);
        if (used.len as usize) < wire::HEADER {
            return Ok(());
        }
        let mut bytes = vec![0; used.len as usize];
        let at = COMMANDS + chain as u64 * COMMAND_BYTES + COMMAND_BYTES / 2;
        self.driver.machine.ram.read(at, &mut bytes);
        let answer = Response::parse(&bytes)?;
        *self.statuses.entry(answer.status).or_default() += 1;
        let same = self.target != Target::Requests
            && command.bytes.get(4..8) == Some(&cookie.to_le_bytes());
        ensure!(
            !same || answer.cookie == cookie,
            "the cookie of another request"
        );
        self.known.learn(command.op, &answer);
        Ok(())
    }

    /// Chains that nobody would make.
    fn chains(&mut self) -> Result<()> {
        let count = 1 + self.random.below(3);
        for _ in 0..count {
            for index in 0..1 + self.random.below(10) as u16 {
                let at = match self.random.below(4) {
                    0 => commands::memory_at(&mut self.random),
                    _ => addr(COMMANDS + self.random.below(32) * COMMAND_BYTES / 2),
                };
                let len = match self.random.below(4) {
                    0 => self.random.number() as u32,
                    _ => 16 + self.random.below(128) as u32,
                };
                let flags = match self.random.below(8) {
                    0 => DESC_INDIRECT,
                    1 => self.random.next() as u16,
                    2 | 3 => DESC_WRITE,
                    4 => DESC_WRITE | DESC_NEXT,
                    5 => 0,
                    _ => DESC_NEXT,
                };
                let next = match self.random.below(4) {
                    0 => self.random.number() as u16,
                    _ => index + 1,
                };
                let queue = &self.driver.machine.queues[CONTROL];
                queue.describe(index, Descriptor::new(at, len, flags, next));
            }
            let head = match self.random.below(8) {
                0 => self.random.number() as u16,
                _ => self.random.below(4) as u16,
            };
            self.driver.machine.queues[CONTROL].prepare(head);
        }
        let queue = &mut self.driver.machine.queues[CONTROL];
        let index = match self.random.below(16) {
            0 => self.random.number() as u16,
            _ => queue.next,
        };
        queue.publish(index);
        queue.kick()?;
        self.count("chains", count);
        for _ in 0..count {
            if !matches!(self.driver.machine.wait(CONTROL, WHILE)?, Waited::Came(_)) {
                break;
            }
        }
        // a response may have been written over anything
        self.restart()
    }

    /// A connection of the device to itself that works.
    fn pair(&mut self) -> Result<Pair> {
        if let Some(pair) = self.pair.take() {
            let state = |end: usize| {
                let at = slot(pair.ends[end].slot, EP_STATE);
                u32::from_le(self.driver.machine.ram.load::<u32>(at)) & 0xff
            };
            if state(0) == 4 && state(1) == 4 {
                return Ok(pair);
            }
        }
        let target = std::mem::replace(&mut self.target, Target::Nothing);
        self.restart()?;
        self.target = target;
        let pair = Pair::new(&mut self.driver, self.own).context("a new connection")?;
        self.changer.aim(target);
        Ok(pair)
    }

    /// Work entries, some of them damaged.
    fn entries(&mut self) -> Result<()> {
        if !self.is_tame() {
            return self.commands();
        }
        let mut pair = self.pair()?;
        let count = 1 + self.random.below(1 << PAIR_LOG2);
        for _ in 0..count {
            let entry = Sqe::send(self.random.next(), self.segment()).encode();
            let entry = self.damage_some(entry);
            pair.ends[0].put_send(&entry);
            let entry = rqe(self.random.next(), self.segment());
            let entry = self.damage_some(entry);
            pair.ends[1].put_receive(&entry);
        }
        for end in &mut pair.ends {
            end.tell(&mut self.driver)?;
        }
        // a command that is answered later than the kick: the entries were looked at, then
        for _ in 0..2 {
            self.driver.command(code(Op::Resume), 0, &[])?;
        }
        while pair.cq.take().is_some() {}
        self.driver.discard_events()?;
        ensure!(
            !self.driver.machine.is_broken()?,
            "an entry has broken the device"
        );
        self.pair = Some(pair);
        Ok(())
    }

    fn segment(&mut self) -> Sge {
        let key = match self.random.below(8) {
            0 => self.random.pick(&self.known.keys).unwrap_or(1),
            _ => 0,
        };
        Sge {
            addr: match self.random.below(16) {
                0 => commands::memory_at(&mut self.random),
                _ => data(BUFFERS + self.random.below(1 << 20)),
            },
            len: 1 + self.random.below(4096) as u32,
            key,
        }
    }

    /// Damages some of the entries: not all, since what comes after a wrong one is not looked at.
    fn damage_some(&mut self, mut entry: Wire) -> Wire {
        if self.random.one_in(8) {
            self.random.damage(&mut entry.0);
            self.count("entries", 1);
        } else {
            self.right += 1;
        }
        entry
    }

    /// Indices and bits that mean nothing.
    fn doorbells(&mut self) -> Result<()> {
        let count = 1 + self.random.below(16);
        for _ in 0..count {
            let number = self.random.below(16) as u32;
            let field = 4 * self.random.below(4);
            let value = self.random.number() as u32;
            let ram = &self.driver.machine.ram;
            let value = match self.random.below(2) {
                0 => value,
                // near what is there
                _ => u32::from_le(ram.load(slot(number, field))).wrapping_add(value % 32),
            };
            ram.store(slot(number, field), value.to_le());
            let bell = match self.random.below(8) {
                0 => self.random.below(u64::from(SLOTS) * 64) as u32,
                _ => number,
            };
            self.driver.ring_bell(bell)?;
        }
        self.count("doorbells", count);
        self.pair = None;
        Ok(())
    }

    /// Memory goes away below whatever is there, and comes back.
    fn mapping(&mut self) -> Result<()> {
        let piece = self.random.below(USUAL_RAM / PIECE) * PIECE;
        self.driver.machine.unmap(piece_at(piece), PIECE)?;
        self.driver.machine.queues[CONTROL].kick()?;
        map_piece(&self.driver.machine, piece)?;
        self.count("mappings", 1);
        self.restart()
    }

    /// Suspended at any time, the device goes on where it was.
    fn suspend(&mut self) -> Result<()> {
        self.driver.machine.suspend()?;
        self.driver.machine.queues[CONTROL].kick()?;
        self.driver.machine.resume()?;
        self.count("suspensions", 1);
        Ok(())
    }

    /// The device is as new, and nothing stays pinned.
    fn end(&mut self) -> Result<()> {
        self.target = Target::Nothing;
        self.restart()?;
        Pair::new(&mut self.driver, self.own).context("a connection, in the end")?;
        self.check_guard()?;
        for at in (0..USUAL_RAM).step_by(PIECE as usize) {
            self.driver.machine.unmap(piece_at(at), PIECE)?;
        }
        self.driver.machine.unmap(GUARD, GUARD_BYTES)?;
        ensure!(pinned_kb()? == 0, "{} kB stay pinned", pinned_kb()?);
        Ok(())
    }

    fn report(&self) -> serde_json::Value {
        serde_json::json!({
            "inputs": self.inputs(), "right": self.right, "kinds": self.kinds, "statuses": self.statuses,
            "resets": self.resets,
        })
    }
}

fn map_piece(machine: &Machine, at: u64) -> Result<()> {
    let start = machine
        .ram
        .host_address()?
        .wrapping_add(usize::try_from(at)?);
    machine.map(piece_at(at), PIECE, start, false)
}
