// SPDX-License-Identifier: GPL-2.0

//! Options of endpoints as those of their sockets.

use crate::{
    model::{
        control::{
            EpOption,
            Value, //
        },
        device::SocketInfo,
        status::{
            Result,
            Status, //
        },
    },
    sockets::status,
    sys::{
        bindings,
        socket::Socket, //
    }, //
};

/// Level and name of an option, to set it and to get it.
struct Names {
    level: u32,
    set: u32,
    get: u32,
}

/// Those of an option, if the transport has it.
fn names(option: EpOption) -> Result<Names> {
    let (level, set, get) = match option {
        EpOption::Profile => own(bindings::STRACK_PROFILE),
        EpOption::Paths => own(bindings::STRACK_PATHS),
        EpOption::PathPolicy => own(bindings::STRACK_PATH_POLICY),
        EpOption::Nodelay => own(bindings::STRACK_NODELAY),
        EpOption::RtoMin => own(bindings::STRACK_RTO_MIN),
        // what a device may have is for the device's quota to say, and not for the limit of programs
        EpOption::Sndbuf => general(bindings::SO_SNDBUFFORCE, bindings::SO_SNDBUF),
        EpOption::Rcvbuf => general(bindings::SO_RCVBUFFORCE, bindings::SO_RCVBUF),
        EpOption::Keepalive => general(bindings::SO_KEEPALIVE, bindings::SO_KEEPALIVE),
        // it has none
        EpOption::Tclass => return Err(Status::NotSupp),
    };
    Ok(Names { level, set, get })
}

const fn own(name: u32) -> (u32, u32, u32) {
    (bindings::SOL_STRACK, name, name)
}

const fn general(set: u32, get: u32) -> (u32, u32, u32) {
    (bindings::SOL_SOCKET, set, get)
}

/// Sets an option; the guest's numbers are little-endian, the socket's are the host's.
pub(crate) fn set(socket: &Socket, option: EpOption, value: &[u8]) -> Result {
    let names = names(option)?;
    let set = |value: &[u8]| socket.set_option(names.level, names.set, value);
    match value {
        &[a, b, c, d] if !option.is_name() => {
            set(&u32::from_le_bytes([a, b, c, d]).to_ne_bytes()).map_err(status)
        }
        name => set(name).map_err(status),
    }
}

/// The value in effect.
pub(crate) fn get(socket: &Socket, option: EpOption) -> Result<Value> {
    let names = names(option)?;
    if option.is_name() {
        let mut name = [0; bindings::STRACK_PROFILE_MAX as usize];
        let len = socket.option(names.level, names.get, &mut name);
        let name = name.get(..len.map_err(status)?).unwrap_or_default();
        let end = name.iter().position(|byte| *byte == 0);
        let name = name.get(..end.unwrap_or(name.len())).unwrap_or_default();
        return Ok(Value::new().put(name));
    }
    Ok(Value::new().put32(number(socket, names.level, names.get)?))
}

fn number(socket: &Socket, level: u32, name: u32) -> Result<u32> {
    let mut number = [0; 4];
    socket.option(level, name, &mut number).map_err(status)?;
    Ok(u32::from_ne_bytes(number))
}

/// How large the send and the receive buffer were made: what is read is twice that.
pub(crate) fn buffers(socket: &Socket) -> Result<[u32; 2]> {
    let size = |name| number(socket, bindings::SOL_SOCKET, name).map(|bytes| bytes / 2);
    Ok([size(bindings::SO_SNDBUF)?, size(bindings::SO_RCVBUF)?])
}

/// The numbers of a connection, all zero if there is none.
pub(crate) fn info(socket: &Socket) -> SocketInfo {
    let Ok(info) = socket.info() else {
        return SocketInfo::default();
    };
    SocketInfo {
        paths: info.sti_paths,
        mss: info.sti_mss,
        srtt: info.sti_srtt_ns,
        retransmits: info.sti_retransmits,
        ..SocketInfo::default()
    }
}
