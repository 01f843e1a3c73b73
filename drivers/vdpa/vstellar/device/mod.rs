// SPDX-License-Identifier: GPL-2.0

//! One device: what its driver has set up, and its work.
//!
//! A driver negotiates features, sets up the virtqueues, and says that it is ready (DRIVER_OK). From
//! then on until it resets the device its kicks make the device's work run, one at a time.
//!
//! Two locks, both taken in process context only, `run` before `state`. The work takes `state`, so
//! whoever starts or stops it holds `run` alone. A round of the work has `state` for some
//! milliseconds, or for what one command takes; who waits for it may hold locks of the bus and of the
//! device's owner, and none by which other devices are administered.

mod config;
mod queue;
mod settings;
mod traffic;
mod work;

use crate::{
    model::{
        self,
        access::Access,
        span::{
            bytes_of,
            Span, //
        }, //
    },
    platform::{
        Mapper,
        Platform, //
    },
    sys::{
        self,
        area::Area,
        bindings::{
            vstellar_stats,
            VIRTIO_CONFIG_S_DRIVER_OK,
            VIRTIO_CONFIG_S_FAILED,
            VIRTIO_CONFIG_S_FEATURES_OK,
            VIRTIO_CONFIG_S_NEEDS_RESET, //
        },
        net::Net,
        vdpa::{
            Callback,
            ModuleInUse,
            Vdpa, //
        },
    }, //
};
use config::Condition;
pub(crate) use config::{
    FEATURES,
    SIZE as CONFIG_SIZE, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::Mutex, //
};
pub(crate) use queue::usual_size;
use queue::Queue;
use settings::Settings;
use traffic::Traffic;

/// Whether the device is at work.
enum Run {
    /// Its driver has not said DRIVER_OK.
    Off,
    /// It serves its queues.
    On(ModuleInUse),
    /// It would, but was told to stop for a while.
    Suspended(ModuleInUse),
    /// It was removed: no driver comes any more.
    Removed,
}

/// One device.
#[pin_data]
pub(crate) struct Device {
    vdpa: Vdpa,
    /// The features that it offers if its settings allow them.
    offered: u64,
    /// Held while the work is started or stopped, which waits for its end.
    #[pin]
    run: Mutex<Run>,
    /// Held by the work for a round, and by whoever sets up or asks.
    #[pin]
    state: Mutex<State>,
    #[pin]
    platform: Platform,
}

/// What the driver has kicked and the work has not looked at yet.
struct Unseen {
    /// The control queue.
    commands: bool,
    /// The kick bitmap.
    doorbells: bool,
}

impl Unseen {
    /// Nobody has looked yet.
    const ALL: Unseen = Unseen {
        commands: true,
        doorbells: true,
    };
}

/// What a driver sets up and the work uses.
struct State {
    settings: Settings,
    /// Its objects, and what may be done with them.
    model: model::device::Device<Platform>,
    traffic: Traffic,
    status: u8,
    features: u64,
    queues: [Queue; queue::COUNT],
    config_callback: Callback,
    unseen: Unseen,
    /// An event waits, and that there was no buffer for it was noted.
    starved: bool,
    /// Counts the changes of the configuration space.
    generation: u32,
}

const FEATURES_OK: u8 = VIRTIO_CONFIG_S_FEATURES_OK as u8;
const FAILED: u8 = VIRTIO_CONFIG_S_FAILED as u8;
const DRIVER_OK: u8 = VIRTIO_CONFIG_S_DRIVER_OK as u8;
const NEEDS_RESET: u8 = VIRTIO_CONFIG_S_NEEDS_RESET as u8;

impl State {
    fn new() -> State {
        State {
            settings: settings::DEFAULT,
            model: new_model(&settings::DEFAULT),
            traffic: Traffic::new(),
            status: 0,
            features: 0,
            queues: Queue::all(),
            config_callback: Callback::none(),
            unseen: Unseen::ALL,
            starved: false,
            generation: 0,
        }
    }

    fn queue(&mut self, index: u16) -> Result<&mut Queue> {
        self.queues.get_mut(usize::from(index)).ok_or(ENOENT)
    }

    /// Adds what the driver has reached. It sees by reading it back that a step is refused.
    fn add_status(&mut self, status: u8) {
        let mut status = status & !NEEDS_RESET;
        if self.features == 0 {
            status &= !FEATURES_OK;
        }
        if (self.status | status) & FEATURES_OK == 0 {
            status &= !DRIVER_OK;
        }
        self.status |= status;
    }

