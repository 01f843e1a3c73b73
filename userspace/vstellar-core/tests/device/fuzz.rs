// SPDX-License-Identifier: GPL-2.0

//! Commands of all sorts, some of them damaged, against one device: no panic, no more of anything
//! than is allowed, and in the end all comes back.

use super::{
    bench::*,
    host::PEER,
    pinner::{BLOCK, BLOCK_PAGES, MIB},
};
use proptest::prelude::*;
use vstellar_core::{
    abi,
    bytes::Fields,
    control::Op,
    device::Policy,
    memory::keeper::{unmap, Keeper},
    span::Span,
    status::Status,
    table::Handle,
};

#[derive(Clone, Debug)]
enum Step {
    /// A command for the n-th object that was made, with small numbers to build its fields from.
    Command {
        op: usize,
        object: usize,
        numbers: [u8; 4],
        damage: Option<(usize, u8)>,
    },
    Bytes(Vec<u8>),
    /// Something that a socket has to say.
    Notice {
        what: u8,
        object: usize,
    },
    Unmap(u64),
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    let damage = prop::option::weighted(0.4, (0usize..120, any::<u8>()));
    prop_oneof![
        30 => (0usize..21, any::<usize>(), prop::array::uniform4(0u8..12), damage).prop_map(
            |(op, object, numbers, damage)| Step::Command { op, object, numbers, damage }
        ),
        2 => prop::collection::vec(any::<u8>(), 0..100).prop_map(Step::Bytes),
        4 => (0u8..8, any::<usize>()).prop_map(|(what, object)| Step::Notice { what, object }),
        1 => (0u64..14).prop_map(|mib| Step::Unmap(mib * MIB)),
        1 => Just(Step::Reset),
    ]
}

/// A payload that is likely to be right.
fn payload(op: Op, handles: &[u32], object: u32, n: [u8; 4]) -> Wire {
    let pick = |i: u8| handles.get(usize::from(i) % handles.len().max(1)).copied();
    let page = |i: u8| u64::from(i) * 0x1000 + RINGS;
    let slot = u32::from(n[1]);
    match op {
        Op::Hello => wire().put32(u32::from(n[0])).put32(0).put(&[0; 16]),
        Op::DbAttach => wire().put64(AREA).put32(2 + u32::from(n[0] & 1)).put32(0),
        Op::CqCreate => cq(page(n[0]), u16::from(n[2]), slot),
        Op::EpCreate if n[3] == 0 => listener(),
        Op::EpCreate => {
            let (send, recv) = (pick(n[0]).unwrap_or(0), pick(n[2]).unwrap_or(0));
            let rings = [page(n[0]) + MIB, page(n[2]) + 2 * MIB];
            ep_with(send, recv, rings, [u16::from(n[3] / 2); 2], slot)
        }
        Op::EpBind => addr(0, u16::from(n[0])),
        Op::EpListen | Op::EpShutdown => wire().put32(u32::from(n[0] & 3)).put32(0),
        Op::EpConnect => addr(PEER.ip, 7000).put32(0).put32(0),
        Op::EpAccept => wire().put32(pick(n[0]).unwrap_or(0)).put32(0),
        Op::EpDestroy => wire().put32(u32::from(n[0] & 1)).put32(0),
        Op::EpSetopt => wire().put32(2).put32(4).put32(u32::from(n[0])),
        Op::EpGetopt => wire().put32(2).put32(4),
        Op::MrReg => {
            let len = u64::from(n[0]) * MIB / 2;
            let flags = u32::from(n[2] & 1);
            let reg = wire().put64(MIB).put64(len).put32(1 + u32::from(n[1] % 3));
            let reg = reg.put32(flags).put32(1).put32(0);
            reg.put64(u64::from(n[3]) * MIB).put64(len)
        }
        Op::MrDereg => wire().put32(object).put32(0),
        Op::MrAdvise => {
            let advice = wire().put32(object).put32(1 + u32::from(n[0] & 1));
            advice.put64(0).put64(u64::from(n[2]) * MIB / 2)
        }
        _ => wire(),
    }
}

struct World {
    bench: Bench,
    handles: Vec<u32>,
}

