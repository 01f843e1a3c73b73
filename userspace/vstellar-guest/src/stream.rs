// SPDX-License-Identifier: GPL-2.0
//! Streams through a device: what an application's send() and recv() are to its guest's driver.
//!
//! Buffers are a ring: receive buffers in a memory region, send buffers by address, in two
//! segments each.

use crate::driver::slot;
use crate::driver::Driver;
use crate::driver::Stats;
use crate::driver::EP_ERROR;
use crate::driver::RINGS;
use crate::driver::USUAL_RAM;
use crate::endpoint::event_kicks;
use crate::endpoint::kicks;
use crate::endpoint::Completions;
use crate::endpoint::Endpoint;
use crate::endpoint::Shape;
use crate::machine::EVENT_IDX;
use crate::machine::FEATURES;
use crate::payload::Payload;
use crate::payload::Wanted;
use crate::program::say_ready;
use crate::ram::addr;
use crate::ram::Ram;
use crate::wire;
use crate::wire::mr;
use crate::wire::rqe;
use crate::wire::wire;
use crate::wire::Cqe;
use crate::wire::Sge;
use crate::wire::Sqe;
use anyhow::bail;
use anyhow::ensure;
use anyhow::Result;
use clap::Args;
use std::net::SocketAddr;
use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;
use vstellar_core::abi;
use vstellar_core::control::Op;
use vstellar_core::memory::BLOCK_SHIFT;
use vstellar_core::status::Status;

/// Address of the receive buffers in their memory region.
const RX_VA: u64 = 0x70_0000_0000;

/// Bytes that are pinned at once.
const BLOCK: u64 = 1 << BLOCK_SHIFT;

const CQ_SLOT: u32 = 0;
const EP_SLOT: u32 = 1;

/// The buffers of an endpoint.
#[derive(Args, Clone, Copy)]
pub(crate) struct Buffers {
    /// Bytes of a buffer
    #[arg(long, default_value_t = 8192)]
    chunk: u32,
    /// Buffers in each direction, as the logarithm
    #[arg(long, default_value_t = 4)]
    log2: u16,
    /// Leave out the event index of the virtqueues
    #[arg(long)]
    no_event_index: bool,
    /// Lend the send buffers to the transport
    #[arg(long)]
    zerocopy: bool,
}

impl Buffers {
    fn depth(&self) -> u32 {
        1 << self.log2
    }

    /// Bytes of all of one direction.
    fn bytes(&self) -> u64 {
        u64::from(self.chunk) << self.log2
    }

    /// Bytes of the rings, which lie before the buffers.
    fn rings(&self) -> u64 {
        ((wire::SQE + wire::RQE + 2 * wire::CQE) << self.log2).next_multiple_of(0x1000) + 4 * 0x1000
    }

    fn features(&self) -> u64 {
        let index = if self.no_event_index { 0 } else { EVENT_IDX };
        FEATURES | index | (u64::from(self.zerocopy) << abi::F_ZC)
    }
}

/// One endpoint of a guest, with buffers.
struct Guest {
    driver: Driver,
    cq: Completions,
    endpoint: Endpoint,
    buffers: Buffers,
    tx: u64,
    rx: u64,
    rx_key: u32,
    /// What the device counted before.
    before: Stats,
}

impl Guest {
    fn new(device: &Path, buffers: Buffers) -> Result<Guest> {
        ensure!(
            buffers.log2 <= 12 && buffers.chunk > 0,
            "too many buffers, or empty ones"
        );
        // no block has both buffers and rings
        let tx = (RINGS + buffers.rings()).next_multiple_of(BLOCK);
        let rx = (tx + buffers.bytes()).next_multiple_of(0x1000);
        let end = rx + buffers.bytes();
        let ram = Ram::new(end.next_multiple_of(BLOCK).max(USUAL_RAM))?;
        let mut driver = Driver::with_ram(device, ram, buffers.features())?;
        let before = driver.stats()?;
        let (log2, page) = (buffers.log2, |at: u64| at.next_multiple_of(0x1000));
        let sq = page(RINGS + (wire::CQE << (log2 + 1)));
        let cq = Completions::new(&mut driver, RINGS, log2 + 1, CQ_SLOT)?;
        let shape = Shape {
            sq,
            rq: page(sq + (wire::SQE << log2)),
            log2,
            slot: EP_SLOT,
        };
        let endpoint = Endpoint::new(&mut driver, shape, [cq.handle; 2])?;
        let region = mr(RX_VA, abi::MR_WRITE, 0, &[(addr(rx), buffers.bytes())]);
        let keys = driver.order(Op::MrReg, 0, &region)?;
        Ok(Guest {
            rx_key: keys.u32(0),
            driver,
            cq,
            endpoint,
            buffers,
            tx,
            rx,
            before,
        })
    }

