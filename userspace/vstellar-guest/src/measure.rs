// SPDX-License-Identifier: GPL-2.0
//! How long a guest takes to start: from the moment that it owns the device to its first transfer.
//!
//! With memory pinned on first use that is the same whatever its size; when all is pinned, it is not.

use crate::conformance::transfer;
use crate::driver::Driver;
use crate::endpoint::Pair;
use crate::machine::pinned_kb;
use crate::machine::Machine;
use crate::machine::FEATURES;
use crate::ram::Ram;
use anyhow::Result;
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Instant;

/// Take the time that guests take to start.
#[derive(Args)]
pub(crate) struct Startup {
    /// /dev/vhost-vdpa-N of a device with the address OWN, in a namespace
    device: PathBuf,
    /// Its address
    own: IpAddr,
    /// MiB of the guests
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1024,2048,4096,8192,16384"
    )]
    sizes: Vec<u64>,
    /// How often each
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Memory of its own instead of a file's, for a device that pins all of it
    #[arg(long)]
    private: bool,
    /// What to call it in the results
    #[arg(long, default_value = "first-use")]
    mode: String,
}

impl Startup {
    pub(crate) fn run(&self) -> Result<()> {
        for size in &self.sizes {
            for _ in 0..self.rounds {
                self.one(*size)?;
            }
        }
        Ok(())
    }

    fn one(&self, mib: u64) -> Result<()> {
        let size = mib << 20;
        let ram = if self.private {
            Ram::private(size)?
        } else {
            Ram::new(size)?
        };
        let start = Instant::now();
        let mut machine = Machine::open(&self.device, ram)?;
        let mapping = Instant::now();
        machine.map_ram()?;
        let mapped = mapping.elapsed();
        machine.begin(FEATURES)?;
        let mut driver = Driver::silent(machine);
        driver.greet()?;
        let mut pair = Pair::new(&mut driver, self.own)?;
        transfer(&mut driver, &mut pair, b"the first bytes")?;
        let elapsed = start.elapsed();
        let line = serde_json::json!({
            "kind": "startup", "mode": self.mode, "mib": mib, "pinned": pinned_kb()? << 10,
            "elapsed_ns": u64::try_from(elapsed.as_nanos())?,
            "map_ns": u64::try_from(mapped.as_nanos())?,
        });
        println!("{line}");
        Ok(())
    }
}
