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

    /// Adds a connection; the table keeps a reference. False when its id is taken.
    pub(crate) fn insert(&self, conn: &Arc<Conn>) -> bool {
        let owner = Arc::into_raw(conn.clone());
        let node = conn.node().raw.get();
        // SAFETY: The connection is not in a table yet and nobody else knows it, so its node can
        // be written and linked; it stays where it is as long as the reference of the table.
        let linked = unsafe {
            (*node).owner = owner.cast_mut().cast();
            bindings::strack_c_table_insert(self.0.as_ptr(), node)
        };
        if !linked {
            // SAFETY: The reference made above, which the table did not take.
            drop(unsafe { Arc::from_raw(owner) });
        }
        linked
    }

    /// Takes a connection out, if it is in. Its reference goes after a grace period.
    pub(crate) fn remove(&self, conn: &Conn) {
        // SAFETY: A valid node, in this table or in none.
        unsafe { bindings::strack_c_table_remove(self.0.as_ptr(), conn.node().raw.get()) };
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

/// Gives back the table's reference, a grace period after a removal. RCU callback context.
///
/// # Safety
///
/// Called by table.c only, with the owner of a node that `insert` linked.
#[no_mangle]
unsafe extern "C" fn strack_node_release(owner: *mut c_void) {
    // SAFETY: The reference that `insert` made.
    let conn = unsafe { Arc::from_raw(owner.cast::<Conn>().cast_const()) };
    // The timer counts on this reference. It is not set any more: the connection was marked as
    // removed, under its lock, before it was taken out of the table.
    conn.quiesce();
}
