// SPDX-License-Identifier: GPL-2.0
//! A packet-level simulator of data centre fabrics.
//!
//! Its hosts run the protocol code of the kernel module, `strack_proto`, unchanged.
//!
//! ```text
//!  scenario ──► topology ──► net (links, queues, switches)
//!     │                       ▲        │
//!     └──► workload ──► sim ──┤        ▼        outcome ──► report
//!          (messages)         └── host (ends of connections)
//!                              event (what happens next)
//! ```
//!
//! * [`scenario`]: a TOML document with everything that can be chosen, and its checks;
//! * [`topology`]: fat trees of two and three tiers, rails, planes;
//! * [`net`]: links with queues that mark, drop, trim or stop the sender; switches;
//! * [`schedule`]: links that are slowed down, damaged, cut and repaired meanwhile;
//! * [`host`]: the transports, driven without I/O: `strack` is the protocol itself, the
//!   others (`roce`, `mprdma`, `tcp`) were written for comparison;
//! * [`workload`]: messages and what they wait for; connection matrices;
//! * [`event`], [`time`], [`random`]: the order of things, to the picosecond, the same
//!   in every run with the same seed;
//! * [`limits`]: the regression list, scenarios and what they may cost at worst;
//! * [`paper`]: what papers report, simulated;
//! * [`model`]: balls in bins, loss dilution, closed formulas;
//! * [`sim`]: the loop that ties all of it together; [`watch`], what is seen meanwhile, and
//!   [`outcome`], what came out.

#![warn(missing_docs)]

pub mod event;
pub mod host;
pub mod limits;
pub mod model;
pub mod net;
pub mod outcome;
pub mod paper;
pub mod random;
pub mod scenario;
pub mod schedule;
pub mod sim;
pub mod time;
pub mod topology;
pub mod unit;
pub mod watch;
pub mod workload;
