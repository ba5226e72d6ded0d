//! What a cloud reports about the instance that this process runs on, by the cloud's metadata service. Which cloud it is, the
//! firmware says; no other host is asked. It must not ask for anything that could be a credential: no path of roles, keys
//! or user data is in here.

mod service;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_record::CloudFacts;

pub use service::{Answer, body};
use service::{Request, ask};

/// Time for all questions together.
pub const LIMIT: Duration = Duration::from_millis(300);
/// Where all four clouds have their service: a link-local address, which no router passes on.
const SERVICE: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(169, 254, 169, 254), 80));
/// Maximum length of a fact, bytes; AWS permits 255 in the name of a placement group.
const LONGEST: usize = 255;

/// A cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Google,
    /// Microsoft Azure.
    Azure,
    /// Oracle Cloud Infrastructure.
    Oracle,
}

impl Cloud {
    /// The cloud by the firmware's tables (DMI): names of the maker and of the product, and the tag of the chassis.
    pub fn of_firmware(vendor: &str, product: &str, asset: &str) -> Option<Self> {
        if vendor.contains("Amazon EC2") {
            Some(Cloud::Aws)
        } else if product.contains("Google Compute Engine") {
            Some(Cloud::Google)
        } else if asset == "7783-7084-3265-9085-8269-3286-77" {
            Some(Cloud::Azure)
        } else if asset == "OracleCloud.com" {
            Some(Cloud::Oracle)
        } else {
            None
        }
    }

    /// Its name in facts.
    pub fn as_str(self) -> &'static str {
        match self {
            Cloud::Aws => "aws",
            Cloud::Google => "google",
            Cloud::Azure => "azure",
            Cloud::Oracle => "oracle",
        }
    }
}

/// The cloud by this host's firmware, and the instance type where it has that (AWS).
fn of_this_host() -> Option<(Cloud, Option<String>)> {
    let read = |name: &str| std::fs::read_to_string(format!("/sys/class/dmi/id/{name}")).unwrap_or_default();
    let (vendor, product, asset) = (
        read("sys_vendor"),
        read("product_name"),
        read("chassis_asset_tag"),
    );
    let cloud = Cloud::of_firmware(vendor.trim(), product.trim(), asset.trim())?;
    Some((cloud, fact(product.trim()).filter(|_| cloud == Cloud::Aws)))
}

/// What this host's cloud reports about it. The first call of a process asks, for at most [`LIMIT`]; make it before packets matter.
pub fn this_host() -> Option<&'static CloudFacts> {
    static ASKED: OnceLock<Option<CloudFacts>> = OnceLock::new();
    let asked = || {
        let (cloud, firmware_type) = of_this_host()?;
        let told = instance(cloud);
        Some(CloudFacts {
            cloud: Some(cloud.as_str().to_owned()),
            instance_type: told.instance_type.or(firmware_type),
            ..told
        })
    };
    ASKED.get_or_init(asked).as_ref()
}

/// Asks the service of `cloud`, in the calling thread's namespace, for at most [`LIMIT`].
pub fn instance(cloud: Cloud) -> CloudFacts {
    let deadline = Instant::now() + LIMIT;
    match cloud {
        Cloud::Aws => aws(deadline),
        Cloud::Google => google(deadline),
        Cloud::Azure => azure(deadline),
        Cloud::Oracle => oracle(deadline),
    }
}

/// An answer that is one fact: a line of printable characters.
fn line(request: &Request, deadline: Instant) -> Option<String> {
    fact(&String::from_utf8(ask(SERVICE, request, deadline)?).ok()?)
}

