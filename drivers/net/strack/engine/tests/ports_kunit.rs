// SPDX-License-Identifier: GPL-2.0

//! engine/ports.rs: who may have a port beside whom, who listens there, and which one is given to
//! those who take any.

use crate::{
    carrier::addr::Addr,
    engine::{
        listener::Listener,
        ports::{
            ListenRoom,
            Ports,
            Room,
            Scope, //
        },
    },
    family::socket::Options,
    sys::{
        bindings,
        tests::Fixture, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

fn on(addr: Addr) -> Scope {
    Scope {
        addr,
        v6only: false,
    }
}

fn v4(last: u8) -> Addr {
    Addr::from_v4([192, 0, 2, last])
}

fn v6(last: u8) -> Addr {
    let mut octets = [0; 16];
    octets[0] = 0xfd;
    octets[15] = last;
    Addr::new(octets)
}

fn any_v4() -> Scope {
    on(Addr::from_v4([0; 4]))
}

const ANY: Scope = Scope {
    addr: Addr::ANY,
    v6only: false,
};

const ANY_V6_ONLY: Scope = Scope {
    addr: Addr::ANY,
    v6only: true,
};

fn set(fixture: &Fixture, reuse: bool, dev: i32) {
    fixture.write(&bindings::strack_kunit_sock {
        reuse,
        dev,
        ..fixture.read()
    });
}

fn listener(fixture: &Fixture) -> Result<Arc<Listener>> {
    let options = Options {
        paths: None,
        profile: None,
        policy: None,
        rto_min: None,
        nodelay: false,
    };
    Listener::new(fixture.sock(), options, 1)
}

/// Whether two sockets may have one port at these scopes.
fn compatible(a: &Fixture, b: &Fixture, first: Scope, second: Scope) -> Result<bool> {
    let ports = all_ports()?;
    ports.bind(a.sock(), first, 80, &mut Room::new()?)?;
    match ports.bind(b.sock(), second, 80, &mut Room::new()?) {
        Ok(()) => Ok(true),
        Err(error) if error == EADDRINUSE => Ok(false),
        Err(error) => Err(error),
    }
}

fn all_ports() -> Result<Pin<KBox<Ports>>> {
    KBox::pin_init(Ports::new()?, GFP_KERNEL)
}

fn is(found: Option<Arc<Listener>>, wanted: &Arc<Listener>) -> bool {
    found.is_some_and(|found| Arc::ptr_eq(&found, wanted))
}

#[kunit_tests(strack_ports)]
mod suite {
    use super::*;

    #[test]
    fn scopes_that_overlap() -> Result {
        let (a, b) = (Fixture::new()?, Fixture::new()?);
        // Either way round.
        let clash =
            |x, y| -> Result<bool> { Ok(!compatible(&a, &b, x, y)? && !compatible(&a, &b, y, x)?) };
        let free =
            |x, y| -> Result<bool> { Ok(compatible(&a, &b, x, y)? && compatible(&a, &b, y, x)?) };
        assert!(clash(on(v4(1)), on(v4(1)))?);
        assert!(clash(on(v6(1)), on(v6(1)))?);
        assert!(free(on(v4(1)), on(v4(2)))?);
        assert!(free(on(v6(1)), on(v6(2)))?);
        assert!(free(on(v4(1)), on(v6(1)))?);
        assert!(clash(any_v4(), on(v4(1)))?);
        assert!(free(any_v4(), on(v6(1)))?);
        assert!(clash(ANY, on(v4(1)))?);
        assert!(clash(ANY, on(v6(1)))?);
        assert!(clash(ANY, any_v4())?);
        assert!(clash(ANY, ANY_V6_ONLY)?);
        assert!(free(ANY_V6_ONLY, on(v4(1)))?);
        assert!(free(ANY_V6_ONLY, any_v4())?);
        assert!(clash(ANY_V6_ONLY, on(v6(1)))?);
        Ok(())
    }

    #[test]
    fn ports_do_not_meet() -> Result {
        let (a, b) = (Fixture::new()?, Fixture::new()?);
        let ports = all_ports()?;
        for port in [80, 80 + 256, 80 + 512] {
            ports.bind(a.sock(), ANY, port, &mut Room::new()?)?;
        }
        assert!(ports
            .bind(b.sock(), ANY, 80 + 768, &mut Room::new()?)
            .is_ok());
        assert!(ports.unbind(a.sock(), 80 + 256).is_none());
        assert!(ports
            .bind(b.sock(), ANY, 80 + 256, &mut Room::new()?)
            .is_ok());
        assert_eq!(
            ports.bind(b.sock(), ANY, 80, &mut Room::new()?),
            Err(EADDRINUSE)
        );
        Ok(())
    }

    #[test]
    fn unbind_is_by_its_owner() -> Result {
        let (a, b) = (Fixture::new()?, Fixture::new()?);
        let ports = all_ports()?;
        ports.bind(a.sock(), ANY, 80, &mut Room::new()?)?;
        assert!(ports.unbind(b.sock(), 80).is_none());
        assert_eq!(
            ports.bind(b.sock(), ANY, 80, &mut Room::new()?),
            Err(EADDRINUSE)
        );
        ports.unbind(a.sock(), 80);
        assert_eq!(ports.bind(b.sock(), ANY, 80, &mut Room::new()?), Ok(()));
        Ok(())
    }

    #[test]
    fn reuse_needs_both_and_no_listener() -> Result {
        let (a, b) = (Fixture::new()?, Fixture::new()?);
        for (of_a, of_b) in [(false, true), (true, false), (true, true)] {
            set(&a, of_a, 0);
            set(&b, of_b, 0);
            assert_eq!(compatible(&a, &b, ANY, ANY)?, of_a && of_b);
        }
        let ports = all_ports()?;
        ports.bind(a.sock(), ANY, 80, &mut Room::new()?)?;
        ports.listen(a.sock(), ANY, 80, &listener(&a)?, ListenRoom::new()?)?;
        assert_eq!(
            ports.bind(b.sock(), ANY, 80, &mut Room::new()?),
            Err(EADDRINUSE)
        );
        assert!(ports.unlisten(a.sock(), 80).is_some());
        ports.bind(b.sock(), ANY, 80, &mut Room::new()?)?;
        // Who listens first keeps the other from it.
        ports.listen(b.sock(), ANY, 80, &listener(&b)?, ListenRoom::new()?)?;
        let late = ports.listen(a.sock(), ANY, 80, &listener(&a)?, ListenRoom::new()?);
        assert_eq!(late, Err(EADDRINUSE));
        Ok(())
    }

    #[test]
    fn devices_keep_apart() -> Result {
        let (a, b) = (Fixture::new()?, Fixture::new()?);
        for (of_a, of_b, free) in [(1, 2, true), (1, 1, false), (0, 1, false), (1, 0, false)] {
            set(&a, false, of_a);
            set(&b, false, of_b);
            assert_eq!(compatible(&a, &b, ANY, ANY)?, free);
        }
        Ok(())
    }

    #[test]
    fn listener_is_found_by_address() -> Result {
        let (one, two, wild) = (Fixture::new()?, Fixture::new()?, Fixture::new()?);
        let (on_one, on_two, on_wild) = (listener(&one)?, listener(&two)?, listener(&wild)?);
        let ports = all_ports()?;
        ports.bind(one.sock(), on(v4(1)), 80, &mut Room::new()?)?;
        ports.bind(two.sock(), on(v4(2)), 80, &mut Room::new()?)?;
        ports.bind(wild.sock(), ANY_V6_ONLY, 80, &mut Room::new()?)?;
        // Bound is not listening.
        assert!(ports.listener(v4(1), 80, 0).is_none());
        ports.listen(one.sock(), on(v4(1)), 80, &on_one, ListenRoom::new()?)?;
        ports.listen(two.sock(), on(v4(2)), 80, &on_two, ListenRoom::new()?)?;
        ports.listen(wild.sock(), ANY_V6_ONLY, 80, &on_wild, ListenRoom::new()?)?;
        assert!(is(ports.listener(v4(1), 80, 0), &on_one));
        assert!(is(ports.listener(v4(2), 80, 0), &on_two));
        assert!(ports.listener(v4(3), 80, 0).is_none());
        assert!(is(ports.listener(v6(9), 80, 0), &on_wild));
        assert!(ports.listener(v4(1), 80 + 256, 0).is_none());
        // What is given back is what was there, once.
        assert!(is(ports.unlisten(one.sock(), 80), &on_one));
        assert!(ports.unlisten(one.sock(), 80).is_none());
        assert!(ports.listener(v4(1), 80, 0).is_none());
        assert!(is(ports.unbind(two.sock(), 80), &on_two));
        assert!(ports.listener(v4(2), 80, 0).is_none());
        Ok(())
    }

    #[test]
    fn listener_is_found_by_device() -> Result {
        let (three, four) = (Fixture::new()?, Fixture::new()?);
        set(&three, false, 3);
        set(&four, false, 4);
        let (on_three, on_four) = (listener(&three)?, listener(&four)?);
        let ports = all_ports()?;
        ports.bind(three.sock(), ANY, 80, &mut Room::new()?)?;
        ports.bind(four.sock(), ANY, 80, &mut Room::new()?)?;
        ports.listen(three.sock(), ANY, 80, &on_three, ListenRoom::new()?)?;
        ports.listen(four.sock(), ANY, 80, &on_four, ListenRoom::new()?)?;
        assert!(is(ports.listener(v4(1), 80, 3), &on_three));
        assert!(is(ports.listener(v6(1), 80, 4), &on_four));
        assert!(ports.listener(v4(1), 80, 5).is_none());
        Ok(())
    }

    #[test]
    fn listener_is_found_at_each_kind_of_place() -> Result {
        let fixture = Fixture::new()?;
        let listener = listener(&fixture)?;
        for dev in [0, 3] {
            set(&fixture, false, dev);
            for scope in [on(v4(1)), any_v4(), ANY, ANY_V6_ONLY] {
                let ports = all_ports()?;
                ports.bind(fixture.sock(), scope, 80, &mut Room::new()?)?;
                ports.listen(fixture.sock(), scope, 80, &listener, ListenRoom::new()?)?;
                let hears = |addr, dev| is(ports.listener(addr, 80, dev), &listener);
                assert_eq!(hears(v4(1), 3), scope.takes(true));
                assert_eq!(hears(v4(1), 4), scope.takes(true) && dev == 0);
                assert_eq!(hears(v4(2), 3), scope.takes(true) && scope.addr.is_any());
                assert_eq!(hears(v6(1), 3), scope.takes(false));
            }
        }
        Ok(())
    }

    #[test]
    fn packets_do_not_wait_for_programs() -> Result {
        let fixture = Fixture::new()?;
        let listener = listener(&fixture)?;
        let ports = all_ports()?;
        ports.bind(fixture.sock(), ANY, 80, &mut Room::new()?)?;
        ports.listen(fixture.sock(), ANY, 80, &listener, ListenRoom::new()?)?;
        // As long as somebody's system call takes.
        let held = ports.held.lock();
        assert!(is(ports.listener(v4(1), 80, 0), &listener));
        drop(held);
        Ok(())
    }

    #[test]
    fn any_port_is_one_of_the_range_and_nobody_elses() -> Result {
        let fixtures = [Fixture::new()?, Fixture::new()?, Fixture::new()?];
        let ns = fixtures[0].ns();
        let (low, high) = ns.net.port_range();
        let ports = all_ports()?;
        let mut taken = [0; 3];
        for (fixture, port) in fixtures.iter().zip(taken.iter_mut()) {
            // Though each might share with the others.
            *port = ports.bind_any(fixture.sock(), &ns.net, on(v4(*port as u8)))?;
            assert!((low..=high).contains(port));
            assert!(!ns.net.port_reserved(*port));
        }
        assert!(taken[0] != taken[1] && taken[1] != taken[2] && taken[0] != taken[2]);
        Ok(())
    }

    #[test]
    fn any_port_of_none_left_is_shared() -> Result {
        let (a, b) = (Fixture::new()?, Fixture::new()?);
        let ns = a.ns();
        let (low, high) = ns.net.port_range();
        let ports = all_ports()?;
        for port in low..=high {
            let mut room = Room::new()?;
            ports.bind(a.sock(), on(v4(1)), port, &mut room)?;
        }
        let same = ports.bind_any(b.sock(), &ns.net, on(v4(1)));
        assert_eq!(same, Err(EADDRINUSE));
        let other = ports.bind_any(b.sock(), &ns.net, on(v4(2)))?;
        assert!((low..=high).contains(&other));
        // One that has become free comes before those that could be shared, and is known by that.
        ports.unbind(b.sock(), other);
        let freed = high - (high - low) / 3;
        ports.unbind(a.sock(), freed);
        let found = ports.bind_any(b.sock(), &ns.net, on(v4(2)))?;
        assert_eq!(found, freed);
        Ok(())
    }
}
