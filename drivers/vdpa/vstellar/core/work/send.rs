// SPDX-License-Identifier: GPL-2.0

//! Entries of a send queue.

use super::{
    super::abi,
    segment::{
        SGE_MAX,
        SGE_SIZE, //
    },
    Fields,
    Result,
    Segment,
    Segments,
    Span,
    Status, //
};

/// Bytes of an entry.
pub const SQE_SIZE: usize = 64;

/// What an entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SendOp {
    /// Bytes of a stream, or of a message that goes on.
    Send = abi::OP_SEND,
    /// The same, and the message ends.
    SendEnd = abi::OP_SEND_END,
    /// Write to the peer's memory.
    Write = abi::OP_WRITE,
    /// The same, and tell the peer.
    WriteImm = abi::OP_WRITE_IMM,
    /// Read from the peer's memory.
    Read = abi::OP_READ,
    /// End the sending direction.
    Fin = abi::OP_FIN,
}

impl SendOp {
    fn from_code(code: u8) -> Result<Self> {
        Ok(match code {
            abi::OP_SEND => Self::Send,
            abi::OP_SEND_END => Self::SendEnd,
            abi::OP_WRITE => Self::Write,
            abi::OP_WRITE_IMM => Self::WriteImm,
            abi::OP_READ => Self::Read,
            abi::OP_FIN => Self::Fin,
            _ => return Err(Status::NotSupp),
        })
    }

    /// As it stands in entries and completions.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether it is about the peer's memory.
    pub const fn is_remote(self) -> bool {
        matches!(self, Self::Write | Self::WriteImm | Self::Read)
    }
}

/// What is allowed to an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct SendRules {
    /// It keeps message boundaries.
    pub messages: bool,
    /// It may access the peer's memory.
    pub remote: bool,
    /// Most segments, not more than `SGE_MAX`.
    pub max_sge: u16,
    /// Most bytes of one entry.
    pub max_len: u32,
}

impl SendRules {
    fn check(&self, op: SendOp) -> Result {
        let allowed = match op {
            SendOp::Send | SendOp::Fin => true,
            SendOp::SendEnd => self.messages,
            SendOp::Write | SendOp::WriteImm | SendOp::Read => self.remote,
        };
        if allowed {
            Ok(())
        } else {
            Err(Status::NotSupp)
        }
    }
}

/// An entry that keeps the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendEntry {
    /// What to do.
    pub op: SendOp,
    /// Complete it even if all is well.
    pub signaled: bool,
    /// Not before earlier reads of the peer's memory are done.
    pub fence: bool,
    /// More follows soon.
    pub more: bool,
    /// The peer wants to be woken.
    pub solicited: bool,
    /// For the peer.
    pub imm: u32,
    /// For the completion.
    pub wr_id: u64,
    /// Address in the peer's memory, and its key.
    pub remote: Option<(u64, u32)>,
    /// How many bytes.
    pub len: u32,
    /// Where they are, unless there is a table.
    pub segments: Segments,
    /// Where the segments are. Copy it, once, and give it to [`SendEntry::with_table`].
    pub table: Option<Segment>,
}

const FLAGS: u8 = abi::SQE_SIGNALED | abi::SQE_FENCE | abi::SQE_MORE | abi::SQE_SOLICITED;

impl SendEntry {
    /// The `wr_id` of an entry, whatever else is wrong with it.
    pub fn wr_id(entry: &[u8; SQE_SIZE]) -> u64 {
        let mut fields = Fields::new(entry);
        let skipped = fields.take64();
        skipped.and_then(|_| fields.take64()).unwrap_or(0)
    }

    /// Checks the copy of an entry.
    pub fn parse(entry: &[u8; SQE_SIZE], rules: &SendRules) -> Result<Self> {
        let mut fields = Fields::new(entry);
        let op = SendOp::from_code(fields.take8()?)?;
        rules.check(op)?;
        let (flags, nsge) = (fields.take8()?, fields.take8()?);
        if flags & !FLAGS != 0 || fields.take8()? != 0 {
            return Err(Status::Inval);
        }
        let (imm, wr_id) = (fields.take32()?, fields.take64()?);
        let (remote_addr, rkey) = (fields.take64()?, fields.take32()?);
        let remote = op.is_remote().then_some((remote_addr, rkey));
        if (remote.is_none() && (remote_addr, rkey) != (0, 0))
            || (op != SendOp::WriteImm && imm != 0)
        {
            return Err(Status::Inval);
        }
        let len = fields.take32()?;
        if len > rules.max_len || (op == SendOp::Fin) != (len == 0) {
            return Err(Status::Inval);
        }
        if let Some((addr, _)) = remote {
            Span::new(addr, u64::from(len)).ok_or(Status::Inval)?;
        }
        let (segments, table) = parse_payload(&mut fields, nsge, len, rules)?;
        fields.end()?;
        Ok(Self {
            op,
            signaled: flags & abi::SQE_SIGNALED != 0,
            fence: flags & abi::SQE_FENCE != 0,
            more: flags & abi::SQE_MORE != 0,
            solicited: flags & abi::SQE_SOLICITED != 0,
            imm,
            wr_id,
            remote,
            len,
            segments,
            table,
        })
    }

    /// The same entry with the segments of its table, of which `table` is the copy.
    pub fn with_table(&self, table: &[u8]) -> Result<Self> {
        let expected = self.table.map_or(0, |segment| segment.span.len());
        if table.len() as u64 != expected {
            return Err(Status::Inval);
        }
        let mut fields = Fields::new(table);
        let segments = Segments::parse(&mut fields, table.len() / SGE_SIZE as usize)?;
        fields.end()?;
        check_total(&segments, self.len)?;
        Ok(Self {
            segments,
            table: None,
            ..*self
        })
    }
}

/// The two segments of an entry, `nsge` of which are in use.
fn parse_payload(
    fields: &mut Fields<'_>,
    nsge: u8,
    len: u32,
    rules: &SendRules,
) -> Result<(Segments, Option<Segment>)> {
    if nsge == abi::SGE_TABLE {
        let table = Segment::parse(fields)?;
        Segment::parse_unused(fields)?;
        let most = u64::from(rules.max_sge.min(SGE_MAX)).saturating_mul(SGE_SIZE.into());
        let bytes = table.span.len();
        if bytes % u64::from(SGE_SIZE) != 0 || bytes > most || len == 0 {
            return Err(Status::Inval);
        }
        return Ok((Segments::NONE, Some(table)));
    }
    if nsge > 2 {
        return Err(Status::Inval);
    }
    let segments = Segments::parse(fields, usize::from(nsge))?;
    for _ in nsge..2 {
        Segment::parse_unused(fields)?;
    }
    check_total(&segments, len)?;
    Ok((segments, None))
}

fn check_total(segments: &Segments, len: u32) -> Result {
    if segments.total() == u64::from(len) {
        Ok(())
    } else {
        Err(Status::Inval)
    }
}
