// SPDX-License-Identifier: GPL-2.0

//! sys/table.rs and table.c: connections are found while they are in the table, live as long as
//! somebody who has found them, and are let go of once.
//!
//! A table holds connections and nothing else, so these are real ones, to this host, which never send
//! anything. The first namespace's loopback device must be up.

use super::{
    rcu_wait,
    Fixture, //
};
use crate::{
    carrier::{
        addr::Addr,
        route::{
            FlowKey,
            Route, //
        },
    },
    engine::{
        accept::new_ids,
        conn::{
            new_proto,
            Conn,
            Endpoint,
            Inner,
            Parts, //
        },
        NetNs, //
    },
    proto::{
        connection::{
            Connection,
            Ids, //
        },
        psn::Psn, //
    },
    sys::{
        bindings,
        table::Table,
        timer::now, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        aref::ARef,
        rcu,
        Arc,
        ArcBorrow, //
    },
};

/// Bits of an id that say in which chain it is. See table.h.
const CHAIN: u32 = (1 << bindings::STRACK_TABLE_BITS) - 1;

fn peer() -> Addr {
    Addr::from_v4([127, 0, 0, 1])
}

/// A connection in the table of its namespace.
fn connection(fixture: &Fixture, ids: Ids, peer_cid: u32) -> Result<Arc<Conn>> {
    let ns = fixture.ns();
    let flow = FlowKey {
        saddr: peer(),
        daddr: peer(),
        oif: 0,
        mark: 0,
        uid: 0,
    };
    let route = Route::lookup(&ns, &flow)?;
    let mut config = ns.config();
    config.mss = Inner::usable_payload(&route)?;
    let end = Endpoint {
        addr: peer(),
        port: 7,
        scope: 0,
    };
    Conn::new(
        &ns,
        Parts {
            local: end,
            peer: end,
            ids,
            peer_cid,
            proto: new_proto(|| Connection::connect(config, ids, Psn::new(1), 7, 7, now()))?,
            route,
            flow,
            sock: ARef::from(fixture.sock()),
        },
    )
}

/// An id that nobody has, nor whoever would be next to it in its chain.
fn ids(ns: &NetNs) -> Result<Ids> {
    loop {
        let ids = new_ids(ns)?;
        if ns.conns.find(neighbour(ids).cid).is_none() {
            return Ok(ids);
        }
    }
}

/// Another id of the same chain.
fn neighbour(ids: Ids) -> Ids {
    Ids {
        cid: ids.cid ^ (CHAIN + 1),
        ..ids
    }
}

fn is(found: Option<Arc<Conn>>, conn: &Arc<Conn>) -> bool {
    found.is_some_and(|found| Arc::ptr_eq(&found, conn))
}

#[kunit_tests(strack_table)]
mod suite {
    use super::*;

    #[test]
    fn empty() -> Result {
        let table = Table::new()?;
        assert!(table.find(0).is_none());
        assert!(table.find_peer(&peer().octets(), 1).is_none());
        assert!(table.first().is_none());
        Ok(())
    }

    #[test]
    fn found_by_id_until_removed() -> Result {
        let fixture = Fixture::new()?;
        let ns = fixture.ns();
        let ids = ids(&ns)?;
        assert!(ns.conns.find(ids.cid).is_none());
        let conn = connection(&fixture, ids, 0)?;
        let found = is(ns.conns.find(ids.cid), &conn);
        let other = ns.conns.find(neighbour(ids).cid).is_some();
        let any = ns.conns.first().is_some();
        conn.discard();
        assert!(found);
        assert!(!other);
        assert!(any);
        assert!(ns.conns.find(ids.cid).is_none());
        Ok(())
    }

    #[test]
    fn one_chain_holds_several() -> Result {
        let fixture = Fixture::new()?;
        let ns = fixture.ns();
        let ids = ids(&ns)?;
        let first = connection(&fixture, ids, 0)?;
        let second = connection(&fixture, neighbour(ids), 0)?;
        let both =
            is(ns.conns.find(ids.cid), &first) && is(ns.conns.find(neighbour(ids).cid), &second);
        first.discard();
        let left =
            ns.conns.find(ids.cid).is_none() && is(ns.conns.find(neighbour(ids).cid), &second);
        second.discard();
        assert!(both);
        assert!(left);
        assert!(ns.conns.find(neighbour(ids).cid).is_none());
        Ok(())
    }

    #[test]
    fn id_is_taken_once() -> Result {
        let fixture = Fixture::new()?;
        let ns = fixture.ns();
        let ids = ids(&ns)?;
        let conn = connection(&fixture, ids, 0)?;
        let again = connection(&fixture, ids, 0).err();
        let still = is(ns.conns.find(ids.cid), &conn);
        conn.discard();
        assert_eq!(again, Some(EAGAIN));
        assert!(still);
        // And can be had again.
        let conn = connection(&fixture, ids, 0)?;
        conn.discard();
        Ok(())
    }

    #[test]
    fn found_by_peer() -> Result {
        const PEER_CID: u32 = 0x5eed_0001;
        let fixture = Fixture::new()?;
        let ns = fixture.ns();
        let find = |addr: Addr, cid| ns.conns.find_peer(&addr.octets(), cid);
        let conn = connection(&fixture, ids(&ns)?, PEER_CID)?;
        let unknown = connection(&fixture, ids(&ns)?, 0)?;
        let found = is(find(peer(), PEER_CID), &conn);
        let others = find(peer(), PEER_CID + 1).is_some()
            || find(Addr::from_v4([127, 0, 0, 2]), PEER_CID).is_some()
            || find(peer(), 0).is_some();
        conn.discard();
        unknown.discard();
        assert!(found);
        assert!(!others);
        assert!(find(peer(), PEER_CID).is_none());
        Ok(())
    }

    #[test]
    fn in_a_table_once_in_its_life() -> Result {
        let fixture = Fixture::new()?;
        let ns = fixture.ns();
        let other = Table::new()?;
        let conn = connection(&fixture, ids(&ns)?, 0)?;
        let while_in = other.insert(&conn).is_some();
        conn.discard();
        rcu_wait();
        let after = other.insert(&conn).is_some();
        assert!(!while_in && !after);
        assert!(other.first().is_none());
        Ok(())
    }

    #[test]
    fn reference_is_given_back() -> Result {
        let fixture = Fixture::new()?;
        let conn = connection(&fixture, ids(&fixture.ns())?, 0)?;
        conn.discard();
        // Removed already: nothing is given back twice.
        conn.discard();
        rcu_wait();
        assert!(Arc::into_unique_or_drop(conn).is_some());
        Ok(())
    }

    #[test]
    fn alive_for_whoever_is_reading() -> Result {
        let fixture = Fixture::new()?;
        let ids = ids(&fixture.ns())?;
        let conn = connection(&fixture, ids, 0)?;
        let seen = {
            let _reader = rcu::read_lock();
            let raw = Arc::as_ptr(&conn);
            conn.discard();
            // Ours was the last reference but for the table's.
            drop(conn);
            // SAFETY: The table gives its reference back a grace period after the removal, which the
            // read-side section holds up.
            let borrowed = unsafe { ArcBorrow::from_raw(raw) };
            borrowed.local.port
        };
        rcu_wait();
        assert_eq!(seen, 7);
        Ok(())
    }
}
