// SPDX-License-Identifier: GPL-2.0

//! setsockopt() and getsockopt() at level `SOL_STRACK`; include/uapi/linux/strack.h describes the
//! options. `SOL_SOCKET` is the kernel's.

use crate::{
    engine::{
        conn::Inner,
        sending::Hold,
        NetNs, //
    },
    family::socket::{
        Phase,
        Socket, //
    },
    proto::{
        config::{
            Config,
            PathPolicy,
            Profile, //
        },
        connection::State,
        spray::PathState,
        Ns,
        USEC, //
    },
    sys::{
        bindings, netns,
        sock::{
            self,
            Sock, //
        },
        sockopt::{
            OptIn,
            OptOut, //
        },
    },
};
use kernel::prelude::*;

/// Longest `STRACK_RTO_MIN`, microseconds.
const MAX_RTO_US: u32 = 60_000_000;

/// Least bytes that a reader of `STRACK_INFO` asks for: size and version.
const INFO_MIN: usize = 8;

/// setsockopt().
pub(crate) fn set(sock: &Sock, name: u32, value: &OptIn) -> Result {
    match name {
        bindings::STRACK_PATHS => {
            let paths = u16::try_from(value.int()?)?;
            if paths == 0 || u32::from(paths) > bindings::STRACK_MAX_PATHS {
                return Err(EINVAL);
            }
            change(sock, |socket| {
                socket.options.paths = Some(paths);
                with_conn(socket, |inner, now| inner.proto.set_paths(paths, now));
                Ok(())
            })
        }
        bindings::STRACK_PROFILE => {
            let name = &mut [0; bindings::STRACK_PROFILE_MAX as usize];
            let profile = Profile::by_name(value.name(name)?).ok_or(ENOENT)?;
            change(sock, |socket| {
                if !matches!(socket.phase, Phase::Idle) {
                    return Err(EISCONN);
                }
                socket.options.profile = Some(profile);
                Ok(())
            })
        }
        bindings::STRACK_PATH_POLICY => {
            let name = &mut [0; bindings::STRACK_PROFILE_MAX as usize];
            let policy = PathPolicy::by_name(value.name(name)?).ok_or(ENOENT)?;
            change(sock, |socket| {
                socket.options.policy = Some(policy);
                with_conn(socket, |inner, now| inner.proto.set_policy(policy, now));
                Ok(())
            })
        }
        bindings::STRACK_PATH_DENY => deny(sock, value.int()?, true),
        bindings::STRACK_PATH_ALLOW => deny(sock, value.int()?, false),
        bindings::STRACK_RTO_MIN => {
            let us = value.u32()?;
            if us == 0 || us > MAX_RTO_US {
                return Err(EINVAL);
            }
            let rto_min = Ns::from(us) * USEC;
            change(sock, |socket| {
                socket.options.rto_min = Some(rto_min);
                with_conn(socket, |inner, _| inner.proto.set_rto_min(rto_min));
                Ok(())
            })
        }
        bindings::STRACK_NODELAY => {
            let on = value.int()? != 0;
            change(sock, |socket| {
                socket.options.nodelay = on;
                Ok(())
            })?;
            if on {
                release_tail(sock);
            }
            Ok(())
        }
        _ => Err(ENOPROTOOPT),
    }
}

/// getsockopt().
pub(crate) fn get(sock: &Sock, name: u32, out: &mut OptOut<'_>) -> Result {
    let mut lock = sock.lock();
    let ns = netns::of(sock);
    let socket = sock::inner(&mut lock);
    match name {
        bindings::STRACK_PATHS => {
            let paths = socket.options.paths.unwrap_or(ns.config().paths);
            out.int(i32::from(paths))
        }
        bindings::STRACK_PROFILE => {
            let profile = match socket.conn() {
                Some(conn) => conn.peek(|inner| inner.proto.profile()),
                None => config(&ns, socket).profile,
            };
            out.name(profile.name())
        }
        bindings::STRACK_PATH_POLICY => {
            let policy = match socket.conn() {
                Some(conn) => conn.peek(|inner| inner.proto.policy()),
                None => config(&ns, socket).policy,
            };
            out.name(policy.name())
        }
        bindings::STRACK_RTO_MIN => {
            let rto_min = socket.options.rto_min.unwrap_or(ns.config().rto_min);
            out.u32(u32::try_from(rto_min / USEC)?)
        }
        bindings::STRACK_NODELAY => out.int(i32::from(socket.options.nodelay)),
        bindings::STRACK_INFO => {
            if out.len() < INFO_MIN {
                return Err(EINVAL);
            }
            out.info(&info(socket))
        }
        bindings::STRACK_PATH_BYTES => path_bytes(socket, out),
        bindings::STRACK_PATH_STATE => path_states(socket, out),
        _ => Err(ENOPROTOOPT),
    }
}

