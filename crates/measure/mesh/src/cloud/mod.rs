//! Machines in clouds as configuration for Terraform or OpenTofu: one small module for each place, with all that its
//! machines need and nothing shared with other places. Pure: it writes JSON and never calls anything.
//!
//! Everything that can carry tags has `weir-run` and `weir-delete-after`; the rest has the run in its name. A machine
//! ends by itself at its deadline as far as its cloud lets it. Rules let in SSH from the operator, and the mesh's own
//! hosts: their addresses are known after a first apply only, so that a module is written a second time with them.

mod aws;
mod azure;
pub mod cloud_init;
mod gcp;
pub mod hosts;
mod image;
pub mod leftovers;
pub mod network;
mod oracle;
mod own;
pub mod record;
pub mod verdict;

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::MeshError;
use crate::fault::shown;
use crate::place::{PlaceName, cloud};

pub use image::Image;
use network::{Mtu, Network, Placement};

/// Tag (AWS, Azure, Oracle) or label (Google Cloud) with the launch that something belongs to.
pub const RUN_TAG: &str = "weir-run";
/// Tag with the time after which it may be removed, Unix seconds.
pub const DELETE_AFTER_TAG: &str = "weir-delete-after";
/// User on launched machines.
pub const USER: &str = "weir";
/// Terraform's first version with `terraform_data`; all of OpenTofu's are newer.
const LEAST_VERSION: &str = ">= 1.4";
/// Addresses of a mesh that one security group of AWS takes; its quota is 60 rules.
const MESH_PER_GROUP: usize = 50;
/// Most hosts of a launch: AWS takes five groups for an interface, of which one is the operator's.
pub const MOST_HOSTS: usize = 4 * MESH_PER_GROUP;

/// Processor of the machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arch {
    /// x86-64.
    #[default]
    X86,
    /// 64-bit ARM.
    Arm,
}

impl Arch {
    /// As `uname -m` names it.
    pub fn machine(self) -> &'static str {
        match self {
            Arch::X86 => "x86_64",
            Arch::Arm => "aarch64",
        }
    }
}

/// A range of IPv4 addresses, from which the operator comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    first: Ipv4Addr,
    prefix: u8,
}

impl FromStr for Range {
    type Err = MeshError;

    fn from_str(text: &str) -> Result<Self, MeshError> {
        let bad = || MeshError::BadForm {
            text: shown(text),
            what: "range of IPv4 addresses",
            form: "write an address, as in 203.0.113.7, or a range of at most 65536, as in 203.0.113.0/24",
        };
        let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
        let address: Ipv4Addr = address.parse().map_err(|_| bad())?;
        let prefix: u8 = prefix.parse().map_err(|_| bad())?;
        // A wider one is as good as none.
        if !(16..=32).contains(&prefix) {
            return Err(bad());
        }
        let first = Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - u32::from(prefix))));
        Ok(Range { first, prefix })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Which zone of its region a machine is in.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    /// Any, and for all such machines of a place the same.
    #[default]
    Any,
    /// The first, the second and so on of those that the region has, from 1.
    Nth(u16),
    /// By the cloud's name.
    Named(String),
}

impl Zone {
    /// What a plan says: nothing, a number, or a name.
    pub fn of(text: &str) -> Zone {
        match text.parse() {
            _ if text.is_empty() => Zone::Any,
            Ok(number) if number > 0 => Zone::Nth(number),
            _ => Zone::Named(text.to_owned()),
        }
    }

    /// Its index in a list of zones, where that is known.
    fn index(&self) -> Option<usize> {
        match self {
            Zone::Any => Some(0),
            Zone::Nth(number) => Some(usize::from(*number) - 1),
            Zone::Named(_) => None,
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Any => Ok(()),
            Zone::Nth(number) => write!(f, "{number}"),
            Zone::Named(name) => f.write_str(name),
        }
    }
}

/// The keys of a launch, as OpenSSH writes them.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// The operator's, public.
    pub operator_public: String,
    /// The machines', private: so that the first connection is to the right one.
    pub host_private: String,
    /// Its public part.
    pub host_public: String,
}

