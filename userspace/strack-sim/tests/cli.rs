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
    let cases: [(&[&str], &str); 17] = [
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
        (&["paper", "--only", "figure99"], "no such section"),
        (&["run", "/nonexistent.toml"], "No such file"),
        (&["model", "--uplinks", "0"], "needs an uplink"),
    ];
    for (args, message) in cases {
        let (status, _, stderr) = program(args);
        assert_eq!(status, Some(2), "{args:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
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
