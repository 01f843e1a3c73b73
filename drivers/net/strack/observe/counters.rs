// SPDX-License-Identifier: GPL-2.0

//! The counters of a network namespace.
//!
//! There are two kinds in one array: what the protocol counts ([`Counter`]), and what only exists in
//! the kernel around it ([`Event`]). Each CPU has an array of its own, so counting is one addition
//! without a lock; reading adds them up. They are shown as the kernel shows SCTP's, a name and a value
//! on each line of `/proc/net/strack/snmp`.

use crate::{
    proto::counter::{
        Counter,
        Counts, //
    },
    sys::{
        bindings,
        netns::NetHandle, //
    },
};
use core::ptr::NonNull;
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::atomic::{
        Atomic,
        Full, //
    },
};

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Something that happened around the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Event {
            $($(#[$doc])* $name,)*
        }

        impl Event {
            /// All of them, in the order of their discriminants.
            pub(crate) const ALL: &'static [Event] = &[$(Event::$name),*];

            /// The name under which it is exported.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Event::$name => stringify!($name),)*
                }
            }
        }
    };
}

events! {
    // The carrier, coming in.
    /// Skbs received, each a packet or a train of them.
    RxSkbs,
    /// Packets in them.
    RxPackets,
    /// Bytes of UDP payload in them.
    RxBytes,
    /// Datagrams with a wrong UDP checksum.
    RxChecksum,
    /// Datagrams without UDP checksum.
    RxNoChecksum,
    /// Datagrams sent to more hosts than this one.
    RxNotHost,
    /// Datagrams with nothing in them, or less than they claimed.
    RxShort,

    // The carrier, going out.
    /// Skbs sent, each a packet or a train of them.
    TxSkbs,
    /// Packets in them.
    TxPackets,
    /// Bytes of UDP payload in them.
    TxBytes,
    /// Packets not sent for want of memory.
    TxNoMemory,
    /// Packets not sent for want of a route.
    TxNoRoute,
    /// Trains not sent because one IP packet does not hold them.
    TxTooLong,

    // ICMP.
    /// Errors that told of a smaller path MTU.
    IcmpFragNeeded,
    /// Errors that told of a peer out of reach.
    IcmpUnreachable,
    /// Errors that quoted nothing we know to have sent.
    IcmpIgnored,

    // Sockets.
    /// Handshakes dropped because a listener's queue was full.
    ListenOverflow,
}

const COUNTERS: usize = Counter::ALL.len();
const EVENTS: usize = Event::ALL.len();

/// The counters of one namespace, and their file.
///
/// # Invariants
///
/// The pointer is to `COUNTERS + EVENTS` 64-bit values for each CPU, which this object owns.
pub(crate) struct Counters {
    values: NonNull<u64>,
    net: *mut bindings::net,
    published: Atomic<bool>,
}

// SAFETY: The values are counted and summed from everywhere, and `net` is only a name for a namespace
// that outlives its counters.
unsafe impl Send for Counters {}
// SAFETY: As above.
unsafe impl Sync for Counters {}

impl Counters {
    /// All counters at zero, with a file that shows them. Process context.
    pub(crate) fn new(net: &NetHandle) -> Result<Counters> {
        // SAFETY: No requirements.
        let values = unsafe { bindings::strack_c_counters_alloc(COUNTERS + EVENTS) };
        // INVARIANT: Of this size, and new.
        let counters = Counters {
            values: NonNull::new(values).ok_or(ENOMEM)?,
            net: net.as_net(),
            published: Atomic::new(false),
        };
        // SAFETY: The namespace is being set up. The file is gone before the values are.
        to_result(unsafe { bindings::strack_c_snmp_create(counters.net, values.cast()) })?;
        counters.published.xchg(true, Full);
        Ok(counters)
    }

    /// Takes the file away. Process context.
    pub(crate) fn unpublish(&self) {
        if self.published.xchg(false, Full) {
            // SAFETY: The file was made in this namespace, which is still there.
            unsafe { bindings::strack_c_snmp_remove(self.net) };
        }
    }

    /// Adds to a counter of the protocol.
    pub(crate) fn add(&self, counter: Counter, n: u64) {
        self.count(usize::from(counter as u8), n);
    }

    /// Adds what a connection has counted, and sets that back to zero.
    pub(crate) fn collect(&self, counts: &mut Counts) {
        counts.drain(|counter, n| self.add(counter, n.into()));
    }

    /// Counts an event.
    pub(crate) fn event(&self, event: Event) {
        self.event_n(event, 1);
    }

    /// Counts an event `n` times.
    pub(crate) fn event_n(&self, event: Event, n: u64) {
        self.count(COUNTERS + usize::from(event as u8), n);
    }

    fn count(&self, slot: usize, n: u64) {
        // SAFETY: By the type invariant: discriminants are smaller than the number of variants.
        unsafe { bindings::strack_c_counters_add(self.values.as_ptr(), slot, n) }
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        self.unpublish();
        // SAFETY: By the type invariant, and the file is gone.
        unsafe { bindings::strack_c_counters_free(self.values.as_ptr()) }
    }
}

/// Somebody reads the file.
///
/// # Safety
///
/// `seq` is being shown, and `values` is that of the [`Counters`] that made the file.
#[no_mangle]
unsafe extern "C" fn strack_snmp_show(seq: *mut bindings::seq_file, values: *mut c_void) {
    let counters = Counter::ALL.iter().map(|counter| counter.name());
    let events = Event::ALL.iter().map(|event| event.name());
    for (slot, name) in Iterator::chain(counters, events).enumerate() {
        // SAFETY: By the safety requirements; there is a value for each name, and the name is as long
        // as it says.
        unsafe {
            let sum = bindings::strack_c_counters_sum(values.cast(), slot);
            bindings::strack_c_snmp_line(seq, name.as_ptr().cast(), name.len(), sum);
        }
    }
}
