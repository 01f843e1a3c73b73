// SPDX-License-Identifier: GPL-2.0
//! Transports in small networks, against what is known of them.

use strack_sim::model;
use strack_sim::outcome::Outcome;
use strack_sim::scenario::Scenario;
use strack_sim::sim::Sim;

fn run(text: &str, changes: &[&str]) -> Outcome {
    let changes: Vec<String> = changes.iter().map(|change| change.to_string()).collect();
    let scenario = Scenario::read(text, &changes).unwrap();
    let outcome = Sim::new(&scenario).unwrap().run(scenario.limit.0);
    assert_eq!((outcome.unfinished(), outcome.failed), (0, 0), "{text}");
    outcome
}

/// Goodput of the first message as a part of the links' rate of 100 Gb/s.
fn goodput(outcome: &Outcome, bytes: f64) -> f64 {
    bytes * 8.0 / (outcome.end as f64 * 1e-12) / 100e9
}

/// Two hosts on two switches: one way, nothing in it.
const LINE: &str = "
topology = { tiers = 2, hosts = 2, hosts-per-tor = 1, uplinks = 1 }
workload = { pattern = 'pair', size = '20MB' }
";

#[test]
fn every_transport_fills_an_empty_link() {
    let kinds = ["strack", "roce", "mp-rdma", "dctcp", "mptcp"];
    for change in kinds.map(|kind| format!("kind={kind}")) {
        let outcome = run(LINE, &[&format!("transport.{change}")]);
        let goodput = goodput(&outcome, 20e6);
        assert!(goodput > 0.95, "{change}: {goodput}");
        assert_eq!(outcome.ends.resent, 0, "{change}");
    }
}

#[test]
fn a_run_is_the_same_every_time() {
    let text = "topology.hosts = 16\nworkload.size = '200KB'";
    let (a, b) = (run(text, &[]), run(text, &[]));
    assert_eq!(a.completion, b.completion);
    assert_eq!(a.events, b.events);
    let other = run(text, &["seed=2"]);
    assert_ne!(a.completion, other.completion);
}

/// Go-back-N sends everything on its way again for each loss.
#[test]
fn go_back_n_has_the_goodput_of_its_formula() {
    for loss in [0.001, 0.01] {
        let damage =
            format!("{LINE}schedule = [{{ link = 'tor0:spine0', both = false, loss = {loss} }}]");
        let outcome = run(&damage, &["transport.kind=roce", "transport.dcqcn=false"]);
        // On their way between a loss and its NAK: a round trip at the full rate, less
        // the part of it that belongs to other links' queues, of which there are none.
        let topology = Scenario::read(&damage, &[]).unwrap().topology;
        let window = topology.idle_rtt(4150, 66) as f64 / (4150.0 * 80.0);
        let expected = model::go_back_n(loss, window);
        let got = goodput(&outcome, 20e6) * 4150.0 / 4088.0;
        assert!(
            (got / expected - 1.0).abs() < 0.05,
            "{loss}: {got} {expected}"
        );
    }
}

/// Marks keep the queue of DCTCP at about the threshold, and the link full.
#[test]
fn dctcp_holds_the_queue_at_the_threshold() {
    let text = "
topology = { tiers = 2, hosts = 4, hosts-per-tor = 2, uplinks = 1 }
queue = { ecn = 'step', ecn-min = '100KB' }
workload = { pattern = 'incast', senders = 2, size = '20MB' }
transport.kind = 'dctcp'
";
    let outcome = run(text, &[]);
    assert!(goodput(&outcome, 40e6) > 0.95);
    // Host 0 is behind the link 'tor0:host0'.
    let at = outcome
        .names
        .iter()
        .position(|name| name == "tor0:host0")
        .unwrap();
    let link = outcome.links[at];
    let mean = link.area as f64 / outcome.end as f64;
    assert!((50e3..130e3).contains(&mean), "{mean}");
    assert_eq!(link.dropped, 0);
}

/// DCQCN with priority flow control loses nothing, whatever arrives at one host.
#[test]
fn roce_with_flow_control_loses_nothing() {
    let text = "
topology.hosts = 16
queue.pfc = true
workload = { pattern = 'incast', size = '1MB' }
transport.kind = 'roce'
";
    let outcome = run(text, &[]);
    assert_eq!(outcome.total(|link| link.dropped), 0);
    assert_eq!(outcome.ends.resent, 0);
    assert!(outcome.total(|link| link.pauses) > 0);
    assert!(outcome.ends.marks > 0);
}

/// The result of DCQCN's paper that its rate control stands for: K senders into one link,
/// with the paper's thresholds at 40 Gb/s, keep it full, get equal shares, and stop nobody.
#[test]
fn dcqcn_fills_a_link_and_divides_it() {
    for senders in [2, 8] {
        let text = format!(
            "
topology = {{ tiers = 2, hosts = 16, hosts-per-tor = 16, uplinks = 1, rate = '40G' }}
queue = {{ pfc = true, pfc-stop = '500KB', ecn-min = '5KB', ecn-max = '200KB', ecn-most = 0.01 }}
workload = {{ pattern = 'incast', senders = {senders}, size = '40MB' }}
transport.kind = 'roce'
"
        );
        let outcome = run(&text, &[]);
        let rate = f64::from(senders) * 40e6 * 8.0 / (outcome.end as f64 * 1e-12) / 40e9;
        assert!(rate > 0.85, "{senders}: {rate}");
        assert!(outcome.fairness() > 0.98, "{}", outcome.fairness());
        assert_eq!(outcome.ends.resent, 0);
        // The queue stays below the upper threshold but for the start.
        let at = outcome.names.iter().position(|name| name == "tor0:host0");
        let link = outcome.links[at.unwrap()];
        let mean = link.area as f64 / outcome.end as f64;
        assert!(mean < 200e3, "{senders}: {mean}");
    }
}