/// What a connection of this socket would be made with.
fn config(ns: &NetNs, socket: &Socket) -> Config {
    let mut config = ns.config();
    socket.options.apply(&mut config);
    config
}

/// `STRACK_PATH_DENY` and `STRACK_PATH_ALLOW`.
fn deny(sock: &Sock, port: i32, deny: bool) -> Result {
    let port = u16::try_from(port)?;
    change(sock, |socket| {
        let conn = socket.conn().ok_or(ENOTCONN)?;
        conn.work(|inner, now| {
            let index = port.checked_sub(inner.proto.entropy_base()).ok_or(EINVAL)?;
            inner.proto.path_state(index).ok_or(EINVAL)?;
            let done = inner.proto.deny_path(index, deny, now);
            done.then_some(()).ok_or(EBUSY)
        })
    })
}

/// setsockopt() at level `IPPROTO_IPV6`, of which there is only `IPV6_V6ONLY`.
pub(crate) fn set_ipv6(sock: &Sock, name: u32, value: &OptIn) -> Result {
    if name != bindings::IPV6_V6ONLY {
        return Err(ENOPROTOOPT);
    }
    let on = value.int()? != 0;
    change(sock, |socket| {
        if socket.bound.is_some() || !matches!(socket.phase, Phase::Idle) {
            return Err(EINVAL);
        }
        socket.v6only = on;
        Ok(())
    })
}

/// getsockopt() at level `IPPROTO_IPV6`.
pub(crate) fn get_ipv6(sock: &Sock, name: u32, out: &mut OptOut<'_>) -> Result {
    if name != bindings::IPV6_V6ONLY {
        return Err(ENOPROTOOPT);
    }
    out.int(i32::from(sock::inner(&mut sock.lock()).v6only))
}

/// Changes something under the socket lock.
fn change(sock: &Sock, f: impl FnOnce(&mut Socket) -> Result) -> Result {
    let mut lock = sock.lock();
    let socket = sock::inner(&mut lock);
    f(socket)?;
    if let Phase::Listening(listener) = &socket.phase {
        listener.set_options(socket.options);
    }
    Ok(())
}

fn with_conn(socket: &Socket, f: impl FnOnce(&mut Inner, Ns)) {
    if let Some(conn) = socket.conn() {
        conn.work(f);
    }
}

/// `SO_KEEPALIVE` was switched on a socket.
pub(crate) fn keepalive(sock: &Sock, socket: &mut Socket, on: bool) {
    let keepalive = on.then(|| netns::of(sock).keepalive());
    if let Some(conn) = socket.conn() {
        conn.work(|inner, now| inner.proto.set_keepalive(keepalive, now));
    }
}

/// `SO_RCVBUF` was set on a socket.
pub(crate) fn rcvbuf(sock: &Sock, socket: &mut Socket) {
    if let Some(conn) = socket.conn() {
        conn.work(|inner, _| inner.proto.set_rcv_window(Inner::receive_window(sock)));
    }
}

/// What Nagle's rule held back may go.
fn release_tail(sock: &Sock) {
    let mut lock = sock.lock();
    if let Some(conn) = sock::inner(&mut lock).conn() {
        conn.work(|inner, _| {
            if inner.is_held(Hold::Nagle) {
                inner.hold_tail(Hold::Not);
            }
        });
    }
}

fn path_bytes(socket: &Socket, out: &mut OptOut<'_>) -> Result {
    let Some(conn) = socket.conn() else {
        return Err(ENOTCONN);
    };
    // Copied in pieces, since user memory must not be touched under the lock.
    let size = core::mem::size_of::<u64>();
    let paths = conn.peek(|inner| usize::from(inner.proto.info().entropies));
    for path in 0..paths.min(out.len() / size) {
        let bytes = conn.peek(|inner| inner.path_bytes.get(path).copied().unwrap_or(0));
        out.append(&bytes.to_ne_bytes())?;
    }
    Ok(())
}

fn path_states(socket: &Socket, out: &mut OptOut<'_>) -> Result {
    let conn = socket.conn().ok_or(ENOTCONN)?;
    let mut states = [0; bindings::STRACK_MAX_PATHS as usize];
    let known = conn.peek(|inner| {
        let known = (0..).map_while(|path| inner.proto.path_state(path));
        let places = states.iter_mut().zip(known);
        places
            .map(|(place, state)| *place = path_state_number(state))
            .count()
    });
    out.append(states.get(..known).ok_or(EINVAL)?)
}

