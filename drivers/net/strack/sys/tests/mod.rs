// SPDX-License-Identifier: GPL-2.0

//! KUnit suites for what only exists in the kernel.
//!
//! They are part of the module, since nothing of what they test is visible outside, and are compiled
//! only where `CONFIG_STRACK_KUNIT_TEST` asks for them. The suites run beside whatever else the module
//! does, in the first network namespace, and leave nothing behind when they pass; a failed assertion
//! ends its test without destructors, as KUnit has it.
//!
//! The code in softirq that a test wants is a timer's ([`Alarm`]), and it waits for that by an
//! [`Event`]. What C thinks of a packet or a socket is told by helpers.h.

use super::{
    bindings, netns,
    skb::Skb,
    sock::Sock,
    timer::{
        now,
        Expire,
        Timer, //
    },
};
use crate::engine::NetNs;
use core::ptr::NonNull;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
    time::msecs_to_jiffies,
    types::Opaque,
    workqueue::Queue, //
};

mod counters_kunit;
mod layout_kunit;
mod lock_kunit;
pub(crate) mod packets;
mod pages_kunit;
mod rcu_cell_kunit;
mod skb_kunit;
mod sock_kunit;
mod sockaddr_kunit;
mod table_kunit;
mod timer_kunit;
mod udp_kunit;
mod zcopy_kunit;

/// How long a test waits for what must happen, milliseconds. An emulated CPU may be away for long.
const PATIENCE: u32 = 60_000;

/// A millisecond.
const MSEC: u64 = 1_000_000;

/// Something that happens once, and is waited for by one.
#[pin_data]
struct Event {
    #[pin]
    raw: Opaque<bindings::completion>,
}

// SAFETY: A completion is made to be shared.
unsafe impl Send for Event {}
// SAFETY: As above.
unsafe impl Sync for Event {}

impl Event {
    fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            raw <- Opaque::ffi_init(|slot| {
                // SAFETY: `slot` is valid for writes and stays where it is.
                unsafe { bindings::init_completion(slot) }
            }),
        })
    }

    /// It happens. Any context.
    fn signal(&self) {
        // SAFETY: `raw` is set up.
        unsafe { bindings::complete(self.raw.get()) }
    }

    /// Waits for it, not for ever.
    fn wait(&self) -> Result {
        // SAFETY: `raw` is set up; process context.
        match unsafe {
            bindings::wait_for_completion_timeout(self.raw.get(), msecs_to_jiffies(PATIENCE))
        } {
            0 => Err(ETIMEDOUT),
            _ => Ok(()),
        }
    }
}

/// What [`Alarm`]'s timer sits in.
#[pin_data]
struct Probe<F> {
    #[pin]
    timer: Timer<Probe<F>>,
    #[pin]
    fired: Event,
    times: Atomic<u32>,
    at: Atomic<u64>,
    softirq: Atomic<bool>,
    act: F,
}

impl<F: Fn() + Send + Sync> Expire for Probe<F> {
    fn expired(self: Arc<Self>) {
        self.at.store(now(), Relaxed);
        self.times.store(self.times.load(Relaxed) + 1, Relaxed);
        // SAFETY: No requirements.
        let softirq = unsafe { bindings::strack_c_kunit_in_softirq() };
        self.softirq.store(softirq, Relaxed);
        (self.act)();
        self.fired.signal();
    }
}

/// A timer that does something in softirq, and keeps a record.
struct Alarm<F: Fn() + Send + Sync>(Arc<Probe<F>>);

impl<F: Fn() + Send + Sync> Alarm<F> {
    fn new(act: F) -> Result<Alarm<F>> {
        let probe = Arc::pin_init(
            pin_init!(Probe {
                timer <- Timer::new(),
                fired <- Event::new(),
                times: Atomic::new(0),
                at: Atomic::new(0),
                softirq: Atomic::new(false),
                act,
            }),
            GFP_KERNEL,
        )?;
        Ok(Alarm(probe))
    }

    fn set(&mut self, at: u64) {
        // SAFETY: The timer is in this object, calls exclude each other by the exclusive reference, and
        // `drop` calls `shut` while there still is a reference.
        unsafe { self.0.timer.set(Arc::as_ptr(&self.0), at) }
    }

    fn stop(&self) {
        self.0.timer.stop();
    }

    fn shut(&self) {
        self.0.timer.shut();
    }

    /// Waits until it has fired once more.
    fn wait(&self) -> Result {
        self.0.fired.wait()
    }

    /// How often it has fired.
    fn times(&self) -> u32 {
        self.0.times.load(Relaxed)
    }

    /// When it fired last.
    fn at(&self) -> u64 {
        self.0.at.load(Relaxed)
    }