/// MP-RDMA moves what it sends to the paths that answer without a mark.
#[test]
fn mp_rdma_leaves_a_slow_path() {
    let text = "
topology = { tiers = 2, hosts = 2, hosts-per-tor = 1, uplinks = 8, fabric-rate = '25G' }
queue.pfc = true
workload = { pattern = 'pair', size = '20MB' }
schedule = [{ link = 'tor*:spine0', rate = '5G' }]
transport = { kind = 'mp-rdma', paths = 128 }
";
    let outcome = run(text, &[]);
    let loads = outcome.loads("tor0:spine");
    let others = loads[1..].iter().sum::<f64>() / 7.0;
    assert!(loads[0] < 0.5 * others, "{loads:?}");
    assert_eq!(outcome.ends.resent, 0);
}

/// A reader that is slow slows its sender down, and nothing is lost or waited for.
#[test]
fn a_slow_reader_is_not_overrun() {
    let reader = "
transport = { read-rate = '25G', receive-window = '500KB' }
";
    let outcome = run(&format!("{LINE}{reader}"), &["workload.size=4MB"]);
    assert_eq!((outcome.ends.resent, outcome.ends.timeouts), (0, 0));
    // All but what fits into the buffer comes at the reader's rate.
    let goodput = goodput(&outcome, 3.5e6) * 4.0;
    assert!((0.93..1.05).contains(&goodput), "{goodput}");
}

/// The last packets of a message are missed sooner than by a timeout.
#[test]
fn a_lost_tail_is_probed_for() {
    let changes = [
        "workload.size=2MB",
        "transport.profile=strack",
        "transport.ack-delay=1us",
    ];
    let alone = run(LINE, &changes).end;
    for last in [1, 4] {
        let lose = format!("transport.lose-last={last}");
        let outcome = run(LINE, &[&changes[..], &[&lose]].concat());
        assert_eq!(outcome.total(|link| link.lost), last);
        assert_eq!(outcome.ends.timeouts, 0);
        assert_eq!(outcome.ends.resent, last);
        let later = (outcome.end - alone) as f64 / 1e6;
        // Three and a half round trips.
        assert!(later < 3.5 * 9.4, "{last}: {later}");
    }
}

/// Without it, the same incast overflows the queue.
#[test]
fn roce_without_flow_control_goes_back() {
    let text = "
topology.hosts = 16
queue.capacity = '150KB'
workload = { pattern = 'incast', size = '1MB' }
transport.kind = 'roce'
";
    let outcome = run(text, &[]);
    assert!(outcome.total(|link| link.dropped) > 0);
    assert!(outcome.ends.resent > outcome.total(|link| link.dropped));
}

/// Eight subflows find more of the fabric than one.
#[test]
fn mptcp_spreads_over_paths() {
    let text = "topology.hosts = 16\nworkload.size = '2MB'\n";
    let single = run(text, &["transport.kind=dctcp"]).times(0).mean();
    let eight = run(text, &["transport.kind=mptcp", "transport.paths=8"]);
    assert!(eight.times(0).mean() < single, "{single}");
}

/// A flow that is not in the incast is stopped with it by flow control, and not by
/// drops: head-of-line blocking.
#[test]
fn flow_control_stops_bystanders() {
    let text = "
topology = { tiers = 2, hosts = 16, hosts-per-tor = 8, uplinks = 1 }
workload = { pattern = 'victim', senders = 12, size = '1MB' }
";
    let first = |changes: &[&str]| run(text, changes).completion[0].unwrap();
    let pfc = first(&[
        "transport.kind=roce",
        "transport.dcqcn=false",
        "queue.pfc=true",
    ]);
    let drops = first(&["transport.kind=strack"]);
    assert!(pfc > drops, "{pfc} {drops}");
}

/// Oblivious spraying over hashed paths loads uplinks like balls in bins.
#[test]
fn imbalance_is_that_of_balls_in_bins() {
    let text = "
topology = { tiers = 2, hosts = 2, hosts-per-tor = 1, uplinks = 60, rate = '400G' }
workload = { pattern = 'pair', size = '64MB' }
transport.connections = 16
";
    for paths in [4, 16, 64] {
        let mut sum = 0.0;
        let seeds = 4;
        for seed in 1..=seeds {
            let outcome = run(
                text,
                &[&format!("transport.paths={paths}"), &format!("seed={seed}")],
            );
            let loads = outcome.loads("tor0:spine");
            assert_eq!(loads.len(), 60);
            sum += model::Imbalance::of(&loads).deviation;
        }
        let expected = model::expected_deviation(16, paths, 60);
        let ratio = sum / f64::from(seeds) / expected;
        assert!((0.85..1.15).contains(&ratio), "{paths} paths: {ratio}");
    }
}

/// A dead uplink is hit by its share of the first transmissions.
#[test]
fn a_black_hole_takes_its_share() {
    let text = "
topology = { tiers = 2, hosts = 16, hosts-per-tor = 8, uplinks = 8 }
workload.size = '2MB'
schedule = [{ link = 'tor*:spine0', both = true, up = false }]
";
    let outcome = run(text, &[]);
    let rate = outcome.ends.resent as f64 / (outcome.ends.sent - outcome.ends.resent) as f64;
    // Never more than if nothing were learned; half of the hosts cross no spine.
    assert!(
        rate > 0.0 && rate < model::black_hole_resends(0.125),
        "{rate}"
    );
}
