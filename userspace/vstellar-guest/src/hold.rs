// SPDX-License-Identifier: GPL-2.0
//! A guest that stays as it is, so that a test can see what may be done to its device then.

use crate::driver::Driver;
use crate::driver::BUFFERS;
use crate::driver::USUAL_RAM;
use crate::machine::Machine;
use crate::machine::FEATURES;
use crate::program;
use crate::ram::addr;
use crate::ram::Ram;
use crate::sys;
use crate::wire::mr;
use crate::wire::wire;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use std::thread;
use vstellar_core::abi;
use vstellar_core::control::Op;

/// Be at work.
#[derive(Args)]
pub(crate) struct Hold {
    /// /dev/vhost-vdpa-N
    device: PathBuf,
    /// Negotiate, and get no further
    #[arg(long, conflicts_with = "pin")]
    negotiated: bool,
    /// Give the device commands that take long, by which it pins so many MiB and lets them go
    #[arg(long, value_name = "MIB")]
    pin: Option<u64>,
}

impl Hold {
    pub(crate) fn run(&self) -> Result<()> {
        let pinned = self.pin.unwrap_or(0) << 20;
        let ram = Ram::new(USUAL_RAM + pinned)?;
        if self.negotiated {
            let machine = Machine::open(&self.device, ram)?;
            machine.negotiate(FEATURES)?;
            return stay();
        }
        let mut driver = Driver::with_ram(&self.device, ram.clone(), FEATURES)?;
        if pinned == 0 {
            return stay();
        }
        let region = mr(0, abi::MR_READ, abi::MR_LAZY, &[(addr(BUFFERS), pinned)]);
        let key = driver.order(Op::MrReg, 0, &region)?.u32(0);
        let advice = |advice| wire().u32(key).u32(advice).u64(0).u64(pinned);
        driver.order(Op::MrAdvise, 0, &advice(1))?;
        program::say_ready()?;
        let start = ram.host_address()?.wrapping_add(BUFFERS as usize);
        loop {
            driver.order(Op::MrAdvise, 0, &advice(2))?;
            // what takes long is to allocate it
            sys::give_back(start, pinned as usize)?;
            driver.order(Op::MrAdvise, 0, &advice(1))?;
        }
    }
}

/// Until somebody ends this process.
fn stay() -> Result<()> {
    program::say_ready()?;
    loop {
        thread::park();
    }
}
