// SPDX-License-Identifier: GPL-2.0
//! Stellar, figure 12: how unevenly the uplinks of a ToR are loaded.
//!
//! 16 connections between two network cards over 60 uplinks, for 4 to 256 paths. What
//! the paper plots is "max - min load over the total port bandwidth", without saying over
//! what time and of how many ports, so its figures are compared with several measures, up
//! to one common factor: a measure that is right has the right slope.

use super::plot;
use super::plot::Line;
use super::set;
use super::words;
use super::Job;
use super::Paper;
use super::Section;
use crate::model;
use crate::model::Imbalance;
use crate::scenario::BadInput;
use strack_report::report::Better;

/// Paths and percent, as read from the paper's plot.
pub(super) const PUBLISHED: [(u32, f64); 6] = [
    (4, 50.0),
    (8, 29.0),
    (16, 20.0),
    (64, 11.0),
    (128, 8.5),
    (256, 8.5),
];

const FABRIC: &str = "
topology = { tiers = 2, hosts = 2, hosts-per-tor = 1, uplinks = 60, rate = '400G', delay = '2.5us' }
workload.pattern = 'pair'
transport.connections = 16
";

/// A measure of imbalance by name.
type Measure = (&'static str, fn(&Imbalance) -> f64);

const MEASURES: [Measure; 3] = [
    ("deviation/mean", |i| i.deviation),
    ("(max-min)/mean", |i| i.range),
    ("max/mean - 1", |i| i.hottest - 1.0),
];

/// The imbalance of the uplinks for each number of paths, for each seed.
pub(super) fn measure(
    paper: &Paper<'_>,
    fabric: &str,
    size: &str,
    seeds: u64,
) -> Result<Vec<Vec<Imbalance>>, BadInput> {
    let mut jobs = Vec::new();
    for (paths, _) in PUBLISHED {
        for seed in paper.seed..paper.seed + seeds {
            let changes = [
                set("seed", seed),
                set("workload.size", size),
                set("transport.paths", paths),
            ];
            jobs.push(Job::new(format!("{paths} paths"), fabric, changes));
        }
    }
    let outcomes = paper.run(&jobs)?;
    let all = outcomes.map(|outcome| Imbalance::of(&outcome.loads("tor0:spine")));
    let all: Vec<_> = all.collect();
    Ok(all.chunks(seeds as usize).map(<[_]>::to_vec).collect())
}

pub(super) fn section(paper: &mut Paper<'_>) -> Result<Section, BadInput> {
    let (seeds, size) = if paper.quick() {
        (1, "8MB")
    } else {
        (4, "64MB")
    };
    let measured = measure(paper, FABRIC, size, seeds)?;
    let mean = |of: &[Imbalance], measure: fn(&Imbalance) -> f64| {
        of.iter().map(measure).sum::<f64>() / of.len() as f64 * 100.0
    };
    let columns: Vec<Vec<f64>> = MEASURES
        .iter()
        .map(|(_, measure)| measured.iter().map(|of| mean(of, *measure)).collect())
        .collect();
    let fits: Vec<(f64, f64)> = columns.iter().map(|column| fit(column)).collect();

    let mut rows = Vec::new();
    for (i, (paths, published)) in PUBLISHED.into_iter().enumerate() {
        let expected = model::expected_deviation(16, paths, 60) * 100.0;
        let mut row = vec![paths.to_string(), format!("{published:.1} %")];
        for ((name, _), column) in MEASURES.iter().zip(&columns) {
            row.push(format!("{:.1} %", column[i]));
            let name = format!("figure12/{name}/{paths}");
            paper.report.add(&name, column[i], "%", Better::Lower);
        }
        row.push(format!("{expected:.1} %"));
        rows.push(row);
        // Spraying over hashed paths can be no better than balls in bins; the runs may
        // be off by chance.
        let off = (columns[0][i] / expected - 1.0).abs() * 100.0;
        let name = format!("figure12/off-theory/{paths}");
        if paper.quick() {
            // Connections send fewer packets than they have paths there.
            paper.report.add(&name, off, "%", Better::Lower);
        } else {
            paper.report.at_most(&name, off, "%", 15.0);
        }
    }
    let factor = |i: usize| format!("x {:.2}", fits[i].0);
    let error = |i: usize| format!("{:.0} %", fits[i].1 * 100.0);
    rows.push(vec![
        "fits best".into(),
        String::new(),
        factor(0),
        factor(1),
        factor(2),
        String::new(),
    ]);
    rows.push(vec![
        "then off by".into(),
        String::new(),
        error(0),
        error(1),
        error(2),
        String::new(),
    ]);
    let best = (0..fits.len())
        .min_by(|&a, &b| fits[a].1.total_cmp(&fits[b].1))
        .unwrap_or(0);

    let head = [
        "paths",
        "published",
        MEASURES[0].0,
        MEASURES[1].0,
        MEASURES[2].0,
        "sqrt(60/(16 k))",
    ];
    let lines = lines(MEASURES.iter().map(|(name, _)| *name).zip(&columns));
    Ok(Section {
        title: "Stellar, figure 12: imbalance of a ToR's uplinks",
        text: format!(
            "16 connections between two hosts of 400 Gb/s over 60 uplinks, {size} in all, mean \
             of {seeds} seeds, oblivious spraying by the protocol itself: what the text beside \
             the figure says. All three measures fall as hashing has it, with the square root of \
             the paths, and so do the published figures up to 128 paths; '{}' has their slope \
             most closely, if it is multiplied by {:.2}. But none of them can be what was \
             plotted. The figure is of the difference of two uplinks' loads over the bandwidth \
             of a port, and two cards of 400 Gb/s put 1.7 % of that on each of 60 uplinks: even \
             the {:.0} % of the mean that uplinks differ by with four paths would be {:.0} % of a \
             port, not 50 %. There was more traffic than that; the next section has it.",
            MEASURES[best].0,
            fits[best].0,
            columns[1][0],
            columns[1][0] / 60.0
        ),
        head: words(&head),
        rows,
        plot: Some(plot::log_log(
            "Imbalance of 60 uplinks",
            "paths",
            "%",
            &lines,
        )?),
    })
}

/// What was published and some columns beside it, as lines of a plot.
pub(super) fn lines<'a>(columns: impl Iterator<Item = (&'a str, &'a Vec<f64>)>) -> Vec<Line> {
    let paths = PUBLISHED.map(|(paths, _)| f64::from(paths));
    let line = |name: &str, column: &[f64]| {
        let points = paths.into_iter().zip(column.iter().copied());
        Line::new(name, points.collect())
    };
    let published = line("published", &PUBLISHED.map(|(_, percent)| percent));
    let columns = columns.map(|(name, column)| line(name, column));
    [published].into_iter().chain(columns).collect()
}

/// The factor that brings a column closest to what was published, on a logarithmic
/// scale up to 128 paths, and by which part it is off then.
fn fit(column: &[f64]) -> (f64, f64) {
    let logs: Vec<f64> = PUBLISHED
        .iter()
        .zip(column)
        .filter(|((paths, _), _)| *paths <= 128)
        .map(|((_, published), ours)| (published / ours).ln())
        .collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let square: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (mean.exp(), (square / n).sqrt().exp() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_in_proportion_fits_exactly() {
        let column: Vec<f64> = PUBLISHED.iter().map(|(_, percent)| percent * 2.0).collect();
        let (factor, error) = fit(&column);
        assert!((factor - 0.5).abs() < 1e-9 && error < 1e-9);
    }
}
