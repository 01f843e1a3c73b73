// SPDX-License-Identifier: GPL-2.0

//! Options of an endpoint's socket, within what the host allows.

use super::super::{
    control::{
        EpOption,
        Value, //
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
    Device,
    Endpoint,
    EpState,
    Host,
    Payload, //
};

/// Options that a driver has set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OptionSet(u32);

impl OptionSet {
    fn add(&mut self, option: EpOption) {
        self.0 |= bit(option);
    }

    fn has(self, option: EpOption) -> bool {
        self.0 & bit(option) != 0
    }
}

/// Their numbers are small.
fn bit(option: EpOption) -> u32 {
    1u32.checked_shl(option as u32).unwrap_or(0)
}

impl<H: Host> Device<H> {
    pub(super) fn ep_setopt(
        &mut self,
        host: &H,
        handle: Handle,
        option: EpOption,
        value: &Value,
        payload: &mut Payload,
    ) -> Result {
        self.check_option(option)?;
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        if endpoint.state == EpState::Error {
            return Err(Status::State);
        }
        let (mut share, mut buffers) = (endpoint.share, self.buffers);
        let value = match value.as_slice() {
            // as long as a number, and so is one, or it would be a name
            &[a, b, c, d] if !option.is_name() => {
                let number = self.policy.clamp(option, u32::from_le_bytes([a, b, c, d]));
                let listens = endpoint.state == EpState::Listening;
                let number = match option {
                    // those of the connections that wait are as large
                    EpOption::Sndbuf | EpOption::Rcvbuf if listens => number.min(FLOOR),
                    EpOption::Sndbuf => buffers.grant(&mut share.send, number),
                    EpOption::Rcvbuf => buffers.grant(&mut share.receive, number),
                    _ => number,
                };
                Value::new().put32(number)
            }
            name => Value::new().put(name),
        };
        let effective = host.set_option(&mut endpoint.socket, option, value.as_slice())?;
        (endpoint.share, self.buffers) = (share, buffers);
        endpoint.options.add(option);
        *payload = Payload::new().put(effective.as_slice());
        Ok(())
    }

    pub(super) fn ep_getopt(
        &mut self,
        host: &H,
        handle: Handle,
        option: EpOption,
        room: usize,
        payload: &mut Payload,
    ) -> Result {
        self.check_option(option)?;
        let endpoint = self.endpoints.get(handle).ok_or(Status::NoEnt)?;
        let value = host.option(&endpoint.socket, option)?;
        if value.as_slice().len() > room {
            return Err(Status::Inval);
        }
        *payload = Payload::new().put(value.as_slice());
        Ok(())
    }

    fn check_option(&self, option: EpOption) -> Result {
        match option.feature() {
            Some(feature) => self.need(feature),
            None => Ok(()),
        }
    }
}

/// Gives a new socket the options and the buffers that an endpoint's has.
pub(super) fn set_like<H: Host>(
    host: &H,
    socket: &mut H::Socket,
    endpoint: &Endpoint<H::Ring, H::Socket>,
) -> Result {
    let buffers = [EpOption::Sndbuf, EpOption::Rcvbuf];
    for option in EpOption::ALL {
        if endpoint.options.has(option) && !buffers.contains(&option) {
            let value = host.option(&endpoint.socket, option)?;
            host.set_option(socket, option, value.as_slice())?;
        }
    }
    resize(host, socket, host.buffers(&endpoint.socket)?)
}
