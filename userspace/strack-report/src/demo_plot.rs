// SPDX-License-Identifier: GPL-2.0
//! The picture of `make demo`: goodput over time, and bytes per spine.

use crate::demo::Demo;
use crate::demo::CLEAN;
use crate::demo::CUT;
use crate::page;
use crate::page::Area;
use crate::page::Drawn;
use crate::page::FAULT;
use crate::raw::mbits;
use crate::raw::Transfer;
use anyhow::Result;
use plotters::prelude::*;
use std::path::Path;
use strack_report::plot::bar_key;
use strack_report::plot::legend;
use strack_report::plot::line_key;

/// Width of the steps of the curves, at least.
const STEP_NS: u64 = 10_000_000;

/// Colours that stay apart for colour-blind eyes too (Okabe and Ito).
const COLORS: [RGBColor; 4] = [
    RGBColor(0x99, 0x99, 0x99),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x00, 0x9e, 0x73),
];

/// The runs that are drawn, each with its colour.
fn runs<'a>(demo: &'a Demo<'_>) -> impl Iterator<Item = (&'a Transfer, RGBColor)> {
    let names = CLEAN.iter().chain([&CUT]);
    let runs = names.filter_map(|name| demo.run(name));
    runs.zip(COLORS)
}

/// Draw the picture into a file.
pub(crate) fn draw(path: &Path, demo: &Demo<'_>) -> Result<()> {
    page::draw(
        path,
        (430, |area| over_time(area, demo)),
        (330, |area| per_spine(area, demo)),
    )
}

/// Milliseconds and Mb/s of each step of a run.
fn curve(run: &Transfer) -> Vec<(f64, f64)> {
    let bins = STEP_NS.div_ceil(run.bin_ns);
    let step_ns = bins * run.bin_ns;
    let steps = usize::try_from(run.elapsed_ns.div_ceil(step_ns)).unwrap_or(0);
    let mut bytes = vec![0; steps];
    for (bin, count) in &run.arrivals {
        if let Some(sum) = usize::try_from(bin / bins)
            .ok()
            .and_then(|k| bytes.get_mut(k))
        {
            *sum += count;
        }
    }
    let ms = |k: usize| k as f64 * step_ns as f64 / 1e6;
    // the last step is as long as the run lasted
    let width = |k: usize| step_ns.min(run.elapsed_ns - k as u64 * step_ns);
    let mut points = vec![(0.0, 0.0)];
    for (k, bytes) in bytes.into_iter().enumerate() {
        let rate = if width(k) * 2 < step_ns {
            continue;
        } else {
            mbits(bytes, width(k))
        };
        points.push((ms(k) + width(k) as f64 / 2e6, rate));
    }
    points
}

fn over_time(area: &Area<'_>, demo: &Demo<'_>) -> Drawn {
    let last = runs(demo).map(|(run, _)| run.elapsed_ns).max().unwrap_or(1);
    let last_ms = last as f64 / 1e6;
    let top = demo.capacity() * 1.15;
    let mut chart = page::plot(area, "Goodput of one connection over time")
        .build_cartesian_2d(0.0..last_ms, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc("ms since connect()")
        .y_desc("Mb/s")
        .draw()?;
    let capacity = [(0.0, demo.capacity()), (last_ms, demo.capacity())];
    chart
        .draw_series(LineSeries::new(capacity, BLACK.stroke_width(1)))?
        .label("capacity of all spines")
        .legend(line_key(BLACK));
    for (run, color) in runs(demo) {
        chart
            .draw_series(LineSeries::new(curve(run), color.stroke_width(2)))?
            .label(label(run))
            .legend(line_key(color.stroke_width(3)));
        if let Some(cut) = &run.cut {
            let ms = cut.at_ns as f64 / 1e6;
            chart
                .draw_series(LineSeries::new(
                    [(ms, 0.0), (ms, top)],
                    FAULT.stroke_width(1),
                ))?
                .label(format!("spine {} cut", cut.spine))
                .legend(line_key(FAULT));
        }
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

fn label(run: &Transfer) -> String {
    let rate = run.goodput();
    if run.complete {
        format!("{}: {rate:.0} Mb/s", run.run)
    } else {
        format!("{}: stuck", run.run)
    }
}

fn per_spine(area: &Area<'_>, demo: &Demo<'_>) -> Drawn {
    let spines = demo.run(CUT).map_or(0, |run| run.spines.len());
    let mib = |bytes: u64| bytes as f64 / 1048576.0;
    let all = runs(demo).flat_map(|(run, _)| run.spines.iter());
    let top = all.map(|spine| mib(spine.data)).fold(1.0, f64::max) * 1.1;
    let mut chart = page::plot(area, "Data over each spine")
        .build_cartesian_2d(0.5..spines as f64 + 0.5, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .x_labels(spines)
        .x_label_formatter(&|x| format!("spine {x:.0}"))
        .y_desc("MiB")
        .draw()?;
    let width = 0.8 / COLORS.len() as f64;
    for (nth, (run, color)) in runs(demo).enumerate() {
        let bars = run.spines.iter().enumerate().map(|(k, spine)| {
            let left = k as f64 + 0.6 + nth as f64 * width;
            let corner = (left + width * 0.9, mib(spine.data));
            Rectangle::new([(left, 0.0), corner], color.filled())
        });
        chart
            .draw_series(bars)?
            .label(run.run.as_str())
            .legend(bar_key(color));
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}
