// SPDX-License-Identifier: GPL-2.0

//! Memory regions by command.

use super::{
    bench::*,
    pinner::{room, BLOCK_PAGES, MIB},
};
use vstellar_core::{
    abi,
    access::Access,
    bytes::Fields,
    control::{Op, Reply},
    device::Policy,
    memory::{Keeper, Quota},
    shared::Shared,
    span::Span,
    status::Status,
};

const VA: u64 = 0x7f00_0000_0000;

struct Reg<'a> {
    len: u64,
    access: u32,
    flags: u32,
    nseg: u32,
    segments: &'a [(u64, u64)],
}

const GOOD: Reg<'_> = Reg {
    len: 0x3000,
    access: abi::MR_READ | abi::MR_WRITE,
    flags: abi::MR_LAZY,
    nseg: 2,
    segments: &[(DATA, 0x1000), (DATA + 0x8000, 0x2000)],
};

fn reg(reg: &Reg<'_>) -> Wire {
    let head = wire().put64(VA).put64(reg.len).put32(reg.access);
    let head = head.put32(reg.flags).put32(reg.nseg).put32(0);
    reg.segments
        .iter()
        .fold(head, |wire, &(addr, len)| wire.put64(addr).put64(len))
}

fn keys(reply: &Reply) -> (u32, u32) {
    let mut fields = Fields::new(reply.payload.as_slice());
    (fields.take32().unwrap(), fields.take32().unwrap())
}

fn dereg(key: u32) -> Wire {
    wire().put32(key).put32(0)
}

#[test]
fn a_region_is_registered_and_given_back() {
    let (mut bench, _) = Bench::ready();
    let (lkey, rkey) = keys(&bench.ok(Op::MrReg, 0, &reg(&GOOD)));
    assert_eq!(rkey, 0);
    let inside = Span::new(VA + 0x2fff, 1).unwrap();
    let used = bench.device.emtt().enter(lkey, &inside, Access::WRITE);
    let used = used.unwrap();
    let busy = bench.refused(Op::MrDereg, 0, &dereg(lkey));
    assert_eq!(busy, Status::Busy);
    bench.device.emtt().leave(used);
    bench.ok(Op::MrDereg, 0, &dereg(lkey));
    assert_eq!(bench.refused(Op::MrDereg, 0, &dereg(lkey)), Status::NoEnt);
    assert_eq!(bench.refused(Op::MrDereg, 0, &dereg(0)), Status::NoEnt);
    bench.finish();
}

#[test]
fn a_region_for_the_peer_has_a_key_for_it() {
    let (mut bench, _) = Bench::ready();
    let access = GOOD.access | abi::MR_REMOTE_READ;
    let (lkey, rkey) = keys(&bench.ok(Op::MrReg, 0, &reg(&Reg { access, ..GOOD })));
    assert_eq!(lkey, rkey);
    bench.finish();
}

#[test]
fn lengths_rights_and_flags_are_checked() {
    let (mut bench, _) = Bench::ready();
    let mut refused = |wrong: Reg<'_>| bench.refused(Op::MrReg, 0, &reg(&wrong));
    let inval = Status::Inval;
    assert_eq!(refused(Reg { len: 0, ..GOOD }), inval);
    assert_eq!(
        refused(Reg {
            len: 0x2fff,
            ..GOOD
        }),
        inval
    );
    assert_eq!(
        refused(Reg {
            len: 0x3001,
            ..GOOD
        }),
        inval
    );
    assert_eq!(
        refused(Reg {
            len: !VA + 2,
            ..GOOD
        }),
        inval
    );
    let large = [(0, 4 * MIB + 1)];
    let large = Reg {
        len: large[0].1,
        nseg: 1,
        segments: &large,
        ..GOOD
    };
    assert_eq!(refused(large), inval);
    for access in [
        0,
        16,
        abi::MR_REMOTE_READ,
        abi::MR_REMOTE_READ | abi::MR_WRITE,
        abi::MR_REMOTE_WRITE | abi::MR_READ,
    ] {
        assert_eq!(refused(Reg { access, ..GOOD }), inval, "{access}");
    }
    assert_eq!(refused(Reg { flags: 4, ..GOOD }), inval);
    let mut reserved = reg(&GOOD).as_slice().to_vec();
    reserved[28] = 1;
    let reserved = wire().put(&reserved);
    assert_eq!(bench.refused(Op::MrReg, 0, &reserved), inval);
    bench.finish();
}

