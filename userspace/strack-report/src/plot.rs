// SPDX-License-Identifier: GPL-2.0
//! What the project's plots have in common: their type, how a series looks in the legend,
//! and the legend.

use plotters::prelude::*;

/// The font of all text.
pub const FONT: &str = "sans-serif";

/// What has become of drawing on `DB`.
pub type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// What stands for a line in the legend.
pub fn line_key(style: impl Into<ShapeStyle>) -> impl Fn((i32, i32)) -> PathElement<(i32, i32)> {
    let style = style.into();
    move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style)
}

/// What stands for bars in the legend.
pub fn bar_key(color: RGBColor) -> impl Fn((i32, i32)) -> Rectangle<(i32, i32)> {
    move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], color.filled())
}

/// Draws the legend, last of all.
pub fn legend<'a, DB: DrawingBackend + 'a, CT: CoordTranslate>(
    chart: &mut ChartContext<'a, DB, CT>,
    position: SeriesLabelPosition,
) -> Drawn<DB> {
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK)
        .draw()
}
