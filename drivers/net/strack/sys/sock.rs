// SPDX-License-Identifier: GPL-2.0

//! `struct sock`, as much of it as a stream socket needs.
//!
//! [`Sock`] is a socket that somebody keeps alive; an `ARef<Sock>` keeps it alive itself. What is
//! guarded by the socket lock is reached through [`SockLock`], which is the lock being held. The
//! rest are single words that the kernel, too, reads and writes without a lock.

use super::bindings;
use crate::family::socket::Socket;
use core::{
    ops::Deref,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    ffi::{
        c_int,
        c_long,
        c_void, //
    },
    prelude::*,
    sync::aref::{
        ARef,
        AlwaysRefCounted, //
    },
    types::Opaque, //
};

/// `RCV_SHUTDOWN`: nothing more is to be read.
pub(crate) const RCV_SHUTDOWN: u8 = 1;
/// `SEND_SHUTDOWN`: nothing more is to be written.
pub(crate) const SEND_SHUTDOWN: u8 = 2;

/// What poll() wants to know of a connection's buffers. See `struct strack_poll`.
pub(crate) use bindings::strack_poll as PollBuffers;

/// A `struct sock` of this family.
///
/// # Invariants
///
/// The object is the `sk` of a `struct strack_sock` that has been set up by `sock_init_data()`.
#[repr(transparent)]
pub(crate) struct Sock(Opaque<bindings::sock>);

// SAFETY: Sockets are shared between all contexts of the kernel; the methods below use the kernel's
// own rules for each field.
unsafe impl Send for Sock {}
// SAFETY: As above.
unsafe impl Sync for Sock {}

// SAFETY: `sk_refcnt` keeps the object alive.
unsafe impl AlwaysRefCounted for Sock {
    fn inc_ref(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_hold(self.as_ptr()) }
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller hands in a reference.
        unsafe { bindings::strack_c_sk_put(obj.as_ptr().cast()) }
    }
}

