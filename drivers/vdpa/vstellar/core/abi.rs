// SPDX-License-Identifier: GPL-2.0

//! The numbers of `include/uapi/linux/virtio_vstellar.h`, without the prefix of their names.
//!
//! The user-space tests read that header and compare every one of them.

#![allow(missing_docs)] // the header has it

pub const MAGIC: u32 = 0x4c54_5356;
pub const REVISION: u16 = 1;

pub const F_STREAM: u32 = 0;
pub const F_MSG: u32 = 1;
pub const F_MR: u32 = 2;
pub const F_PATHS: u32 = 3;
pub const F_CC: u32 = 4;
pub const F_SHADOW_DB: u32 = 5;
pub const F_LAZY_PIN: u32 = 7;
pub const F_STATS: u32 = 8;
pub const F_ZC: u32 = 9;
pub const F_QUIESCE: u32 = 10;

pub const S_LINK_UP: u32 = 1;
pub const S_QUIESCED: u32 = 1 << 1;
pub const S_NEEDS_RESET: u32 = 1 << 2;

pub const CTRL_MAX: usize = 4096;

pub const SQ_LOG2_MAX: u16 = 15;
pub const RQ_LOG2_MAX: u16 = 16;
pub const CQ_LOG2_MAX: u16 = 16;

pub const CQ_EVENTS: u16 = 1;

pub const EP_STREAM: u16 = 1;
pub const EP_MSG: u16 = 2;
pub const EP_LISTENER: u16 = 1;
pub const NO_SLOT: u32 = 0xffff_ffff;

pub const AF_INET6: u16 = 1;

pub const SHUT_RD: u32 = 0;
pub const SHUT_WR: u32 = 1;
pub const SHUT_RDWR: u32 = 2;
pub const SHUT_ABORT: u32 = 3;

pub const DESTROY_ABORT: u32 = 1;

pub const OPT_MAX: usize = 64;

pub const EP_PEER_FIN: u32 = 1 << 8;
pub const EP_SENT_FIN: u32 = 1 << 9;

pub const MR_READ: u32 = 1;
pub const MR_WRITE: u32 = 1 << 1;
pub const MR_REMOTE_READ: u32 = 1 << 2;
pub const MR_REMOTE_WRITE: u32 = 1 << 3;
pub const MR_LAZY: u32 = 1;
pub const MR_TABLE: u32 = 1 << 1;
pub const MR_SEGS_MAX: u32 = 253;
pub const MR_TABLE_MAX: u32 = 4096;

pub const DB_STRIDE: u16 = 128;
pub const DB_SLOTS_MAX: u32 = 32768;

pub const OP_SEND: u8 = 1;
pub const OP_SEND_END: u8 = 2;
pub const OP_WRITE: u8 = 3;
pub const OP_WRITE_IMM: u8 = 4;
pub const OP_READ: u8 = 5;
pub const OP_FIN: u8 = 6;
pub const OP_RECV: u8 = 0x80;

pub const SQE_SIGNALED: u8 = 1;
pub const SQE_FENCE: u8 = 1 << 1;
pub const SQE_MORE: u8 = 1 << 2;
pub const SQE_SOLICITED: u8 = 1 << 3;
pub const SGE_TABLE: u8 = 255;
pub const LKEY_IOVA: u32 = 0;

pub const CQE_PHASE: u8 = 1;
pub const CQE_MSG_END: u8 = 1 << 1;
pub const CQE_IMM: u8 = 1 << 2;
pub const CQE_FIN: u8 = 1 << 3;

pub const EV_CQ_READY: u16 = 1;
pub const EV_EP_STATE: u16 = 2;
pub const EV_ACCEPT: u16 = 3;
pub const EV_PATHS: u16 = 4;
pub const EV_QUOTA: u16 = 5;
pub const EV_TRANSPORT_RESET: u16 = 6;
pub const EV_FATAL: u16 = 7;
