// SPDX-License-Identifier: GPL-2.0

//! The contract stands in a C header; every number of it that the model repeats is compared here.

use std::collections::BTreeMap;
use vstellar_core::{
    abi,
    control::{self, EpOption, Op},
    device::{CONFIG_SIZE, EVENT_SIZE},
    span::PAGE_SIZE,
    work::{completion::CQE_SIZE, receive::RQE_SIZE, segment::SGE_SIZE, send::SQE_SIZE},
};

const HEADER: &str = include_str!("../../../include/uapi/linux/virtio_vstellar.h");
const ABI: &str = include_str!("../../../drivers/vdpa/vstellar/core/abi.rs");
const STATUS: &str = include_str!("../../../drivers/vdpa/vstellar/core/status.rs");
const ENDPOINT: &str = include_str!("../../../drivers/vdpa/vstellar/core/device/endpoint.rs");

const PREFIX: &str = "VIRTIO_VSTELLAR_";

/// `7`, `0x1f`, `1 << 3`, `PAGE_SIZE * 8`, with or without parentheses.
fn value(text: &str) -> u64 {
    let text = text.trim().trim_start_matches('(').trim_end_matches(')');
    if let Some((one, bits)) = text.split_once("<<") {
        return value(one) << value(bits);
    }
    if let Some((one, other)) = text.split_once('*') {
        return value(one) * value(other);
    }
    if text.ends_with("PAGE_SIZE") {
        return PAGE_SIZE;
    }
    let digits = text.replace('_', "");
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => digits.parse().unwrap_or_else(|_| panic!("{text}")),
    }
}

/// Without what stands in comments.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        out += before;
        rest = comment.split_once("*/").expect("it ends").1;
    }
    out + rest
}

/// All constants of the header.
fn constants() -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for line in code(HEADER).lines() {
        let line = line.trim();
        let (name, text) = if let Some(define) = line.strip_prefix("#define ") {
            match define.split_once(char::is_whitespace) {
                Some(split) => split,
                None => continue, // the include guard
            }
        } else if let Some(split) = line.strip_suffix(',').and_then(|l| l.split_once('=')) {
            split
        } else {
            continue;
        };
        let name = name.trim().strip_prefix(PREFIX).expect("they have it");
        assert!(
            found.insert(name.to_string(), value(text)).is_none(),
            "{name} twice"
        );
    }
    assert!(found.len() > 100);
    found
}

#[test]
fn constants_are_those_of_the_header() {
    let header = constants();
    let mut count = 0;
    for line in ABI.lines() {
        let Some(constant) = line.strip_prefix("pub const ") else {
            continue;
        };
        let (name, rest) = constant.split_once(':').unwrap();
        let text = rest.split_once('=').unwrap().1.trim_end_matches(';');
        assert_eq!(header.get(name), Some(&value(text)), "{name}");
        count += 1;
    }
    assert!(count > 50);
    assert_eq!(header["PAGE_SIZE"], PAGE_SIZE);
}

/// The variants of a Rust enum with their values, in the header's way of writing.
fn variants(source: &str, name: &str) -> Vec<(String, u64)> {
    let (_, body) = source.split_once(&format!("pub enum {name} {{")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let lines = body
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','));
    let pairs = lines.filter_map(|line| line.split_once(" = "));
    pairs
        .map(|(name, text)| (name.to_uppercase(), value(text)))
        .collect()
}

/// The constants of the header that begin with `prefix`, the underscores after it left out.
fn named(prefix: &str) -> BTreeMap<String, u64> {
    let constants = constants().into_iter();
    let stripped = constants.filter_map(|(name, value)| {
        let rest = name.strip_prefix(prefix)?;
        Some((rest.replace('_', ""), value))
    });
    stripped.collect()
}

#[test]
fn statuses_are_those_of_the_header() {
    let all = named("");
    let statuses = variants(STATUS, "Status");
    assert_eq!(statuses.len(), 21);
    for (name, value) in statuses {
        assert_eq!(all.get(&name), Some(&value), "{name}");
    }
}

