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

/// Puts all sections on a page.
pub fn page(sections: &[Section], targets: &str) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>strack-sim paper</title><style>{STYLE}</style></head><body>\n\
         <h1>What papers report, simulated</h1>\n\
         <p>The hosts run the protocol code of the kernel module; peers were written for this \
         comparison and checked against what is known of them in closed form (go-back-N) or \
         from their papers (DCQCN's steps and its flows into one link, DCTCP's queue, MPTCP's \
         use of more subflows, MP-RDMA's leaving of slow paths). Where a result depends on \
         what was chosen in modelling, the section says so. The raw figures are in \
         <a href=\"report.json\">report.json</a>.</p>\n"
    );
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
        let row = |cells: &[String], tag: &str| {
            let cells = cells
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let _ = writeln!(page, "<table>{}", row(&section.head, "th"));
        for cells in &section.rows {
            let _ = writeln!(page, "{}", row(cells, "td"));
        }
        let _ = writeln!(page, "</table>");
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
        for part in ["a &lt; b", "c &amp; d", "<th>x</th>", "<td>&lt;y&gt;</td>"] {
            assert!(page.contains(part), "{part}");
        }
    }
}
