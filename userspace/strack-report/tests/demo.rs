// SPDX-License-Identifier: GPL-2.0
//! The program as `make demo` calls it, on a made-up file of the guest.

mod common;

use common::row;
use common::Report;
use serde_json::json;

const SETUP: &str = r#"{"kind":"setup","command":"make demo","kernel":"7.3.4","seed":1,"spines":4,"rate":"100mbit","mtu":4200}"#;

/// A run at so many bytes per millisecond, over these spines; `stuck`: never completed.
fn transfer(run: &str, rate: u64, spines: [u64; 4], cut: bool, stuck: bool) -> String {
    let steps = 4_000_000 / rate * 10;
    let arrivals: Vec<_> = (0..if stuck { steps / 2 } else { steps })
        .map(|bin| (bin, rate / 10))
        .collect();
    let mut line = json!({
        "kind": "transfer", "run": run, "family": "strack", "paths": 128,
        "bytes": 4_000_000, "received": 4_000_000, "complete": !stuck, "equal": true,
        "elapsed_ns": 4_000_000 / rate * 1_000_000, "idle_ms": 10, "limit_ms": 2000,
        "sender": {"rto_ns": 5_000_000, "srtt_ns": 900_000, "retransmits": 0, "mss": 4136},
        "spines": spines.map(|data| json!({"data": data, "back": 0})),
        "bin_ns": 100_000, "arrivals": arrivals,
    });
    if cut {
        line["cut"] = json!({
            "spine": 2, "at_ns": 2_000_000 / rate * 1_000_000, "bytes": 2_000_000,
            "sender": {"rto_ns": 5_000_000, "srtt_ns": 900_000, "retransmits": 0},
        });
    }
    format!(
        "{line}\n{}\n",
        json!({"kind": "hash", "run": run, "sent": "ab", "received": "ab"})
    )
}

/// `strack_128`: the rate of the first connection over 128 paths; the second has 4/5 of it.
fn guest(strack_128: u64) -> String {
    let mut text = format!("{SETUP}\n");
    text += &transfer("tcp", 12_500, [4_100_000, 0, 0, 0], false, false);
    text += &transfer("strack-1", 12_500, [0, 0, 4_100_000, 0], false, false);
    text += &transfer("strack-128", strack_128, [1_025_000; 4], false, false);
    let uneven = [1_500_000, 900_000, 850_000, 850_000];
    text += &transfer("strack-128-2", strack_128 / 5 * 4, uneven, false, false);
    text += &transfer("strack-cut", strack_128, [1_025_000; 4], true, false);
    text += &transfer("tcp-cut", 12_500, [0, 0, 0, 2_100_000], true, true);
    text
}

fn run(name: &str, text: &str) -> Report {
    Report::of("demo", name, text)
}

#[test]
fn a_good_run_meets_its_targets() {
    let result = run("good", &guest(40_000));
    assert!(result.success, "{}", result.out);
    assert_eq!(result.json["command"], "make demo");
    assert_eq!(result.json["clock"], "virtual");
    assert_eq!(row(&result.json, "capacity/spines")["value"], 400.0);
    assert_eq!(row(&result.json, "goodput/tcp")["value"], 100.0);
    assert_eq!(row(&result.json, "draw/strack-128")["value"], 320.0);
    assert_eq!(row(&result.json, "draw/strack-128-2")["value"], 256.0);
    let most = row(&result.json, "draw-allows/strack-128-2")["value"].as_f64();
    assert_eq!(most.unwrap().round(), 267.0);
    assert_eq!(row(&result.json, "goodput/strack-128")["value"], 288.0);
    assert_eq!(row(&result.json, "goodput/strack-128")["target"], 280.0);
    assert_eq!(row(&result.json, "bytes/tcp/spine-1")["value"], 4_100_000.0);
    assert_eq!(
        row(&result.json, "bytes/strack-128/spine-4")["value"],
        1_025_000.0
    );
    assert_eq!(row(&result.json, "hash/equal")["value"], 1.0);
    assert_eq!(row(&result.json, "cut/goodput-before")["value"], 320.0);
    assert_eq!(row(&result.json, "cut/recovery")["value"], 1.0);
    assert_eq!(row(&result.json, "cut/last-dip")["value"], 0.0);
    assert_eq!(row(&result.json, "cut/goodput-after-tcp")["value"], 0.0);
    assert_eq!(row(&result.json, "retransmissions/loss-free")["pass"], true);
    assert!(result.svg.starts_with("<svg"));
    assert!(result.svg.contains("spine 2 cut"));
}

#[test]
fn a_slow_run_is_reported_and_fails() {
    let result = run("slow", &guest(25_000));
    assert!(!result.success);
    assert_eq!(row(&result.json, "draw/strack-128")["value"], 200.0);
    assert_eq!(row(&result.json, "goodput/strack-128")["value"], 180.0);
    assert_eq!(row(&result.json, "goodput/strack-128")["pass"], false);
    assert!(
        result.out.contains("Missed: goodput/strack-128\n"),
        "{}",
        result.out
    );
}

#[test]
fn a_changed_byte_is_seen() {
    let first = r#""kind":"hash","received":"ab","run":"strack-128""#;
    let again = r#""kind":"hash","received":"ab","run":"strack-128-2""#;
    for hash in [first, again] {
        let text = guest(40_000);
        assert!(text.contains(hash), "{text}");
        let result = run("changed", &text.replace(hash, &hash.replace("ab", "cd")));
        assert!(!result.success);
        assert_eq!(row(&result.json, "hash/equal")["value"], 0.0);
        assert!(result.out.contains("DIFFERENT"), "{}", result.out);
    }
}

#[test]
fn a_retransmission_in_any_draw_counts() {
    let sent_again = guest(40_000).replace(
        r#""run":"strack-128-2","sender":{"mss":4136,"retransmits":0"#,
        r#""run":"strack-128-2","sender":{"mss":4136,"retransmits":3"#,
    );
    let result = run("resent", &sent_again);
    assert!(!result.success);
    assert_eq!(row(&result.json, "retransmissions/loss-free")["value"], 3.0);
}