/// What all machines of a launch have in common.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Word in names and tags: at most 20 lowercase letters and digits.
    pub run: String,
    /// When machines end by themselves, Unix seconds.
    pub delete_after_unix_s: i64,
    /// How long they live at most, seconds.
    pub life_s: u64,
    /// Their processor.
    pub arch: Arch,
    /// Where the operator comes from.
    pub admit: Vec<Range>,
    /// Addresses of the mesh's hosts, as far as they are known.
    pub mesh: Vec<Ipv4Addr>,
    /// Keys.
    pub keys: Keys,
    /// Types of machine by cloud, instead of the smallest that is not burstable.
    pub machine_types: BTreeMap<String, String>,
    /// The type of each machine of a place, in the order of its zones; none for that of its cloud. A place that is not there has
    /// machines of its cloud's type.
    pub types: BTreeMap<PlaceName, Vec<Option<String>>>,
    /// Machines without which there is no use for the others.
    pub least: usize,
    /// SSH lets in root, with the operator's key, instead of [`USER`].
    pub root: bool,
    /// Packages of the system that machines install when they start.
    pub packages: Vec<String>,
    /// Systems by cloud, instead of Ubuntu.
    pub images: BTreeMap<String, Image>,
    /// Machines that the cloud may take back, for less money.
    pub spot: bool,
    /// MTU of their interface; none leaves that of the cloud's network.
    pub mtu: Option<Mtu>,
    /// Machines of a place beside each other.
    pub placement: Placement,
    /// The networks of a cloud's regions are joined, so that private addresses are reached between them.
    pub peering: bool,
    /// Networks of places, as far as they are made.
    pub networks: BTreeMap<PlaceName, Network>,
    /// The zone of each machine of a place; a place that is not there has one machine.
    pub zones: BTreeMap<PlaceName, Vec<Zone>>,
    /// Compartment on Oracle's cloud.
    pub oracle_compartment: Option<String>,
    /// A program of the user's that makes machines instead of clouds.
    pub own: Option<Own>,
}

/// A program of the user that provides machines, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// The program, with its whole path.
    pub program: PathBuf,
    /// File with the private key that machines are to show.
    pub host_key_file: PathBuf,
}

impl Launch {
    /// The module of one place: the text of a `main.tf.json`.
    ///
    /// # Errors
    /// When something was asked for that the place's cloud does not have.
    pub fn module(&self, place: &PlaceName) -> Result<String, MeshError> {
        self.check_place(place)?;
        let module = match (&self.own, place.cloud.as_str()) {
            (Some(own), _) => own::module(self, place, own),
            (None, "aws") => aws::module(self, place),
            (None, "gcp") => gcp::module(self, place),
            (None, "azure") => azure::module(self, place),
            (None, "oracle") => oracle::module(self, place)?,
            (None, _) => {
                return Err(MeshError::NoCloud {
                    place: shown(&place.to_string()),
                });
            }
        };
        // The alternate form cannot fail on a tree of its own.
        Ok(format!("{module:#}\n"))
    }

    /// Names of a place's machines, of which the first carries the place's own.
    pub fn host_names(&self, place: &PlaceName) -> Vec<String> {
        let numbers = 1..=self.zones_of(place).len();
        numbers.map(|number| host_name(place, number)).collect()
    }

    /// That what was asked for fits together, as far as that can be said without asking the cloud.
    ///
    /// # Errors
    /// When a placement group would be in several zones, or a cloud does not have something.
    pub fn check(&self) -> Result<(), MeshError> {
        self.zones.keys().try_for_each(|place| self.check_place(place))
    }

    fn check_place(&self, place: &PlaceName) -> Result<(), MeshError> {
        let zones = self.zones_of(place);
        if self.placement == Placement::Close && distinct(&zones).len() > 1 {
            return Err(MeshError::GroupOverZones);
        }
        if self.own.is_some() {
            return Ok(());
        }
        let has_zones = zones.iter().any(|zone| *zone != Zone::Any);
        if self.placement == Placement::Apart && place.cloud == "azure" && has_zones {
            return Err(MeshError::NotOffered {
                cloud: "azure",
                problem: "has fault domains outside of zones only: remove --fault-domains or --zones",
            });
        }
        self.image(&place.cloud).check(&place.cloud)
    }

    /// The system of a cloud's machines.
    fn image(&self, cloud: &str) -> Image {
        self.images.get(cloud).copied().unwrap_or_default()
    }

    /// MTU of interfaces in a cloud, bytes; none leaves that of its networks.
    fn mtu(&self, cloud: &str) -> Option<u16> {
        self.mtu.map(|mtu| mtu.bytes(cloud))
    }

    /// The zone of each machine of a place, at least one.
    pub fn zones_of(&self, place: &PlaceName) -> Vec<Zone> {
        let zones = self.zones.get(place).filter(|zones| !zones.is_empty());
        zones.cloned().unwrap_or_else(|| vec![Zone::Any])
    }

