// SPDX-License-Identifier: GPL-2.0
//! What streams carry.

use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;

/// The byte at a place of a stream that is compared.
pub(crate) fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(31).wrapping_add(offset >> 8)) as u8
}

/// Which payload is wanted.
#[derive(Args, Default)]
pub(crate) struct Wanted {
    /// Whatever is in memory, and it is not compared: for measurements
    #[arg(long, conflicts_with = "file")]
    plain: bool,
    /// The bytes of this file, however many
    #[arg(long, requires = "into")]
    file: Option<PathBuf>,
    /// Where to put what comes back
    #[arg(long)]
    into: Option<PathBuf>,
}

impl Wanted {
    /// The payload, `len` bytes of it unless it is a file's.
    pub(crate) fn payload(&self, len: u64) -> Result<Payload> {
        let Some(file) = &self.file else {
            let source = if self.plain {
                Source::Plain
            } else {
                Source::Pattern
            };
            return Ok(Payload { len, source });
        };
        let data = fs::read(file).with_context(|| file.display().to_string())?;
        Ok(Payload {
            len: data.len() as u64,
            source: Source::File(data, Vec::new()),
        })
    }

    /// Keeps what came back, if that is wanted.
    pub(crate) fn keep(&self, payload: &Payload) -> Result<()> {
        if let (Some(into), Source::File(_, back)) = (&self.into, &payload.source) {
            fs::write(into, back).with_context(|| Path::display(into).to_string())?;
        }
        Ok(())
    }
}

enum Source {
    /// Of which each byte tells its place.
    Pattern,
    Plain,
    /// Of a file, and those that came back.
    File(Vec<u8>, Vec<u8>),
}

/// The bytes of a stream.
pub(crate) struct Payload {
    len: u64,
    source: Source,
}

impl Payload {
    /// Bytes that tell their place, as long as there are any.
    pub(crate) fn endless() -> Payload {
        Payload {
            len: u64::MAX,
            source: Source::Pattern,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The bytes at a place, as many as there is room for; they are there.
    pub(crate) fn fill(&self, at: u64, into: &mut [u8]) {
        match &self.source {
            Source::Plain => {}
            Source::Pattern => {
                for (byte, at) in into.iter_mut().zip(at..) {
                    *byte = byte_at(at);
                }
            }
            Source::File(data, _) => {
                let from = data.get(at as usize..).unwrap_or_default();
                for (byte, from) in into.iter_mut().zip(from) {
                    *byte = *from;
                }
            }
        }
    }

    /// Whether bytes are written and looked at: it takes time.
    pub(crate) fn matters(&self) -> bool {
        !matches!(self.source, Source::Plain)
    }

    /// Bytes that came, which are those at a place.
    pub(crate) fn came(&mut self, at: u64, bytes: &[u8]) -> Result<()> {
        ensure!(
            at + bytes.len() as u64 <= self.len,
            "more came than was sent"
        );
        match &mut self.source {
            Source::Plain => {}
            Source::Pattern => {
                let wrong = (at..).zip(bytes).find(|(at, byte)| byte_at(*at) != **byte);
                if let Some((place, _)) = wrong {
                    anyhow::bail!("byte {place} was changed");
                }
            }
            Source::File(_, back) => back.extend_from_slice(bytes),
        }
        Ok(())
    }
}
