// SPDX-License-Identifier: GPL-2.0

//! Tests of the protocol's pieces, each for itself.
//!
//! `sim` is a bottleneck for the window to control. The rest are tests.

mod ack;
mod counter;
mod loss;
mod params;
mod policies;
mod psn;
mod rtt;
mod sim;
mod spares;
mod spray;
mod window;
mod window_fabric;
mod wire;
