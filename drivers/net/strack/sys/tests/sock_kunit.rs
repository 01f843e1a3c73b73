// SPDX-License-Identifier: GPL-2.0

//! sys/sock.rs: words of `struct sock` that Rust reads and writes by itself, as C has them.

use super::{
    bindings,
    Fixture, //
};
use crate::sys::sock::{
    PollBuffers,
    RCV_SHUTDOWN,
    SEND_SHUTDOWN, //
};
use kernel::prelude::*;

/// Each field another value, and none what a new socket has.
const VALUES: bindings::strack_kunit_sock = bindings::strack_kunit_sock {
    rcvbuf: 0x0102_0304,
    sndbuf: 0x0506_0708,
    mark: 0x8a0b_0c0d,
    err: 111,
    linger: 0x1111_2222_3333,
    dev: 0x0e0f,
    uid: 0xfff0_1234,
    reuse: true,
    state: 10,
    shutdown: 2,
    backlog: 0x2021_2223,
    readable: 0x3031_3233,
    unsent: 0x4041_4243,
    full: true,
};

#[kunit_tests(strack_sock)]
mod suite {
    use super::*;

    #[test]
    fn reads_what_c_writes() -> Result {
        let fixture = Fixture::new()?;
        fixture.write(&VALUES);
        let sock = fixture.sock();
        assert_eq!(sock.rcvbuf(), VALUES.rcvbuf);
        assert_eq!(sock.sndbuf(), VALUES.sndbuf);
        assert_eq!(sock.mark(), VALUES.mark);
        assert_eq!(sock.err(), VALUES.err);
        assert_eq!(sock.linger_time(), VALUES.linger);
        assert_eq!(sock.bound_dev(), VALUES.dev);
        assert_eq!(sock.uid(), VALUES.uid);
        assert!(sock.reuse());
        assert_eq!(sock.state(), u32::from(VALUES.state));
        assert_eq!(sock.shutdown(), VALUES.shutdown);
        assert_eq!(sock.waiting(), VALUES.backlog);
        let published = sock.published();
        assert_eq!(published.readable, VALUES.readable);
        assert_eq!(published.unsent, VALUES.unsent);
        assert!(published.full);

        fixture.write(&bindings::strack_kunit_sock {
            reuse: false,
            full: false,
            ..VALUES
        });
        assert!(!sock.reuse());
        assert!(!sock.published().full);
        Ok(())
    }

    #[test]
    fn writes_what_c_reads() -> Result {
        let fixture = Fixture::new()?;
        let sock = fixture.sock();
        sock.set_state(7);
        sock.set_waiting(42);
        sock.clear_shutdown();
        sock.add_shutdown(RCV_SHUTDOWN);
        assert_eq!(fixture.read().shutdown, RCV_SHUTDOWN);
        sock.add_shutdown(SEND_SHUTDOWN);
        sock.publish(PollBuffers {
            readable: 11,
            unsent: 12,
            full: true,
        });
        let seen = fixture.read();
        assert_eq!((seen.state, seen.backlog), (7, 42));
        assert_eq!(seen.shutdown, RCV_SHUTDOWN | SEND_SHUTDOWN);
        assert_eq!((seen.readable, seen.unsent, seen.full), (11, 12, true));
        // Nothing else has changed.
        let same = |other: &bindings::strack_kunit_sock| {
            (
                other.rcvbuf,
                other.sndbuf,
                other.mark,
                other.err,
                other.dev,
                other.uid,
            )
        };
        assert!(same(&seen) == same(&fixture.before));
        sock.clear_shutdown();
        assert_eq!(fixture.read().shutdown, 0);
        Ok(())
    }

    #[test]
    fn pending_error_is_taken_once() -> Result {
        let fixture = Fixture::new()?;
        let sock = fixture.sock();
        sock.set_err(ECONNRESET);
        assert_eq!(fixture.read().err, 104);
        assert_eq!(sock.err_after_state(), 104);
        assert_eq!(sock.take_error(), Err(ECONNRESET));
        assert_eq!(sock.take_error(), Ok(()));
        Ok(())
    }
}
