// SPDX-License-Identifier: GPL-2.0

//! How connections end.

use crate::{
    endpoint::App,
    network::{
        Network,
        Setup,
        CLIENT,
        CLIENT_IDS,
        SERVER,
        SERVER_IDS, //
    },
};
use std::{
    cell::RefCell,
    rc::Rc, //
};
use strack_proto::{
    config::KeepAlive,
    connection::{
        Events,
        Failure,
        State, //
    },
    counter::Counter,
    psn::Psn,
    wire::{
        flags,
        Packet,
        ResetCode,
        ResetHeader, //
    },
    Ns,
    MSEC,
    SEC, //
};

/// A connection with everything written and read, and both ends still open.
fn idle(bytes: u64) -> Network {
    let mut setup = Setup::new(bytes);
    setup.apps[CLIENT].finish = false;
    setup.apps[SERVER].finish = false;
    let mut net = setup.start();
    net.run_for(100 * MSEC);
    assert!(net.both_in(State::Established));
    assert_eq!(net.server().read, bytes);
    net
}

fn end_stream(net: &mut Network, which: usize) {
    net.end(which).app.finish = true;
    net.pump(which);
}

fn states(net: &mut Network) -> (State, State) {
    (net.client().conn.state(), net.server().conn.state())
}

#[test]
fn one_after_the_other() {
    let mut net = idle(10_000);
    end_stream(&mut net, CLIENT);
    assert_eq!(states(&mut net), (State::FinWait1, State::Established));
    net.run_for(MSEC);
    assert_eq!(states(&mut net), (State::FinWait2, State::CloseWait));
    assert!(net.client().saw(Events::FIN_ACKED));
    assert!(net.server().saw(Events::PEER_FIN));

    // The other direction is still open.
    net.server().app.write = 50_000;
    net.pump(SERVER);
    net.run_for(5 * MSEC);
    assert_eq!(net.client().read, 50_000);

    end_stream(&mut net, SERVER);
    assert_eq!(states(&mut net), (State::FinWait2, State::LastAck));
    net.run_for(MSEC);
    assert_eq!(states(&mut net), (State::TimeWait, State::TimeWait));
    // The end that closed last need not stay for long.
    net.run_for(100 * MSEC);
    assert_eq!(states(&mut net), (State::TimeWait, State::Closed));
    net.run_for(SEC);
    assert_eq!(states(&mut net), (State::Closed, State::Closed));
    for which in [CLIENT, SERVER] {
        assert_eq!(net.end(which).conn.failure(), None);
        assert_eq!(net.end(which).conn.deadline(), None);
    }
}

#[test]
fn both_at_once() {
    let mut net = idle(10_000);
    end_stream(&mut net, CLIENT);
    end_stream(&mut net, SERVER);
    assert!(net.both_in(State::FinWait1));
    net.run(net.now + 150_000, |_| false);
    assert!(net.both_in(State::Closing));
    net.run_for(MSEC);
    assert!(net.both_in(State::TimeWait));
    net.finish(10 * SEC);
}

/// Loses the n-th packet after both ends begin to close, for every n, and two of
/// them in a row.
#[test]
fn any_packet_may_be_lost() {
    for at_once in [false, true] {
        for lost in 0..8 {
            for row in 1..4 {
                let mut net = idle(10_000);
                let mut n = 0;
                net.censor = Some(Box::new(move |_, _, _| {
                    n += 1;
                    (lost..lost + row).contains(&(n - 1))
                }));
                end_stream(&mut net, CLIENT);
                if !at_once {
                    net.run_for(MSEC);
                }
                end_stream(&mut net, SERVER);
                net.finish(10 * SEC);
            }
        }
    }
}

/// All ACKs get lost for a while: FINs are repeated, and answered in TimeWait.
#[test]
fn last_ack_lost() {
    let mut net = idle(10_000);
    end_stream(&mut net, CLIENT);
    net.run_for(MSEC);
    // The client's ACKs of the server's FIN.
    let until = net.now + 4 * MSEC;
    net.censor = Some(Box::new(move |now, datagram, packet| {
        now < until && datagram.to == SERVER && matches!(packet, Packet::Ack(_))
    }));
    end_stream(&mut net, SERVER);
    net.run_for(3 * MSEC);
    assert_eq!(states(&mut net), (State::TimeWait, State::LastAck));
    net.run_for(10 * MSEC);
    assert_eq!(net.server().conn.state(), State::TimeWait);
    net.finish(10 * SEC);
}

/// A peer that repeats its FIN for ever does not hold TimeWait for ever.
#[test]
fn time_wait_ends() {
    let fin = Rc::new(RefCell::new(None));
    let noted = fin.clone();
    let mut net = idle(10_000);
    net.censor = Some(Box::new(move |_, datagram, packet| {
        if let (CLIENT, Packet::Data(header)) = (datagram.to, packet) {
            assert_ne!(header.flags & flags::DATA_FIN, 0);
            *noted.borrow_mut() = Some(datagram.clone());
        }
        false
    }));
    end_stream(&mut net, CLIENT);
    net.run_for(MSEC);
    end_stream(&mut net, SERVER);
    net.run_for(MSEC);
    let start = net.now;
    let fin = fin.borrow().clone().expect("the server's FIN");
    let acks = net.acks[CLIENT];
    while net.client().conn.state() == State::TimeWait {
        net.run_for(500 * MSEC);
        net.arrives(&fin);
        assert!(net.now - start < 10 * SEC);
    }
    assert!(net.acks[CLIENT] > acks + 5);
    assert!(net.now - start > 3 * SEC);
}

