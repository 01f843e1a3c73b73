// SPDX-License-Identifier: GPL-2.0

//! Tests of whole connections: two ends and the network between them, in virtual
//! time and from a seed, so that a failure is the same failure the next time.
//!
//! `network` moves packets, `link` is what happens to them on the way, `endpoint`
//! is one end with the application on top, `demo` one of the networks. The rest are tests.

mod blackhole;
mod closing;
mod demo;
mod early;
mod endpoint;
mod fabric;
mod flow;
mod handshake;
mod hostile;
mod link;
mod network;
mod policies;
mod property;
mod recovery;
mod rng;
mod steady;
mod transfer;
