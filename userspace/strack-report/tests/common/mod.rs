// SPDX-License-Identifier: GPL-2.0
//! The program, run on a made-up file of the guest, and what it made of it.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What the program left behind.
pub struct Report {
    pub success: bool,
    pub out: String,
    pub json: Value,
    pub svg: String,
}

impl Report {
    /// Runs `command` of the program on `text`, in a directory of this name.
    pub fn of(command: &str, name: &str, text: &str) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&dir).unwrap();
        let raw = dir.join(format!("{command}.jsonl"));
        fs::write(&raw, text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_strack-report"))
            .args([command, "--out"])
            .args([&dir, &raw])
            .output()
            .unwrap();
        let json = fs::read(dir.join(format!("{command}.json"))).unwrap();
        Self {
            success: output.status.success(),
            out: String::from_utf8(output.stdout).unwrap(),
            json: serde_json::from_slice(&json).unwrap(),
            svg: fs::read_to_string(dir.join(format!("{command}.svg"))).unwrap(),
        }
    }
}

/// The row of this name in a report.
pub fn row<'a>(json: &'a Value, name: &str) -> &'a Value {
    let rows = json["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no row {name}"))
}
