// SPDX-License-Identifier: GPL-2.0

//! From the bytes of a command to its fields.

use super::{
    super::{
        abi,
        access::Access,
        span::{
            Span,
            PAGE_SHIFT,
            PAGE_SIZE, //
        },
        work::{
            completion::CQE_SIZE,
            receive::RQE_SIZE,
            send::SQE_SIZE, //
        }, //
    },
    Address,
    Advice,
    Command,
    CqCreate,
    Direction,
    EpCreate,
    EpOption,
    EpRings,
    Fields,
    Handle,
    MrReg,
    Op,
    Result,
    SegmentList,
    Status,
    Value, //
};

/// Bytes of a segment.
const SEG_SIZE: u64 = 16;

/// Takes the payload of a command apart; all of it must be used up.
pub(super) fn command(op: Op, payload: &[u8]) -> Result<Command<'_>> {
    let mut fields = Fields::new(payload);
    let fields = &mut fields;
    let command = match op {
        Op::Hello => hello(fields)?,
        Op::DbAttach => db_attach(fields)?,
        Op::DbDetach => Command::DbDetach,
        Op::CqCreate => cq_create(fields)?,
        Op::CqDestroy => Command::CqDestroy,
        Op::EpCreate => ep_create(fields)?,
        Op::EpBind => Command::EpBind(Address::parse(fields)?),
        Op::EpListen => ep_listen(fields)?,
        Op::EpConnect => ep_connect(fields)?,
        Op::EpAccept => Command::EpAccept {
            endpoint: Handle::from_raw(last32(fields)?),
        },
        Op::EpShutdown => ep_shutdown(fields)?,
        Op::EpDestroy => ep_destroy(fields)?,
        Op::EpSetopt => ep_setopt(fields)?,
        Op::EpGetopt => ep_getopt(fields)?,
        Op::EpQuery => Command::EpQuery,
        Op::MrReg => mr_reg(fields)?,
        Op::MrDereg => Command::MrDereg {
            key: last32(fields)?,
        },
        Op::MrAdvise => mr_advise(fields)?,
        Op::DevStats => Command::DevStats,
        Op::Quiesce => Command::Quiesce,
        Op::Resume => Command::Resume,
    };
    fields.clone().end()?;
    Ok(command)
}

/// A number and a reserved field.
fn last32(fields: &mut Fields<'_>) -> Result<u32> {
    let value = fields.take32()?;
    fields.zero32()?;
    Ok(value)
}

fn hello<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    Ok(Command::Hello {
        revision: last32(fields)?,
        name: fields.take()?,
    })
}

fn db_attach<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let addr = fields.take64()?;
    let npages = fields.take32()?;
    fields.zero32()?;
    let len = u64::from(npages).checked_shl(PAGE_SHIFT).unwrap_or(0);
    Ok(Command::DbAttach {
        area: pages(addr, len)?,
        npages,
    })
}

/// `len` bytes at a page.
fn pages(addr: u64, len: u64) -> Result<Span> {
    if addr % PAGE_SIZE != 0 {
        return Err(Status::Inval);
    }
    Span::new(addr, len).ok_or(Status::Inval)
}

/// A ring of `1 << log2` entries.
fn ring(addr: u64, log2: u16, most: u16, entry: usize) -> Result<Span> {
    if log2 > most {
        return Err(Status::Inval);
    }
    // 2 MiB at most, as the limits are
    let len = (entry as u64).checked_shl(u32::from(log2)).unwrap_or(0);
    pages(addr, len)
}

fn cq_create<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let addr = fields.take64()?;
    let (log2, flags) = (fields.take16()?, fields.take16()?);
    if flags & !abi::CQ_EVENTS != 0 {
        return Err(Status::Inval);
    }
    Ok(Command::CqCreate(CqCreate {
        ring: ring(addr, log2, abi::CQ_LOG2_MAX, CQE_SIZE)?,
        log2,
        events: flags & abi::CQ_EVENTS != 0,
        slot: fields.take32()?,
        cookie: fields.take64()?,
    }))
}

fn ep_create<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let (kind, flags) = (fields.take16()?, fields.take16()?);
    let messages = match kind {
        abi::EP_STREAM => false,
        abi::EP_MSG => true,
        _ => return Err(Status::NotSupp),
    };
    let (send_cq, recv_cq) = (fields.take32()?, fields.take32()?);
    fields.zero32()?;
    let (sq, rq) = (fields.take64()?, fields.take64()?);
    let (sq_log2, rq_log2) = (fields.take16()?, fields.take16()?);
    let slot = fields.take32()?;
    let rings = match flags {
        abi::EP_LISTENER => {
            let unused = (send_cq, recv_cq, sq, rq, sq_log2, rq_log2, slot);
            if unused != (0, 0, 0, 0, 0, 0, abi::NO_SLOT) {
                return Err(Status::Inval);
            }
            None
        }
        0 => Some(EpRings {
            send_cq: Handle::from_raw(send_cq),
            recv_cq: Handle::from_raw(recv_cq),
            sq: ring(sq, sq_log2, abi::SQ_LOG2_MAX, SQE_SIZE)?,
            rq: ring(rq, rq_log2, abi::RQ_LOG2_MAX, RQE_SIZE)?,
            sq_log2,
            rq_log2,
            slot,
        }),
        _ => return Err(Status::Inval),
    };
    Ok(Command::EpCreate(EpCreate {
        messages,
        rings,
        cookie: fields.take64()?,
        uid_tag: fields.take32()?,
        netns_tag: fields.take32()?,
    }))
}

