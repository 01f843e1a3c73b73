// SPDX-License-Identifier: GPL-2.0
//! Bad input: one clear line, exit status 2.

use std::process::Command;

fn program(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_strack-sim"))
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn nonsense_is_one_line_and_status_2() {
    let cases: [(&[&str], &str); 26] = [
        (&["run", "-s", "topology.rate=0"], "rate zero"),
        (&["run", "-s", "topology.hosts=100"], "cannot be divided"),
        (&["run", "-s", "transport.paths=0"], "0 paths"),
        (&["run", "-s", "transport.mtu=100"], "packets of 100 bytes"),
        (&["run", "-s", "transport.speed=1"], "speed"),
        (&["run", "-s", "transport.kind=udp"], "udp"),
        (&["run", "-s", "workload.size=0"], "size zero"),
        (&["run", "-s", "workload.pattern=matrix"], "belong together"),
        (
            &["run", "-s", "queue.pfc=true", "-s", "queue.trim=true"],
            "nothing is left",
        ),
        (&["run", "-s", "nonsense"], "key=value"),
        (&["run", "-s", "transport.read-rate=0"], "rate zero"),
        (
            &["run", "-s", "transport.read-slow-until=1us"],
            "needs a read-rate",
        ),
        (
            &[
                "run",
                "-s",
                "transport.lose-last=1",
                "-s",
                "transport.kind=roce",
            ],
            "for strack only",
        ),
        (&["run", "-s", "workload.first=1"], "up to number 128"),
        (&["run", "-s", "workload.parts=2"], "for rings and trees"),
        (&["run", "-s", "watch.every=1ns"], "1000000 looks"),
        (
            &[
                "run",
                "-s",
                "limit=1ms",
                "-s",
                "watch={every='1us',links=['x']}",
            ],
            "watch: no link is called 'x'",
        ),
        (&["paper", "--only", "figure99"], "no such section"),
        (&["run", "/nonexistent.toml"], "No such file"),
        (&["model", "--uplinks", "0"], "needs an uplink"),
        (&["model", "--uplinks", "many"], "invalid value 'many'"),
        (&["speed", "--colour"], "unexpected argument '--colour'"),
        (&["limits", "--only", "e99"], "no case whose name"),
        (&["run", "-s", "limit=0us"], "without any time"),
        (
            &["run", "-s", "wait-for-background=true"],
            "there is no background",
        ),
        (
            &[
                "run",
                "-s",
                "schedule=[{ link = 'tor*:agg*', up = true, at = '20s' }]",
            ],
            "when the run is over",
        ),
    ];
    for (args, message) in cases {
        let (status, _, stderr) = program(args);
        assert_eq!(status, Some(2), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
    }
}

#[test]
fn values_that_make_no_sense_are_one_line_and_status_2() {
    let cases = [
        ("topology.uplinks=1000000", "more than 4000000 cables"),
        ("topology.rate=9T", "up to 8T"),
        ("topology.delay=1000000s", "a delay of up to 1s"),
        ("transport.connections=4000000000", "1 to 1024"),
        ("transport.burst=0", "burst is zero"),
        ("transport.initial-window=0", "initial-window is zero"),
        ("transport.receive-window=0", "receive-window is zero"),
        ("transport.window-packets=0", "window-packets is zero"),
        ("transport.target=0us", "target is zero"),
        ("transport.rto-min=0us", "rto-min is zero"),
        ("transport.dcqcn=false", "for roce only"),
        ("queue.capacity=100", "no full packet"),
        ("workload.senders=5", "pair, incast and victim"),
        ("workload.size=100TB", "a size such as"),
        ("workload.size=10000GB", "more than 1 TB"),
    ];
    for (change, message) in cases {
        fails(&[change], message);
    }
    let contradictions: [(&[&str], &str); 7] = [
        (
            &["transport.kind=roce", "transport.policy=bitmap"],
            "policy is for strack",
        ),
        (
            &["transport.kind=dctcp", "transport.profile=strack"],
            "profile is for strack",
        ),
        (&["queue.ecn=off", "queue.ecn-min=1KB"], "has no use for"),
        (&["queue.ecn=step", "queue.ecn-max=1KB"], "has no use for"),
        (
            &["workload.pattern=poisson", "workload.load=nan"],
            "no load of NaN",
        ),
        (
            &["workload.pattern=on-off", "workload.period=1ps"],
            "are too many",
        ),
        (
            &[
                "workload.pattern=on-off",
                "workload.duration=11s",
                "workload.period=1s",
            ],
            "when the run is over",
        ),
    ];
    for (changes, message) in contradictions {
        fails(changes, message);
    }
}

/// A run with these changes is refused.
fn fails(changes: &[&str], message: &str) {
    let mut args = vec!["run"];
    args.extend(changes.iter().flat_map(|change| ["-s", change]));
    let (status, _, stderr) = program(&args);
    assert_eq!(status, Some(2), "{changes:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{changes:?}: {stderr}");
    assert!(stderr.contains(message), "{changes:?}: {stderr}");
}

/// Matrices whose lines are all right one by one.
#[test]
fn matrices_that_cannot_be_run_are_refused() {
    let dir = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let circle = "0->1 id 1 trigger 2 size 1 send_done_trigger 1\n\
                  1->2 id 2 trigger 1 size 1 send_done_trigger 2\n\
                  trigger id 1 oneshot\ntrigger id 2 oneshot";
    let barrier = "0->1 id 1 start 0 size 1 recv_done_trigger 1\n\
                   1->2 id 2 trigger 1 size 1\ntrigger id 1 barrier count 2";
    let cases = [
        ("circle", circle, "nothing ever starts 2 of"),
        ("barrier", barrier, "nothing ever starts 1 of"),
        (
            "late",
            "0->1 id 1 start 10000000000000 size 1",
            "when the run is over",
        ),
        (
            "long",
            "0->1 id 1 start 0 size 18446744073709551615",
            "more than 1 TB",
        ),
    ];
    for (name, lines, message) in cases {
        let matrix = dir.join(name);
        std::fs::write(&matrix, format!("Nodes 16\n{lines}\n")).unwrap();
        let file = format!("workload.file={}", matrix.display());
        fails(&["workload.pattern=matrix", &file], message);
    }
}

#[test]
fn a_matrix_is_run_and_reported() {
    let dir = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let matrix = dir.join("two.cm");
    let text = "Nodes 16\nConnections 2\nTriggers 1\n\
                0->9 id 1 start 0 size 100000 send_done_trigger 1\n\
                9->0 id 2 trigger 1 size 100000\ntrigger id 1 oneshot\n";
    std::fs::write(&matrix, text).unwrap();
    let json = dir.join("two.json");
    let file = format!("workload.file={}", matrix.display());
    let (status, stdout, _) = program(&[
        "run",
        "-s",
        "topology.hosts=16",
        "-s",
        "workload.pattern=matrix",
        "-s",
        &file,
        "--json",
        json.to_str().unwrap(),
    ]);
    assert_eq!(status, Some(0), "{stdout}");
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(report["clock"], "simulated");
    let row = |name: &str| {
        let rows = report["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        row["value"].as_f64().unwrap()
    };
    // 25 packets of 332 ns and a round trip, twice.
    assert!(
        (40.0..56.0).contains(&row("end/last")),
        "{}",
        row("end/last")
    );
    assert_eq!(row("data/sent"), 50.0);
}
