// SPDX-License-Identifier: GPL-2.0
//! What a virtual machine monitor does with `/dev/vhost-vdpa-N`, step by step, so that a test can
//! do any of it wrong.

use crate::queue::Queue;
use crate::queue::Used;
use crate::ram::Ram;
use crate::ram::BASE;
use crate::sys;
use anyhow::anyhow;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;
use vhost::vdpa::VhostVdpa;
use vhost::vhost_kern::vdpa::VhostKernVdpa;
use vhost::vhost_kern::VhostKernFeatures;
use vhost::VhostBackend;
use vm_memory::GuestMemoryMmap;
use vmm_sys_util::eventfd::EventFd;
use vmm_sys_util::eventfd::EFD_CLOEXEC;
use vmm_sys_util::eventfd::EFD_NONBLOCK;
use vstellar_core::abi;

pub(crate) const ACKNOWLEDGE: u8 = 1;
pub(crate) const DRIVER: u8 = 2;
pub(crate) const DRIVER_OK: u8 = 4;
pub(crate) const FEATURES_OK: u8 = 8;
pub(crate) const NEEDS_RESET: u8 = 64;

/// The bits of a driver that has got as far as to negotiate.
pub(crate) const STEPS: u8 = ACKNOWLEDGE | DRIVER;

pub(crate) const fn bit(number: u32) -> u64 {
    1 << number
}

pub(crate) const EVENT_IDX: u64 = bit(29);
pub(crate) const VERSION_1: u64 = bit(32);
pub(crate) const ACCESS_PLATFORM: u64 = bit(33);
/// Without which no driver is served.
pub(crate) const MANDATORY: u64 = VERSION_1 | bit(abi::F_SHADOW_DB);
/// What drivers here take unless they want something else.
pub(crate) const FEATURES: u64 = MANDATORY
    | ACCESS_PLATFORM
    | bit(abi::F_STREAM)
    | bit(abi::F_MR)
    | bit(abi::F_PATHS)
    | bit(abi::F_CC)
    | bit(abi::F_LAZY_PIN)
    | bit(abi::F_STATS)
    | bit(abi::F_QUIESCE);

/// Numbers of the queues.
pub(crate) const CONTROL: usize = 0;
pub(crate) const KICK: usize = 1;
pub(crate) const EVENT: usize = 2;

/// How large they are.
pub(crate) const SIZES: [u16; 3] = [64, 8, 256];

/// How large any of them may be.
pub(crate) const SIZE_MAX: u16 = 256;

/// Time in which a device that works has answered, however slow the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Time to wait for what must not happen.
pub(crate) const MOMENT: Duration = Duration::from_millis(300);

/// Times are longer where the environment says that all is slower.
pub(crate) fn scaled(time: Duration) -> Duration {
    let slow = std::env::var("SLOW").ok();
    time * slow.and_then(|slow| slow.parse().ok()).unwrap_or(1)
}

/// What has come of waiting for a chain.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Came(Used),
    /// The device has to be reset.
    Broken,
    Nothing,
}

impl Waited {
    pub(crate) fn came(self) -> Result<Used> {
        match self {
            Waited::Came(used) => Ok(used),
            Waited::Broken => Err(anyhow!("the device needs a reset")),
            Waited::Nothing => Err(anyhow!("the device does not answer")),
        }
    }
}

/// A machine with one device and no processor.
pub(crate) struct Machine {
    vdpa: VhostKernVdpa<Arc<GuestMemoryMmap>>,
    pub(crate) ram: Ram,
    pub(crate) queues: [Queue; 3],
    config_call: EventFd,
}

