// SPDX-License-Identifier: GPL-2.0

//! A network namespace: the kernel's, our settings in it, and the way to the Rust half.

use super::{
    bindings,
    sock::Sock, //
};
use crate::{
    carrier::addr::Addr,
    engine::{
        accept,
        NetNs, //
    },
    proto::{
        loss,
        params::Parameter,
        window, //
    },
};
use core::ptr::NonNull;
use kernel::{
    ffi::{
        c_int,
        c_uint, //
    },
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// The C half of a namespace's state.
///
/// # Invariants
///
/// The pointer is to a `struct strack_net` between `strack_net_start()` and the end of
/// `strack_net_free()`, or nothing is done with it any more: when a namespace stops, everything that
/// could is stopped first.
pub(crate) struct NetHandle(NonNull<bindings::strack_net>);

// SAFETY: The object belongs to no thread; its settings are single words.
unsafe impl Send for NetHandle {}
// SAFETY: As above.
unsafe impl Sync for NetHandle {}

macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $(
            $(#[$doc])*
            pub(crate) fn $name(&self) -> u32 {
                // SAFETY: By the type invariant; a word that an administrator may change meanwhile.
                let value = unsafe { (&raw const (*self.0.as_ptr()).sysctl.$name).read_volatile() };
                u32::try_from(value).unwrap_or(0)
            }
        )*
    };
}

impl NetHandle {
    /// The kernel's namespace.
    pub(crate) fn as_net(&self) -> *mut bindings::net {
        // SAFETY: By the type invariant; set before Rust saw it and never changed.
        unsafe { (*self.0.as_ptr()).net }
    }

    /// The user whom packets are sent for that no socket of a user sends: the namespace's root.
    pub(crate) fn uid(&self) -> u32 {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_net_uid(self.as_net()) }
    }

    settings! {
        /// `net.strack.profile`, as an index into its names.
        profile,
        /// `net.strack.path_policy`, as an index into its names.
        path_policy,
        /// `net.strack.paths`.
        paths,
        /// `net.strack.burst_max`, packets.
        burst_max,
        /// `net.strack.rto_min_us`.
        rto_min_us,
        /// `net.strack.rto_max_us`.
        rto_max_us,
        /// `net.strack.retries`.
        retries,
        /// `net.strack.link_mbps`.
        link_mbps,
        /// `net.strack.base_rtt_us`.
        base_rtt_us,
        /// `net.strack.target_delay_us`.
        target_delay_us,
        /// `net.strack.initial_window`, bytes; zero for the protocol's own choice.
        initial_window,
        /// `net.strack.time_wait_ms`.
        time_wait_ms,
        /// `net.strack.max_orphans`, connections.
        max_orphans,
        /// `net.strack.max_time_wait`, connections.
        max_time_wait,
        /// `net.strack.keepalive_time`, seconds.
        keepalive_time,
        /// `net.strack.keepalive_intvl`, seconds.
        keepalive_intvl,
        /// `net.strack.keepalive_probes`.
        keepalive_probes,
    }

    /// How many connections without a socket a namespace may have by default, by this host's memory.
    pub(crate) fn most_rest(&self) -> u32 {
        // SAFETY: By the type invariant; set before Rust saw it and never changed.
        let most = unsafe { (*self.0.as_ptr()).most_rest };
        u32::try_from(most).unwrap_or(0)
    }

    /// The constants of the protocol as they are set now, in the order of [`PARAMS`].
    pub(crate) fn params(&self) -> impl Iterator<Item = u32> + '_ {
        (0..PARAMS.0.len()).map(|i| {
            // SAFETY: By the type invariant; there are as many values as `strack_params()` has
            // named. They are words that an administrator may change meanwhile.
            let value = unsafe { (*self.0.as_ptr()).params.add(i).read_volatile() };
            u32::try_from(value).unwrap_or(0)
        })
    }

    /// The range that ports are chosen from, both ends included.
    pub(crate) fn port_range(&self) -> (u16, u16) {
        let (mut low, mut high) = (0, 0);
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_port_range(self.as_net(), &mut low, &mut high) };
        let port = |value: c_int| u16::try_from(value).unwrap_or(u16::MAX);
        (port(low), port(high).max(port(low)))
    }

    /// Whether `port` is only given to who asks for it (`net.ipv4.ip_local_reserved_ports`).
    pub(crate) fn port_reserved(&self, port: u16) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_port_reserved(self.as_net(), port) }
    }

    /// Whether the calling process may not bind to `port`.
    pub(crate) fn port_privileged(&self, port: u16) -> bool {
        // SAFETY: By the type invariant; process context.
        unsafe { bindings::strack_c_port_privileged(self.as_net(), port) }
    }

    /// Whether `addr` is one of this host, on interface `oif` if that is not zero.
    pub(crate) fn addr_is_local(&self, addr: Addr, oif: i32) -> bool {
        let octets = addr.octets();
        // SAFETY: By the type invariant; the address is 16 bytes long.
        unsafe {
            bindings::strack_c_addr_is_local(self.as_net(), octets.as_ptr(), addr.is_v4(), oif)
        }
    }

    /// Lets [`accept::work`] run in process context.
    pub(crate) fn queue_accept_work(&self) {
        // SAFETY: By the type invariant; the work is cancelled before the object goes.
        unsafe { bindings::strack_c_queue_accept_work(self.0.as_ptr()) }
    }
}

