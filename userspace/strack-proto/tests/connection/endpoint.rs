// SPDX-License-Identifier: GPL-2.0

//! One end: a connection, the packets its host keeps, and an application.
//!
//! The application writes a stream whose bytes are told apart by their offset, so a
//! piece of it is just a range of offsets. What the other application reads must be
//! the offsets from 0 on, without gap or repetition.

use crate::rng::Rng;
use std::collections::HashMap;
use strack_proto::{
    connection::{
        Connection,
        Events,
        State, //
    },
    psn::Psn,
    Ns, //
};

/// A piece of an application's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u64,
    pub(crate) len: u16,
}

/// What the application wants.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// Bytes to write, and whether to end the stream after them.
    pub(crate) write: u64,
    pub(crate) finish: bool,
    /// Largest single write and read; each is of random size up to it.
    pub(crate) write_max: u64,
    pub(crate) read_max: u64,
    /// Nothing is read during this time.
    pub(crate) no_reading: Option<(Ns, Ns)>,
    /// Time between two reads; 0 reads at once.
    pub(crate) read_every: Ns,
}

impl App {
    pub(crate) fn writer(bytes: u64) -> Self {
        Self {
            write: bytes,
            finish: true,
            write_max: 1 << 20,
            read_max: 1 << 20,
            no_reading: None,
            read_every: 0,
        }
    }

    /// Writes nothing, but ends its own stream at once.
    pub(crate) fn reader() -> Self {
        Self::writer(0)
    }
}

pub(crate) struct Endpoint {
    pub(crate) conn: Connection,
    pub(crate) app: App,
    /// Everything that ever happened.
    pub(crate) seen: Events,
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// When something was read, and how much that made in all.
    pub(crate) log: Vec<(Ns, u64)>,
    pub(crate) next_read: Ns,
    tx: HashMap<u32, Piece>,
    freed: Psn,
    rx: HashMap<u32, Piece>,
    reading: Option<Psn>,
    partly_read: u16,
    rng: Rng,
}

impl Endpoint {
    pub(crate) fn new(conn: Connection, app: App, seed: u64) -> Self {
        Self {
            freed: conn.snd_isn(),
            conn,
            app,
            seen: Events::default(),
            written: 0,
            read: 0,
            log: Vec::new(),
            next_read: 0,
            tx: HashMap::new(),
            rx: HashMap::new(),
            reading: None,
            partly_read: 0,
            rng: Rng::new(seed),
        }
    }

    pub(crate) fn saw(&self, event: Events) -> bool {
        self.seen.contains(event)
    }

    pub(crate) fn payload(&self, psn: Psn) -> Piece {
        self.tx
            .get(&psn.raw())
            .copied()
            .unwrap_or(Piece { start: 0, len: 0 })
    }

    pub(crate) fn keep(&mut self, psn: Psn, piece: Piece) {
        let old = self.rx.insert(psn.raw(), piece);
        assert!(old.is_none(), "packet {} delivered twice", psn.raw());
    }

    /// Lets the application do what it can.
    pub(crate) fn work(&mut self, now: Ns) {
        let events = self.conn.events();
        self.seen.insert(events);
        self.free();
        self.write();
        self.read(now);
    }

    fn free(&mut self) {
        while self.freed.lt(self.conn.una()) {
            self.tx.remove(&self.freed.raw());
            self.freed = self.freed.next();
        }
    }

    fn write(&mut self) {
        while self.written < self.app.write {
            let left = self.app.write - self.written;
            let mut chunk = left.min(1 + self.rng.below(self.app.write_max));
            // Some writes promise that more follows.
            let more = left > chunk && self.rng.chance(200_000);
            while chunk > 0 {
                let room = self.conn.tail_room();
                if room > 0 {
                    let add = chunk.min(u64::from(room)) as u16;
                    self.conn.hold_tail(true);
                    assert!(self.conn.extend_tail(add));
                    let last = self.conn.next_queue_psn().sub(1);
                    self.tx.get_mut(&last.raw()).expect("a tail").len += add;
                    self.written += u64::from(add);
                    chunk -= u64::from(add);
                    continue;
                }
                let len = chunk.min(u64::from(self.conn.mss())) as u16;
                let Ok(psn) = self.conn.queue(len) else {
                    return;
                };
                let piece = Piece {
                    start: self.written,
                    len,
                };
                self.tx.insert(psn.raw(), piece);
                self.written += u64::from(len);
                chunk -= u64::from(len);
            }
            self.conn.hold_tail(more);
        }
        self.conn.hold_tail(false);
        if self.app.finish {
            self.conn.shutdown_send();
        }
    }

    fn read(&mut self, now: Ns) {
        if let Some((from, to)) = self.app.no_reading {
            if (from..to).contains(&now) {
                self.next_read = to;
                return;
            }
        }
        if now < self.next_read {
            return;
        }
        let Some(isn) = self.conn.rcv_isn() else {
            return;
        };
        let mut psn = self.reading.unwrap_or(isn);
        let end = self.conn.rcv_nxt();
        loop {
            let mut want = 1 + self.rng.below(self.app.read_max);
            let mut got = 0;
            while want > 0 && psn.lt(end) {
                let piece = self.rx.get(&psn.raw()).copied();
                let piece = piece.unwrap_or_else(|| panic!("packet {} missing", psn.raw()));
                let left = piece.len - self.partly_read;
                if left > 0 {
                    let at = piece.start + u64::from(self.partly_read);
                    assert_eq!(at, self.read, "wrong bytes in packet {}", psn.raw());
                }
                let take = want.min(u64::from(left)) as u16;
                want -= u64::from(take);
                got += u64::from(take);
                self.read += u64::from(take);
                self.partly_read += take;
                if self.partly_read == piece.len {
                    self.rx.remove(&psn.raw());
                    self.partly_read = 0;
                    psn = psn.next();
                }
            }
            if got == 0 && self.reading == Some(psn) {
                break;
            }
            self.reading = Some(psn);
            self.log.push((now, self.read));
            self.conn.consumed(psn, got);
            if self.app.read_every > 0 {
                self.next_read = now + self.app.read_every;
                break;
            }
        }
    }

    /// Whether the application is waiting for time to pass.
    pub(crate) fn wakes_at(&self) -> Option<Ns> {
        (self.next_read > 0).then_some(self.next_read)
    }

    /// All written, acknowledged and closed, as far as that is wanted.
    pub(crate) fn closed(&self) -> bool {
        self.conn.state() == State::Closed
    }
}
