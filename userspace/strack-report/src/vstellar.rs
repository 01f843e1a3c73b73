// SPDX-License-Identifier: GPL-2.0
//! The figures of `make bench-vstellar`: what a virtual device costs.
//!
//! In the guest's virtual time one instruction takes one nanosecond, and one CPU does the work of
//! both ends; so a device's share of a time is what it takes in instructions. The memory of very many
//! devices comes from a guest in real time, and times of that one are told and not judged.

use crate::raw::Setup;
use anyhow::bail;
use anyhow::Context;
use anyhow::Result;
use serde::Deserialize;
use std::fs;
use std::path::Path;
use strack_report::report::Better;
use strack_report::report::Report;
use strack_report::table;

/// One line of the file.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Line {
    Setup(Setup),
    Startup(Startup),
    Stream(Stream),
    Devices(Devices),
}

/// A guest that was started.
#[derive(Deserialize)]
struct Startup {
    /// "first-use" or "pin-all".
    mode: String,
    /// Its memory.
    mib: u64,
    /// Bytes pinned after the first transfer.
    pinned: u64,
    /// From owning the device to the end of the first transfer.
    elapsed_ns: u64,
}

/// A connection, with or without a device.
#[derive(Deserialize)]
struct Stream {
    run: String,
    bytes: u64,
    elapsed_ns: u64,
    /// The rest is of a device's only. Kicks of the doorbells, and for buffers of events; the kernel's
    /// driver does not count the latter.
    #[serde(default)]
    kicks: u64,
    #[serde(default)]
    event_kicks: u64,
    #[serde(default)]
    pin_hits: u64,
    #[serde(default)]
    pin_misses: u64,
    #[serde(default)]
    pinned: u64,
    /// Of this, what has virtqueues, doorbells and rings, and no buffer.
    #[serde(default)]
    pinned_rings: u64,
}

/// Devices that were made.
#[derive(Deserialize)]
struct Devices {
    /// And bound to a driver of the bus.
    bound: bool,
    clock: Clock,
    from: u64,
    count: u64,
    elapsed_ns: u64,
    /// Memory that all there are take.
    kib: i64,
}

/// What the times of a guest are measured by.
#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Clock {
    /// Undisturbed. Of that guest nobody knows what else has used memory.
    Virtual,
    /// Of an emulated machine, on a host that has other things to do.
    Real,
}

/// Everything that the guests reported.
pub(crate) struct Bench {
    setup: Setup,
    startups: Vec<Startup>,
    streams: Vec<Stream>,
    devices: Vec<Devices>,
}

/// Bytes of a message there and back.
const PING: u64 = 64;

/// MiB of buffers that are pinned with a ring of 4 MiB in each direction.
const PINNED_MOST: f64 = 8.0;

const MIB: f64 = (1 << 20) as f64;

