// SPDX-License-Identifier: GPL-2.0
//! One test, and a negative one, for each command and each check of the device.
//!
//! Results are printed as KTAP. Every test opens the device anew, and leaves it by closing it.

mod chains;
mod commands;
mod connections;
mod endings;
mod entries;
mod lending;
pub(crate) mod memory;
mod objects;
mod regions;
mod setup;

pub(crate) use entries::transfer;

use crate::driver::Driver;
use crate::driver::USUAL_RAM;
use crate::machine::FEATURES;
use crate::ram::Ram;
use crate::wire::Wire;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Result;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::status::Status;

/// Where and with whom the tests are done.
#[derive(Args)]
pub(crate) struct Conformance {
    /// /dev/vhost-vdpa-N of a device with the address OWN, in a namespace, and else as it was made
    device: PathBuf,
    /// Its address
    own: IpAddr,
    /// Another device
    #[arg(long)]
    other: PathBuf,
    /// A device that may have two of everything, pin three blocks, and make five connections a second
    #[arg(long)]
    small: PathBuf,
    /// Private memory, which a device that pins all of it takes, and no other
    #[arg(long)]
    private: bool,
    /// A driver that lends its send buffers, to a device that offers it
    #[arg(long)]
    zerocopy: bool,
    /// Only tests whose names contain this
    #[arg(long, default_value = "")]
    only: String,
}

type Test = fn(&Conformance) -> Result<()>;

impl Conformance {
    /// Runs the tests; whether all passed.
    pub(crate) fn run(&self) -> Result<bool> {
        let parts = [
            setup::TESTS,
            memory::TESTS,
            chains::TESTS,
            commands::TESTS,
            objects::TESTS,
            connections::TESTS,
            regions::TESTS,
            entries::TESTS,
            endings::TESTS,
            lending::TESTS,
            if self.zerocopy { lending::LENT } else { &[] },
        ];
        let wanted = |(name, _): &&(&str, Test)| name.contains(&self.only);
        let tests: Vec<_> = parts.into_iter().flatten().filter(wanted).collect();
        ensure!(!tests.is_empty(), "there is no test '{}'", self.only);
        println!("TAP version 13\n1..{}", tests.len());
        let mut failed = 0;
        for (number, (name, test)) in (1..).zip(&tests) {
            match test(self) {
                Ok(()) => println!("ok {number} {name}"),
                Err(error) => {
                    failed += 1;
                    println!("not ok {number} {name}");
                    for line in format!("{error:#}").lines() {
                        println!("# {line}");
                    }
                }
            }
        }
        println!(
            "# Totals: pass:{} fail:{failed} xfail:0 xpass:0 skip:0 error:0",
            tests.len() - failed
        );
        Ok(failed == 0)
    }

    /// What its driver takes.
    fn features(&self) -> u64 {
        FEATURES | (u64::from(self.zerocopy) << abi::F_ZC)
    }

    /// A driver of the device.
    fn driver(&self) -> Result<Driver> {
        let ram = if self.private {
            Ram::private(USUAL_RAM)?
        } else {
            Ram::new(USUAL_RAM)?
        };
        Driver::with_ram(&self.device, ram, self.features())
    }
}

/// `status` is what was wanted.
fn want(what: &str, status: u16, wanted: Status) -> Result<()> {
    ensure!(
        status == wanted.code(),
        "{what}: status {status}, not {wanted:?}"
    );
    Ok(())
}

/// The device answers a command with that status.
fn answers(
    driver: &mut Driver,
    what: &str,
    op: Op,
    handle: u32,
    payload: &Wire,
    wanted: Status,
) -> Result<()> {
    want(
        &format!("{op:?}, {what}"),
        driver.status(op, handle, payload)?,
        wanted,
    )
}

/// Something of the machine's has to fail.
fn must_fail<T>(what: &str, result: Result<T>) -> Result<()> {
    if result.is_ok() {
        bail!("{what} was taken");
    }
    Ok(())
}
