// SPDX-License-Identifier: GPL-2.0

//! What can be seen from outside: counters in `/proc/net/strack/snmp`.

pub(crate) mod counters;