macro_rules! word {
    ($(#[$doc:meta])* $get:ident, $field:ident, $ty:ty) => {
        $(#[$doc])*
        pub(crate) fn $get(&self) -> $ty {
            // SAFETY: By the type invariant; a word that is read without a lock in the kernel too.
            unsafe { (&raw const (*self.as_ptr()).$field).read_volatile() as $ty }
        }
    };
}

impl Sock {
    /// Wraps a raw socket.
    ///
    /// # Safety
    ///
    /// `sk` is a socket of this family and outlives `'a`.
    pub(crate) unsafe fn from_raw<'a>(sk: *mut bindings::sock) -> &'a Sock {
        // SAFETY: `Sock` is transparent over `struct sock`, and the caller keeps it alive.
        unsafe { &*sk.cast() }
    }

    /// Makes the socket of a connection that has come in; accept() gives it a file later.
    ///
    /// It takes options, cgroup and owner from `parent`, a listener, and is in state "established".
    /// Process context.
    pub(crate) fn new_child(parent: &Sock) -> Result<ARef<Sock>> {
        // SAFETY: By the type invariant.
        let sk = unsafe { bindings::strack_c_sk_clone(parent.as_ptr()) };
        let sk = NonNull::new(sk).ok_or(ENOBUFS)?;
        // SAFETY: The new socket comes with one reference, and it is ours.
        Ok(unsafe { ARef::from_raw(sk.cast()) })
    }

    /// Does something at the expense of the socket's cgroup: memory that is accounted for is charged to
    /// that, whoever calls. Process context.
    pub(crate) fn on_account_of<R>(&self, f: impl FnOnce() -> R) -> R {
        // SAFETY: By the type invariant; the socket, and so its cgroup, outlives the scope.
        let old = unsafe { bindings::strack_c_memcg_enter(self.as_ptr()) };
        let result = f();
        // SAFETY: In the same process; this ends the scope.
        unsafe { bindings::strack_c_memcg_leave(old) };
        result
    }

    /// The C object.
    pub(crate) fn as_ptr(&self) -> *mut bindings::sock {
        self.0.get()
    }

    /// The C half of the network namespace state. Valid as long as this socket.
    pub(crate) fn net(&self) -> NonNull<bindings::strack_net> {
        // SAFETY: By the type invariant.
        let sn = unsafe { bindings::strack_c_sk_net(self.as_ptr()) };
        // SAFETY: net_generic() of a registered id never gives NULL.
        unsafe { NonNull::new_unchecked(sn) }
    }

    word!(
        /// `SO_RCVBUF`, bytes, as doubled by the kernel.
        rcvbuf, sk_rcvbuf, i32
    );
    word!(
        /// `SO_SNDBUF`, bytes, as doubled by the kernel.
        sndbuf, sk_sndbuf, i32
    );
    word!(
        /// `SO_MARK`.
        mark, sk_mark, u32
    );
    word!(
        /// The pending error, positive errno.
        err, sk_err, i32
    );
    /// The pending error, at least as new as the state and the directions shut down that the caller has
    /// read before.
    pub(crate) fn err_after_state(&self) -> i32 {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_err_after_state(self.as_ptr()) }
    }

    word!(
        /// `SO_LINGER`'s time, jiffies.
        linger_time, sk_lingertime, c_long
    );

    /// `SO_BINDTODEVICE`, interface index or 0.
    pub(crate) fn bound_dev(&self) -> i32 {
        // SAFETY: By the type invariant; one word, see `word!`.
        unsafe { (&raw const (*self.as_ptr()).__sk_common.skc_bound_dev_if).read_volatile() }
    }

    /// The device that a link-local address is on, if `scope` is what stands beside it, or zero. `EINVAL`
    /// when nothing says so, or the socket is bound to another one.
    pub(crate) fn link_dev(&self, scope: u32) -> Result<i32> {
        let (dev, bound) = (i32::try_from(scope)?, self.bound_dev());
        if dev == 0 {
            return if bound == 0 { Err(EINVAL) } else { Ok(bound) };
        }
        // SAFETY: By the type invariant.
        if unsafe { bindings::strack_c_sk_dev_fits(self.as_ptr(), dev) } {
            Ok(dev)
        } else {
            Err(EINVAL)
        }
    }

    /// The user whose socket it is, as the kernel counts users.
    pub(crate) fn uid(&self) -> u32 {
        // SAFETY: By the type invariant; one word, see `word!`.
        unsafe { (&raw const (*self.as_ptr()).sk_uid.val).read_volatile() }
    }

    /// `SO_REUSEADDR`.
    pub(crate) fn reuse(&self) -> bool {
        // SAFETY: By the type invariant.
        unsafe { (*self.as_ptr()).__sk_common.skc_reuse() != 0 }
    }

    /// Sets the state that `ss`, `SO_ACCEPTCONN` and the like look at (`TCP_*`).
    pub(crate) fn set_state(&self, state: u32) {
        // SAFETY: By the type invariant; one byte, read without a lock elsewhere.
        unsafe { (&raw mut (*self.as_ptr()).__sk_common.skc_state).write_volatile(state as u8) }
    }

    /// The state that [`Sock::set_state`] has set.
    pub(crate) fn state(&self) -> u32 {
        // SAFETY: By the type invariant; one byte, written as above.
        unsafe { (&raw const (*self.as_ptr()).__sk_common.skc_state).read_volatile() }.into()
    }

    fn poll_ptr(&self) -> *mut PollBuffers {
        // SAFETY: By the type invariant this is the start of a `struct strack_sock`.
        unsafe { &raw mut (*self.as_ptr().cast::<bindings::strack_sock>()).poll }
    }

    /// Tells poll() about the buffers. Callers hold the connection's lock, or the socket has no
    /// connection and they hold the socket lock.
    pub(crate) fn publish(&self, new: PollBuffers) {
        let (to, old) = (self.poll_ptr(), self.published());
        // What has not changed is not written, since pollers on other CPUs would lose the cache line.
        // SAFETY: By the type invariant; words that are read without a lock, and only the caller writes.
        unsafe {
            if old.readable != new.readable {
                (&raw mut (*to).readable).write_volatile(new.readable);
            }
            if old.unsent != new.unsent {
                (&raw mut (*to).unsent).write_volatile(new.unsent);
            }
            if old.full != new.full {
                (&raw mut (*to).full).write_volatile(new.full);
            }
        }
    }

    /// What [`Sock::publish`] was last given, or in part what before that.
    pub(crate) fn published(&self) -> PollBuffers {
        let from = self.poll_ptr();
        // SAFETY: By the type invariant; words that others may write meanwhile.
        unsafe {
            PollBuffers {
                readable: (&raw const (*from).readable).read_volatile(),
                unsent: (&raw const (*from).unsent).read_volatile(),
                full: (&raw const (*from).full).read_volatile(),
            }
        }
    }

    /// Tells poll() how many connections wait for accept(). Callers hold the lock of their queue.
    pub(crate) fn set_waiting(&self, count: usize) {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // SAFETY: By the type invariant; one word, read without a lock elsewhere.
        unsafe { (&raw mut (*self.as_ptr()).sk_ack_backlog).write_volatile(count) }
    }

    word!(
        /// Connections that wait for accept().
        waiting, sk_ack_backlog, u32
    );

    /// Directions that are shut down.
    pub(crate) fn shutdown(&self) -> u8 {
        // SAFETY: By the type invariant.
        unsafe { (&raw const (*self.as_ptr()).sk_shutdown).read_volatile() }
    }

    /// Shuts down more directions. Callers hold the connection's lock, or the socket is not
    /// connected and they hold the socket lock.
    pub(crate) fn add_shutdown(&self, how: u8) {
        let all = self.shutdown() | how;
        // SAFETY: By the type invariant.
        unsafe { (&raw mut (*self.as_ptr()).sk_shutdown).write_volatile(all) }
    }

    /// Forgets shut down directions; for a socket that connects anew.
    pub(crate) fn clear_shutdown(&self) {
        // SAFETY: By the type invariant.
        unsafe { (&raw mut (*self.as_ptr()).sk_shutdown).write_volatile(0) }
    }

    /// Whether a `SOCK_*` flag is set.
    fn flag(&self, flag: bindings::sock_flags) -> bool {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_flag(self.as_ptr(), flag as c_int) }
    }

    /// `SO_LINGER` is on.
    pub(crate) fn lingers(&self) -> bool {
        self.flag(bindings::sock_flags_SOCK_LINGER)
    }

    /// `SO_KEEPALIVE` is on.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.flag(bindings::sock_flags_SOCK_KEEPOPEN)
    }

    /// How long a read may wait, jiffies.
    pub(crate) fn rcvtimeo(&self, nonblock: bool) -> c_long {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_rcvtimeo(self.as_ptr(), nonblock) }
    }

    /// How long a write may wait, jiffies.
    pub(crate) fn sndtimeo(&self, nonblock: bool) -> c_long {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_sndtimeo(self.as_ptr(), nonblock) }
    }

    /// How many bytes a read of `len` waits for.
    pub(crate) fn rcvlowat(&self, waitall: bool, len: usize) -> usize {
        let len = c_int::try_from(len).unwrap_or(c_int::MAX);
        // SAFETY: By the type invariant.
        let target = unsafe { bindings::strack_c_sk_rcvlowat(self.as_ptr(), waitall, len) };
        usize::try_from(target).unwrap_or(1)
    }

    /// Charges memory of packets received: to the receive buffer, to what all sockets may have
    /// together, and to the cgroup. False if one of the last two has no more.
    ///
    /// Callers of this and of the next three hold the lock of the connection, bottom halves off.
    pub(crate) fn charge_read(&self, bytes: u32) -> bool {
        // SAFETY: By the type invariant. The lock that is held guards what the function changes.
        unsafe { bindings::strack_c_sk_rmem_charge(self.as_ptr(), bytes) }
    }

    /// Gives back what [`Sock::charge_read`] took.
    pub(crate) fn uncharge_read(&self, bytes: u32) {
        // SAFETY: As in `charge_read`.
        unsafe { bindings::strack_c_sk_rmem_uncharge(self.as_ptr(), bytes) }
    }

    /// Charges memory although there is no more; not to the cgroup.
    pub(crate) fn charge_read_beyond(&self, bytes: u32) {
        // SAFETY: As in `charge_read`.
        unsafe { bindings::strack_c_sk_rmem_force(self.as_ptr(), bytes) }
    }

    /// Gives back what one call of [`Sock::charge_read_beyond`] took.
    pub(crate) fn uncharge_read_beyond(&self, bytes: u32) {
        // SAFETY: As in `charge_read`.
        unsafe { bindings::strack_c_sk_rmem_unforce(self.as_ptr(), bytes) }
    }

    /// Takes the pending error, if there is one.
    pub(crate) fn take_error(&self) -> Result {
        // SAFETY: By the type invariant.
        to_result(unsafe { bindings::strack_c_sk_take_error(self.as_ptr()) })
    }

    /// Checks the control messages of a write. None changes anything, but malformed ones are refused.
    pub(crate) fn check_control(&self, msg: &mut bindings::msghdr) -> Result {
        // SAFETY: By the type invariant; the message is the caller's.
        to_result(unsafe { bindings::strack_c_sk_check_control(self.as_ptr(), msg) })
    }

    /// A writer is out of room: wake it when there is some.
    pub(crate) fn want_room(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_nospace_set(self.as_ptr()) }
    }

    /// Wakes readers.
    pub(crate) fn wake_read(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_wake_read(self.as_ptr()) }
    }

    /// Wakes writers that found no room.
    pub(crate) fn wake_write(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_wake_write(self.as_ptr()) }
    }

    /// Wakes everybody.
    pub(crate) fn wake_state(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_wake_state(self.as_ptr()) }
    }

    /// Leaves an error for the next system call. Whoever sees what is changed after this sees it.
    pub(crate) fn set_err(&self, err: Error) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_set_err(self.as_ptr(), -err.to_errno()) }
    }

    /// Wakes everybody because of an error that was set.
    pub(crate) fn report_err(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::sk_error_report(self.as_ptr()) }
    }

    /// Whether the calling process is on its way out, and must not wait.
    pub(crate) fn exiting() -> bool {
        // SAFETY: Process context.
        unsafe { bindings::strack_c_exiting() }
    }

    /// Sends SIGPIPE to the calling process.
    pub(crate) fn sigpipe() {
        // SAFETY: Process context.
        unsafe { bindings::strack_c_sk_sigpipe() }
    }

    /// Takes the socket lock. May sleep.
    pub(crate) fn lock(&self) -> SockLock<'_> {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_lock(self.as_ptr()) };
        SockLock { sock: self }
    }
}