/// The middle one.
fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Bench {
    /// Reads what the guest wrote.
    pub(crate) fn read(path: &Path) -> Result<Bench> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Bench::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Bench> {
        let mut setup = None;
        let (mut startups, mut streams, mut devices) = (Vec::new(), Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            match serde_json::from_str(line).with_context(|| format!("line {number}"))? {
                Line::Setup(line) => setup = Some(line),
                Line::Startup(line) => startups.push(line),
                Line::Stream(line) => streams.push(line),
                Line::Devices(line) => devices.push(line),
            }
        }
        Ok(Bench {
            setup: setup.context("no line says what was measured")?,
            startups,
            streams,
            devices,
        })
    }

    /// Sizes of guests that were started in a mode, in MiB.
    fn sizes(&self, mode: &str) -> Vec<u64> {
        let of_mode = self.startups.iter().filter(|start| start.mode == mode);
        let mut sizes: Vec<_> = of_mode.map(|start| start.mib).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Milliseconds to start, and MiB pinned then.
    fn start(&self, mode: &str, mib: u64) -> Option<(f64, f64)> {
        let these = || {
            let all = self.startups.iter();
            all.filter(move |start| start.mode == mode && start.mib == mib)
        };
        let time = middle(these().map(|start| start.elapsed_ns as f64 / 1e6).collect())?;
        let pinned = middle(these().map(|start| start.pinned as f64 / MIB).collect())?;
        Some((time, pinned))
    }

    fn stream(&self, run: &str, figure: impl Fn(&Stream) -> f64) -> Result<f64> {
        let these = self.streams.iter().filter(|stream| stream.run == run);
        middle(these.map(figure).collect()).with_context(|| format!("there was no run '{run}'"))
    }

    /// The figures with names.
    pub(crate) fn report(&self) -> Result<Report> {
        let mut report = self.setup.report();
        self.report_starts(&mut report)?;
        self.report_streams(&mut report)?;
        self.report_devices(&mut report)?;
        Ok(report)
    }

    fn report_starts(&self, report: &mut Report) -> Result<()> {
        let mut times = Vec::new();
        for mode in ["first-use", "pin-all"] {
            for mib in self.sizes(mode) {
                let (time, pinned) = self.start(mode, mib).context("no time")?;
                report.add(&format!("start/{mode}-{mib}"), time, "ms", Better::Lower);
                report.add(
                    &format!("start-pinned/{mode}-{mib}"),
                    pinned,
                    "MiB",
                    Better::Lower,
                );
                if mode == "first-use" {
                    times.push(time);
                }
            }
        }
        let (Some(first), Some(most)) = (times.first(), times.iter().copied().reduce(f64::max))
        else {
            bail!("no guest was started");
        };
        report.at_most("start/growth", 100.0 * (most / first - 1.0), "%", 10.0);
        Ok(())
    }

    fn report_streams(&self, report: &mut Report) -> Result<()> {
        let all = self.stream("device", |run| run.pinned as f64 / MIB)?;
        let rings = self.stream("device", |run| run.pinned_rings as f64 / MIB)?;
        report.add("pinned/rings", rings, "MiB", Better::Lower);
        report.at_most("pinned/4-MiB-ring", all - rings, "MiB", PINNED_MOST);
        let rate = |run: &Stream| {
            100.0 * run.pin_hits as f64 / (run.pin_hits + run.pin_misses).max(1) as f64
        };
        // the first use of each block is a miss, which weighs the less the longer the buffers go round
        let misses = self.stream("steady", |run| run.pin_misses as f64)?;
        report.add("map-cache/misses", misses, "", Better::Lower);
        report.at_least("map-cache/hits", self.stream("steady", rate)?, "%", 99.9);
        let kicks = |run: &Stream| (run.kicks + run.event_kicks) as f64 * MIB / run.bytes as f64;
        report.at_most(
            "kicks/under-load",
            self.stream("device", kicks)?,
            "1/MiB",
            1.0,
        );
        for run in ["up", "down", "both"] {
            let kicks = self.stream(run, kicks)?;
            report.at_most(&format!("kicks/{run}"), kicks, "1/MiB", 1.0);
        }
        let goodput = |run: &Stream| 8e3 * run.bytes as f64 / run.elapsed_ns as f64;
        for (native, runs) in [
            ("native", &["device", "both"][..]),
            ("native-one-way", &["up", "down"][..]),
        ] {
            let without = self.stream(native, goodput)?;
            let name = format!("goodput/{native}");
            report.add(&name, without, "Mb/s", Better::Higher);
            for run in runs {
                let with = self.stream(run, goodput)?;
                let name = format!("goodput/{run}");
                report.add(&name, with, "Mb/s", Better::Higher);
                report.at_least(&format!("{name}-to-native"), with / without, "x", 0.8);
            }
        }
        let ping = |run: &Stream| run.elapsed_ns as f64 / 1e3 / (run.bytes / PING).max(1) as f64;
        let native = self.stream("native-ping", ping)?;
        report.add("ping/native", native, "us", Better::Lower);
        for (name, run) in [("device", "device-ping"), ("program", "ping")] {
            let with = self.stream(run, ping)?;
            let name = format!("ping/{name}");
            report.add(&name, with, "us", Better::Lower);
            report.at_most(&format!("{name}-to-native"), with / native, "x", 2.0);
        }
        Ok(())
    }

    fn report_devices(&self, report: &mut Report) -> Result<()> {
        for some in &self.devices {
            let new = some.count.saturating_sub(some.from).max(1) as f64;
            let each = some.elapsed_ns as f64 / 1e6 / new;
            let (count, kib) = (some.count, some.kib as f64 / some.count.max(1) as f64);
            let (made, memory) = if some.bound {
                ("create-and-bind", "memory")
            } else {
                ("create", "memory-unbound")
            };
            // each guest has one thing to say: how long it takes, or what it takes when nothing else does
            if some.clock == Clock::Virtual {
                report.at_most(&format!("device/{made}-{count}"), each, "ms", 50.0);
                continue;
            }
            let name = format!("device/{made}-in-real-time-{count}");
            report.add(&name, each, "ms", Better::Lower);
            let name = format!("device/{memory}-{count}");
            report.add(&name, kib, "KiB", Better::Lower);
        }
        if self.devices.is_empty() {
            bail!("no device was made");
        }
        Ok(())
    }

    /// All of it for people.
    pub(crate) fn tables(&self, report: &Report) -> String {
        let head = ["figure", "value", ""].map(String::from).to_vec();
        let rows = report.rows().iter().filter(|row| row.target.is_none());
        let rows = rows.map(|row| {
            let value = format!("{:.2}", row.value);
            vec![row.name.clone(), value, row.unit.to_string()]
        });
        format!("\n{}\n{}", table::plain(head, rows), table::targets(report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(device_ns: u64, late_ns: u64) -> String {
        let mut text = String::from(
            r#"{"kind":"setup","command":"make bench-vstellar","kernel":"7.3","seed":0}"#,
        );
        for (mode, mib, ns) in [
            ("first-use", 1024, 5_000_000),
            ("first-use", 2048, late_ns),
            ("pin-all", 1024, 900_000_000),
        ] {
            text += &format!(
                "\n{{\"kind\":\"startup\",\"mode\":\"{mode}\",\"mib\":{mib},\"pinned\":4194304,\"elapsed_ns\":{ns}}}"
            );
        }
        for (run, bytes, ns) in [
            ("native", 1 << 20, 1_000_000),
            ("device", 1 << 20, device_ns),
            ("steady", 4 << 20, 4 * device_ns),
            ("native-ping", 640, 100_000),
            ("device-ping", 640, 150_000),
            ("native-one-way", 1 << 20, 500_000),
            ("up", 1 << 20, device_ns / 2),
            ("down", 1 << 20, 500_000),
            ("both", 1 << 20, 1_000_000),
            ("ping", 640, 120_000),
        ] {
            text += &format!(
                "\n{{\"kind\":\"stream\",\"run\":\"{run}\",\"bytes\":{bytes},\"elapsed_ns\":{ns},\"kicks\":1,\"pin_hits\":9999,\"pin_misses\":1,\"pinned\":10485760,\"pinned_rings\":2097152}}"
            );
        }
        for (bound, clock, count) in [
            (true, "virtual", 100),
            (true, "real", 100),
            (false, "real", 1000),
        ] {
            text += &format!(
                "\n{{\"kind\":\"devices\",\"bound\":{bound},\"clock\":\"{clock}\",\"from\":0,\"count\":{count},\"elapsed_ns\":1000000000,\"kib\":500}}"
            );
        }
        text
    }

    #[test]
    fn all_is_met() {
        let bench = Bench::parse(&lines(1_100_000, 5_400_000)).unwrap();
        let report = bench.report().unwrap();
        assert!(report.missed().is_empty(), "{:?}", report.missed());
        let find = |name: &str| {
            report
                .rows()
                .iter()
                .find(|row| row.name == name)
                .unwrap()
                .value
        };
        assert_eq!(find("map-cache/hits"), 99.99);
        assert_eq!(find("start/growth"), 8.0);
        assert_eq!(find("ping/device-to-native"), 1.5);
        assert_eq!(find("device/create-and-bind-100"), 10.0);
        assert_eq!(find("device/memory-100"), 5.0);
        assert_eq!(find("device/create-in-real-time-1000"), 1.0);
        assert_eq!(find("device/memory-unbound-1000"), 0.5);
        assert_eq!(find("ping/program-to-native"), 1.2);
        assert_eq!(find("kicks/up"), 1.0);
        assert!(bench.tables(&report).contains("start/pin-all-1024"));
    }

    #[test]
    fn what_is_slow_is_missed() {
        let bench = Bench::parse(&lines(1_300_000, 5_600_000)).unwrap();
        let missed = bench.report().unwrap();
        assert_eq!(
            missed.missed(),
            [
                "start/growth",
                "goodput/device-to-native",
                "goodput/up-to-native"
            ]
        );
    }

    #[test]
    fn a_run_that_is_missing_is_an_error() {
        let text = lines(1, 1).replace("device-ping", "other");
        assert!(Bench::parse(&text).unwrap().report().is_err());
        assert!(Bench::parse("{}").is_err());
    }
}
