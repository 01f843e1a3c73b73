// SPDX-License-Identifier: GPL-2.0

//! A few paths, each with a window of its own: what connections over several queue
//! pairs or subflows do, and the control for one window over many paths.
//!
//! Each window follows the marks, the delay and the losses of its own path alone. A
//! packet takes the path with most room; when none has any, it waits. Paths that are
//! withdrawn are not replaced, since a window says nothing about any other path.

use super::{
    Oblivious,
    Paths,
    Policy, //
};
use crate::proto::{
    config::Config,
    window::{
        Acked,
        Window, //
    },
    Ns, //
};

/// Number of paths and windows.
pub(super) const CONTEXTS: usize = 4;

/// One path's congestion state.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    window: Window,
    /// Bytes in flight on the path.
    inflight: u64,
    /// Bytes that have arrived since the window was told.
    arrived: u64,
}

impl Context {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config, config.initial_window / CONTEXTS as u64),
            inflight: 0,
            arrived: 0,
        }
    }

    pub(super) fn set_mss(&mut self, mss: u16) {
        self.window.set_mss(mss);
    }

    /// Bytes that may be in flight on the path.
    pub(super) fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    /// Bytes that may still be sent.
    fn room(&self) -> u64 {
        self.cwnd().saturating_sub(self.inflight)
    }

    fn can_send(&self, more: u64, bytes: u64) -> bool {
        self.window
            .can_send(self.inflight.saturating_add(more), bytes)
    }
}

/// The policy `per_path`.
#[derive(Clone, Debug)]
pub(super) struct PerPath {
    order: Oblivious,
}

impl PerPath {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self {
            order: Oblivious::new(paths, seed),
        }
    }

    fn with(paths: &mut Paths, path: u16, f: impl FnOnce(&mut Context)) {
        if let Some(context) = paths.contexts.get_mut(usize::from(path)) {
            f(context);
        }
    }
}

impl Policy for PerPath {
    fn turn(&mut self, paths: &Paths) -> u16 {
        self.order.turn(paths)
    }

    fn next(&mut self, paths: &mut Paths, now: Ns) -> u16 {
        let contexts = (0..paths.count()).zip(paths.contexts.iter());
        let usable = contexts.filter(|&(path, _)| paths.usable(path));
        let widest = usable.max_by_key(|(_, context)| (context.can_send(0, 1), context.room()));
        match widest {
            Some((path, _)) => path,
            None => self.order.next(paths, now),
        }
    }

    fn room(&self, paths: &Paths, more: u64, bytes: u64) -> Option<bool> {
        let contexts = (0..paths.count()).zip(paths.contexts.iter());
        let mut usable = contexts.filter(|&(path, _)| paths.usable(path));
        Some(usable.any(|(_, context)| context.can_send(more, bytes)))
    }

    fn cwnd(&self, paths: &Paths) -> Option<u64> {
        let contexts = paths.contexts.iter().take(usize::from(paths.count()));
        Some(contexts.map(Context::cwnd).sum())
    }

    fn sent(&mut self, paths: &mut Paths, path: u16, _packets: u32, bytes: u64) {
        Self::with(paths, path, |context| {
            context.inflight = context.inflight.saturating_add(bytes);
        });
    }

    fn arrived(&mut self, paths: &mut Paths, path: u16, bytes: u64) {
        Self::with(paths, path, |context| {
            context.inflight = context.inflight.saturating_sub(bytes);
            context.arrived = context.arrived.saturating_add(bytes);
        });
    }

    fn lost(&mut self, paths: &mut Paths, path: u16, bytes: u64, now: Ns) {
        Self::with(paths, path, |context| {
            context.inflight = context.inflight.saturating_sub(bytes);
            context.window.on_loss(now, bytes);
        });
    }

    fn measured(&mut self, paths: &mut Paths, path: u16, acked: &Acked, now: Ns) {
        Self::with(paths, path, |context| {
            let bytes = core::mem::take(&mut context.arrived);
            let inflight = context.inflight.saturating_add(bytes);
            let acked = Acked {
                bytes,
                inflight,
                ..*acked
            };
            context.window.on_ack(now, &acked);
        });
    }
}