fn ep_listen<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    match last32(fields)? {
        0 => Err(Status::Inval),
        backlog => Ok(Command::EpListen { backlog }),
    }
}

fn ep_connect<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    Ok(Command::EpConnect {
        peer: Address::parse(fields)?,
        timeout_ms: last32(fields)?,
    })
}

fn ep_shutdown<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    Ok(Command::EpShutdown(match last32(fields)? {
        abi::SHUT_RD => Direction::Read,
        abi::SHUT_WR => Direction::Write,
        abi::SHUT_RDWR => Direction::Both,
        abi::SHUT_ABORT => return Ok(Command::EpAbort),
        _ => return Err(Status::Inval),
    }))
}

fn ep_destroy<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let abort = match last32(fields)? {
        0 => false,
        abi::DESTROY_ABORT => true,
        _ => return Err(Status::Inval),
    };
    Ok(Command::EpDestroy { abort })
}

/// An option, and the length of its value.
fn option(fields: &mut Fields<'_>) -> Result<(EpOption, usize)> {
    let option = EpOption::from_code(fields.take32()?)?;
    let len = usize::try_from(fields.take32()?).map_err(|_| Status::Inval)?;
    if len > abi::OPT_MAX {
        return Err(Status::Inval);
    }
    Ok((option, len))
}

fn ep_setopt<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let (option, len) = option(fields)?;
    let bytes = fields.rest();
    if bytes.len() != len {
        return Err(Status::Inval);
    }
    option.check(bytes)?;
    *fields = Fields::new(&[]);
    Ok(Command::EpSetopt {
        option,
        value: Value::new().put(bytes),
    })
}

fn ep_getopt<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let (option, room) = option(fields)?;
    Ok(Command::EpGetopt { option, room })
}

fn mr_reg<'a>(fields: &mut Fields<'a>) -> Result<Command<'a>> {
    let (va, len) = (fields.take64()?, fields.take64()?);
    let addrs = Span::new(va, len).ok_or(Status::Inval)?;
    let access = access(fields.take32()?)?;
    let flags = fields.take32()?;
    if flags & !(abi::MR_LAZY | abi::MR_TABLE) != 0 {
        return Err(Status::Inval);
    }
    let nseg = last32(fields)?;
    let segments = if flags & abi::MR_TABLE != 0 {
        SegmentList::Table(table(fields, nseg)?)
    } else {
        inline(fields, nseg)?
    };
    Ok(Command::MrReg(MrReg {
        addrs,
        access,
        lazy: flags & abi::MR_LAZY != 0,
        segments,
    }))
}

/// Rights of a memory region: a peer has none that the device itself has not.
fn access(bits: u32) -> Result<Access> {
    let access = Access::from_bits(bits).ok_or(Status::Inval)?;
    let without = |remote, local| access.allows(remote) && !access.allows(local);
    if access.is_none()
        || without(Access::REMOTE_READ, Access::READ)
        || without(Access::REMOTE_WRITE, Access::WRITE)
    {
        return Err(Status::Inval);
    }
    Ok(access)
}

fn inline<'a>(fields: &mut Fields<'a>, nseg: u32) -> Result<SegmentList<'a>> {
    let bytes = fields.rest();
    let expected = u64::from(nseg).saturating_mul(SEG_SIZE);
    if nseg == 0 || nseg > abi::MR_SEGS_MAX || bytes.len() as u64 != expected {
        return Err(Status::Inval);
    }
    *fields = Fields::new(&[]);
    Ok(SegmentList::Inline(bytes))
}

fn table(fields: &mut Fields<'_>, nseg: u32) -> Result<Span> {
    let (addr, len) = (fields.take64()?, fields.take64()?);
    let expected = u64::from(nseg).saturating_mul(SEG_SIZE);
    if nseg > abi::MR_TABLE_MAX || len != expected {
        return Err(Status::Inval);
    }
    Span::new(addr, len).ok_or(Status::Inval)
}

fn mr_advise<'a>(fields: &mut Fields<'_>) -> Result<Command<'a>> {
    let key = fields.take32()?;
    let advice = match fields.take32()? {
        1 => Advice::Prefetch,
        2 => Advice::Release,
        _ => return Err(Status::Inval),
    };
    let (offset, len) = (fields.take64()?, fields.take64()?);
    Ok(Command::MrAdvise {
        key,
        advice,
        range: Span::new(offset, len).ok_or(Status::Inval)?,
    })
}
