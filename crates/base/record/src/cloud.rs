//! What a cloud tells a machine about itself. Of no table: it is in the facts of the hosts of a run.

use serde::{Deserialize, Serialize};

/// What a cloud reports about an instance; none for what it does not report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CloudFacts {
    /// Cloud, by any of its names.
    pub cloud: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Zone as this account names it.
    pub zone: Option<String>,
    /// Zone as all accounts name it (AWS).
    pub zone_id: Option<String>,
    /// Instance.
    pub instance_id: Option<String>,
    /// Its type.
    pub instance_type: Option<String>,
    /// Placement group.
    pub placement_group: Option<String>,
    /// Fault domain, where the cloud has some (Azure, Oracle).
    pub fault_domain: Option<String>,
}
