// SPDX-License-Identifier: GPL-2.0
//! Plots of the report.

use crate::scenario::BadInput;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use plotters::style::text_anchor::Pos;
use plotters::style::text_anchor::VPos;
use strack_report::plot::bar_key;
use strack_report::plot::legend;
use strack_report::plot::line_key;
use strack_report::plot::FONT;

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

/// Groups of bars side by side, one for each of `series`, as SVG.
pub(super) fn bars(
    title: &str,
    y: &str,
    series: &[&str],
    groups: &[(String, Vec<f64>)],
) -> Result<String, BadInput> {
    let mut svg = String::new();
    let drawn = draw_bars(&mut svg, title, y, series, groups);
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
    // From a power of two to another one, as the marks of both axes are.
    let (low, high) = (low.log2().floor().exp2(), high.log2().ceil().exp2());
    let root = SVGBackend::with_string(svg, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(
            (left..right).log_scale().base(2.0),
            (low..high).log_scale().base(2.0),
        )?;
    chart
        .configure_mesh()
        .max_light_lines(1)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .x_desc(x)
        .y_desc(y)
        .draw()?;
    for (line, color) in lines.iter().zip(COLORS) {
        chart
            .draw_series(LineSeries::new(
                line.points.iter().copied(),
                color.stroke_width(2),
            ))?
            .label(line.name.as_str())
            .legend(line_key(color.stroke_width(3)));
    }
    legend(&mut chart, SeriesLabelPosition::MiddleRight)?;
    root.present()?;
    Ok(())
}

fn draw_bars(
    svg: &mut String,
    title: &str,
    y: &str,
    series: &[&str],
    groups: &[(String, Vec<f64>)],
) -> Drawn {
    let values = groups.iter().flat_map(|(_, values)| values);
    // Whoever is never done has no bar.
    let finite = values.copied().filter(|value| value.is_finite());
    let most = finite.fold(0.0, f64::max);
    let root = SVGBackend::with_string(svg, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let count = groups.len();
    let mut chart = ChartBuilder::on(&root)
        .caption(title, (FONT, 18))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(60)
        // Above the bars there is room for the legend.
        .build_cartesian_2d(0.0..count as f64, 0.0..most * 1.35)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(1)
        .disable_x_axis()
        .y_desc(y)
        .draw()?;
    let width = 0.8 / series.len().max(1) as f64;
    for (number, (name, color)) in series.iter().zip(COLORS).enumerate() {
        let left = |group: usize| group as f64 + 0.1 + width * number as f64;
        let bars = groups
            .iter()
            .enumerate()
            .filter_map(|(group, (_, values))| {
                let value = values.get(number).copied()?;
                let corners = [(left(group), 0.0), (left(group) + width, value)];
                value
                    .is_finite()
                    .then(|| Rectangle::new(corners, color.filled()))
            });
        chart.draw_series(bars)?.label(*name).legend(bar_key(color));
    }
    // As an axis would have them in between, the names of the groups are put there by hand.
    let style = (FONT, 11)
        .into_text_style(&root)
        .pos(Pos::new(HPos::Center, VPos::Top));
    let area = chart.plotting_area().get_pixel_range();
    for (group, (name, _)) in groups.iter().enumerate() {
        let middle = (group as f64 + 0.5) / count as f64;
        let x = f64::from(area.0.start) + middle * f64::from(area.0.end - area.0.start);
        // Neighbours do not run into each other.
        let line = 14 * (group as i32 % 2);
        root.draw_text(name, &style, (x as i32, area.1.end + 4 + line))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)?;
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_that_never_ends_is_left_out() {
        let group = |name: &str, values: [f64; 2]| (name.to_string(), values.to_vec());
        let groups = [group("a", [1.0, 2.0]), group("b", [3.0, f64::INFINITY])];
        let svg = bars("t", "x", &["first", "second"], &groups).unwrap();
        let filled = |color: &str| svg.matches(&format!("fill=\"{color}\"")).count();
        // Each colour is in the legend, too.
        assert_eq!((filled("#000000") > 2, filled("#E69F00")), (true, 2));
    }
}