    /// Name of something in this place that has to be unique in an account.
    fn name(&self, place: &PlaceName) -> String {
        format!("weir-{}-{}", self.run, place.region)
    }

    /// The type of each machine of a place, where it is said which; else none.
    fn asked_types(&self, place: &PlaceName) -> Vec<Option<&str>> {
        let of_cloud = self.machine_types.get(&place.cloud);
        let own = self.types.get(place).map_or(&[][..], Vec::as_slice);
        let of_machine = |index: usize| own.get(index).and_then(Option::as_ref).or(of_cloud);
        let machines = 0..self.zones_of(place).len();
        machines
            .map(|index| of_machine(index).map(String::as_str))
            .collect()
    }

    /// The type of each machine of a place; of these two, for x86-64 and ARM, where nothing else is said.
    fn types_of<'l>(&'l self, place: &PlaceName, [x86, arm]: [&'l str; 2]) -> Vec<&'l str> {
        let smallest = match self.arch {
            Arch::X86 => x86,
            Arch::Arm => arm,
        };
        let asked = self.asked_types(place).into_iter();
        asked.map(|asked| asked.unwrap_or(smallest)).collect()
    }

    /// The user that SSH lets in.
    fn user(&self) -> &'static str {
        if self.root { "root" } else { USER }
    }

    fn tags(&self) -> Value {
        json!({ RUN_TAG: self.run, DELETE_AFTER_TAG: self.delete_after_unix_s.to_string() })
    }

    fn operators(&self) -> Vec<String> {
        self.admit.iter().map(Range::to_string).collect()
    }

    /// The mesh's hosts as ranges of one public address each.
    fn members(&self) -> Vec<String> {
        self.mesh.iter().map(|address| format!("{address}/32")).collect()
    }
}

/// What a user sets for one cloud, as in `aws=c7i.large`: the cloud and the word.
///
/// # Errors
/// When it has another form, or the cloud is unknown.
pub fn of_cloud(text: &str) -> Result<(String, &str), MeshError> {
    let (name, word) = text
        .split_once('=')
        .filter(|(_, word)| is_setting(word))
        .ok_or_else(|| MeshError::BadForm {
            text: shown(text),
            what: "setting of a cloud",
            form: "write CLOUD=WORD, as in aws=c7i.large",
        })?;
    Ok((cloud(name)?.to_owned(), word))
}

/// Whether a word may be what a user sets for a cloud, such as a type of machine.
pub(crate) fn is_setting(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !word.is_empty() && word.chars().all(fits)
}

/// Name of a place's folder, and of its first machine.
pub fn folder_name(place: &PlaceName) -> String {
    if place.cloud.is_empty() {
        place.region.clone()
    } else {
        format!("{}-{}", place.cloud, place.region)
    }
}

/// Name of a machine of a place, from 1.
pub(crate) fn host_name(place: &PlaceName, number: usize) -> String {
    match number {
        1 => folder_name(place),
        number => format!("{}-{number}", folder_name(place)),
    }
}

/// Zones or types, each once, in their order.
fn distinct<T: PartialEq>(all: &[T]) -> Vec<&T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// What a resource in the nth zone has besides: that the region has so many, said in words that the user knows.
fn enough_zones(zone: &Zone, list: &str) -> Option<Value> {
    let Zone::Nth(number @ 2..) = zone else {
        return None;
    };
    Some(json!({ "precondition": {
        "condition": format!("${{length({list}) >= {number}}}"),
        "error_message": format!("There are fewer than {number} zones with such machines: use fewer (--machines)."),
    } }))
}

/// A text that the engine takes as it is: `${` and `%{` begin templates there.
fn literal(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// An object of resources that are named by number: `host1`, `host2`, of which `make` writes each.
fn numbered(count: usize, stem: &str, make: impl Fn(usize) -> Value) -> Value {
    let all: Map<String, Value> = (1..=count)
        .map(|number| (format!("{stem}{number}"), make(number)))
        .collect();
    Value::Object(all)
}

/// A name of one of several, which is the stem alone for the first: `zones`, `zones2`.
fn nth(stem: &str, index: usize) -> String {
    match index {
        0 => stem.to_owned(),
        index => format!("{stem}{}", index + 1),
    }
}

/// What stands in front of every module.
fn header(provider: &str, source: &str, version: &str) -> Value {
    json!({
        "required_version": LEAST_VERSION,
        "required_providers": { provider: { "source": source, "version": version } },
    })
}

#[cfg(test)]
mod tests;
