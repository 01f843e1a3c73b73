// SPDX-License-Identifier: GPL-2.0
//! Tables for people.

use crate::report::Better;
use crate::report::Report;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::CellAlignment;
use comfy_table::Table;
use comfy_table::TableComponent;

/// A table whose first column is text and whose other columns are numbers.
pub fn plain(head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY);
    table.remove_style(TableComponent::HorizontalLines);
    table.remove_style(TableComponent::MiddleIntersections);
    table.set_header(head);
    table.add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// The figures that have a target.
pub fn targets(report: &Report) -> String {
    let head = ["target", "value", "", "wanted", ""].map(String::from);
    let rows = report.rows().iter().filter_map(|row| {
        let target = row.target?;
        let sign = match row.better {
            Better::Higher => "≥",
            Better::Lower => "≤",
        };
        Some(vec![
            row.name.clone(),
            number(row.value),
            row.unit.to_string(),
            format!("{sign} {}", number(target)),
            if row.pass { "met" } else { "MISSED" }.to_string(),
        ])
    });
    plain(head.to_vec(), rows)
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value.abs() < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}
