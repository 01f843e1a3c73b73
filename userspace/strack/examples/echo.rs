// SPDX-License-Identifier: GPL-2.0
//! `echo 0.0.0.0:7000` answers every client; `echo 10.0.0.2:7000 TEXT` is one.

use std::io::{copy, Read, Write};
use std::{env, io::Result, net::Shutdown, thread};

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let addr = args.next().expect("usage: echo ADDRESS:PORT [TEXT]");
    if let Some(text) = args.next() {
        let mut stream = strack::Stream::connect(addr)?;
        stream.write_all(text.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        println!("{answer} ({} paths)", stream.info()?.paths);
        return Ok(());
    }
    let listener = strack::Listener::bind(addr)?;
    loop {
        let (stream, _peer) = listener.accept()?;
        thread::spawn(move || copy(&mut &stream, &mut &stream));
    }
}
