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
    Device,
    EpState,
    Host,
    Payload, //
};

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
