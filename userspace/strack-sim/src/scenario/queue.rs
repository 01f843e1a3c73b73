// SPDX-License-Identifier: GPL-2.0
//! What switches do with packets.

use super::bad;
use super::BadInput;
use crate::net::Choice;
use crate::net::Ecn;
use crate::net::Pfc;
use crate::net::QueueRules;
use crate::topology::Topology;
use crate::unit::Size;
use serde::Deserialize;

/// How packets are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Marking {
    /// Not at all.
    Off,
    /// With a probability that rises with the queue.
    #[default]
    Red,
    /// All of them from `ecn-min` on.
    Step,
}

/// The queues of switches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Queue {
    /// Bytes that can wait on each link; by default one bandwidth-delay product with
    /// trimming and five without.
    pub capacity: Option<Size>,
    /// How packets are marked.
    pub ecn: Marking,
    /// Where marking begins; by default at 0.2 bandwidth-delay products.
    pub ecn_min: Option<Size>,
    /// From where on all packets are marked; by default 0.8 bandwidth-delay products.
    pub ecn_max: Option<Size>,
    /// Probability of a mark just below `ecn-max`.
    pub ecn_most: f64,
    /// Whether data that does not fit is cut to its header.
    pub trim: bool,
    /// Whether switches stop senders instead of dropping.
    pub pfc: bool,
    /// Bytes from one link at which its sender is stopped; by default 0.8
    /// bandwidth-delay products of one link.
    pub pfc_stop: Option<Size>,
    /// Bytes from one link at which it may go on; by default three quarters of that.
    pub pfc_go: Option<Size>,
    /// How switches choose among equal links.
    pub choice: Choice,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            capacity: None,
            ecn: Marking::default(),
            ecn_min: None,
            ecn_max: None,
            ecn_most: 1.0,
            trim: false,
            pfc: false,
            pfc_stop: None,
            pfc_go: None,
            choice: Choice::default(),
        }
    }
}

impl Queue {
    /// The rules for each link between switches and to hosts.
    pub fn rules(&self, topology: &Topology) -> Result<QueueRules, BadInput> {
        let pipe = topology.pipe();
        let or = |size: Option<Size>, default: u64| size.map_or(default, |size| size.0);
        let capacity = or(self.capacity, if self.trim { pipe } else { 5 * pipe });
        if self.pfc && self.trim {
            return bad("queue: with pfc nothing is left to trim".to_string());
        }
        if self.pfc && self.capacity.is_some() {
            return bad("queue: with pfc the capacity is not the limit, pfc-stop is".to_string());
        }
        let unused = match self.ecn {
            Marking::Off => [self.ecn_min, self.ecn_max].iter().any(Option::is_some),
            Marking::Step => self.ecn_max.is_some(),
            Marking::Red => false,
        };
        if unused {
            return bad("queue: thresholds that this kind of ecn has no use for".to_string());
        }
        let (min, max) = (or(self.ecn_min, pipe / 5), or(self.ecn_max, pipe / 5 * 4));
        if self.ecn == Marking::Red && min >= max {
            return bad(format!("queue: ecn-min {min} is not below ecn-max {max}"));
        }
        if !(0.0..=1.0).contains(&self.ecn_most) {
            return bad(format!("queue: {} is no probability", self.ecn_most));
        }
        Ok(QueueRules {
            capacity: if self.pfc { u64::MAX } else { capacity },
            ecn: match self.ecn {
                Marking::Off => Ecn::Off,
                Marking::Step => Ecn::Step(min),
                Marking::Red => Ecn::Red {
                    min,
                    max,
                    most: self.ecn_most,
                },
            },
            trim: self.trim,
        })
    }

    /// Priority flow control, if it is wanted.
    pub fn pfc(&self, topology: &Topology) -> Result<Option<Pfc>, BadInput> {
        if !self.pfc {
            if self.pfc_stop.is_some() || self.pfc_go.is_some() {
                return bad("queue: pfc-stop and pfc-go need pfc".to_string());
            }
            return Ok(None);
        }
        let stop = self.pfc_stop.map_or(topology.pipe() / 5 * 4, |size| size.0);
        let go = self.pfc_go.map_or(stop / 4 * 3, |size| size.0);
        if go > stop || go == 0 {
            return bad(format!(
                "queue: pfc-go {go} is zero or above pfc-stop {stop}"
            ));
        }
        Ok(Some(Pfc { stop, go }))
    }
}