#[test]
fn segments_are_as_many_as_said_and_not_empty() {
    let (mut bench, _) = Bench::ready();
    let mut refused = |nseg, segments: &[(u64, u64)]| {
        let wrong = Reg {
            nseg,
            segments,
            ..GOOD
        };
        bench.refused(Op::MrReg, 0, &reg(&wrong))
    };
    let inval = Status::Inval;
    assert_eq!(refused(0, &[]), inval);
    assert_eq!(refused(1, GOOD.segments), inval);
    assert_eq!(refused(3, GOOD.segments), inval);
    assert_eq!(refused(u32::MAX, GOOD.segments), inval);
    assert_eq!(refused(2, &[(DATA, 0x3000), (DATA, 0)]), inval);
    assert_eq!(refused(1, &[(u64::MAX - 5, 0x3000)]), inval);
    bench.finish();
}

#[test]
fn segments_are_mapped_with_the_rights_of_the_region() {
    let (mut bench, _) = Bench::ready();
    let mut register = |addr, access| {
        let one = Reg {
            nseg: 1,
            access,
            segments: &[(addr, 0x3000)],
            ..GOOD
        };
        bench.call(Op::MrReg, 0, &reg(&one)).status
    };
    assert_eq!(register(UNMAPPED, abi::MR_READ), Status::Fault);
    assert_eq!(register(UNMAPPED - 0x1000, abi::MR_READ), Status::Fault);
    assert_eq!(register(READ_ONLY, abi::MR_WRITE), Status::Perm);
    assert_eq!(register(READ_ONLY - 0x1000, abi::MR_READ), Status::Fault);
    assert_eq!(register(READ_ONLY, abi::MR_READ), Status::Ok);
    bench.finish();
}

#[test]
fn there_are_no_more_regions_than_allowed() {
    let (mut bench, _) = Bench::ready();
    for _ in 0..4 {
        bench.ok(Op::MrReg, 0, &reg(&GOOD));
    }
    assert_eq!(bench.refused(Op::MrReg, 0, &reg(&GOOD)), Status::Quota);
    bench.finish();
}

#[test]
fn segments_of_all_regions_have_a_limit() {
    let (mut bench, _) = Bench::ready();
    let at = DATA + 2 * MIB;
    put_table(&bench, at, 1000);
    // 1500 in all
    for count in [1000, 500] {
        bench.ok(Op::MrReg, 0, &by_table(count, at, 16 * u64::from(count)));
    }
    assert_eq!(bench.refused(Op::MrReg, 0, &reg(&GOOD)), Status::Quota);
    bench.finish();
}

#[test]
fn regions_and_lazy_ones_were_negotiated() {
    let (mut bench, _) = Bench::ready();
    bench
        .device
        .set_features(FEATURES & !(1 << abi::F_LAZY_PIN));
    assert_eq!(bench.refused(Op::MrReg, 0, &reg(&GOOD)), Status::NotSupp);
    bench.ok(Op::MrReg, 0, &reg(&Reg { flags: 0, ..GOOD }));
    bench.device.set_features(0);
    assert_eq!(bench.refused(Op::MrReg, 0, &reg(&GOOD)), Status::NotSupp);
    bench.finish();
}

/// Segments in a table: `count` pages, one after the other.
fn put_table(bench: &Bench, at: u64, count: u64) {
    for i in 0..count {
        bench
            .host
            .write(at + 16 * i, &(DATA + 0x1000 * (i % 256)).to_le_bytes())
            .unwrap();
        bench
            .host
            .write(at + 16 * i + 8, &0x1000u64.to_le_bytes())
            .unwrap();
    }
}

fn by_table(count: u32, at: u64, bytes: u64) -> Wire {
    reg(&Reg {
        len: 0x1000 * u64::from(count),
        flags: abi::MR_LAZY | abi::MR_TABLE,
        nseg: count,
        segments: &[(at, bytes)],
        ..GOOD
    })
}