/// The socket lock of a [`Sock`], held.
///
/// Taken in process context only; the holder may sleep. It comes before every spin lock.
pub(crate) struct SockLock<'a> {
    sock: &'a Sock,
}

impl Deref for SockLock<'_> {
    type Target = Sock;

    fn deref(&self) -> &Sock {
        self.sock
    }
}

impl Drop for SockLock<'_> {
    fn drop(&mut self) {
        // SAFETY: By the type, the lock is held.
        unsafe { bindings::strack_c_sk_release(self.sock.as_ptr()) }
    }
}

impl SockLock<'_> {
    /// Sleeps, without the lock, until `ready` (called with it) holds, `timeo` (jiffies) has run
    /// out (`EAGAIN`), a signal comes, or another thread disconnects the socket (`EPIPE`, as TCP).
    pub(crate) fn wait(
        &mut self,
        timeo: &mut c_long,
        mut ready: &mut dyn FnMut() -> bool,
    ) -> Result {
        /// Calls the closure that `arg` points to.
        ///
        /// # Safety
        ///
        /// `arg` is the address of a `&mut dyn FnMut() -> bool` that nobody else uses.
        unsafe extern "C" fn call(arg: *mut c_void) -> bool {
            // SAFETY: The caller's promise.
            let ready = unsafe { &mut *arg.cast::<&mut dyn FnMut() -> bool>() };
            ready()
        }
        let arg = (&raw mut ready).cast::<c_void>();
        // SAFETY: The lock is held, as the function wants, and `arg` outlives the call.
        to_result(unsafe { bindings::strack_c_sk_wait(self.sock.as_ptr(), timeo, Some(call), arg) })
    }

    /// Binds the socket to a device as `SO_BINDTODEVICE` does; zero frees it.
    pub(crate) fn set_bound_dev(&mut self, dev: i32) {
        // SAFETY: The lock is held.
        unsafe { bindings::strack_c_sk_set_bound_dev(self.sock.as_ptr(), dev) }
    }

    /// The socket has lost its connection by the program's wish; see [`SockLock::wait`].
    pub(crate) fn count_disconnect(&mut self) {
        // SAFETY: The lock is held.
        unsafe { bindings::strack_c_sk_count_disconnect(self.sock.as_ptr()) }
    }

    /// Cuts the socket off from its file, for good.
    pub(crate) fn orphan(&self) {
        // SAFETY: By the type invariant.
        unsafe { bindings::strack_c_sk_orphan(self.sock.as_ptr()) }
    }
}

