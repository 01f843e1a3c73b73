// SPDX-License-Identifier: GPL-2.0
//! The report as one page.

use super::Section;
use std::fmt::Write;

const STYLE: &str = "body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0}td,th{border-bottom:1px solid #ccc;\
padding:.2em .8em;text-align:right}td:first-child,th:first-child{text-align:left}";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Models, what they were checked against, and what they were not.
const CHECKS: [[&str; 3]; 7] = [
    [
        "strack, its policies, four windows",
        "It is the code itself. The simulator around it: completion times of the public UEC \
         simulator (Calibration), balls in bins (Figure 12), what a dead uplink has sent again, \
         f/(1-f) (Theory)",
        "a fabric of real switches",
    ],
    [
        "RoCEv2: go-back-N",
        "(1-p)/(1-p+pW) (Theory)",
        "a network card, whose firmware nobody knows",
    ],
    [
        "RoCEv2: DCQCN",
        "its paper: the steps of a rate that was cut; K flows fill a link and divide it (tests)",
        "traces of its authors' simulator",
    ],
    [
        "priority flow control",
        "nothing is lost, and a stopped link stops bystanders (tests)",
        "the shared buffers of a switch chip",
    ],
    [
        "MP-RDMA",
        "fills a link, leaves a slow path (tests)",
        "completion times of its paper",
    ],
    [
        "DCTCP and MPTCP",
        "the queue stays at the threshold; more subflows find more of the fabric (tests)",
        "a kernel's TCP: here each packet is acknowledged at once, and all is read at once",
    ],
    ["switches that spray", "even to the packet (tests)", ""],
];

/// What was chosen, and which results that decides.
const CHOICES: &str = "<p>Choices that decide results: where switches mark and from when on they \
stop senders (everything with RoCEv2, hence three setups of it); that packets without payload go \
ahead of data (trimming, and all that waits for acknowledgements); that senders begin at full \
speed (incasts and short messages); that a path is a hash, drawn anew with each seed (whatever has \
a single path); that hosts cost no time at all.</p>\n";

fn table(page: &mut String, head: &[String], rows: impl Iterator<Item = Vec<String>>) {
    let row = |cells: &[String], tag: &str| {
        let cells = cells
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let _ = writeln!(page, "<table>{}", row(head, "th"));
    for cells in rows {
        let _ = writeln!(page, "{}", row(&cells, "td"));
    }
    let _ = writeln!(page, "</table>");
}

/// Puts all sections on a page.
pub fn page(sections: &[Section], targets: &str) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>strack-sim paper</title><style>{STYLE}</style></head><body>\n\
         <h1>What papers report, simulated</h1>\n\
         <p>The hosts run the protocol code of the kernel module; peers were written for this \
         comparison. Where a result depends on what was chosen in modelling, the section says \
         so. All figures are in <a href=\"report.json\">report.json</a>.</p>\n\
         <h2>What the models were checked against</h2>\n"
    );
    table(
        &mut page,
        &["", "checked against", "not checked against"].map(String::from),
        CHECKS.iter().map(|row| row.map(String::from).to_vec()),
    );
    page.push_str(CHOICES);
    for section in sections {
        let _ = writeln!(
            page,
            "<h2>{}</h2>\n<p>{}</p>",
            escape(section.title),
            escape(&section.text)
        );
        if let Some(plot) = &section.plot {
            let _ = writeln!(page, "{plot}");
        }
        table(&mut page, &section.head, section.rows.iter().cloned());
    }
    let _ = writeln!(
        page,
        "<h2>Targets</h2>\n<pre>{}</pre>\n</body></html>",
        escape(targets)
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text() {
        let section = Section {
            title: "a < b",
            text: "c & d".into(),
            head: vec!["x".into()],
            rows: vec![vec!["<y>".into()]],
            plot: None,
        };
        let page = page(&[section], "t");
        for part in [
            "DCQCN",
            "a &lt; b",
            "c &amp; d",
            "<th>x</th>",
            "<td>&lt;y&gt;</td>",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }
}
