// SPDX-License-Identifier: GPL-2.0

//! bindings.rs: where rustc believes the fields to be that Rust touches, and how large the types
//! are that it embeds, against what the C compiler says.
//!
//! bindgen's own checks compare rustc with libclang, which reads the headers with other flags than the
//! compiler that builds the kernel. Bit fields have no offset: see sock_kunit.rs.

use super::bindings;
use core::mem::{
    offset_of,
    size_of, //
};
use kernel::{
    prelude::*,
    str::CStr, //
};

/// Size of the field that `get` leads to.
const fn size_behind<T, F>(_get: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Name, offset and size, in the order of the list in helpers.c.
macro_rules! layouts {
    ($($ty:ident $(. $field:ident)?,)*) => {
        &[$(layouts!(@one $ty $(. $field)?)),*]
    };
    (@one $ty:ident) => {
        (stringify!($ty), 0, size_of::<bindings::$ty>())
    };
    (@one $ty:ident . $field:ident) => {
        (
            concat!(stringify!($ty), ".", stringify!($field)),
            offset_of!(bindings::$ty, $field),
            size_behind(|it: &bindings::$ty| &it.$field),
        )
    };
}

const LAYOUTS: &[(&str, usize, usize)] = layouts![
    sk_buff,
    sk_buff.len,
    sk_buff.truesize,
    sock,
    sock.sk_rcvbuf,
    sock.sk_sndbuf,
    sock.sk_mark,
    sock.sk_err,
    sock.sk_lingertime,
    sock.sk_uid,
    sock.sk_ack_backlog,
    sock.sk_shutdown,
    sock_common,
    sock_common.skc_bound_dev_if,
    sock_common.skc_state,
    socket,
    socket.sk,
    sockaddr_in6,
    sockaddr_in6.sin6_family,
    sockaddr_in6.sin6_port,
    sockaddr_in6.sin6_addr,
    sockaddr_in6.sin6_scope_id,
    msghdr,
    msghdr.msg_iter,
    msghdr.msg_ubuf,
    msghdr.msg_namelen,
    msghdr.msg_flags,
    iov_iter,
    hrtimer,
    spinlock,
    callback_head,
    work_struct,
    completion,
    strack_kunit_ubuf,
    proto_accept_arg,
    proto_accept_arg.flags,
    strack_sock,
    strack_sock.poll,
    strack_sock.inner,
    strack_poll,
    strack_net,
    strack_net.sysctl,
    strack_net.net,
    strack_net.accept_work,
    strack_net.priv_,
    strack_sysctl,
    strack_sysctl.path_policy,
    strack_sysctl.keepalive_probes,
    strack_node,
    strack_node.owner,
    strack_node.cid,
    strack_node.peer_cid,
    strack_node.peer,
    strack_udp_rx,
    strack_udp_rx.ifindex,
    strack_udp_tx,
    strack_udp_tx.df,
    strack_udp_flow,
    strack_udp_flow.tos,
    strack_udp_icmp,
    strack_udp_icmp.header,
];

#[kunit_tests(strack_layout)]
mod suite {
    use super::*;

    #[test]
    fn rust_agrees_with_c() -> Result {
        let mut count = 0;
        // SAFETY: No requirements.
        let first = unsafe { bindings::strack_c_kunit_layouts(&mut count) };
        // SAFETY: An array of so many, which does not change.
        let known = unsafe { core::slice::from_raw_parts(first, count) };
        let mut differ = 0;
        for (c, rust) in known.iter().zip(LAYOUTS) {
            // SAFETY: A string literal.
            let name = unsafe { CStr::from_char_ptr(c.name) };
            if name.to_bytes() != rust.0.as_bytes() || (c.offset, c.size) != (rust.1, rust.2) {
                pr_info!(
                    "C has {} at {}, {} bytes; Rust {} at {}, {} bytes\n",
                    name,
                    c.offset,
                    c.size,
                    rust.0,
                    rust.1,
                    rust.2
                );
                differ += 1;
            }
        }
        assert_eq!(differ, 0);
        assert_eq!(known.len(), LAYOUTS.len());
        Ok(())
    }
}