const PARAM_COUNT: usize = window::Params::TABLE.len() + loss::Params::TABLE.len();

/// All constants of the protocol that can be set: those of the window, then those of loss recovery.
struct Params([bindings::strack_param; PARAM_COUNT]);

// SAFETY: Never changed, and what it points to lives as long as the module.
unsafe impl Sync for Params {}

static PARAMS: Params = Params({
    let mut params = [describe(&window::Params::TABLE[0]); PARAM_COUNT];
    let mut i = 0;
    while i < PARAM_COUNT {
        let first = window::Params::TABLE.len();
        params[i] = describe(if i < first {
            &window::Params::TABLE[i]
        } else {
            &loss::Params::TABLE[i - first]
        });
        i += 1;
    }
    params
});

const fn describe(param: &Parameter) -> bindings::strack_param {
    // Ends with a zero. The values fit: they are those of 16-bit fields.
    bindings::strack_param {
        name: param.name.as_ptr().cast(),
        value: param.default as c_int,
        min: param.min as c_int,
        max: param.max as c_int,
    }
}

/// What constants there are.
///
/// # Safety
///
/// Called by the C half only, with somewhere to put their number.
#[no_mangle]
unsafe extern "C" fn strack_params(count: *mut c_uint) -> *const bindings::strack_param {
    // SAFETY: By the function's requirements.
    unsafe { *count = PARAM_COUNT as c_uint };
    PARAMS.0.as_ptr()
}

/// The Rust half of a socket's namespace.
pub(crate) fn of(sock: &Sock) -> Arc<NetNs> {
    // SAFETY: A socket keeps its namespace, and that keeps the reference in `priv_` until it stops.
    unsafe { borrow(sock.net().as_ptr()) }.into()
}

/// Borrows the Rust half.
///
/// # Safety
///
/// `sn` has been started and is not freed while `'a` lasts.
unsafe fn borrow<'a>(sn: *mut bindings::strack_net) -> ArcBorrow<'a, NetNs> {
    // SAFETY: `strack_net_start` stored it, `strack_net_free` takes it back.
    unsafe { ArcBorrow::from_raw((*sn).priv_.cast::<NetNs>().cast_const()) }
}

/// A namespace begins, or the module is loaded. Process context.
///
/// # Safety
///
/// Called by the C half only, once for each namespace, with `net` and `sysctl` filled in.
#[no_mangle]
unsafe extern "C" fn strack_net_start(sn: *mut bindings::strack_net) -> c_int {
    let Some(handle) = NonNull::new(sn) else {
        return EINVAL.to_errno();
    };
    // INVARIANT: This is `strack_net_start()`.
    match NetNs::start(NetHandle(handle)) {
        Ok(ns) => {
            // SAFETY: `sn` is valid and nobody else looks at it yet.
            unsafe { (*sn).priv_ = Arc::into_raw(ns).cast_mut().cast() };
            0
        }
        Err(error) => error.to_errno(),
    }
}

/// A namespace ends, or the module is unloaded. Process context.
///
/// # Safety
///
/// Called by the C half only, once for each namespace that was started, with no socket left in it.
#[no_mangle]
unsafe extern "C" fn strack_net_leave(sn: *mut bindings::strack_net) {
    // SAFETY: It is started, and stopped later.
    unsafe { borrow(sn) }.leave();
}

/// Ends what is in the namespace; returns whether callbacks are still under way. Process context.
///
/// # Safety
///
/// Called by the C half only, once for each namespace, an RCU grace period after `strack_net_leave()`,
/// with no work running.
#[no_mangle]
unsafe extern "C" fn strack_net_stop(sn: *mut bindings::strack_net) -> bool {
    // SAFETY: It is started, and freed later.
    unsafe { borrow(sn) }.stop()
}

/// The end of a namespace's state. Process context.
///
/// # Safety
///
/// Called by the C half only, once for each namespace, when the callbacks that were under way at the
/// end of `strack_net_stop()` have run.
#[no_mangle]
unsafe extern "C" fn strack_net_free(sn: *mut bindings::strack_net) {
    // SAFETY: The reference that `strack_net_start` stored; nobody borrows it any more.
    let ns = unsafe { Arc::from_raw((*sn).priv_.cast::<NetNs>().cast_const()) };
    ns.counters.unpublish();
}

/// Handshakes wait. Process context, one at a time for each namespace.
///
/// # Safety
///
/// Called by the C half only, between start and stop.
#[no_mangle]
unsafe extern "C" fn strack_accept_work(sn: *mut bindings::strack_net) {
    // SAFETY: The C half cancels the work before it stops the namespace.
    let ns: Arc<NetNs> = unsafe { borrow(sn) }.into();
    accept::work(&ns);
}
