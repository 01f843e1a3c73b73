// SPDX-License-Identifier: GPL-2.0
//! A fuzzer that knows what it damages: commands, chains, work entries, doorbells, mappings.
//!
//! And, which is no damage but a bad idea, memory of the virtqueues as payload and rings ([`aliases`]).
//!
//! What is sent is nearly right, because what is all wrong is refused by the first check. A second
//! thread changes memory while the device reads it ([`changer`]). The device must
//!
//! * answer, or say that it needs a reset, and after a reset be as new;
//! * need a reset for nothing but its virtqueues, also where it was told to write over them, and memory
//!   that was taken away below it;
//! * write nothing where it may only read;
//! * pin nothing any more when nothing is mapped.
//!
//! What it does to the kernel is seen in the kernel's log by whoever runs this.

mod aliases;
mod chains;
mod changer;
mod commands;
mod places;
mod random;
mod work;

use crate::driver::Driver;
use crate::driver::COMMANDS;
use crate::driver::COMMAND_BYTES;
use crate::endpoint::Pair;
use crate::machine::bit;
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
use crate::ram::Ram;
use crate::sys;
use crate::sys::Mapping;
use crate::wire;
use crate::wire::Response;
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
use places::Piece;
use places::GUARD;
use places::GUARD_BYTES;
use random::Random;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use std::time::Instant;
use vstellar_core::abi;

/// Time in which the device does what it does of its own, to something that may be of no use.
const WHILE: Duration = Duration::from_millis(50);

/// Fuzz a device.
#[derive(Args)]
pub(crate) struct Fuzz {
    /// /dev/vhost-vdpa-N of a device with the address OWN, in a namespace, that may make as many
    /// connections as it likes
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
        let ram = places::ram()?;
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
    /// The feature of lending send buffers, if the device has it.
    lends: u64,
    driver: Driver,
    /// Memory that the device may only read, and what is in it.
    guard: Mapping,
    untouched: Vec<u8>,
    changer: &'a Changer,
    target: Target,
    random: Random,
    known: Known,
    /// Connections of the device to itself, as far as work entries have left them alone.
    pairs: Vec<Pair>,
    cookie: u32,
    /// Damaged inputs by kind, and those that were right.
    kinds: BTreeMap<&'static str, u64>,
    right: u64,
    statuses: BTreeMap<u16, u64>,
    resets: u64,
    /// What took how long.
    times: BTreeMap<&'static str, Duration>,
}

impl<'a> Session<'a> {
    fn new(fuzz: &Fuzz, ram: Ram, changer: &'a Changer) -> Result<Session<'a>> {
        let mut file = sys::memfd(c"guard")?;
        let untouched: Vec<_> = (0..GUARD_BYTES).map(byte_at).collect();
        file.write_all(&untouched)?;
        let guard = Mapping::new(Some(&file), GUARD_BYTES as usize)?;
        let mut machine = Machine::open(&fuzz.device, ram)?;
        machine.map(GUARD, GUARD_BYTES, guard.start(), true)?;
        for piece in Piece::all() {
            piece.map(&machine)?;
        }
        let lends = machine.offered()? & bit(abi::F_ZC);
        machine.begin(FEATURES | lends)?;
        let mut driver = Driver::silent(machine);
        driver.greet()?;
        Ok(Session {
            own: fuzz.own,
            lends,
            driver,
            guard,
            untouched,
            changer,
            target: Target::Nothing,
            random: Random::new(fuzz.seed),
            known: Known::default(),
            pairs: Vec::new(),
            cookie: 0,
            kinds: BTreeMap::new(),
            right: 0,
            statuses: BTreeMap::new(),
            resets: 0,
            times: BTreeMap::new(),
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
            let start = Instant::now();
            let what = match self.random.below(400) {
                0..339 => self.commands().map(|()| "commands"),
                339 => self.aliases().map(|()| "aliases"),
                340..352 => self.chains().map(|()| "chains"),
                352..368 => self.entries().map(|()| "entries"),
                368..384 => self.doorbells().map(|()| "doorbells"),
                384..388 => self.mapping().map(|()| "mappings"),
                388..392 => self.suspend().map(|()| "suspensions"),
                _ => self.restart().map(|()| "restarts"),
            }?;
            *self.times.entry(what).or_default() += start.elapsed();
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
        self.undisturbed(|_| Ok(()))
    }

    /// Resets the device and makes what has to work, while nothing is changed.
    fn undisturbed<T>(&mut self, make: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.reset()?;
        self.driver.greet().context("after a reset")?;
        let made = make(self)?;
        self.changer.aim(self.target);
        Ok(made)
    }

    /// Resets the device, and does not greet it. Nothing is changed until somebody aims again.
    fn reset(&mut self) -> Result<()> {
        self.changer.aim(Target::Nothing);
        self.resets += 1;
        self.known = Known::default();
        self.pairs.clear();
        let index = self.random.below(2) * EVENT_IDX;
        let lends = match self.lends {
            0 => 0,
            lends => self.random.below(2) * lends,
        };
        self.driver.machine.restart(FEATURES | index | lends)?;
        ensure!(!self.driver.machine.is_broken()?, "broken after a reset");
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
        // mostly as many as there can be: to wait for them takes more than they do
        let most = u64::from(SIZES[CONTROL]) / 2;
        let count = match self.random.below(4) {
            0 => 1 + self.random.below(most),
            _ => most,
        };
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

    /// Memory goes away below whatever is there, and comes back.
    fn mapping(&mut self) -> Result<()> {
        let Some(piece) = self.random.pick(&Piece::all()) else {
            return Ok(());
        };
        piece.unmap(&self.driver.machine)?;
        self.driver.machine.queues[CONTROL].kick()?;
        piece.map(&self.driver.machine)?;
        self.count("mappings", 1);
        if piece.is_payload() && self.is_tame() {
            return self.goes_on().context("without some of its memory");
        }
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
        for piece in Piece::all() {
            piece.unmap(&self.driver.machine)?;
        }
        self.driver.machine.unmap(GUARD, GUARD_BYTES)?;
        ensure!(pinned_kb()? == 0, "{} kB stay pinned", pinned_kb()?);
        Ok(())
    }

    fn report(&self) -> serde_json::Value {
        let times = self.times.iter();
        let times: BTreeMap<_, _> = times
            .map(|(what, time)| (what, time.as_millis() as u64))
            .collect();
        serde_json::json!({
            "inputs": self.inputs(), "right": self.right, "kinds": self.kinds, "statuses": self.statuses,
            "resets": self.resets, "ms": times,
        })
    }
}
