// SPDX-License-Identifier: GPL-2.0
//! Every host reaches every other, over as many links as there should be.

use super::*;
use crate::host::roce::Header;
use crate::host::Body;
use crate::host::Place;
use crate::net::Packet;

fn scenario(topology: Topology) -> Scenario {
    Scenario {
        topology,
        ..Scenario::default()
    }
}

/// The names of the links a packet passes.
fn way(net: &mut Net, src: u32, dst: u32, port: u16, plane: usize) -> Vec<String> {
    let place = Place {
        host: src,
        peer: dst,
        peer_end: 0,
    };
    let packet = Packet::new(&place, port, 100, Body::Roce(Header::Notification));
    let mut link = net.uplinks[src as usize][plane];
    let mut names = vec![net.names[link as usize].clone()];
    while let Node::Switch(switch) = net.links[link as usize].to {
        let position = net.positions[dst as usize];
        let switch = &mut net.switches[switch as usize];
        link = switch.route(net.choice, &packet, position, &net.links);
        names.push(net.names[link as usize].clone());
    }
    assert_eq!(net.links[link as usize].to, Node::Host(dst));
    names
}

fn all_ways(topology: Topology) -> (Net, Vec<usize>) {
    let hosts = topology.hosts;
    let planes = topology.planes as usize;
    let mut net = build(&scenario(topology)).unwrap();
    let mut lengths = Vec::new();
    for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
        if src != dst {
            let plane = (src + dst) as usize % planes;
            lengths.push(way(&mut net, src, dst, 50_000 + src as u16, plane).len());
        }
    }
    (net, lengths)
}

#[test]
fn three_tiers_of_equal_switches() {
    let (net, lengths) = all_ways(Topology {
        hosts: 128,
        ..Topology::default()
    });
    // k = 8: 32 ToRs, 32 aggs, 16 cores.
    assert_eq!(net.switches.len(), 80);
    // Hosts, ToR to agg, agg to core, each way.
    assert_eq!(net.links.len(), 2 * (128 + 32 * 4 + 32 * 4));
    let count = |length| lengths.iter().filter(|&&of| of == length).count();
    assert_eq!(count(2), 128 * 3);
    assert_eq!(count(4), 128 * 12);
    assert_eq!(count(6), 128 * 112);
}

#[test]
fn a_tor_with_sixty_uplinks() {
    let mut net = build(&scenario(Topology {
        tiers: 2,
        hosts: 32,
        hosts_per_tor: Some(16),
        uplinks: Some(60),
        ..Topology::default()
    }))
    .unwrap();
    assert_eq!(net.switches.len(), 2 + 60);
    let mut ways: Vec<String> = (0..2000)
        .map(|port| way(&mut net, 0, 31, 50_000 + port, 0)[1].clone())
        .collect();
    ways.sort();
    ways.dedup();
    assert_eq!(ways.len(), 60);
}

#[test]
fn accelerators_of_one_rank_share_a_tor() {
    let (mut net, lengths) = all_ways(Topology {
        tiers: 2,
        hosts: 64,
        hosts_per_tor: Some(4),
        rails: 8,
        ..Topology::default()
    });
    assert!(lengths.iter().all(|&length| length == 2 || length == 4));
    // Hosts 3 and 11 are the fourth accelerators of two servers.
    assert_eq!(way(&mut net, 3, 11, 1, 0).len(), 2);
    assert_eq!(way(&mut net, 3, 4, 1, 0).len(), 4);
}

#[test]
fn planes_share_nothing() {
    let (net, _) = all_ways(Topology {
        tiers: 2,
        hosts: 16,
        hosts_per_tor: Some(4),
        planes: 2,
        ..Topology::default()
    });
    assert!(net.uplinks.iter().all(|ports| ports.len() == 2));
    let of_plane = |plane: &str| net.names.iter().filter(|name| name.contains(plane)).count();
    assert_eq!(of_plane("plane0."), of_plane("plane1."));
}

#[test]
fn what_cannot_be_built_is_named() {
    let case = |change: fn(&mut Topology), message: &str| {
        let mut topology = Topology::default();
        change(&mut topology);
        let error = build(&scenario(topology))
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
        assert!(!error.contains('\n'));
    };
    case(|t| t.tiers = 4, "4 tiers");
    case(|t| t.hosts = 0, "hosts is zero");
    case(|t| t.hosts = 100, "cannot be divided");
    case(|t| t.rate = Rate(0), "rate zero");
    case(|t| t.uplinks = Some(0), "uplinks is zero");
    case(|t| t.rails = 3, "rails");
    case(
        |t| {
            t.tiers = 2;
            t.tors_per_pod = Some(2);
        },
        "need 3 tiers",
    );
}

#[test]
fn the_idle_round_trip_is_the_sum_of_its_parts() {
    let topology = Topology::default();
    // Twelve links of 1 us, six times a packet of 332 ns, six times an answer of 8 ns.
    assert_eq!(
        topology.idle_rtt(4150, 100),
        12_000_000 + 6 * 332_000 + 6 * 8_000
    );
    assert_eq!(topology.pipe(), 150_000);
}
