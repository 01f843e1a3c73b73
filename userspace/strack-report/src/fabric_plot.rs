// SPDX-License-Identifier: GPL-2.0
//! The picture of `make bench-fabric`: how long each case takes, and how the flows
//! together fare when a spine is cut and repaired.

use crate::fabric::Bench;
use crate::hole::Course;
use crate::page;
use crate::page::Area;
use crate::page::Drawn;
use crate::page::FAULT;
use anyhow::Result;
use plotters::prelude::*;
use std::path::Path;
use strack_report::plot::bar_key;
use strack_report::plot::legend;
use strack_report::plot::line_key;
use strack_report::plot::FONT;

/// Times above so many times the ideal are cut off; the figure stands above the bar.
const TOP: f64 = 4.0;

/// Cases with an ideal to compare with.
const CASES: [&str; 7] = [
    "alone",
    "permutation",
    "slow",
    "loss-1",
    "loss-3",
    "hole",
    "incast",
];
/// The case whose course is drawn, and for whom.
const COURSE: &str = "repair";

/// One for each transport (Okabe and Ito).
const COLORS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x99, 0x99, 0x99),
    RGBColor(0xf0, 0xe4, 0x42),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
];

/// Draw the picture into a file.
pub(crate) fn draw(path: &Path, bench: &Bench<'_>) -> Result<()> {
    page::draw(
        path,
        (440, |area| times(area, bench)),
        (380, |area| course(area, bench)),
    )
}

/// The transports, each with its colour.
fn transports<'a>(bench: &'a Bench<'_>) -> impl Iterator<Item = (&'a str, RGBColor)> {
    bench.transports().into_iter().zip(COLORS)
}

fn times(area: &Area<'_>, bench: &Bench<'_>) -> Drawn {
    let mut chart = page::plot(area, "Time of the last flow, mean over seeds")
        .build_cartesian_2d(-0.5..CASES.len() as f64 - 0.5, 0.0..TOP + 0.2)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(CASES.len())
        .x_label_formatter(&|x| CASES.get(x.round() as usize).unwrap_or(&"").to_string())
        .y_desc("times the ideal")
        .draw()?;
    let width = 0.84 / COLORS.len() as f64;
    for (nth, (transport, color)) in transports(bench).enumerate() {
        let bars: Vec<_> = CASES
            .iter()
            .enumerate()
            .filter_map(|(k, case)| {
                let ratio = bench.last(case, transport)?.mean / bench.ideal_ms(case)?;
                Some((k as f64 - 0.42 + nth as f64 * width, ratio))
            })
            .collect();
        chart
            .draw_series(bars.iter().map(|&(left, ratio)| {
                let corner = (left + width * 0.9, ratio.min(TOP));
                Rectangle::new([(left, 0.0), corner], color.filled())
            }))?
            .label(transport)
            .legend(bar_key(color));
        let cut_off = bars.iter().filter(|(_, ratio)| *ratio > TOP);
        chart.draw_series(cut_off.map(|&(left, ratio)| {
            Text::new(format!("{ratio:.0}"), (left, TOP + 0.15), (FONT, 12))
        }))?;
    }
    let ideal = [(-0.5, 1.0), (CASES.len() as f64 - 0.5, 1.0)];
    chart.draw_series(LineSeries::new(ideal, BLACK.stroke_width(1)))?;
    legend(&mut chart, SeriesLabelPosition::UpperLeft)
}

fn course(area: &Area<'_>, bench: &Bench<'_>) -> Drawn {
    let first = |transport| bench.runs(COURSE, transport).next();
    let runs = || transports(bench).filter_map(|(name, color)| Some((name, first(name)?, color)));
    let last_ms = runs().map(|(_, run, _)| run.last_ms()).fold(1.0, f64::max);
    let top = bench.spines(bench.spine_count()) * 1.15;
    let caption = "All flows together, one spine cut and repaired (one seed)";
    let mut chart = page::plot(area, caption).build_cartesian_2d(0.0..last_ms, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("ms since connect()")
        .y_desc("Mb/s of payload")
        .draw()?;
    for spines in [bench.spine_count(), bench.spine_count().saturating_sub(1)] {
        let rate = bench.spines(spines);
        chart.draw_series(LineSeries::new(
            [(0.0, rate), (last_ms, rate)],
            BLACK.stroke_width(1),
        ))?;
    }
    for (name, run, color) in runs() {
        chart
            .draw_series(LineSeries::new(
                Course::of(run).curve(),
                color.stroke_width(2),
            ))?
            .label(name)
            .legend(line_key(color.stroke_width(3)));
    }
    let cut = runs().find_map(|(_, run, _)| run.cut.as_ref());
    let moments = cut.map(|cut| [Some(cut.at_ns), cut.mended_ns]);
    for ns in moments.into_iter().flatten().flatten() {
        let ms = ns as f64 / 1e6;
        chart.draw_series(LineSeries::new(
            [(ms, 0.0), (ms, top)],
            FAULT.stroke_width(1),
        ))?;
    }
    if runs().next().is_some() {
        legend(&mut chart, SeriesLabelPosition::LowerRight)?;
    }
    Ok(())
}