#[test]
fn commands_options_and_states_are_those_of_the_header() {
    let commands = Op::ALL
        .iter()
        .map(|op| (format!("{op:?}").to_uppercase(), *op as u64));
    assert_eq!(commands.collect::<BTreeMap<_, _>>(), named("CMD_"));
    let options = EpOption::ALL.iter();
    let options = options.map(|option| (format!("{option:?}").to_uppercase(), *option as u64));
    let mut expected = named("OPT_");
    expected.remove("MAX");
    assert_eq!(options.collect::<BTreeMap<_, _>>(), expected);
    let endpoints = named("EP_");
    let states = variants(ENDPOINT, "EpState");
    assert_eq!(states.len(), 7);
    for (name, value) in states {
        assert_eq!(endpoints.get(&name), Some(&value), "{name}");
    }
}

/// Offset and size by member.
type Members = BTreeMap<String, (usize, usize)>;

/// The members of a structure, as C lays it out, and size and alignment of the whole.
fn layout(name: &str) -> (Members, usize, usize) {
    let text = code(HEADER);
    let start = format!("\nstruct virtio_vstellar_{name} {{\n");
    let (_, body) = text.split_once(&start).unwrap_or_else(|| panic!("{name}"));
    let (body, _) = body.split_once("\n};").unwrap();
    let (mut members, mut at, mut largest) = (BTreeMap::new(), 0, 1);
    for line in body.lines() {
        let declaration = line.trim().trim_end_matches(';');
        let (kind, member) = declaration.rsplit_once(char::is_whitespace).unwrap();
        let (member, count) = match member.split_once('[') {
            Some((member, count)) => (member, value(count.trim_end_matches(']')) as usize),
            None => (member, 1),
        };
        let (size, align) = match kind.trim() {
            "__u8" => (1, 1),
            "__le16" => (2, 2),
            "__le32" => (4, 4),
            "__le64" => (8, 8),
            inner => {
                let inner = inner.strip_prefix("struct virtio_vstellar_").unwrap();
                let (_, size, align) = layout(inner);
                (size, align)
            }
        };
        assert_eq!(at % align, 0, "{name}.{member} would need padding");
        members.insert(member.to_string(), (at, size * count));
        at += size * count;
        largest = largest.max(align);
    }
    assert_eq!(at % largest, 0, "{name} would need padding");
    (members, at, largest)
}

#[test]
fn structures_are_as_long_as_the_header_says() {
    for (name, size) in [
        ("config", CONFIG_SIZE),
        ("req", control::HEADER_SIZE),
        ("resp", control::HEADER_SIZE),
        ("hello", 24),
        ("db_attach", 16),
        ("cq_create", 24),
        ("ep_create", 56),
        ("addr", control::address::ADDRESS_SIZE),
        ("ep_connect", 32),
        ("ep_accept_resp", 2 * control::address::ADDRESS_SIZE),
        ("ep_query_resp", 96),
        ("mr_reg", 32),
        ("seg", 16),
        ("mr_advise", 24),
        ("stats", control::REPLY_MAX),
        ("slot", abi::DB_STRIDE.into()),
        ("sge", SGE_SIZE as usize),
        ("sqe", SQE_SIZE),
        ("rqe", RQE_SIZE),
        ("cqe", CQE_SIZE),
        ("event", EVENT_SIZE),
    ] {
        assert_eq!(layout(name).1, size, "{name}");
    }
}

#[test]
fn the_slot_has_a_line_for_each_side() {
    let (members, ..) = layout("slot");
    for (member, offset) in [
        ("sq_pi", 0),
        ("rq_pi", 4),
        ("cq_ci", 8),
        ("cq_arm", 12),
        ("sq_ci", 64),
        ("rq_ci", 68),
        ("sq_evt", 72),
        ("rq_evt", 76),
        ("ep_state", 80),
        ("error", 84),
        ("lost", 88),
    ] {
        assert_eq!(members[member], (offset, 4), "{member}");
    }
    // what the device writes last of a completion
    let (members, ..) = layout("cqe");
    assert_eq!((members["op"], members["flags"]), ((14, 1), (15, 1)));
}

#[test]
fn as_many_segments_as_a_request_has_room_for() {
    let (_, head, _) = layout("mr_reg");
    let room = abi::CTRL_MAX - control::HEADER_SIZE - head;
    assert_eq!(abi::MR_SEGS_MAX as usize, room / layout("seg").1);
}