    fn post_receive(&mut self) {
        let index = u64::from(self.endpoint.posted % self.buffers.depth());
        let sge = Sge {
            addr: RX_VA + index * u64::from(self.buffers.chunk),
            len: self.buffers.chunk,
            key: self.rx_key,
        };
        self.endpoint.put_receive(&rqe(index, sge));
    }

    /// Puts up to a buffer of the stream into the send queue.
    fn post_send(&mut self, bytes: &[u8], write: bool) {
        let index = u64::from(self.endpoint.sent % self.buffers.depth());
        let at = self.tx + index * u64::from(self.buffers.chunk);
        if write {
            self.driver.machine.ram.write(at, bytes);
        }
        let len = bytes.len() as u32;
        let half = len / 2;
        let piece = |skip: u32, len: u32| Sge {
            addr: addr(at + u64::from(skip)),
            len,
            key: abi::LKEY_IOVA,
        };
        let mut entry = Sqe::send(0x1000 + index, piece(0, len));
        if half > 0 {
            entry.nsge = 2;
            entry.sge = [piece(0, half), piece(half, len - half)];
        }
        self.endpoint.put_send(&entry.encode());
    }

    fn tell(&mut self) -> Result<()> {
        self.endpoint.tell(&mut self.driver)
    }

    fn completion(&mut self) -> Result<Cqe> {
        let cqe = self.cq.wait(&mut self.driver)?;
        let why = slot(self.endpoint.slot, EP_ERROR);
        ensure!(
            cqe.status == Status::Ok.code(),
            "completed with status {}, the endpoint has failed with status {}",
            cqe.status,
            u32::from_le(self.driver.ram().load::<u32>(why))
        );
        Ok(cqe)
    }

    /// The bytes of a completed receive entry.
    fn received(&self, cqe: &Cqe) -> Vec<u8> {
        let mut bytes = vec![0; cqe.len as usize];
        let at = self.rx + cqe.wr_id * u64::from(self.buffers.chunk);
        self.driver.machine.ram.read(at, &mut bytes);
        bytes
    }

    fn begin(&mut self) -> Result<()> {
        for _ in 0..self.buffers.depth() {
            self.post_receive();
        }
        self.tell()
    }

    /// Sends a payload and compares what comes back, or, as an echo, gives back what comes of it.
    fn exchange(&mut self, payload: &mut Payload, echo: bool) -> Result<u64> {
        let (mut sent, mut received, mut sending) = (0, 0, 0);
        let (mut fin, mut ended, mut peer_fin) = (false, false, false);
        self.begin()?;
        let mut data = Vec::new();
        while !ended || !peer_fin {
            let ready = if echo { received } else { payload.len() };
            while sending < self.buffers.depth() && sent < ready {
                let len = u64::from(self.buffers.chunk).min(ready - sent);
                data.resize(usize::try_from(len)?, 0);
                payload.fill(sent, &mut data);
                self.post_send(&data, payload.matters());
                sent += len;
                sending += 1;
            }
            let last = !echo || peer_fin;
            if !fin && sending < self.buffers.depth() && sent == ready && last {
                let entry = Sqe::fin(0xf1).encode();
                self.endpoint.put_send(&entry);
                sending += 1;
                fin = true;
            }
            self.tell()?;
            let mut next = Some(self.completion()?);
            // all there are, before the device is told of more
            while let Some(cqe) = next {
                if cqe.op == abi::OP_RECV {
                    if payload.matters() {
                        payload.came(received, &self.received(&cqe))?;
                    }
                    received += u64::from(cqe.len);
                    peer_fin |= cqe.flags & abi::CQE_FIN != 0;
                    if !peer_fin {
                        self.post_receive();
                    }
                } else {
                    sending -= 1;
                    ended |= cqe.op == abi::OP_FIN;
                }
                next = self.cq.take();
            }
        }
        ensure!(
            echo || payload.len() == received,
            "{received} bytes came back"
        );
        Ok(received)
    }

