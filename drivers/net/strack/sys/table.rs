// SPDX-License-Identifier: GPL-2.0

//! The connections of a network namespace by id and by peer; see table.h for how it stays alive.

use super::bindings;
use crate::engine::conn::Conn;
use core::ptr::NonNull;
use kernel::{
    ffi::c_void,
    prelude::*,
    sync::{
        rcu,
        Arc,
        ArcBorrow, //
    },
    types::Opaque, //
};

/// What a connection has in the table.
#[pin_data]
#[repr(C)]
pub(crate) struct Node {
    #[pin]
    raw: Opaque<bindings::strack_node>,
}

// SAFETY: All access goes through the table, which has a lock.
unsafe impl Send for Node {}
// SAFETY: As above.
unsafe impl Sync for Node {}

impl Node {
    /// A node that is in no table. `peer_cid` is zero where the peer is not known by its id.
    pub(crate) fn new(cid: u32, peer: [u8; 16], peer_cid: u32) -> impl PinInit<Self> {
        pin_init!(Self {
            raw <- Opaque::ffi_init(move |slot: *mut bindings::strack_node| {
                // SAFETY: `slot` is valid for writes; all zeroes is an unlinked node.
                unsafe {
                    slot.write_bytes(0, 1);
                    (*slot).cid = cid;
                    (*slot).peer_cid = peer_cid;
                    (*slot).peer = peer;
                }
            }),
        })
    }
}

/// The table.
pub(crate) struct Table(NonNull<bindings::strack_table>);

// SAFETY: The C side locks writers and lets readers run under RCU.
unsafe impl Send for Table {}
// SAFETY: As above.
unsafe impl Sync for Table {}

impl Table {
    /// Makes an empty table. Process context.
    pub(crate) fn new() -> Result<Table> {
        // SAFETY: May sleep.
        let table = unsafe { bindings::strack_c_table_alloc() };
        NonNull::new(table).map(Table).ok_or(ENOMEM)
    }

    /// Adds a connection; the table keeps a reference. None when its id is taken.
    pub(crate) fn insert(&self, conn: &Arc<Conn>) -> Option<Link> {
        let owner = Arc::into_raw(conn.clone());
        // SAFETY: The node stays where it is as long as the reference of the table. That it is in no
        // table yet is checked there.
        let linked = unsafe {
            bindings::strack_c_table_insert(
                self.0.as_ptr(),
                conn.node().raw.get(),
                owner.cast_mut().cast(),
            )
        };
        if !linked {
            // SAFETY: The reference made above, which the table did not take.
            drop(unsafe { Arc::from_raw(owner) });
            return None;
        }
        // INVARIANT: It has just been linked, which happens to a connection once only.
        Some(Link {
            table: self.0,
            conn: NonNull::from(&**conn),
        })
    }

    /// Takes a connection out of the table that it is in, this one. Its timer is stopped, and the
    /// table's reference goes after a grace period.
    pub(crate) fn remove(&self, link: Link) {
        if link.table != self.0 {
            return;
        }
        link.conn().timer().stop();
        // SAFETY: By the invariant of `Link`, which ends here.
        unsafe { bindings::strack_c_table_remove(self.0.as_ptr(), link.conn().node().raw.get()) };
    }

    /// The connection with our id `cid`.
    pub(crate) fn find(&self, cid: u32) -> Option<Arc<Conn>> {
        let _guard = rcu::read_lock();
        // SAFETY: In an RCU section.
        let owner = unsafe { bindings::strack_c_table_find(self.0.as_ptr(), cid) };
        // SAFETY: In the same RCU section.
        unsafe { Self::own(owner) }
    }

    /// The connection of the peer at `peer` that calls itself `peer_cid`.
    pub(crate) fn find_peer(&self, peer: &[u8; 16], peer_cid: u32) -> Option<Arc<Conn>> {
        let _guard = rcu::read_lock();
        // SAFETY: In an RCU section.
        let owner =
            unsafe { bindings::strack_c_table_find_peer(self.0.as_ptr(), peer.as_ptr(), peer_cid) };
        // SAFETY: In the same RCU section.
        unsafe { Self::own(owner) }
    }

    /// Any connection, while there is one.
    pub(crate) fn first(&self) -> Option<Arc<Conn>> {
        let _guard = rcu::read_lock();
        // SAFETY: In an RCU section.
        let owner = unsafe { bindings::strack_c_table_first(self.0.as_ptr()) };
        // SAFETY: In the same RCU section.
        unsafe { Self::own(owner) }
    }

    /// Makes a reference of what a lookup found.
    ///
    /// # Safety
    ///
    /// `owner` is from a lookup in the present RCU read-side section, or NULL.
    unsafe fn own(owner: *mut c_void) -> Option<Arc<Conn>> {
        let owner = NonNull::new(owner)?;
        // SAFETY: `insert` stored it, and the reference of the table is not given back before this
        // RCU section has ended, so the count is above zero here.
        let conn = unsafe { ArcBorrow::from_raw(owner.as_ptr().cast::<Conn>().cast_const()) };
        Some(conn.into())
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: Made by `new`; its owner has taken all connections out.
        unsafe { bindings::strack_c_table_free(self.0.as_ptr()) }
    }
}

/// That a connection is in a table, as the table's reference proves. It is what [`Table::insert`] gave
/// and [`Table::remove`] takes; whoever has it may set the connection's timer.
///
/// # Invariants
///
/// `conn` is in `table`, and there is no other link to it. The reference of the table is given back a
/// grace period after this object was given to [`Table::remove`].
pub(crate) struct Link {
    table: NonNull<bindings::strack_table>,
    conn: NonNull<Conn>,
}

// SAFETY: It stands for a reference to a connection, which belongs to no thread.
unsafe impl Send for Link {}
// SAFETY: As above.
unsafe impl Sync for Link {}

impl Link {
    fn conn(&self) -> &Conn {
        // SAFETY: By the type invariant there is a reference.
        unsafe { self.conn.as_ref() }
    }

    /// Lets the timer of the connection fire at `at`, whether it was queued or not.
    #[inline]
    pub(crate) fn set_timer(&mut self, at: u64) {
        // SAFETY: This is the connection that the timer is in. The exclusive reference to the only link
        // keeps other calls out. The table gives its reference back, after a call of `shut`, only when
        // there is no link any more.
        unsafe { self.conn().timer().set(self.conn.as_ptr(), at) };
    }
}

/// Gives back the table's reference, a grace period after a removal. RCU callback context.
///
/// # Safety
///
/// Called by table.c only, with the owner of a node that `insert` linked.
#[no_mangle]
unsafe extern "C" fn strack_node_release(owner: *mut c_void) {
    // SAFETY: The reference that `insert` made.
    let conn = unsafe { Arc::from_raw(owner.cast::<Conn>().cast_const()) };
    // The timer counts on this reference. It is not set any more, since that takes a link.
    conn.timer().shut();
}
