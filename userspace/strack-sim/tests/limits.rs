// SPDX-License-Identifier: GPL-2.0
//! The regression list in its small size.

use strack_sim::limits;
use strack_sim::limits::Extent;
use strack_sim::limits::Runner;

#[test]
fn small_cases_keep_their_limits() {
    let mut runner = Runner::default();
    let mut ran = 0;
    let mut missed = Vec::new();
    for case in limits::read(limits::LIST).unwrap() {
        for figure in runner.run(&case, Extent::Small).unwrap() {
            println!("{} {:.3} {}", figure.name, figure.value, figure.bound);
            ran += 1;
            if !figure.pass() {
                missed.push(format!("{} {}", figure.name, figure.value));
            }
        }
    }
    assert!(ran >= 10, "{ran} figures");
    assert!(missed.is_empty(), "{missed:?}");
}
