// SPDX-License-Identifier: GPL-2.0
//! Stellar, figure 12 once more: a whole ToR, and where its floor may come from.
//!
//! What is plotted is the difference of loads over the bandwidth of a port. Where uplinks are
//! full on average that is the difference over the mean, and nothing is left to be fitted.
//! Another section of the paper has a permutation of 120 flows over the same fabric: 120
//! cards of 200 Gb/s below a ToR just fill its 60 uplinks of 400 Gb/s. With 16 connections
//! each, hashing gives what was published up to 128 paths, and then goes on falling. So
//! several ways in which more paths might be no better are put beside it.

use super::figure12::lines;
use super::figure12::measure;
use super::figure12::PUBLISHED;
use super::plot;
use super::words;
use super::Paper;
use super::Section;
use crate::model::balls_in_table;
use crate::scenario::BadInput;
use strack_report::report::Better;

/// Cards below a ToR, and connections of each.
const CARDS: u32 = 120;
const CONNECTIONS: u32 = 16;

const UPLINKS: u32 = 60;

/// As many cards below another ToR receive.
const FABRIC: &str = "
topology = { tiers = 2, hosts = 240, hosts-per-tor = 120, uplinks = 60, rate = '200G', fabric-rate = '400G', delay = '2.5us' }
workload.pattern = 'across'
transport.connections = 16
";

/// What each card sends while loads are measured, and packets of each connection then.
const SHORT: (&str, u32) = ("6500KB", 100);
const LONG: (&str, u32) = ("26MB", 400);

/// Buckets of a switch's table of equal ways.
const BUCKETS: u32 = 1024;

/// Loads by hashing alone, with at most so many different paths or packets, in percent.
fn balls(paper: &Paper<'_>, buckets: u32, most: u32) -> Vec<f64> {
    let draws = if paper.quick() { 2 } else { 10 };
    let drawn = PUBLISHED.map(|(paths, _)| {
        let paths = paths.min(most);
        let connections = CARDS * CONNECTIONS;
        balls_in_table(connections, paths, UPLINKS, buckets, draws, paper.seed)
    });
    drawn.map(|imbalance| imbalance.range * 100.0).to_vec()
}

/// By which part a column is off from what was published, on a logarithmic scale.
fn off(column: &[f64]) -> f64 {
    let logs = PUBLISHED.iter().zip(column);
    let squares = logs.map(|((_, published), ours)| (published / ours).ln().powi(2));
    (squares.sum::<f64>() / column.len() as f64).sqrt().exp() - 1.0
}

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let seeds = if paper.quick() { 1 } else { 2 };
    let simulated = |paper: &Paper<'_>, size| -> Result<Vec<f64>, BadInput> {
        let measured = measure(paper, FABRIC, size, seeds)?;
        let range = |of: &Vec<_>| of.iter().map(range).sum::<f64>() / of.len() as f64;
        Ok(measured.iter().map(range).collect())
    };
    let mut columns = vec![
        ("hashing", balls(paper, UPLINKS, u32::MAX)),
        ("100 packets", balls(paper, UPLINKS, SHORT.1)),
        ("7 bits", balls(paper, UPLINKS, 128)),
        ("table", balls(paper, BUCKETS, u32::MAX)),
        ("run, 100 packets", simulated(paper, SHORT.0)?),
    ];
    if !paper.quick() {
        columns.push(("run, 400 packets", simulated(paper, LONG.0)?));
    }
    let mut rows = Vec::new();
    for (i, (paths, published)) in PUBLISHED.into_iter().enumerate() {
        let mut row = vec![paths.to_string(), format!("{published:.1} %")];
        for (name, column) in &columns {
            row.push(format!("{:.1} %", column[i]));
            let name = format!("figure12-floor/{name}/{paths}");
            paper.report.add(&name, column[i], "%", Better::Lower);
        }
        rows.push(row);
    }
    let mut last = vec!["off by".to_string(), String::new()];
    for (name, column) in &columns {
        let off = off(column) * 100.0;
        let name = format!("figure12-floor/{name}/off");
        paper.report.add(&name, off, "%", Better::Lower);
        last.push(format!("{off:.0} %"));
    }
    rows.push(last);
    let plotted = columns.iter().filter(|(name, _)| PLOTTED.contains(name));
    let lines = lines(plotted.map(|(name, column)| (*name, column)));
    let mut head = vec!["paths", "published"];
    head.extend(columns.iter().map(|(name, _)| *name));
    Ok(Section {
        title: "Stellar, figure 12: a whole ToR, and the floor from 128 paths on",
        text: TEXT.to_string(),
        head: words(&head),
        rows,
        plot: Some(plot::log_log(
            "Difference of 60 full uplinks",
            "paths",
            "% of a port",
            &lines,
        )?),
    })
}

/// Lines of the plot: those that differ.
const PLOTTED: [&str; 3] = ["hashing", "100 packets", "run, 100 packets"];

const TEXT: &str = "Difference of the fullest and the emptiest of 60 uplinks of 400 Gb/s in percent of a \
port. Below the ToR 120 cards of 200 Gb/s, each with 16 connections, send to as many below another \
one: uplinks are full on average, so the difference is as much of a port as of the mean, and there \
is no factor to choose. That the figure was measured under such a load is an assumption (another \
test of the paper is a permutation of 120 flows over the same fabric); it is the only one found \
that gives the heights and not just the slope. 'Hashing', balls in bins, is near what was published \
up to 128 paths, and then goes on falling. Three ways in which more paths are no better than 128: \
'100 packets': loads are looked at for as long as a connection takes to send 100 packets (400 KB, a \
quarter of a millisecond in all), and nobody uses more paths than he sends packets. '7 bits': no \
more than 128 paths look different to the switch, because only 7 bits of what tells them apart get \
into its hash. 'Table': the hash points into a table of 1,024 ways, in which four of 60 uplinks \
stand once more than the others; that would have raised 64 paths as well, and fits less. 'Run' is \
the simulator with the protocol's windows, which at few paths give way where a port is full, so \
that uplinks differ less than by hashing; with 100 packets of each connection it has the floor at \
the published height, with 400 it goes on falling. So short messages, or a short look, explain the \
floor, and a hash of 7 bits would, too; the paper decides for neither. It says that with 60 \
switches above 128 paths cover all routes; by hashing those of a connection reach 53.";

fn range(imbalance: &crate::model::Imbalance) -> f64 {
    imbalance.range * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_is_not_off() {
        let same: Vec<f64> = PUBLISHED.iter().map(|(_, percent)| *percent).collect();
        assert_eq!(off(&same), 0.0);
        let half: Vec<f64> = same.iter().map(|percent| percent / 2.0).collect();
        assert!((off(&half) - 1.0).abs() < 1e-9);
    }
}
