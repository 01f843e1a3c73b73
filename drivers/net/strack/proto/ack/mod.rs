// SPDX-License-Identifier: GPL-2.0

//! Receiver side of reliability: what has arrived, and when to say so.
//!
//! The receiver takes packets in any order. [`Reception`] remembers which ones it
//! has and refuses those that contradict them; [`Schedule`] decides when an ACK
//! is due and which packet it answers. Each ACK says everything the receiver
//! knows, so one that is lost, late or merged with another costs nothing.

mod reception;
mod schedule;

pub use self::{
    reception::{
        Arrival,
        Incoming,
        Reception, //
    },
    schedule::{
        Echo,
        Schedule, //
    },
};
