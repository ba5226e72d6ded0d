//! IPv4 and IPv6 beside each other, where the far host answers over both: the same payloads over either, since the headers of
//! one are longer. Pure; it must not know how a step is made.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use super::{MTU_BYTES, SETUP_NS, Step, StepSummary, Survey, bytes_of, carried_length};
use crate::flows::{DirectionSummary, FlowsPlan, SHORTEST};
use crate::path_mtu::{MtuSummary, largest_payload, overhead};
use crate::rtt::{RttPlan, RttSummary, Span};

/// RTT windows of each family: their packets, the time between them, and how long they are sent.
const WINDOW: u32 = 4;
const INTERVAL_NS: u64 = 50_000_000;
const RTT_NS: u64 = 2_000_000_000;
/// Payload of the RTT windows.
const RTT_LENGTH: u32 = 100;

/// IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpVersion {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl IpVersion {
    /// Of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() {
            IpVersion::Ipv4
        } else {
            IpVersion::Ipv6
        }
    }

    /// IP and UDP header bytes in front of each payload.
    pub fn header_bytes(self) -> u32 {
        overhead(match self {
            IpVersion::Ipv4 => Ipv4Addr::UNSPECIFIED.into(),
            IpVersion::Ipv6 => Ipv6Addr::UNSPECIFIED.into(),
        })
    }

    /// `IPv4` or `IPv6`.
    pub fn as_str(self) -> &'static str {
        match self {
            IpVersion::Ipv4 => "IPv4",
            IpVersion::Ipv6 => "IPv6",
        }
    }
}

/// What the path is like over one IP version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FamilySummary {
    /// IP version.
    pub version: IpVersion,
    /// The far host's address.
    pub address: IpAddr,
    /// Path MTU; none without that step.
    pub mtu: Option<MtuSummary>,
    /// RTT of short windows; none without that step.
    pub rtt: Option<RttSummary>,
    /// The forward flow test; none without that step.
    pub flows: Option<DirectionSummary>,
}

impl FamilySummary {
    fn new(address: IpAddr) -> Self {
        FamilySummary {
            version: IpVersion::of(address),
            address,
            mtu: None,
            rtt: None,
            flows: None,
        }
    }

    /// The longest payload that the path MTU of both directions allows, bytes.
    pub fn longest_payload(&self) -> Option<u32> {
        Some(largest_payload(self.address, self.mtu.as_ref()?.smallest()?))
    }
}

/// The comparison of a survey.
#[derive(Clone, Debug)]
pub(super) struct Families {
    /// That of the survey first.
    found: [FamilySummary; 2],
    /// Steps made.
    made: u32,
}

impl Families {
    /// All that was found; nothing before the first step of the other family.
    pub fn found(&self) -> Vec<FamilySummary> {
        if self.made == 0 {
            return Vec::new();
        }
        self.found.to_vec()
    }
}

impl Survey {
    /// The same survey, which then compares both IP versions: the far host answers at `other`, too.
    #[must_use]
    pub fn beside(mut self, other: IpAddr) -> Self {
        let found = [self.peer, other].map(FamilySummary::new);
        self.families = Some(Families { found, made: 0 });
        self
    }

    /// Time and payload bytes of the comparison, if there is one; `length` is the longest payload.
    pub(super) fn estimate_of_families(&self, length: u32) -> (u64, u64) {
        if self.families.is_none() {
            return (0, 0);
        }
        let steps = [self.family_rtt(), self.family_flows(length)];
        let (time, bytes) = self.total(steps.iter());
        (2 * (time + SETUP_NS), 2 * bytes + MTU_BYTES)
    }

    /// The next step of the comparison, with the address that it is for and the bytes that it may send; none at its end.
    pub fn next_of_families(&self) -> Option<(IpAddr, Step, u64)> {
        let families = self.families.as_ref()?;
        let [own, other] = &families.found;
        let length = self.shared_length(own, other);
        let (of, step) = match families.made {
            0 => (other, Step::Mtu),
            1 => (own, self.family_rtt()),
            2 => (other, self.family_rtt()),
            3 => (own, self.family_flows(length?)),
            4 => (other, self.family_flows(length?)),
            _ => return None,
        };
        let left = self.plan.max_bytes.saturating_sub(self.found.bytes);
        let (_, bytes) = step.estimate(self.limits.max_rate);
        (bytes <= left).then_some((of.address, step, left))
    }

    /// Takes what a step of the comparison found.
    pub fn on_result_of_families(&mut self, step: &Step, summary: StepSummary) {
        self.found.bytes += bytes_of(step, &summary);
        let Some(families) = &mut self.families else {
            return;
        };
        let [own, other] = &mut families.found;
        let of = match families.made {
            1 | 3 => own,
            _ => other,
        };
        match summary {
            StepSummary::Mtu(mtu) => of.mtu = Some(mtu),
            StepSummary::Rtt(rtt) => of.rtt = Some(*rtt),
            StepSummary::Flows(flows) => of.flows = flows.forward,
            StepSummary::Tcp(_) => {}
        }
        if families.made == 0 {
            families.found[0].mtu = self.found.mtu;
        }
        families.made += 1;
    }

    /// The payload of the sweep over the flows, where it fits into packets of both families.
    fn shared_length(&self, own: &FamilySummary, other: &FamilySummary) -> Option<u32> {
        let fits = own.longest_payload()?.min(other.longest_payload()?);
        let carried = carried_length(&self.found.by_length)?;
        Some(carried.min(fits)).filter(|length| *length >= SHORTEST)
    }

    fn family_rtt(&self) -> Step {
        let duration_ns = RTT_NS.min(self.limits.max_duration_ns);
        Step::Rtt(RttPlan {
            window: Span::fixed(WINDOW),
            length: Span::fixed(RTT_LENGTH.min(self.limits.max_length)),
            interval_ns: INTERVAL_NS,
            duration_ns,
            over_ns: duration_ns,
            ..RttPlan::default()
        })
    }

    fn family_flows(&self, length: u32) -> Step {
        let plan = FlowsPlan {
            format: self.plan.format,
            length,
            flows: self.usual_flows(),
            duration_ns: self.plan.step_ns,
            ..FlowsPlan::default()
        };
        Step::Flows(
            self.held
                .lowered(&plan.with_bursts_of_media(), self.plan.format.rate()),
        )
    }
}
