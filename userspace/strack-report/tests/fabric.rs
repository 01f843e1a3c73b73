// SPDX-License-Identifier: GPL-2.0
//! The program as `make bench-fabric` calls it, on a made-up file of the guest.

mod common;

use common::row;
use common::Report;
use serde_json::json;
use serde_json::Value;

const SETUP: &str = r#"{"kind":"setup","command":"make bench-fabric","kernel":"7.3.4","seed":1,"spines":4,"rate":"100mbit","host_rate":"400mbit","mtu":4200}"#;

/// Four flows of 4 MB, the last of which took so long; 0: it never finished.
fn flows(case: &str, transport: &str, last_ms: u64) -> Value {
    let flow = |ms: u64| {
        json!({
            "from": "a1", "to": "b1", "bytes": 4_000_000, "equal": true,
            "received": if ms == 0 { 1_000_000 } else { 4_000_000 },
            "complete": ms > 0, "elapsed_ns": ms * 1_000_000,
            "sender": {"rto_ns": 5_000_000, "retransmits": 0, "mss": 4140, "packets_sent": 967},
            "receiver": {"rto_ns": 5_000_000, "retransmits": 0, "duplicates": 0},
        })
    };
    json!({
        "kind": "flows", "run": case, "transport": transport, "seed": 1, "idle_ms": 100,
        "limit_ms": 15000, "flows": [flow(300), flow(310), flow(305), flow(last_ms)],
    })
}

/// A spine is cut after 100 ms. For `silence` ms nothing arrives, then 3/4 of before.
fn hole(silence: u64) -> Value {
    let mut line = flows("hole", "strack", 420);
    let mut arrived = 0;
    let samples: Vec<_> = (1..=400u64)
        .map(|ms| {
            arrived += match ms {
                ..=100 => 48_000,
                _ if ms <= 100 + silence => 0,
                _ => 36_000,
            };
            [ms * 1_000_000, arrived, ms * 10, 0]
        })
        .collect();
    line["samples"] = json!(samples);
    line["cut"] = json!({"spine": 2, "at_ns": 100_000_000,
        "sender": {"rto_ns": 5_000_000, "retransmits": 0}});
    line
}

fn run(name: &str, lines: &[Value]) -> Report {
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    Report::of("fabric", name, &format!("{SETUP}\n{}\n", lines.join("\n")))
}

#[test]
fn a_good_run_meets_its_targets() {
    let lines = [
        flows("permutation", "strack", 340),
        flows("permutation", "tcp", 650),
        flows("loss-1", "strack", 350),
        flows("hole", "tcp", 0),
        hole(16),
    ];
    let result = run("fabric-good", &lines);
    assert!(result.success, "{}", result.out);
    assert_eq!(result.json["command"], "make bench-fabric");
    assert_eq!(row(&result.json, "permutation/strack")["value"], 340.0);
    assert_eq!(row(&result.json, "permutation/strack")["target"], 350.0);
    assert_eq!(row(&result.json, "permutation/tcp")["target"], Value::Null);
    assert_eq!(row(&result.json, "loss-1-ratio/strack")["value"], 1.029);
    assert_eq!(row(&result.json, "hole-stuck/tcp")["value"], 1.0);
    // 16 ms of silence, of which a window may hold one, less the millisecond, at 5 ms
    assert_eq!(row(&result.json, "hole-recovery/strack")["value"], 2.8);
    assert!(result.out.contains("1 of 4 stuck"), "{}", result.out);
    assert!(result.svg.starts_with("<svg"));
}

#[test]
fn a_long_pause_is_reported_and_fails() {
    let result = run("fabric-pause", &[hole(60)]);
    assert!(!result.success);
    assert_eq!(row(&result.json, "hole-recovery/strack")["pass"], false);
    assert!(
        result.out.contains("Missed: hole-recovery/strack\n"),
        "{}",
        result.out
    );
}

#[test]
fn a_stuck_flow_fails() {
    let result = run("fabric-stuck", &[flows("slow", "strack", 0)]);
    assert!(!result.success);
    assert_eq!(row(&result.json, "slow-stuck/strack")["value"], 1.0);
}