fn path_state_number(state: PathState) -> u8 {
    let number = match state {
        PathState::Good => bindings::strack_path_state_STRACK_PATH_GOOD,
        PathState::Skip => bindings::strack_path_state_STRACK_PATH_SKIP,
        PathState::AssumedBad => bindings::strack_path_state_STRACK_PATH_ASSUMED_BAD,
        PathState::Denied => bindings::strack_path_state_STRACK_PATH_DENIED,
        PathState::Spare => bindings::strack_path_state_STRACK_PATH_SPARE,
    };
    number as u8
}

/// `STRACK_INFO`.
fn info(socket: &Socket) -> bindings::strack_info {
    let mut raw = bindings::strack_info {
        sti_size: core::mem::size_of::<bindings::strack_info>() as u32,
        sti_version: bindings::STRACK_INFO_VERSION,
        sti_state: bindings::strack_state_STRACK_CLOSED,
        ..Default::default()
    };
    let conn = match &socket.phase {
        Phase::Idle => return raw,
        Phase::Listening(_) => {
            raw.sti_state = bindings::strack_state_STRACK_LISTEN;
            return raw;
        }
        Phase::Active { conn, .. } => conn,
    };
    let info = conn.peek(|inner| {
        raw.sti_entropy_base = u32::from(inner.proto.entropy_base());
        raw.sti_packets_acked = inner.acked_packets;
        raw.sti_bytes_acked = inner.acked_bytes;
        inner.proto.info()
    });
    raw.sti_state = state_number(info.state);
    raw.sti_mss = u32::from(info.mss);
    raw.sti_paths = u32::from(info.paths);
    raw.sti_paths_bad = u32::from(info.paths_bad);
    raw.sti_retries = u32::from(info.retries);
    raw.sti_cwnd = info.cwnd;
    raw.sti_inflight = info.inflight;
    raw.sti_srtt_ns = info.srtt;
    raw.sti_rttvar_ns = info.rttvar;
    raw.sti_base_rtt_ns = info.base_rtt;
    raw.sti_rto_ns = info.rto;
    raw.sti_packets_sent = info.packets_sent;
    raw.sti_bytes_sent = info.bytes_sent;
    raw.sti_packets_received = info.packets_received;
    raw.sti_bytes_received = info.bytes_received;
    raw.sti_retransmits = info.retransmits;
    raw.sti_fast_retransmits = info.fast_retx;
    raw.sti_timeouts = info.timeouts;
    raw.sti_spurious = info.spurious;
    raw.sti_ce_marks = info.ce_marks;
    raw.sti_duplicates = info.duplicates;
    raw.sti_ooo_high_water = info.ooo_high_water;
    raw.sti_credit = info.send_credit;
    raw.sti_snd_window = u32::try_from(info.send_window).unwrap_or(u32::MAX);
    raw.sti_rcv_window = info.rcv_window;
    let cut = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    raw.sti_target_ns = info.window.target;
    raw.sti_delay_ns = info.window.avg_delay;
    raw.sti_max_cwnd = info.window.max_window;
    raw.sti_proportional = info.window.proportional;
    raw.sti_fair = info.window.fair;
    raw.sti_eta = info.window.eta;
    raw.sti_scale_a = cut(info.window.a);
    raw.sti_scale_b = cut(info.window.b);
    raw.sti_fast = cut(info.window.fast);
    raw.sti_penalty = u32::from(info.penalty);
    raw.sti_reorder_ns = info.reorder_age;
    raw.sti_probe_ns = info.probe_wait;
    raw.sti_reorder_packets = cut(info.reorder_packets);
    raw.sti_stretch = u32::from(info.reorder_stretch);
    raw.sti_refused = info.refused;
    raw
}

fn state_number(state: State) -> u32 {
    match state {
        State::Connecting => bindings::strack_state_STRACK_CONNECTING,
        State::Established => bindings::strack_state_STRACK_ESTABLISHED,
        State::FinWait1 => bindings::strack_state_STRACK_FIN_WAIT1,
        State::FinWait2 => bindings::strack_state_STRACK_FIN_WAIT2,
        State::Closing => bindings::strack_state_STRACK_CLOSING,
        State::LastAck => bindings::strack_state_STRACK_LAST_ACK,
        State::CloseWait => bindings::strack_state_STRACK_CLOSE_WAIT,
        State::TimeWait => bindings::strack_state_STRACK_TIME_WAIT,
        State::Closed => bindings::strack_state_STRACK_CLOSED,
    }
}