impl World {
    fn send(&mut self, request: &[u8]) -> Option<u32> {
        let before = self.bench.account();
        let reply = self.bench.send(request);
        let encoded = reply.encode();
        let mut fields = Fields::new(encoded.as_slice());
        fields.take64().unwrap();
        fields.take32().unwrap();
        let len = fields.take32().unwrap() as usize;
        assert_eq!(fields.rest().len(), len);
        if reply.status != Status::Ok {
            assert_eq!(
                self.bench.account(),
                before,
                "refused, but not without effect"
            );
            return None;
        }
        Some(match request[0] {
            0x40 => fields.take32().unwrap(),
            _ => reply.handle.raw(),
        })
    }

    fn run(&mut self, step: Step) {
        self.bench.now += 1_000_000;
        match step {
            Step::Command {
                op,
                object,
                numbers,
                damage,
            } => {
                let op = Op::ALL[op % Op::ALL.len()];
                let object = match self.handles.len() {
                    0 => 0,
                    len => self.handles[object % len],
                };
                let payload = payload(op, &self.handles, object, numbers);
                let named = matches!(op as u16, 0x21 | 0x31..=0x39);
                let handle = if named { object } else { 0 };
                let mut request = request(op, handle, payload.as_slice());
                if let Some((at, value)) = damage {
                    let len = request.len();
                    request[at % len] = value;
                }
                self.bench.host.waiting.set(1);
                let made = self.send(&request);
                self.handles.extend(made);
            }
            Step::Bytes(bytes) => {
                self.send(&bytes);
            }
            Step::Notice { what, object } => {
                let Some(len) = self.handles.len().checked_sub(1) else {
                    return;
                };
                let handle = Handle::from_raw(self.handles[object % (len + 1)]);
                let device = &mut self.bench.device;
                match what {
                    0 => device.connected(handle, Ok(())),
                    1 => device.connected(handle, Err(Status::ConnRefused)),
                    2 => device.pending(handle),
                    3 => device.ended(handle),
                    4 => device.finished(handle),
                    5 => device.failed(handle, Status::ConnReset),
                    6 => device.cq_ready(handle),
                    _ => while device.take_event().is_some() {},
                }
            }
            Step::Unmap(at) => {
                let (host, device) = (&self.bench.host, &mut self.bench.device);
                let span = Span::new(at, 1).unwrap();
                unmap(host, span, || {
                    device.revoke(host);
                })
                .unwrap();
            }
            Step::Reset => {
                self.bench.device.reset(&self.bench.host);
                self.bench.device.set_features(FEATURES | (1 << abi::F_MSG));
                let hello = wire().put32(1).put32(0).put(&[0; 16]);
                self.bench.ok(Op::Hello, 0, &hello);
                self.handles.clear();
            }
        }
    }

    fn check(&self) {
        let ([eps, cqs, mrs], rings, sockets) = self.bench.account();
        let most = limits();
        assert!(eps <= most.endpoints && cqs <= most.cqs && mrs <= most.mrs);
        assert_eq!(sockets, eps);
        assert!(rings <= 2 * eps + cqs + 1);
        assert!(self.bench.host.pinned.borrow().pages <= 4 * BLOCK_PAGES);
        let charged = self.bench.host.with(|memory| memory.charged());
        assert_eq!(charged, self.bench.host.pinned.borrow().pages);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_commands(steps in prop::collection::vec(step(), 1..200)) {
        let mut bench = Bench::greeted(Policy::new());
        bench.device.set_features(FEATURES | (1 << abi::F_MSG));
        let cq = bench.with_cq();
        let ep = bench.stream(cq, 1);
        let mut world = World { bench, handles: vec![cq, ep] };
        for step in steps {
            world.run(step);
            world.check();
        }
        world.bench.finish();
    }

    #[test]
    fn any_bytes(requests in prop::collection::vec(
        (0usize..21, prop::collection::vec(prop_oneof![Just(0u8), 0u8..4, any::<u8>()], 0..120)), 1..50
    )) {
        let mut bench = Bench::greeted(Policy::new());
        for (op, bytes) in requests {
            let header = request(Op::ALL[op], 0, &bytes);
            bench.send(&header);
            bench.send(&bytes);
        }
        prop_assert!(bench.host.pinned.borrow().pages * 4096 <= 4 * BLOCK);
        bench.finish();
    }
}