    /// Sends so many bytes and waits for them, until all have been there and back.
    fn ping(&mut self, bytes: u64, each: u64) -> Result<u64> {
        ensure!(
            each > 0 && each <= u64::from(self.buffers.chunk),
            "no size of a message"
        );
        self.begin()?;
        let data = vec![0; usize::try_from(each)?];
        let mut done = 0;
        while done < bytes {
            self.post_send(&data, true);
            self.tell()?;
            let mut came = 0;
            while came < each {
                let cqe = self.completion()?;
                if cqe.op == abi::OP_RECV {
                    came += u64::from(cqe.len);
                    self.post_receive();
                }
            }
            // told with the next message
            done += each;
        }
        Ok(done)
    }

    /// Ends the sending direction, once all before it was sent.
    fn finish(&mut self) -> Result<()> {
        self.endpoint.put_send(&Sqe::fin(0xf1).encode());
        self.tell()?;
        while self.completion()?.op != abi::OP_FIN {}
        Ok(())
    }

    /// Where the rest of an exchange is told of.
    fn report(&mut self, bytes: u64, start: Instant) -> Result<()> {
        let ns = u64::try_from(start.elapsed().as_nanos())?;
        let events = self.driver.events;
        let (kicks, event_kicks) = (kicks(&self.driver), event_kicks(&self.driver));
        let stats = self.driver.stats()?;
        let report = serde_json::json!({
            "bytes": bytes, "elapsed_ns": ns, "kicks": kicks, "event_kicks": event_kicks,
            "kicks_seen": stats.kicks() - self.before.kicks(), "events": events, "tx_bytes": stats.tx_bytes() - self.before.tx_bytes(),
            "pin_hits": stats.hits() - self.before.hits(),
            "pin_misses": stats.misses() - self.before.misses(), "pinned": stats.pinned(),
            "pinned_rings": self.tx,
            "pinned_peak": stats.peak(),
        });
        println!("{report}");
        Ok(())
    }
}

/// A guest that connects.
#[derive(Args)]
pub(crate) struct Connect {
    /// /dev/vhost-vdpa-N
    device: PathBuf,
    /// Who gives back what comes
    peer: SocketAddr,
    /// How many bytes
    bytes: u64,
    /// So many at a time, each waited for
    #[arg(long)]
    each: Option<u64>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    buffers: Buffers,
}

impl Connect {
    pub(crate) fn run(&self) -> Result<()> {
        let mut payload = self.wanted.payload(self.bytes)?;
        let mut guest = Guest::new(&self.device, self.buffers)?;
        guest.endpoint.connect(&mut guest.driver, self.peer)?;
        let start = Instant::now();
        let bytes = match self.each {
            Some(each) => guest.ping(self.bytes, each)?,
            None => guest.exchange(&mut payload, false)?,
        };
        self.wanted.keep(&payload)?;
        guest.report(bytes, start)?;
        if self.each.is_some() {
            guest.finish()?;
        }
        let destroy = wire().u32(0).u32(0);
        guest
            .driver
            .order(Op::EpDestroy, guest.endpoint.handle, &destroy)?;
        Ok(())
    }
}

/// A guest that listens.
#[derive(Args)]
pub(crate) struct Listen {
    /// /dev/vhost-vdpa-N
    device: PathBuf,
    /// Where; zero lets the device choose
    port: u16,
    #[command(flatten)]
    buffers: Buffers,
}

impl Listen {
    pub(crate) fn run(&self) -> Result<()> {
        let mut guest = Guest::new(&self.device, self.buffers)?;
        let (listener, _) = guest.driver.listen(self.port)?;
        say_ready()?;
        guest.driver.accept(listener, guest.endpoint.handle)?;
        let start = Instant::now();
        let bytes = guest.exchange(&mut Payload::endless(), true)?;
        guest.report(bytes, start)
    }
}

/// Connects where nobody listens.
pub(crate) fn refused(device: &Path, peer: SocketAddr) -> Result<()> {
    let buffers = Buffers {
        chunk: 4096,
        log2: 2,
        no_event_index: false,
        zerocopy: false,
    };
    let mut guest = Guest::new(device, buffers)?;
    let (driver, handle) = (&mut guest.driver, guest.endpoint.handle);
    driver.order(Op::EpConnect, handle, &wire::connect(peer, 0))?;
    let word = driver.await_state(handle, &[4, 6])?;
    if (word & 0xff, word >> 32) != (6, u64::from(Status::ConnRefused.code())) {
        bail!("state {:#x}, status {}", word & 0xff, word >> 32);
    }
    Ok(())
}
