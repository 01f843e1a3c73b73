// SPDX-License-Identifier: GPL-2.0

//! What C calls; sys/queues.h says what each function does.
//!
//! Where nothing else is said: `queues` is from `vsg_queues_new()`, `reader` from `vsg_reader_new()`,
//! neither was freed, and no two calls for the same object are under way at a time. Entries are memory
//! of the driver's that the device does not read before it is told to, and all pointers are valid for
//! what they are used for.

use super::bindings::{
    vsg_completion,
    VSG_RQ_DEPTH,
    VSG_SQ_DEPTH, //
};
use crate::queues::{
    completion::{
        Completion,
        CompletionReader,
        CQE_SIZE, //
    },
    event_index,
    receive::{
        self,
        ReceiveQueue,
        RQE_SIZE, //
    },
    send::{
        self,
        SendQueue,
        SQE_SIZE, //
    },
};
use core::ptr::null_mut;
use kernel::prelude::*;

const _: () = assert!(send::DEPTH == VSG_SQ_DEPTH && receive::DEPTH == VSG_RQ_DEPTH);

/// The queues of a socket.
pub(super) struct Queues {
    send: SendQueue,
    receive: ReceiveQueue,
}

#[no_mangle]
extern "C" fn vsg_queues_new(
    key: u32,
    tx: u64,
    tx_bytes: u32,
    rx: u64,
    rx_bytes: u32,
) -> *mut Queues {
    let queues = Queues {
        send: SendQueue::new(key, tx, tx_bytes),
        receive: ReceiveQueue::new(key, rx, rx_bytes),
    };
    KBox::new(queues, GFP_KERNEL_ACCOUNT).map_or(null_mut(), KBox::into_raw)
}

/// # Safety
///
/// See the module; the last call for this object, or `queues` is null.
#[no_mangle]
unsafe extern "C" fn vsg_queues_free(queues: *mut Queues) {
    if !queues.is_null() {
        // SAFETY: By the function's requirements.
        drop(unsafe { KBox::from_raw(queues) });
    }
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_room(queues: *const Queues, offset: *mut u32, all: *mut u32) -> u32 {
    // SAFETY: By the function's requirements.
    let room = unsafe { &*queues }.send.room();
    // SAFETY: By the function's requirements.
    unsafe { (*offset, *all) = (room.offset, room.all) };
    room.len
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_made(queues: *const Queues) -> u32 {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.send.made()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_push(
    queues: *mut Queues,
    len: u32,
    more: bool,
    entry: *mut [u8; SQE_SIZE],
) -> bool {
    // SAFETY: By the function's requirements.
    let made = unsafe { &mut *queues }.send.push(len, more);
    // SAFETY: By the function's requirements.
    made.map(|made| unsafe { *entry = made }).is_some()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_push_fin(queues: *mut Queues, entry: *mut [u8; SQE_SIZE]) -> bool {
    // SAFETY: By the function's requirements.
    let made = unsafe { &mut *queues }.send.push_fin();
    // SAFETY: By the function's requirements.
    made.map(|made| unsafe { *entry = made }).is_some()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_catch_up(queues: *mut Queues, done: u32) {
    // SAFETY: By the function's requirements.
    unsafe { &mut *queues }.send.catch_up(done);
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_used(queues: *const Queues) -> u32 {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.send.used()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_writable(queues: *const Queues) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.send.is_writable()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_has_fin(queues: *const Queues) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.send.has_fin()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_finished(queues: *const Queues) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.send.is_finished()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_send_idle(queues: *const Queues) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.send.is_idle()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_posted(queues: *const Queues) -> u32 {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.receive.posted()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_should_post(queues: *const Queues) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.receive.should_post()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_post(queues: *mut Queues, entry: *mut [u8; RQE_SIZE]) -> bool {
    // SAFETY: By the function's requirements.
    let made = unsafe { &mut *queues }.receive.post();
    // SAFETY: By the function's requirements.
    made.map(|made| unsafe { *entry = made }).is_some()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_fill(queues: *mut Queues, number: u32, len: u32) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &mut *queues }.receive.fill(number, len).is_ok()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_readable(queues: *const Queues) -> u32 {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.receive.readable()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_stuck(queues: *const Queues) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*queues }.receive.is_stuck()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_peek(queues: *const Queues, skip: u32, offset: *mut u32) -> u32 {
    // SAFETY: By the function's requirements.
    let Some(piece) = unsafe { &*queues }.receive.peek(skip) else {
        return 0;
    };
    // SAFETY: By the function's requirements.
    unsafe { *offset = piece.offset };
    piece.len
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_recv_consume(queues: *mut Queues, len: u32) {
    // SAFETY: By the function's requirements.
    unsafe { &mut *queues }.receive.consume(len);
}

#[no_mangle]
extern "C" fn vsg_reader_new(log2: u32) -> *mut CompletionReader {
    KBox::new(CompletionReader::new(log2), GFP_KERNEL).map_or(null_mut(), KBox::into_raw)
}

/// # Safety
///
/// See the module; the last call for this object, or `reader` is null.
#[no_mangle]
unsafe extern "C" fn vsg_reader_free(reader: *mut CompletionReader) {
    if !reader.is_null() {
        // SAFETY: By the function's requirements.
        drop(unsafe { KBox::from_raw(reader) });
    }
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_reader_taken(reader: *const CompletionReader) -> u32 {
    // SAFETY: By the function's requirements.
    unsafe { &*reader }.taken()
}

/// # Safety
///
/// See the module.
#[no_mangle]
unsafe extern "C" fn vsg_reader_is_new(reader: *const CompletionReader, op_and_flags: u16) -> bool {
    // SAFETY: By the function's requirements.
    unsafe { &*reader }.is_new(op_and_flags)
}

/// # Safety
///
/// See the module; `entry` is a copy that nobody else writes to.
#[no_mangle]
unsafe extern "C" fn vsg_reader_take(
    reader: *mut CompletionReader,
    entry: *const [u8; CQE_SIZE],
    completion: *mut vsg_completion,
) {
    // SAFETY: By the function's requirements.
    let (reader, entry) = unsafe { (&mut *reader, &*entry) };
    reader.advance();
    if let Ok(parsed) = Completion::parse(entry) {
        // SAFETY: By the function's requirements.
        unsafe {
            *completion = vsg_completion {
                wr_id: parsed.wr_id,
                len: parsed.len,
                status: parsed.status,
                receive: parsed.receive,
                fin: parsed.fin,
            }
        };
    }
}

#[no_mangle]
extern "C" fn vsg_passed(event: u32, old: u32, new: u32) -> bool {
    event_index::passed32(event, old, new)
}
