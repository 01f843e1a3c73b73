// SPDX-License-Identifier: GPL-2.0
//! Plots of the report.

use crate::scenario::BadInput;
use plotters::prelude::*;

/// One line of a plot.
pub(super) struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Line {
    pub(super) fn new(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.to_string(),
            points,
        }
    }
}

/// Colours that stay apart for colour-blind eyes too (Okabe and Ito).
const COLORS: [RGBColor; 4] = [
    RGBColor(0x00, 0x00, 0x00),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0x00, 0x9e, 0x73),
];

/// A plot with two logarithmic axes, as SVG.
pub(super) fn log_log(title: &str, x: &str, y: &str, lines: &[Line]) -> Result<String, BadInput> {
    let mut svg = String::new();
    let drawn = draw(&mut svg, title, x, y, lines);
    drawn.map_err(|error| BadInput(format!("cannot draw '{title}': {error}")))?;
    Ok(svg)
}

type Drawn = Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, title: &str, x: &str, y: &str, lines: &[Line]) -> Drawn {
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let (left, right) = (
        least(&mut all().map(|p| p.0)),
        most(&mut all().map(|p| p.0)),
    );
    let (low, high) = (
        least(&mut all().map(|p| p.1)),
        most(&mut all().map(|p| p.1)),
    );
    let root = SVGBackend::with_string(svg, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(
            (left..right).log_scale(),
            (low * 0.8..high * 1.2).log_scale(),
        )?;
    chart.configure_mesh().x_desc(x).y_desc(y).draw()?;
    for (line, color) in lines.iter().zip(COLORS) {
        chart
            .draw_series(LineSeries::new(
                line.points.iter().copied(),
                color.stroke_width(2),
            ))?
            .label(line.name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK)
        .draw()?;
    root.present()?;
    Ok(())
}
