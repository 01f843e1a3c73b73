// SPDX-License-Identifier: GPL-2.0
//! A guest that is killed at any time: the next one finds a device like new.
//!
//! The guest that dies is the fuzzer, since it is at everything there is. It is given a time that is
//! drawn: mostly a short one, in which it has not got beyond setting up.

use crate::driver::Driver;
use crate::endpoint::Pair;
use crate::machine::pinned_kb;
use crate::machine::scaled;
use crate::machine::FEATURES;
use crate::machine::PATIENCE;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use clap::Args;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use rand_core::SeedableRng;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Kill guests.
#[derive(Args)]
pub(crate) struct Crash {
    /// /dev/vhost-vdpa-N of a device with the address OWN, in a namespace
    device: PathBuf,
    /// Its address
    own: IpAddr,
    /// How many guests
    #[arg(long, default_value_t = 20)]
    rounds: u64,
    /// Seed of what they do, and for how long
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Milliseconds that one may live
    #[arg(long, default_value_t = 400)]
    most: u64,
}

impl Crash {
    pub(crate) fn run(&self) -> Result<()> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        for round in 0..self.rounds {
            // half of them do not get beyond an eighth of the time
            let most = self.most >> (3 * (random.next_u64() & 1));
            let life = Duration::from_millis(random.next_u64() % most.max(1));
            self.kill_one(random.next_u64(), life)
                .with_context(|| format!("round {round}, killed after {life:?}"))?;
        }
        println!(
            "{}",
            serde_json::json!({"killed": self.rounds, "seed": self.seed})
        );
        Ok(())
    }

    fn kill_one(&self, seed: u64, life: Duration) -> Result<()> {
        let mut guest = Command::new(std::env::current_exe()?)
            .arg("fuzz")
            .arg(&self.device)
            .arg(self.own.to_string())
            .args([
                "--count",
                &u64::MAX.to_string(),
                "--seed",
                &seed.to_string(),
            ])
            .stdout(Stdio::null())
            .spawn()?;
        thread::sleep(scaled(life));
        let early = guest.try_wait()?;
        guest.kill()?;
        guest.wait()?;
        if let Some(status) = early {
            bail!("the guest ended by itself: {status}");
        }
        let mut driver = self.next_guest()?;
        // what is pinned for the device is what this process has pinned
        let pinned = driver.stats()?.pinned();
        ensure!(
            pinned >> 10 == pinned_kb()?,
            "{pinned} bytes are pinned, not {} kB",
            pinned_kb()?
        );
        Pair::new(&mut driver, self.own)?;
        driver.machine.unmap_ram()?;
        ensure!(pinned_kb()? == 0, "{} kB stay pinned", pinned_kb()?);
        Ok(())
    }

    /// The kernel lets go of the device a moment after its owner has gone.
    fn next_guest(&self) -> Result<Driver> {
        let end = Instant::now() + scaled(PATIENCE);
        loop {
            match Driver::start(&self.device, FEATURES) {
                Err(error) if Instant::now() > end => return Err(error),
                Err(_) => thread::yield_now(),
                Ok(driver) => return Ok(driver),
            }
        }
    }
}
