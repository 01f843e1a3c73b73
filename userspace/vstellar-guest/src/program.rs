// SPDX-License-Identifier: GPL-2.0
//! The other end of a stream: an ordinary program with an AF_STRACK socket.

use crate::payload::Payload;
use crate::payload::Wanted;
use anyhow::ensure;
use anyhow::Context;
use anyhow::Result;
use clap::Args;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::net::Shutdown;
use std::net::SocketAddr;
use std::thread;
use std::time::Instant;
use strack::Listener;
use strack::Stream;

/// Bytes that are written and read at once.
const CHUNK: usize = 65536;

/// Says that something can begin.
pub(crate) fn say_ready() -> Result<()> {
    println!("ready");
    Ok(std::io::stdout().flush()?)
}

/// Takes one connection.
#[derive(Args)]
pub(crate) struct Serve {
    /// Where to listen
    at: SocketAddr,
    /// Give nothing back
    #[arg(long)]
    silent: bool,
}

impl Serve {
    pub(crate) fn run(&self) -> Result<()> {
        serve(self.at, self.silent)
    }
}

/// Gives back what one connection brings, unless `silent`.
fn serve(at: SocketAddr, silent: bool) -> Result<()> {
    let listener = Listener::bind(at).with_context(|| at.to_string())?;
    say_ready()?;
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0; CHUNK];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) if silent => {}
            Ok(n) => stream.write_all(&buffer[..n])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends and receives as a program would.
#[derive(Args)]
pub(crate) struct Send {
    /// Who gives back what comes
    peer: SocketAddr,
    /// How many bytes
    bytes: u64,
    /// So many at a time, each waited for
    #[arg(long)]
    each: Option<u64>,
    /// The peer gives nothing back, and ends its stream when it has all
    #[arg(long, conflicts_with = "each")]
    silent: bool,
    #[command(flatten)]
    wanted: Wanted,
}

impl Send {
    pub(crate) fn run(&self) -> Result<()> {
        let stream = Stream::connect(self.peer).with_context(|| self.peer.to_string())?;
        let start = Instant::now();
        match self.each {
            Some(each) => ping(&stream, self.bytes, each)?,
            None if self.silent => pour(&stream, self.bytes)?,
            None => exchange(&stream, self.wanted.payload(self.bytes)?)?,
        }
        let ns = u64::try_from(start.elapsed().as_nanos())?;
        println!(
            "{}",
            serde_json::json!({"bytes": self.bytes, "elapsed_ns": ns})
        );
        Ok(())
    }
}

/// Sends it and compares what comes back.
fn exchange(stream: &Stream, mut payload: Payload) -> Result<()> {
    let (mut sender, mut reader) = (stream.try_clone()?, stream);
    let received = thread::scope(|scope| {
        let (outgoing, end) = (&payload, payload.len());
        let sending = scope.spawn(move || -> Result<()> {
            let mut buffer = vec![0; CHUNK];
            let mut sent = 0;
            while sent < end {
                let len = CHUNK.min(usize::try_from(end - sent)?);
                outgoing.fill(sent, &mut buffer[..len]);
                sender.write_all(&buffer[..len])?;
                sent += len as u64;
            }
            Ok(sender.shutdown(Shutdown::Write)?)
        });
        let mut received = Vec::new();
        let read = receive(stream, payload.len(), &mut received, payload.matters());
        sending.join().expect("the sender does not panic")?;
        read.map(|()| received)
    })?;
    ensure!(reader.read(&mut [0])? == 0, "more than was sent");
    payload.came(0, &received)
}

/// Reads so many bytes, and keeps them if they are to be looked at.
fn receive(mut stream: &Stream, bytes: u64, kept: &mut Vec<u8>, keep: bool) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut received = 0;
    while received < bytes {
        let n = stream.read(&mut buffer)?;
        ensure!(n > 0, "the stream ended after {received} bytes");
        if keep {
            kept.extend_from_slice(&buffer[..n]);
        }
        received += n as u64;
    }
    Ok(())
}

/// Sends so many bytes and waits until the peer has read them.
fn pour(mut stream: &Stream, bytes: u64) -> Result<()> {
    let buffer = vec![0; CHUNK];
    let mut left = bytes;
    while left > 0 {
        let len = left.min(CHUNK as u64);
        stream.write_all(&buffer[..usize::try_from(len)?])?;
        left -= len;
    }
    stream.shutdown(Shutdown::Write)?;
    ensure!(stream.read(&mut [0])? == 0, "something was given back");
    Ok(())
}

fn ping(mut stream: &Stream, bytes: u64, each: u64) -> Result<()> {
    let mut buffer = vec![0; usize::try_from(each)?];
    let mut done = 0;
    while done < bytes {
        stream.write_all(&buffer)?;
        stream.read_exact(&mut buffer)?;
        done += each;
    }
    Ok(stream.shutdown(Shutdown::Write)?)
}