    fn driver_ok(&self) -> bool {
        self.status & DRIVER_OK != 0
    }

    /// The device cannot go on until it is reset.
    fn need_reset(&mut self) {
        if self.status & NEEDS_RESET != 0 {
            return;
        }
        self.status |= NEEDS_RESET;
        self.generation = self.generation.wrapping_add(1);
        self.config_callback.call();
    }

    /// Forgets the driver. What is mapped stays.
    fn reset(&mut self, platform: &Platform) {
        self.model.reset(platform);
        self.traffic = Traffic::new();
        self.status = 0;
        self.features = 0;
        self.queues.iter_mut().for_each(Queue::reset);
        self.config_callback = Callback::none();
        self.unseen = Unseen::ALL;
        self.starved = false;
        self.generation = self.generation.wrapping_add(1);
    }
}

/// A device without objects.
fn new_model(settings: &Settings) -> model::device::Device<Platform> {
    model::device::Device::new(
        settings::limits(settings),
        settings::policy(settings),
        sys::random(),
    )
}

impl Device {
    /// A device that offers the features `wanted`, or all if that is zero.
    pub(crate) fn new(vdpa: Vdpa, wanted: u64) -> Result<Pin<KBox<Device>>> {
        let offered = if wanted == 0 { FEATURES } else { wanted };
        if !config::may_offer(offered) {
            return Err(EINVAL);
        }
        KBox::pin_init(
            try_pin_init!(Device {
                vdpa,
                offered,
                run <- new_mutex!(Run::Off, "vstellar::Device::run"),
                state <- new_mutex!(State::new(), "vstellar::Device::state"),
                platform <- Platform::new(*vdpa, settings::DEFAULT.pin_quota),
            }),
            GFP_KERNEL,
        )
    }

    /// See [`Device::new`].
    pub(crate) fn offered(&self) -> u64 {
        settings::features(self.offered, &self.state.lock().settings)
    }

    /// Takes the driver's choice of features. Zero is the bus's way to say that there is none yet.
    pub(crate) fn set_features(&self, features: u64) -> Result {
        let mut state = self.state.lock();
        let offered = settings::features(self.offered, &state.settings);
        if features != 0 && !config::acceptable(features, offered, self.vdpa.has_mm()) {
            return Err(EINVAL);
        }
        if state.status & FEATURES_OK != 0 {
            return Err(EBUSY);
        }
        state.features = features;
        state.model.set_features(features);
        Ok(())
    }

    pub(crate) fn features(&self) -> u64 {
        self.state.lock().features
    }

    pub(crate) fn status(&self) -> u8 {
        self.state.lock().status
    }

    /// The driver has got further. May begin the work.
    pub(crate) fn set_status(&self, status: u8) {
        let mut run = self.run.lock();
        let ok = {
            let mut state = self.state.lock();
            state.add_status(status);
            state.driver_ok()
        };
        if ok && matches!(*run, Run::Off) {
            match ModuleInUse::new() {
                Some(in_use) => {
                    *run = Run::On(in_use);
                    self.platform.bank().open(&self.vdpa);
                    self.vdpa.start_work();
                }
                None => self.state.lock().status |= NEEDS_RESET,
            }
        }
    }

    /// Ends the work and forgets the driver. Waits for the work, for whose rounds there are bounds.
    pub(crate) fn reset(&self) {
        self.end(Run::Off);
    }

    /// A reset, after which nothing is set any more.
    pub(crate) fn remove(&self) {
        self.end(Run::Removed);
    }

    fn end(&self, then: Run) {
        let mut run = self.run.lock();
        if matches!(*run, Run::On(_)) {
            self.vdpa.stop_work();
        }
        let mut state = self.state.lock();
        state.reset(&self.platform);
        // loans that are out stay so, and concern no driver that comes
        self.platform.bank().close();
        self.platform.settle();
        drop(state);
        *run = then;
    }

    /// When this returns the device looks at no queue any more.
    pub(crate) fn suspend(&self) {
        let mut run = self.run.lock();
        *run = match core::mem::replace(&mut *run, Run::Off) {
            Run::On(in_use) => {
                self.vdpa.stop_work();
                Run::Suspended(in_use)
            }
            other => other,
        };
    }

    /// Goes on; what was kicked meanwhile is found.
    pub(crate) fn resume(&self) {
        let mut run = self.run.lock();
        *run = match core::mem::replace(&mut *run, Run::Off) {
            Run::Suspended(in_use) => {
                self.state.lock().unseen = Unseen::ALL;
                self.vdpa.start_work();
                Run::On(in_use)
            }
            other => other,
        };
    }

