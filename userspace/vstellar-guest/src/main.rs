// SPDX-License-Identifier: GPL-2.0
//! `vstellar-guest` plays the guest of a vStellar device.
//!
//! It opens `/dev/vhost-vdpa-N` as a virtual machine monitor does ([`machine`]), and behaves there
//! as a guest's driver does ([`driver`], [`endpoint`]), or as none should: it has a test for each
//! command and each check of the device ([`conformance`]), a fuzzer ([`fuzz`]), it dies at random
//! points ([`crash`]), it stays until it is ended ([`hold`]), it takes times ([`measure`]), and it carries streams ([`stream`], [`payload`])
//! whose other end is an ordinary program ([`program`]).

#![warn(missing_docs)]

mod conformance;
mod crash;
mod driver;
mod endpoint;
mod fuzz;
mod hold;
mod machine;
mod measure;
mod payload;
mod program;
mod queue;
mod ram;
mod stream;
mod sys;
mod wire;

use anyhow::ensure;
use anyhow::Result;
use clap::Parser;
use clap::Subcommand;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::path::PathBuf;
use std::process;
use std::process::exit;

/// Play the guest of a vStellar device.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Test every command and every check of a device; prints KTAP
    Conformance(conformance::Conformance),
    /// Fuzz a device; prints what was tried as JSON
    Fuzz(fuzz::Fuzz),
    /// Kill guests at any time, and see whether the next one finds a device like new
    Crash(crash::Crash),
    /// Take the time from owning the device to the first transfer; prints JSON, a line each time
    Startup(measure::Startup),
    /// Use more of memory than may be pinned, and see that it is not
    Limit {
        /// /dev/vhost-vdpa-N
        device: PathBuf,
        /// KiB that may be pinned
        most: u64,
        /// As this user, to whom RLIMIT_MEMLOCK applies
        #[arg(long)]
        user: Option<u32>,
    },
    /// Be at work until somebody ends it
    Hold(hold::Hold),
    /// Send bytes to a peer that gives them back, and compare; prints figures as JSON
    Connect(stream::Connect),
    /// Take one connection and give back what comes
    Listen(stream::Listen),
    /// Connect where nobody listens, and expect to be told so
    Refused {
        /// /dev/vhost-vdpa-N
        device: PathBuf,
        /// Where nobody listens
        peer: SocketAddr,
    },
    /// An ordinary program: take one connection and give back what comes
    Serve(program::Serve),
    /// An ordinary program: send bytes to a peer that gives them back, and compare
    Send(program::Send),
}

fn main() -> Result<()> {
    match Cli::parse().command {
        Command::Conformance(job) => {
            if !job.run()? {
                exit(1);
            }
            Ok(())
        }
        Command::Fuzz(job) => job.run(),
        Command::Crash(job) => job.run(),
        Command::Startup(job) => job.run(),
        Command::Limit {
            device,
            most,
            user: None,
        } => conformance::memory::use_all(&device, most),
        Command::Limit {
            device,
            most,
            user: Some(user),
        } => limit_as(&device, most, user),
        Command::Hold(job) => job.run(),
        Command::Connect(job) => job.run(),
        Command::Listen(job) => job.run(),
        Command::Refused { device, peer } => stream::refused(&device, peer),
        Command::Serve(job) => job.run(),
        Command::Send(job) => job.run(),
    }
}

/// The same command as another user.
fn limit_as(device: &Path, most: u64, user: u32) -> Result<()> {
    let mut command = process::Command::new(std::env::current_exe()?);
    command.arg("limit").arg(device).arg(most.to_string());
    let status = command.uid(user).status()?;
    ensure!(status.success(), "as user {user}: {status}");
    Ok(())
}