#[test]
fn a_table_has_as_many_segments_as_said() {
    let (mut bench, _) = Bench::ready();
    let at = DATA + 2 * MIB + 8;
    put_table(&bench, at, 1000);
    for count in [1, 15, 16, 17, 1000] {
        let (key, _) = keys(&bench.ok(Op::MrReg, 0, &by_table(count, at, 16 * u64::from(count))));
        let addrs = bench.device.emtt().get(key).unwrap().addrs();
        assert_eq!(addrs.len(), 0x1000 * u64::from(count));
        bench.ok(Op::MrDereg, 0, &dereg(key));
    }
    let inval = Status::Inval;
    assert_eq!(bench.refused(Op::MrReg, 0, &by_table(10, at, 159)), inval);
    assert_eq!(bench.refused(Op::MrReg, 0, &by_table(10, at, 176)), inval);
    assert_eq!(bench.refused(Op::MrReg, 0, &by_table(0, at, 0)), inval);
    let many = abi::MR_TABLE_MAX + 1;
    let many = by_table(many, at, 16 * u64::from(many));
    assert_eq!(bench.refused(Op::MrReg, 0, &many), inval);
    assert_eq!(
        bench.refused(Op::MrReg, 0, &by_table(2, u64::MAX - 7, 32)),
        inval
    );
    bench.finish();
}

#[test]
fn a_table_is_in_mapped_memory() {
    let (mut bench, _) = Bench::ready();
    let at = UNMAPPED - 16;
    let segment = [DATA.to_le_bytes(), 0x1000u64.to_le_bytes()].concat();
    bench.host.write(at, &segment).unwrap();
    bench.ok(Op::MrReg, 0, &by_table(1, at, 16));
    assert_eq!(
        bench.refused(Op::MrReg, 0, &by_table(2, at, 32)),
        Status::Fault
    );
    bench.finish();
}

#[test]
fn a_region_that_is_not_lazy_is_pinned_within_the_quota() {
    let (mut bench, _) = Bench::ready();
    let pages = bench.host.pinned.borrow().pages;
    let segments = [(4 * MIB, 4 * MIB)];
    let whole = Reg {
        len: 4 * MIB,
        flags: 0,
        nseg: 1,
        segments: &segments,
        ..GOOD
    };
    let (key, _) = keys(&bench.ok(Op::MrReg, 0, &reg(&whole)));
    let after = bench.host.pinned.borrow().pages;
    assert_eq!(after, pages + 2 * BLOCK_PAGES);
    // one block of four is left, and what is held does not make room
    let segments = [(8 * MIB, 4 * MIB)];
    let another = Reg {
        segments: &segments,
        ..whole
    };
    assert_eq!(bench.refused(Op::MrReg, 0, &reg(&another)), Status::Quota);
    bench.ok(Op::MrDereg, 0, &dereg(key));
    bench.ok(Op::MrReg, 0, &reg(&another));
    bench.finish();
}

#[test]
fn what_is_kept_leaves_room_for_the_device() {
    let (mut bench, cq) = Bench::ready();
    let five = Quota::new(room(5 * BLOCK_PAGES));
    bench.host.with(|memory| memory.set_quota(five));
    // beside the first block, which has the doorbells
    let held = |blocks: u64| Reg {
        len: blocks * 2 * MIB,
        flags: 0,
        nseg: 1,
        ..GOOD
    };
    let (one, two) = ([(4 * MIB, 2 * MIB)], [(4 * MIB, 4 * MIB)]);
    let two = reg(&Reg {
        segments: &two,
        ..held(2)
    });
    let (key, _) = keys(&bench.ok(Op::MrReg, 0, &two));
    let third = [(8 * MIB, 2 * MIB)];
    let third = reg(&Reg {
        segments: &third,
        ..held(1)
    });
    assert_eq!(bench.refused(Op::MrReg, 0, &third), Status::Quota);
    let rings = [8 * MIB, 8 * MIB + 0x1000];
    let far = ep_with(cq, cq, rings, [4, 4], 1);
    assert_eq!(bench.refused(Op::EpCreate, 0, &far), Status::Quota);
    // what is kept already can be kept once more
    let again = reg(&Reg {
        segments: &one,
        ..held(1)
    });
    bench.ok(Op::MrReg, 0, &again);
    // both regions have the other block of it
    bench.ok(Op::MrDereg, 0, &dereg(key));
    bench.ok(Op::EpCreate, 0, &far);
    bench.finish();
}

fn advise(key: u32, advice: u32, offset: u64, len: u64) -> Wire {
    wire().put32(key).put32(advice).put64(offset).put64(len)
}

