// SPDX-License-Identifier: GPL-2.0

//! The life of an endpoint, as far as the driver moves it.
//!
//! ```text
//! Created ─► Bound ─► Listening
//!    │         │
//!    └────┬────┘         accept (another's connection)
//!         ▼              ▼
//!    Connecting ─► Connected ─► Closed               any of them ─► Error
//! ```

use super::super::{
    abi,
    control::{
        Address,
        Direction, //
    },
    status::{
        Result,
        Status, //
    },
    table::Handle, //
};
use super::{
    buffers::FLOOR,
    create::resize,
    options::set_like,
    Device,
    EpState,
    Host,
    Payload, //
};

/// Connections that may wait, whatever a listener asks for.
const BACKLOG_MAX: u32 = 4096;

/// Ports that are tried to find a free one.
const PORT_TRIES: u32 = 64;

impl<H: Host> Device<H> {
    pub(super) fn ep_bind(
        &mut self,
        host: &H,
        handle: Handle,
        wish: &Address,
        payload: &mut Payload,
    ) -> Result {
        let endpoint = self.endpoints.get(handle).ok_or(Status::NoEnt)?;
        endpoint.check_state(&[EpState::Created])?;
        let local = self.policy.local(wish)?;
        let chosen = self.bind(host, handle, &local)?;
        *payload = Payload::new().put(chosen.encode().as_slice());
        Ok(())
    }

    fn bind(&mut self, host: &H, handle: Handle, local: &Address) -> Result<Address> {
        let restricted = self.policy.restricts();
        let (first, last) = (self.policy.first_port, self.policy.last_port);
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        if local.port != 0 || !restricted {
            let chosen = host.bind(&mut endpoint.socket, local)?;
            endpoint.advance(&[EpState::Created], EpState::Bound)?;
            return Ok(chosen);
        }
        for _ in 0..PORT_TRIES {
            let port = self.next_port;
            self.next_port = if port >= last {
                first
            } else {
                port.saturating_add(1)
            };
            match host.bind(&mut endpoint.socket, &Address { port, ..*local }) {
                Err(Status::AddrInUse) => {}
                Err(status) => return Err(status),
                Ok(chosen) => {
                    endpoint.advance(&[EpState::Created], EpState::Bound)?;
                    return Ok(chosen);
                }
            }
        }
        Err(Status::AddrInUse)
    }

    pub(super) fn ep_listen(&mut self, host: &H, handle: Handle, backlog: u32) -> Result {
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        endpoint.check_state(&[EpState::Bound, EpState::Listening])?;
        let (mut share, mut buffers) = (endpoint.share, self.buffers);
        let sizes = host.buffers(&endpoint.socket)?;
        let sizes = sizes.map(|size| size.min(FLOOR));
        for held in [&mut share.send, &mut share.receive] {
            buffers.grant(held, 0);
        }
        let backlog = buffers.backlog(&mut share.waiting, backlog.min(BACKLOG_MAX));
        resize(host, &mut endpoint.socket, sizes)?;
        host.listen(&mut endpoint.socket, backlog)?;
        (endpoint.share, self.buffers) = (share, buffers);
        endpoint.state = EpState::Listening;
        self.publish(handle);
        Ok(())
    }

    pub(super) fn ep_connect(
        &mut self,
        host: &H,
        handle: Handle,
        peer: &Address,
        timeout_ms: u32,
        now: u64,
    ) -> Result {
        let endpoint = self.endpoints.get(handle).ok_or(Status::NoEnt)?;
        endpoint.check_state(&[EpState::Created, EpState::Bound])?;
        if endpoint.queues.is_none() {
            return Err(Status::State);
        }
        self.policy.destination(peer)?;
        self.rate.take(self.policy.connections, now)?;
        // the socket would choose what the device may not have
        let chosen = endpoint.state == EpState::Created && self.policy.restricts();
        if chosen {
            let local = self.policy.local(&Address::ANY)?;
            self.bind(host, handle, &local)?;
        }
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        if let Err(status) = host.connect(&mut endpoint.socket, peer, timeout_ms) {
            if chosen {
                self.unbind(host, handle);
            }
            return Err(status);
        }
        endpoint.state = EpState::Connecting;
        self.publish(handle);
        Ok(())
    }