#[test]
fn abort() {
    let mut net = idle(10_000);
    let now = net.now;
    net.client().conn.abort(now, ResetCode::Aborted);
    net.pump(CLIENT);
    assert_eq!(net.client().conn.failure(), Some(Failure::Aborted));
    net.run_for(MSEC);
    assert_eq!(net.server().conn.failure(), Some(Failure::Reset));
    assert!(net.server().saw(Events::FAILED));
    assert_eq!(net.count(SERVER, Counter::ResetReceived), 1);
}

/// The RESET was lost: the next packet is answered by one that reflects.
#[test]
fn peer_has_forgotten() {
    let mut net = idle(10_000);
    net.censor = Some(Box::new(
        |_, _, packet| matches!(packet, Packet::Reset(header) if header.flags == 0),
    ));
    let now = net.now;
    net.server().conn.abort(now, ResetCode::Aborted);
    net.pump(SERVER);
    net.run_for(MSEC);
    assert_eq!(net.client().conn.state(), State::Established);
    net.client().app.write += 1000;
    net.pump(CLIENT);
    net.run_for(MSEC);
    assert_eq!(net.client().conn.failure(), Some(Failure::Reset));
}

/// A RESET with anything but the right tag changes nothing.
#[test]
fn blind_resets() {
    let mut net = idle(10_000);
    let reset = |dcid, tag, flags| ResetHeader {
        flags,
        dcid,
        tag,
        code: ResetCode::NoConnection,
        psn: Psn::new(0),
    };
    let mut wrong = 0;
    for i in 0..2000u32 {
        let tag = i.wrapping_mul(0x9e37_79b9);
        for flags in [0, flags::RESET_REFLECT] {
            let header = reset(CLIENT_IDS.cid, tag, flags);
            net.send_header(CLIENT, 50_000, &Packet::Reset(header));
            wrong += 1;
        }
    }
    // Right tags of the wrong end.
    for (tag, flags) in [(SERVER_IDS.tag, 0), (CLIENT_IDS.tag, flags::RESET_REFLECT)] {
        let header = reset(CLIENT_IDS.cid, tag, flags);
        net.send_header(CLIENT, 50_000, &Packet::Reset(header));
        wrong += 1;
    }
    net.run_for(MSEC);
    assert_eq!(net.count(CLIENT, Counter::DropTag), wrong);
    assert!(net.both_in(State::Established));

    let header = reset(CLIENT_IDS.cid, SERVER_IDS.tag, flags::RESET_REFLECT);
    net.send_header(CLIENT, 50_000, &Packet::Reset(header));
    net.run_for(MSEC);
    assert_eq!(net.client().conn.failure(), Some(Failure::Reset));
}

fn keepalive(net: &mut Network) -> Ns {
    let now = net.now;
    let keepalive = KeepAlive {
        idle: 100 * MSEC,
        interval: 20 * MSEC,
        probes: 3,
    };
    net.client().conn.set_keepalive(Some(keepalive), now);
    net.pump(CLIENT);
    now
}

#[test]
fn keepalive_finds_a_dead_peer() {
    let mut net = idle(10_000);
    net.censor = Some(Box::new(|_, _, _| true));
    let start = keepalive(&mut net);
    assert!(net.run(10 * SEC, |net| net.client().closed()));
    assert_eq!(net.client().conn.failure(), Some(Failure::TimedOut));
    assert_eq!(net.count(CLIENT, Counter::ProbeKeepAlive), 3);
    // It was last heard of up to 100 ms before.
    let took = net.now - start;
    assert!((60 * MSEC..=160 * MSEC).contains(&took), "{took}");
}

#[test]
fn keepalive_leaves_a_live_peer() {
    let mut net = idle(10_000);
    keepalive(&mut net);
    net.run_for(2 * SEC);
    assert!(net.both_in(State::Established));
    let probes = net.count(CLIENT, Counter::ProbeKeepAlive);
    assert!((18..=20).contains(&probes), "{probes}");
    end_stream(&mut net, CLIENT);
    end_stream(&mut net, SERVER);
    net.finish(10 * SEC);
}

/// An ICMP error names the reason once the connection times out, but only if
/// nothing was heard since.
#[test]
fn soft_error() {
    for heard in [false, true] {
        let mut net = idle(10_000);
        let now = net.now;
        net.client().conn.on_unreachable(now, true);
        keepalive(&mut net);
        if heard {
            net.run_for(200 * MSEC);
        }
        net.censor = Some(Box::new(|_, _, _| true));
        assert!(net.run(10 * SEC, |net| net.client().closed()));
        let expected = if heard {
            Failure::TimedOut
        } else {
            Failure::Unreachable
        };
        assert_eq!(net.client().conn.failure(), Some(expected));
    }
}

/// Shutting down while still connecting ends the stream once connected.
#[test]
fn shutdown_before_connected() {
    let mut setup = Setup::new(0);
    setup.apps = [App::reader(), App::writer(30_000)];
    let mut net = setup.start();
    net.client().conn.shutdown_send();
    assert_eq!(net.client().conn.state(), State::Connecting);
    net.finish(10 * SEC);
}