    /// The driver has set up queue `index` and wants it served, or wants it no more: when this
    /// returns, the device does not look at it and does not call its callback.
    pub(crate) fn set_queue_ready(&self, index: u16, ready: bool) {
        // The bus has no queue but those there are.
        let _ = self.with_queue(index, |queue| queue.set_ready(ready));
        if ready {
            self.state.lock().unseen = Unseen::ALL;
            self.vdpa.queue_work();
        }
    }

    /// Does what the driver sets up of queue `index`.
    pub(crate) fn with_queue<R>(&self, index: u16, f: impl FnOnce(&mut Queue) -> R) -> Result<R> {
        self.state.lock().queue(index).map(f)
    }

    /// What the device stands on.
    pub(crate) fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Gives it memory of a process.
    pub(crate) fn map_area(&self, span: Span, access: Access, area: Area) -> Result {
        let mapper = if self.vdpa.has_mm() {
            Mapper::Machine
        } else {
            Mapper::PinnedMachine
        };
        self.platform.prepare(mapper)?;
        self.platform.map_area(span, access, area)
    }

    /// Takes memory of a process away.
    pub(crate) fn unmap_area(&self, span: Span) {
        self.platform.unmap(span, || {
            self.state.lock().model.revoke(&self.platform);
            // it may have something to say about that
            self.vdpa.queue_work();
        });
        // A round that was just unpinning some of it has done so when it lets go of the state.
        drop(self.state.lock());
    }

    /// A driver in this kernel is about to give it memory.
    pub(crate) fn prepare_driver(&self) -> Result {
        self.platform.prepare(Mapper::Driver)
    }

    pub(crate) fn set_config_callback(&self, callback: Callback) {
        self.state.lock().config_callback = callback;
    }

    pub(crate) fn settings(&self) -> Settings {
        self.state.lock().settings
    }

    /// Sets the device up anew, unless a driver has agreed with it on features. `net` says which namespace
    /// it is in, or whether in none, if that changes; it is called if all else is well.
    pub(crate) fn set_settings(
        &self,
        settings: Settings,
        net: impl FnOnce() -> Option<Option<Net>>,
    ) -> Result {
        settings::check(&settings)?;
        let run = self.run.lock();
        match *run {
            Run::Off => {}
            Run::On(_) | Run::Suspended(_) => return Err(EBUSY),
            Run::Removed => return Err(ENODEV),
        }
        let mut state = self.state.lock();
        // what a driver has read and chosen by then holds until it is gone, or has given up
        if state.status & (FEATURES_OK | FAILED) == FEATURES_OK {
            return Err(EBUSY);
        }
        self.platform.set_quota(settings.pin_quota);
        let counters = *state.model.counters();
        state.model = new_model(&settings);
        *state.model.counters() = counters;
        state.settings = settings;
        // one that chose before and has not been told that this is well finds out that it is not
        state.features = 0;
        if let Some(net) = net() {
            self.platform.set_net(net);
        }
        state.generation = state.generation.wrapping_add(1);
        Ok(())
    }

    /// The inode number of its namespace.
    pub(crate) fn net_inode(&self) -> Option<u64> {
        self.platform.with_net(|net, _| net.inode())
    }

    pub(crate) fn stats(&self) -> vstellar_stats {
        let (counters, pinned) = self.platform.counters();
        let device = *self.state.lock().model.counters();
        vstellar_stats {
            pin_hits: counters.hits,
            pin_misses: counters.misses,
            pin_failures: counters.failures,
            evictions: counters.evictions,
            pinned,
            pinned_peak: bytes_of(counters.peak),
            kicks: device.kicks,
            lent: self.platform.bank().lent(),
            lent_total: device.lent,
            lent_copied: device.lent_copied,
            loans_refused: device.loans_refused,
        }
    }

    /// The bytes of the configuration space.
    pub(crate) fn config(&self) -> [u8; CONFIG_SIZE] {
        let state = self.state.lock();
        config::space(
            &state.settings,
            self.platform.pin_quota(),
            &Condition {
                link_up: self.net_inode().is_some(),
                quiesced: state.model.is_quiesced(),
                needs_reset: state.status & NEEDS_RESET != 0,
            },
        )
    }

    pub(crate) fn generation(&self) -> u32 {
        self.state.lock().generation
    }
}