/// The text if it can be a fact.
fn fact(text: &str) -> Option<String> {
    let fits = (1..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    (fits && text.trim() == text).then(|| text.to_owned())
}

/// The last part of a Google name such as `projects/1/zones/europe-west1-b`.
fn last_part(name: String) -> Option<String> {
    fact(name.rsplit('/').next()?)
}

/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html>, by IMDSv2.
fn aws(deadline: Instant) -> CloudFacts {
    let token = Request {
        method: "PUT",
        host: "169.254.169.254",
        path: "/latest/api/token",
        header: ("X-aws-ec2-metadata-token-ttl-seconds", "60"),
        answered_with: None,
    };
    let Some(token) = line(&token, deadline) else {
        return CloudFacts::default();
    };
    let read = |path: &'static str| {
        let request = Request {
            method: "GET",
            path,
            header: ("X-aws-ec2-metadata-token", &token),
            ..get()
        };
        line(&request, deadline)
    };
    CloudFacts {
        instance_id: read("/latest/meta-data/instance-id"),
        instance_type: read("/latest/meta-data/instance-type"),
        region: read("/latest/meta-data/placement/region"),
        zone: read("/latest/meta-data/placement/availability-zone"),
        zone_id: read("/latest/meta-data/placement/availability-zone-id"),
        placement_group: read("/latest/meta-data/placement/group-name"),
        ..CloudFacts::default()
    }
}

/// A plain question.
fn get() -> Request<'static> {
    Request {
        method: "GET",
        host: "169.254.169.254",
        path: "/",
        header: ("Accept", "*/*"),
        answered_with: None,
    }
}

/// <https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys>.
fn google(deadline: Instant) -> CloudFacts {
    let read = |path: &'static str| {
        let request = Request {
            host: "metadata.google.internal",
            path,
            header: ("Metadata-Flavor", "Google"),
            answered_with: Some(("Metadata-Flavor", "Google")),
            ..get()
        };
        line(&request, deadline)
    };
    let zone = read("/computeMetadata/v1/instance/zone").and_then(last_part);
    CloudFacts {
        instance_id: read("/computeMetadata/v1/instance/id"),
        instance_type: read("/computeMetadata/v1/instance/machine-type").and_then(last_part),
        // A zone is its region with a letter.
        region: zone
            .as_deref()
            .and_then(|zone| Some(zone.rsplit_once('-')?.0.to_owned())),
        zone,
        ..CloudFacts::default()
    }
}

/// <https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service>. One question, since more than five a
/// second are refused; in a version whose answer has no user data.
fn azure(deadline: Instant) -> CloudFacts {
    let request = Request {
        path: "/metadata/instance/compute?api-version=2020-09-01&format=json",
        header: ("Metadata", "true"),
        ..get()
    };
    ask(SERVICE, &request, deadline).map_or_else(CloudFacts::default, |answer| of_azure(&answer))
}

/// The facts in an answer of Azure's service.
pub fn of_azure(answer: &[u8]) -> CloudFacts {
    let compute: Value = serde_json::from_slice(answer).unwrap_or_default();
    let text = |key: &str| compute.get(key).and_then(Value::as_str).and_then(fact);
    CloudFacts {
        instance_id: text("vmId"),
        instance_type: text("vmSize"),
        region: text("location"),
        zone: text("zone"),
        placement_group: text("placementGroupId"),
        fault_domain: text("platformFaultDomain"),
        ..CloudFacts::default()
    }
}

/// <https://docs.oracle.com/iaas/Content/Compute/Tasks/gettingmetadata.htm>, key by key: the whole answer has user data.
fn oracle(deadline: Instant) -> CloudFacts {
    let read = |path: &'static str| {
        let request = Request {
            path,
            header: ("Authorization", "Bearer Oracle"),
            ..get()
        };
        line(&request, deadline)
    };
    CloudFacts {
        instance_id: read("/opc/v2/instance/id"),
        instance_type: read("/opc/v2/instance/shape"),
        region: read("/opc/v2/instance/canonicalRegionName"),
        zone: read("/opc/v2/instance/availabilityDomain"),
        fault_domain: read("/opc/v2/instance/faultDomain"),
        ..CloudFacts::default()
    }
}

#[cfg(test)]
mod tests;
