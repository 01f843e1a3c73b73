// SPDX-License-Identifier: GPL-2.0
//! Traffic patterns.

use super::Plan;
use crate::random::Random;
use crate::scenario::bad;
use crate::scenario::BadInput;

/// Each host sends to one other and receives from one other.
pub fn permutation(hosts: u32, bytes: u64, random: &mut Random) -> Result<Plan, BadInput> {
    if hosts < 2 {
        return bad(format!("workload: no permutation of {hosts} host"));
    }
    let mut order: Vec<u32> = (0..hosts).collect();
    random.shuffle(&mut order);
    let mut plan = Plan::default();
    for (i, &src) in order.iter().enumerate() {
        // One cycle through all hosts: nobody sends to itself.
        plan.at(0, src, order[(i + 1) % order.len()], bytes);
    }
    Ok(plan)
}
