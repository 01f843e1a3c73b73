// SPDX-License-Identifier: GPL-2.0

//! What a network namespace has of this transport.
//!
//! Everything hangs off this object: the UDP sockets, the connections, the bound ports, the counters
//! and the settings. It is made when the namespace is (or the module is loaded) and stopped when no
//! socket is left in it; connections that only wait for their ids to become free again end with it.
//!
//! Many namespaces may end at one time, and other people's wait behind them. What has to be waited for
//! is therefore waited for once for all of them, between [`NetNs::leave`], [`NetNs::stop`] and the end
//! of the object, and not at all for those that nobody has used.

use crate::{
    carrier::Carrier,
    engine::{
        accept::Incoming,
        fifo::Fifo,
        ports::Ports,
        quota::Quota, //
    },
    observe::counters::{
        Counters,
        Event, //
    },
    proto::{
        config::{
            Config,
            KeepAlive,
            PathPolicy,
            Profile, //
        },
        counter::Counter,
        loss,
        spray::{
            MAX_PATHS,
            MIN_ENTROPY, //
        },
        window,
        Ns,
        MSEC,
        SEC,
        USEC, //
    },
    sys::{
        lock::{
            new_bh_lock,
            BhLock, //
        },
        netns::NetHandle,
        random,
        table::Table, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Handshakes that wait for process context at one time; more are dropped, and their clients repeat
/// themselves.
const INCOMING_MAX: usize = 1024;

/// Per-namespace state.
#[pin_data]
pub(crate) struct NetNs {
    /// The kernel's namespace and the settings in it.
    pub(crate) net: NetHandle,
    /// The UDP sockets.
    #[pin]
    pub(crate) carrier: Carrier,
    /// What happened here.
    pub(crate) counters: Counters,
    /// Connections by id.
    pub(crate) conns: Table,
    /// How many of them have no socket.
    pub(crate) quota: Quota,
    /// What is added to the time in cookies: else they would tell everybody for how long this host has
    /// been up, and that two namespaces are of one host. Nanoseconds.
    cookie_epoch: Ns,
    /// Key of the cookies of this namespace's listeners.
    pub(crate) secret: [u64; 2],
    /// Bound ports.
    #[pin]
    pub(crate) ports: Ports,
    /// Handshakes whose client has shown its address, on their way to process context. Receive
    /// softirq and the accept work.
    #[pin]
    pub(crate) incoming: BhLock<Fifo<Incoming>>,
}

impl NetNs {
    /// Makes the state of a new namespace. Process context.
    pub(crate) fn start(net: NetHandle) -> Result<Arc<NetNs>> {
        let counters = Counters::new(&net)?;
        let conns = Table::new()?;
        let ports = Ports::new()?;
        let incoming = Fifo::new(INCOMING_MAX, GFP_KERNEL_ACCOUNT)?;
        Arc::pin_init(
            try_pin_init!(NetNs {
                net,
                carrier <- Carrier::new(),
                counters,
                conns,
                quota: Quota::new(),
                cookie_epoch: random() >> 2,
                secret: [random(), random()],
                ports <- ports,
                incoming <- new_bh_lock!(incoming, "strack::NetNs::incoming"),
            }),
            GFP_KERNEL_ACCOUNT,
        )
    }

    /// The namespace ends: no socket is left in it. Process context.
    pub(crate) fn leave(&self) {
        self.carrier.leave();
    }

    /// Ends everything in the namespace, an RCU grace period after [`NetNs::leave`]; no work runs any
    /// more. Process context.
    ///
    /// If it returns true, callbacks of connections are still under way: `rcu_barrier()` waits for
    /// them. After that nobody has a connection of this namespace any more.
    pub(crate) fn stop(&self) -> bool {
        // First what brings packets in, then what they would find.
        let used = self.carrier.close();
        while let Some(conn) = self.conns.first() {
            conn.discard();
        }
        used
    }

    /// Opens the UDP sockets, if they are not open yet. Process context.
    pub(crate) fn open_carrier(self: &Arc<Self>) -> Result {
        self.carrier.open(self)
    }

    /// Counts something that the protocol has a name for.
    pub(crate) fn count(&self, counter: Counter) {
        self.counters.add(counter, 1);
    }

    /// Counts something that only exists in the kernel.
    pub(crate) fn event(&self, event: Event) {
        self.counters.event(event);
    }

    /// Slots in the packet rings of each connection.
    pub(crate) fn window_packets(&self) -> u32 {
        Config::default().window_packets
    }

    /// The clock that cookies are dated by, of which `now` is the time on the kernel's. It runs as fast,
    /// in coarse steps, and began at some random time.
    pub(crate) fn cookie_clock(&self, now: Ns) -> Ns {
        (now - now % MSEC).saturating_add(self.cookie_epoch)
    }

    /// The settings as they are now, for a connection about to be made.
    pub(crate) fn config(&self) -> Config {
        let sysctl = &self.net;
        let mut params = sysctl.params();
        let mut param = || params.next().unwrap_or(0);
        let mut config = Config {
            paths: u16::try_from(sysctl.paths()).unwrap_or(1),
            burst_max: u16::try_from(sysctl.burst_max()).unwrap_or(1),
            rto_min: Ns::from(sysctl.rto_min_us()) * USEC,
            rto_max: Ns::from(sysctl.rto_max_us()) * USEC,
            retries: u8::try_from(sysctl.retries()).unwrap_or(u8::MAX),
            link_bytes_per_sec: u64::from(sysctl.link_mbps()) * (1_000_000 / 8),
            base_rtt: Ns::from(sysctl.base_rtt_us()) * USEC,
            min_target: Ns::from(sysctl.target_delay_us()) * USEC,
            time_wait: Ns::from(sysctl.time_wait_ms()) * MSEC,
            seed: random(),
            entropy_base: random_entropy_base(),
            nscc: window::Params::read(&mut param),
            loss: loss::Params::read(&mut param),
            ..Config::default()
        };
        if let Some(&(_, profile)) = Profile::ALL.get(sysctl.profile() as usize) {
            config.set_profile(profile);
        }
        // The first name stands for the profile's own policy.
        let policy = (sysctl.path_policy() as usize).checked_sub(1);
        if let Some(&(_, policy)) = policy.and_then(|policy| PathPolicy::ALL.get(policy)) {
            config.policy = policy;
        }
        config.initial_window = match sysctl.initial_window() {
            0 => config.hinted_window(),
            bytes => bytes.into(),
        };
        config
    }

    /// What `SO_KEEPALIVE` means here.
    pub(crate) fn keepalive(&self) -> KeepAlive {
        let sysctl = &self.net;
        KeepAlive {
            idle: Ns::from(sysctl.keepalive_time()) * SEC,
            interval: Ns::from(sysctl.keepalive_intvl()) * SEC,
            probes: u8::try_from(sysctl.keepalive_probes()).unwrap_or(u8::MAX),
        }
    }
}

/// Where the paths of a connection start: random, so that connections between the same hosts do not
/// share theirs, and low enough that `MAX_PATHS` fit.
fn random_entropy_base() -> u16 {
    const SPAN: u16 = u16::MAX - MIN_ENTROPY - MAX_PATHS;
    MIN_ENTROPY + (random() as u16) % SPAN
}

/// One random entropy value, for packets of no connection.
pub(crate) fn random_entropy() -> u16 {
    random_entropy_base()
}