impl Machine {
    /// Opens a device and becomes its owner.
    pub(crate) fn open(path: &Path, ram: Ram) -> Result<Machine> {
        let name = path.to_str().context("a path of another encoding")?;
        let mut vdpa = VhostKernVdpa::new(name, ram.memory().clone())
            .with_context(|| path.display().to_string())?;
        vdpa.set_owner().context("SET_OWNER")?;
        // messages of the second version, and queues that are enabled late
        let wanted = vdpa.get_backend_features()? & (bit(1) | bit(6));
        vdpa.set_backend_features(wanted)?;
        let queue = |index: usize| Queue::new(&ram, index as u64, SIZES[index]);
        let machine = Machine {
            queues: [queue(CONTROL)?, queue(KICK)?, queue(EVENT)?],
            config_call: EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK)?,
            vdpa,
            ram,
        };
        Ok(machine)
    }

    /// All that a driver does up to DRIVER_OK, with memory mapped.
    pub(crate) fn start(path: &Path, ram: Ram, features: u64) -> Result<Machine> {
        let mut machine = Machine::open(path, ram)?;
        machine.map_ram().context("memory")?;
        machine.begin(features)?;
        Ok(machine)
    }

    pub(crate) fn vdpa(&self) -> &impl VhostVdpa {
        &self.vdpa
    }

    pub(crate) fn set_vring_num(&self, queue: usize, num: u16) -> Result<()> {
        Ok(self.vdpa.set_vring_num(queue, num)?)
    }

    pub(crate) fn set_vring_addr(&self, queue: usize, to: &vhost::VringConfigData) -> Result<()> {
        Ok(self.vdpa.set_vring_addr(queue, to)?)
    }

    /// The driver negotiates.
    pub(crate) fn negotiate(&self, features: u64) -> Result<()> {
        self.vdpa.set_status(STEPS)?;
        self.vdpa.set_features(features).context("features")?;
        Ok(self.vdpa.set_status(STEPS | FEATURES_OK)?)
    }

    /// It negotiates, sets up the queues, and is ready.
    pub(crate) fn begin(&mut self, features: u64) -> Result<()> {
        self.negotiate(features)?;
        self.vdpa.set_config_call(&self.config_call)?;
        for (index, size) in SIZES.into_iter().enumerate() {
            self.set_up(index, size, features & EVENT_IDX != 0)?;
        }
        self.vdpa.set_status(STEPS | FEATURES_OK | DRIVER_OK)?;
        Ok(())
    }

    /// Sets up a queue and enables it.
    pub(crate) fn set_up(&mut self, index: usize, size: u16, event_index: bool) -> Result<()> {
        let queue = &mut self.queues[index];
        queue.reset(size, event_index);
        self.vdpa.set_vring_num(index, size)?;
        self.vdpa.set_vring_base(index, 0)?;
        self.vdpa.set_vring_addr(index, &queue.layout())?;
        self.vdpa.set_vring_kick(index, &queue.kick)?;
        self.vdpa.set_vring_call(index, &queue.call)?;
        self.vdpa.set_vring_enable(index, true)?;
        Ok(())
    }

    /// Sets a queue back to its beginning, and nothing else of it.
    pub(crate) fn rewind(&mut self, index: usize) -> Result<()> {
        self.queues[index].rewind();
        Ok(self.vdpa.set_vring_base(index, 0)?)
    }

    /// Resets the device; what is mapped stays.
    pub(crate) fn reset(&mut self) -> Result<()> {
        self.vdpa.set_status(0).context("reset")?;
        let _ = self.config_call.read();
        Ok(())
    }

    /// Resets it and begins anew.
    pub(crate) fn restart(&mut self, features: u64) -> Result<()> {
        self.reset()?;
        self.begin(features)
    }

    pub(crate) fn set_status(&self, status: u8) -> Result<()> {
        Ok(self.vdpa.set_status(status)?)
    }

    pub(crate) fn status(&self) -> Result<u8> {
        Ok(self.vdpa.get_status()?)
    }

    pub(crate) fn is_broken(&self) -> Result<bool> {
        Ok(self.status()? & NEEDS_RESET != 0)
    }

    /// What the device offers.
    pub(crate) fn offered(&self) -> Result<u64> {
        Ok(self.vdpa.get_features()?)
    }

    pub(crate) fn set_features(&self, features: u64) -> Result<()> {
        Ok(self.vdpa.set_features(features)?)
    }

    pub(crate) fn suspend(&self) -> Result<()> {
        Ok(self.vdpa.suspend()?)
    }

    pub(crate) fn resume(&self) -> Result<()> {
        Ok(sys::resume(&self.vdpa)?)
    }

    /// Maps `size` bytes of this process at `iova`.
    pub(crate) fn map(&self, iova: u64, size: u64, at: *const u8, read_only: bool) -> Result<()> {
        Ok(self.vdpa.dma_map(iova, size, at, read_only)?)
    }

    /// Maps all of memory.
    pub(crate) fn map_ram(&self) -> Result<()> {
        self.map(BASE, self.ram.size(), self.ram.host_address()?, false)
    }

    pub(crate) fn unmap(&self, iova: u64, size: u64) -> Result<()> {
        Ok(self.vdpa.dma_unmap(iova, size)?)
    }

    pub(crate) fn unmap_ram(&self) -> Result<()> {
        self.unmap(BASE, self.ram.size())
    }

    /// Waits for a chain to come back to a queue.
    pub(crate) fn wait(&mut self, index: usize, timeout: Duration) -> Result<Waited> {
        let end = Instant::now() + scaled(timeout);
        loop {
            let queue = &mut self.queues[index];
            if let Some(used) = queue.take() {
                return Ok(Waited::Came(used));
            }
            if !queue.arm() {
                continue;
            }
            let left = end.saturating_duration_since(Instant::now());
            let left = i32::try_from(left.as_millis())?;
            let fds = [queue.call.as_raw_fd(), self.config_call.as_raw_fd()];
            if !sys::wait_readable(fds, left)? {
                return Ok(if self.is_broken()? {
                    Waited::Broken
                } else {
                    Waited::Nothing
                });
            }
            // whichever it was, the other has nothing to be read
            let _ = self.queues[index].call.read();
            if self.config_call.read().is_ok() && self.is_broken()? {
                return Ok(Waited::Broken);
            }
        }
    }

    /// Waits until the device says that it has to be reset.
    pub(crate) fn wait_broken(&self, timeout: Duration) -> Result<bool> {
        let end = Instant::now() + scaled(timeout);
        while !self.is_broken()? {
            let left = end.saturating_duration_since(Instant::now());
            let left = i32::try_from(left.as_millis())?;
            if !sys::wait_readable([self.config_call.as_raw_fd()], left)? {
                return self.is_broken();
            }
            let _ = self.config_call.read();
        }
        Ok(true)
    }
}

/// Kilobytes that this process has pinned.
pub(crate) fn pinned_kb() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmPin:"));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    Ok(number.context("no VmPin")?.parse()?)
}
