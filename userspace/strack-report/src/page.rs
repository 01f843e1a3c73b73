// SPDX-License-Identifier: GPL-2.0
//! A picture of two plots, one above the other.

use anyhow::anyhow;
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;
use strack_report::plot;
use strack_report::plot::FONT;

const WIDTH: u32 = 1000;

/// What is wrong in the network is drawn with this.
pub(crate) const FAULT: RGBColor = RGBColor(0xcc, 0x00, 0x00);

/// Where a plot is drawn.
pub(crate) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub(crate) type Drawn = plot::Drawn<SVGBackend<'static>>;

/// Draws the plots into a file, with so many pixels for each.
pub(crate) fn draw(
    path: &Path,
    upper: (u32, impl FnOnce(&Area<'_>) -> Drawn),
    lower: (u32, impl FnOnce(&Area<'_>) -> Drawn),
) -> Result<()> {
    let root = SVGBackend::new(path, (WIDTH, upper.0 + lower.0)).into_drawing_area();
    let drawn = || -> Drawn {
        root.fill(&WHITE)?;
        let areas = root.split_vertically(upper.0);
        (upper.1)(&areas.0)?;
        (lower.1)(&areas.1)?;
        root.present()
    };
    drawn().map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// A plot with this caption, and room for what its axes say.
pub(crate) fn plot<'a, 'b>(
    area: &'a Area<'b>,
    caption: &str,
) -> ChartBuilder<'a, 'static, SVGBackend<'b>> {
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(caption, (FONT, 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60);
    builder
}