/// Gives an accepted socket its file, and the file the reference to it.
pub(crate) fn graft(sock: ARef<Sock>, newsock: NonNull<bindings::socket>) {
    let lock = sock.lock();
    // SAFETY: `newsock` is fresh from accept4() and has no sock yet.
    unsafe { bindings::strack_c_sk_graft(sock.as_ptr(), newsock.as_ptr()) };
    drop(lock);
    // The file gives it back in `strack_release()`.
    let _ = ARef::into_raw(sock);
}

/// Puts the family's part into a socket that has none.
pub(crate) fn install(sock: &Sock, inner: KBox<Socket>) {
    // SAFETY: By the invariant of `Sock`.
    unsafe { bindings::strack_c_sk_set_inner(sock.as_ptr(), KBox::into_raw(inner).cast()) }
}

/// The family's part of a locked socket.
pub(crate) fn inner<'a>(lock: &'a mut SockLock<'_>) -> &'a mut Socket {
    // SAFETY: Every socket is given its part by `install` before anybody can lock it and keeps it
    // until `sk_destruct`; the exclusive borrow of the lock makes this reference exclusive.
    unsafe { &mut *bindings::strack_c_sk_inner(lock.sock.as_ptr()).cast::<Socket>() }
}

/// `sk_destruct`: frees the family's part of a socket on its way to be freed itself. Any context.
///
/// # Safety
///
/// Called by the kernel for a socket of this family that nobody has a reference to any more.
#[no_mangle]
unsafe extern "C" fn strack_sock_fini(sk: *mut bindings::sock) {
    // SAFETY: A valid socket still.
    let inner = unsafe { bindings::strack_c_sk_inner(sk) };
    if !inner.is_null() {
        // SAFETY: From `install`, and this is the last use of it.
        drop(unsafe { KBox::from_raw(inner.cast::<Socket>()) });
    }
}

/// Calls `f` with a socket whose lock the kernel has taken on our behalf.
///
/// # Safety
///
/// `sk` is a socket of this family that has been given its part, and the socket lock is held by the
/// caller.
pub(crate) unsafe fn with_inner(sk: *mut bindings::sock, f: impl FnOnce(&Sock, &mut Socket)) {
    // SAFETY: By the caller's promise.
    let sock = unsafe { Sock::from_raw(sk) };
    // The lock is the caller's to release.
    let mut lock = core::mem::ManuallyDrop::new(SockLock { sock });
    f(sock, inner(&mut lock));
}