    /// Whether that was in a softirq.
    fn in_softirq(&self) -> bool {
        self.0.softirq.load(Relaxed)
    }
}

impl<F: Fn() + Send + Sync> Drop for Alarm<F> {
    fn drop(&mut self) {
        self.shut();
    }
}

/// Keeps this CPU busy. Any context.
fn spin(usecs: u32) {
    // SAFETY: No requirements.
    unsafe { bindings::strack_c_kunit_spin_us(usecs) }
}

/// Keeps this CPU busy until another one has set `flag`, or some seconds have passed. Any context.
fn spin_until(flag: &Atomic<bool>) -> bool {
    for _ in 0..500_000 {
        if flag.load(Acquire) {
            return true;
        }
        spin(10);
    }
    false
}

/// Lets another thread do something, on any CPU. Any context but hard interrupts.
fn elsewhere(act: impl FnOnce() + Send + 'static) -> Result {
    // SAFETY: This queue is there as long as the kernel. The one that `workqueue::system_unbound()` gives
    // warns that it is to go.
    let queue = unsafe { Queue::from_raw(bindings::system_dfl_wq) };
    Ok(queue.try_spawn(GFP_ATOMIC, act)?)
}

/// Whether bottom halves are off.
fn bh_off() -> bool {
    // SAFETY: No requirements.
    unsafe { bindings::strack_c_kunit_bh_off() }
}

/// Waits until all readers of now have left and all callbacks of now have run.
fn rcu_wait() {
    // SAFETY: Process context.
    unsafe {
        bindings::synchronize_rcu();
        bindings::rcu_barrier();
    }
}

/// What C sees in a packet.
fn look(skb: &Skb) -> bindings::strack_kunit_look {
    let mut seen = bindings::strack_kunit_look::default();
    // SAFETY: The packet is valid.
    unsafe { bindings::strack_c_kunit_skb_look(skb.as_ptr(), &mut seen) };
    seen
}

/// The administrator allows an skb so many fragments, as long as this is there.
struct Allowed {
    before: i32,
}

impl Allowed {
    fn frags(most: i32) -> Allowed {
        // SAFETY: No requirements.
        let before = unsafe { bindings::strack_c_kunit_allow_frags(most) };
        Allowed { before }
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        // SAFETY: No requirements.
        unsafe { bindings::strack_c_kunit_allow_frags(self.before) };
    }
}

/// `len` bytes, none like its neighbours.
pub(crate) fn pattern(len: usize) -> Result<KVec<u8>> {
    let mut bytes = KVec::with_capacity(len, GFP_KERNEL)?;
    for i in 0..len {
        bytes.push((i * 7 + i / 251) as u8, GFP_KERNEL)?;
    }
    Ok(bytes)
}

/// A socket of the family in the first network namespace.
pub(crate) struct Fixture {
    socket: NonNull<bindings::socket>,
    before: bindings::strack_kunit_sock,
}

impl Fixture {
    /// Makes one.
    pub(crate) fn new() -> Result<Fixture> {
        // SAFETY: Process context.
        let socket = NonNull::new(unsafe { bindings::strack_c_kunit_socket() }).ok_or(ENOMEM)?;
        let mut fixture = Fixture {
            socket,
            before: Default::default(),
        };
        fixture.before = fixture.read();
        Ok(fixture)
    }

    /// The socket.
    pub(crate) fn sock(&self) -> &Sock {
        // SAFETY: The socket is of this family, and keeps its `sk` until it is released.
        unsafe { Sock::from_raw((*self.socket.as_ptr()).sk) }
    }

    /// Its namespace.
    pub(crate) fn ns(&self) -> Arc<NetNs> {
        netns::of(self.sock())
    }

    /// Its fields, as C reads them.
    pub(crate) fn read(&self) -> bindings::strack_kunit_sock {
        let mut values = Default::default();
        // SAFETY: The socket is valid.
        unsafe { bindings::strack_c_kunit_sock_read(self.sock().as_ptr(), &mut values) };
        values
    }

    /// Lets C write its fields.
    pub(crate) fn write(&self, values: &bindings::strack_kunit_sock) {
        // SAFETY: The socket is valid, and nobody else uses it.
        unsafe { bindings::strack_c_kunit_sock_write(self.sock().as_ptr(), values) }
    }

    /// Bytes of packets charged to it.
    fn wmem(&self) -> u32 {
        // SAFETY: The socket is valid.
        unsafe { bindings::strack_c_kunit_wmem(self.sock().as_ptr()) }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.write(&self.before);
        // SAFETY: Made by `sock_create_kern()`; nothing uses it after this.
        unsafe { bindings::sock_release(self.socket.as_ptr()) }
    }
}