#[test]
fn advice_pins_and_unpins() {
    let (mut bench, _) = Bench::ready();
    let segments = [(4 * MIB, 4 * MIB)];
    let lazy = Reg {
        len: 4 * MIB,
        nseg: 1,
        segments: &segments,
        ..GOOD
    };
    let (key, _) = keys(&bench.ok(Op::MrReg, 0, &reg(&lazy)));
    let pinned = |bench: &Bench| bench.host.pinned.borrow().pages / BLOCK_PAGES;
    let before = pinned(&bench);
    bench.ok(Op::MrAdvise, 0, &advise(key, 1, 0, 4 * MIB));
    assert_eq!(pinned(&bench), before + 2);
    bench.ok(Op::MrAdvise, 0, &advise(key, 2, 0, 1));
    assert_eq!(pinned(&bench), before + 1);
    bench.ok(Op::MrAdvise, 0, &advise(key, 2, 1, 4 * MIB - 1));
    assert_eq!(pinned(&bench), before);

    for (offset, len, status) in [
        (0, 0, Status::Inval),
        (u64::MAX, 2, Status::Inval),
        (4 * MIB, 1, Status::Fault),
        (1, 4 * MIB, Status::Fault),
        (u64::MAX - VA + 1, 1, Status::Fault),
    ] {
        let wrong = advise(key, 1, offset, len);
        assert_eq!(bench.refused(Op::MrAdvise, 0, &wrong), status);
    }
    let unknown = advise(key, 3, 0, 1);
    assert_eq!(bench.refused(Op::MrAdvise, 0, &unknown), Status::Inval);
    let stale = advise(key + 1, 1, 0, 1);
    assert_eq!(bench.refused(Op::MrAdvise, 0, &stale), Status::NoEnt);
    // it can be given back although it was advised about
    bench.ok(Op::MrDereg, 0, &dereg(key));
    bench.finish();
}

/// A driver without rings, which may have so many blocks pinned.
fn without_rings(blocks: u64) -> Bench {
    let bench = Bench::greeted(Policy::new());
    let quota = Quota::undivided(room(blocks * BLOCK_PAGES));
    bench.host.with(|memory| memory.set_quota(quota));
    bench
}

fn pins(bench: &Bench) -> u64 {
    bench.host.with(|memory| memory.counters().misses)
}

#[test]
fn advice_about_more_than_may_be_pinned_is_refused_at_once() {
    let mut bench = without_rings(1);
    let segments = [(4 * MIB, 4 * MIB)];
    let lazy = Reg {
        len: 4 * MIB,
        nseg: 1,
        segments: &segments,
        ..GOOD
    };
    let (key, _) = keys(&bench.ok(Op::MrReg, 0, &reg(&lazy)));
    let whole = advise(key, 1, 0, 4 * MIB);
    assert_eq!(bench.refused(Op::MrAdvise, 0, &whole), Status::Quota);
    assert_eq!(pins(&bench), 0);
    // each half of it can be, one after the other
    bench.ok(Op::MrAdvise, 0, &advise(key, 1, 0, 2 * MIB));
    bench.ok(Op::MrAdvise, 0, &advise(key, 1, 2 * MIB, 2 * MIB));
    assert_eq!(pins(&bench), 2);
    bench.finish();
}

#[test]
fn advice_about_a_little_of_many_blocks_pins_no_more_than_may_be() {
    let mut bench = without_rings(2);
    let mut scattered = |blocks: u64| {
        let segments: Vec<_> = (0..60)
            .map(|i| (4 * MIB + i % blocks * 2 * MIB, 0x1000))
            .collect();
        let lazy = Reg {
            len: 60 * 0x1000,
            nseg: 60,
            segments: &segments,
            ..GOOD
        };
        let (key, _) = keys(&bench.ok(Op::MrReg, 0, &reg(&lazy)));
        let before = pins(&bench);
        let reply = bench.call(Op::MrAdvise, 0, &advise(key, 1, 0, 60 * 0x1000));
        bench.ok(Op::MrDereg, 0, &dereg(key));
        (reply.status, pins(&bench) - before)
    };
    assert_eq!(scattered(2), (Status::Ok, 2));
    // the first two are there still, and the third takes the place of one of them
    let (status, pinned) = scattered(3);
    assert_eq!(status, Status::Quota);
    assert!(pinned <= 3, "{pinned} blocks were pinned");
    bench.finish();
}
