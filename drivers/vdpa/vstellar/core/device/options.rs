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
        let value = match value.as_slice() {
            // as long as a number, and so is one, or it would be a name
            &[a, b, c, d] if !option.is_name() => {
                let number = u32::from_le_bytes([a, b, c, d]);
                Value::new().put32(self.policy.clamp(option, number))
            }
            name => Value::new().put(name),
        };
        let endpoint = self.endpoints.get_mut(handle).ok_or(Status::NoEnt)?;
        if endpoint.state == EpState::Error {
            return Err(Status::State);
        }
        let effective = host.set_option(&mut endpoint.socket, option, value.as_slice())?;
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