    /// Takes back the address that the device has chosen. A socket keeps what it was bound to, so this is
    /// another one; if none can be had, the endpoint stays bound, and is good for connecting still.
    fn unbind(&mut self, host: &H, handle: Handle) {
        let Some(endpoint) = self.endpoints.get_mut(handle) else {
            return;
        };
        let Ok(mut socket) = host.socket(endpoint.messages) else {
            return;
        };
        if set_like(host, &mut socket, endpoint).is_ok() {
            core::mem::swap(&mut endpoint.socket, &mut socket);
            endpoint.state = EpState::Created;
        }
        host.close(socket, true, &mut self.emtt);
    }

    pub(super) fn ep_accept(
        &mut self,
        host: &H,
        listener: Handle,
        handle: Handle,
        payload: &mut Payload,
        now: u64,
    ) -> Result {
        let endpoint = self.endpoints.get(handle).ok_or(Status::NoEnt)?;
        endpoint.check_state(&[EpState::Created])?;
        if endpoint.queues.is_none() {
            return Err(Status::State);
        }
        let (messages, sizes) = (endpoint.messages, host.buffers(&endpoint.socket)?);
        let listening = self.endpoints.get_mut(listener).ok_or(Status::NoEnt)?;
        listening.check_state(&[EpState::Listening])?;
        if listening.messages != messages {
            return Err(Status::Inval);
        }
        if let Err(status) = self.rate.take(self.policy.connections, now) {
            // the connection stays where it is, and need not be followed by another
            listening.accept_armed = true;
            if let Some(ms) = self.rate.wait(self.policy.connections) {
                host.look_in(&mut listening.socket, ms);
            }
            return Err(status);
        }
        let accepted = match host.accept(&mut listening.socket) {
            Ok(accepted) => accepted,
            Err(status) => {
                listening.accept_armed |= status == Status::Again;
                return Err(status);
            }
        };
        let Some(endpoint) = self.endpoints.get_mut(handle) else {
            host.close(accepted.socket, true, &mut self.emtt);
            return Err(Status::NoEnt);
        };
        let unused = core::mem::replace(&mut endpoint.socket, accepted.socket);
        // if not, it has those of the listener, which are smaller
        let _ = resize(host, &mut endpoint.socket, sizes);
        endpoint.state = EpState::Connected;
        host.close(unused, true, &mut self.emtt);
        self.counters.connections = self.counters.connections.saturating_add(1);
        self.publish(handle);
        *payload = Payload::new()
            .put(accepted.peer.encode().as_slice())
            .put(accepted.local.encode().as_slice());
        Ok(())
    }

    pub(super) fn ep_shutdown(&mut self, host: &H, handle: Handle, direction: Direction) -> Result {
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        endpoint.check_state(&[EpState::Connected])?;
        host.shutdown(&mut endpoint.socket, direction)?;
        if direction != Direction::Read {
            self.finished(handle);
        }
        if direction != Direction::Write {
            self.ended(handle);
        }
        Ok(())
    }

    /// Resets the connection of an endpoint that stays until its entries are completed, after which
    /// nobody reads their buffers.
    pub(super) fn ep_abort(&mut self, host: &H, handle: Handle) -> Result {
        self.need(abi::F_ZC)?;
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        endpoint.check_state(&[
            EpState::Connecting,
            EpState::Connected,
            EpState::Closed,
            EpState::Error,
        ])?;
        host.abort(&mut endpoint.socket)?;
        if let Some(queues) = &mut endpoint.queues {
            if let Some(lending) = &mut queues.lending {
                lending.cut();
            }
        }
        self.failed(handle, Status::Canceled);
        Ok(())
    }

    pub(super) fn ep_query(&mut self, host: &H, handle: Handle, payload: &mut Payload) -> Result {
        let endpoint = self.endpoints.get(handle).ok_or(Status::NoEnt)?;
        let info = host.info(&endpoint.socket);
        *payload = Payload::new()
            .put32(endpoint.state_word())
            .put32(u32::from(endpoint.error().code()))
            .put(info.local.encode().as_slice())
            .put(info.peer.encode().as_slice())
            .put64(endpoint.tx_bytes)
            .put64(endpoint.rx_bytes)
            .put32(info.paths)
            .put32(info.mss)
            .put64(info.srtt)
            .put64(info.retransmits);
        Ok(())
    }
}
