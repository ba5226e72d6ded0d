//! From the engine's output to a hosts file and known host keys. Pure: text in, text out.

use std::net::IpAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Launch;
use super::network::Network;
use crate::MeshError;
use crate::fault::shown;
use crate::place::PlaceName;

/// Longest answer of the engine that is read, bytes.
pub const MOST_BYTES: usize = 1 << 20;

/// A machine that was launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Launched {
    /// Its name, which is unique in the launch.
    pub name: String,
    /// Where SSH finds it.
    pub address: IpAddr,
    /// Where the other machines find it, if that differs.
    pub test_address: Option<IpAddr>,
    /// Where machines of the same network find it, if it has such an address.
    #[serde(default)]
    pub private_address: Option<IpAddr>,
    /// That network; may be empty.
    #[serde(default)]
    pub network: String,
    /// Its zone; may be empty.
    #[serde(default)]
    pub zone: String,
    /// Type of instance that was asked for; may be empty.
    #[serde(default)]
    pub instance_type: String,
    /// Placement group that was asked for; may be empty.
    #[serde(default)]
    pub placement_group: String,
    /// Fault domain that was asked for; may be empty.
    #[serde(default)]
    pub fault_domain: String,
    /// User there, if it is not the launch's.
    pub user: Option<String>,
    /// Port of its SSH server, if it is not 22.
    pub port: Option<u16>,
    /// Path of a `weir` that is there already.
    pub weir: Option<String>,
}

impl Launched {
    /// Where tests find it.
    pub fn test_address(&self) -> IpAddr {
        self.test_address.unwrap_or(self.address)
    }
}

/// What the engine made in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Its machines.
    pub hosts: Vec<Launched>,
    /// Its network; none for machines of the user's own.
    pub network: Option<Network>,
}

/// Outputs as the engine prints them, each with its value.
#[derive(Deserialize)]
struct Printed {
    hosts: Output<Vec<Value>>,
    network: Option<Output<Network>>,
}

#[derive(Deserialize)]
struct Output<T> {
    value: T,
}

/// Reads what `output -json` prints: a list of machines, and a network.
///
/// # Errors
/// When it is neither, or does not name the `expected` machines.
pub fn read_output(bytes: &[u8], expected: &[String]) -> Result<Outputs, MeshError> {
    let bad = |problem: String| MeshError::file("the engine's output", problem);
    if bytes.len() > MOST_BYTES {
        return Err(bad("is longer than 1 MiB".into()));
    }
    let printed: Printed = serde_json::from_slice(bytes).map_err(|error| bad(shown(&error.to_string())))?;
    let network = printed.network.map(|network| network.value);
    let hosts = read_machines(printed.hosts.value, expected).map_err(bad)?;
    Ok(Outputs { hosts, network })
}

fn read_machines(values: Vec<Value>, expected: &[String]) -> Result<Vec<Launched>, String> {
    if values.len() != expected.len() {
        return Err(format!(
            "has {} hosts instead of {}",
            values.len(),
            expected.len()
        ));
    }
    values
        .into_iter()
        .zip(expected)
        .map(|(value, name)| {
            if value.is_null() {
                return Err(format!("lacks {name}: was its file written?"));
            }
            let host: Launched = serde_json::from_value(value)
                .map_err(|error| format!("{name}: {}", shown(&error.to_string())))?;
            if host.name != *name {
                return Err(format!("has '{}' instead of {name}", shown(&host.name)));
            }
            Ok(host)
        })
        .collect()
}

/// Where what belongs to a launch lies, for its hosts file.
#[derive(Clone, Copy, Debug)]
pub struct Files<'f> {
    /// The operator's private key.
    pub key: &'f Path,
    /// Host keys of the machines.
    pub known_hosts: &'f Path,
}

/// The hosts file that `weir mesh run` reads.
pub fn hosts_file(launch: &Launch, hosts: &[(PlaceName, Launched)], files: Files<'_>) -> String {
    let word = |text: &str| Value::from(text).to_string();
    // Two levels of quotes: ssh splits values of options at spaces too.
    let known = files
        .known_hosts
        .display()
        .to_string()
        .replace('\\', r"\\")
        .replace('\'', r"'\''");
    let arguments =
        format!("-o 'UserKnownHostsFile=\"{known}\"' -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes");
    let mut text = format!(
        "# Launched by 'weir mesh launch' as run {}. These machines terminate themselves.\ndefaults:\n  user: {}\n  key: {}\n  \
         ssh-arguments: {}\nhosts:\n",
        launch.run,
        word(launch.user()),
        word(&files.key.display().to_string()),
        word(&arguments)
    );
    for (place, host) in hosts {
        let mut line = format!(
            "  - {{name: {}, address: {}, place: {}",
            word(&host.name),
            word(&host.address.to_string()),
            word(&place.to_string())
        );
        for (key, value) in [
            ("zone", &host.zone),
            ("instance-type", &host.instance_type),
            ("placement-group", &host.placement_group),
            ("fault-domain", &host.fault_domain),
        ] {
            if !value.is_empty() {
                line.push_str(&format!(", {key}: {}", word(value)));
            }
        }
        if let Some(address) = host.test_address {
            line.push_str(&format!(", test-address: {}", word(&address.to_string())));
        }
        if let Some(address) = host.private_address.filter(|_| !host.network.is_empty()) {
            let (address, network) = (word(&address.to_string()), word(&host.network));
            line.push_str(&format!(", private-address: {address}, network: {network}"));
        }
        if let Some(user) = &host.user {
            line.push_str(&format!(", user: {}", word(user)));
        }
        if let Some(port) = host.port {
            line.push_str(&format!(", port: {port}"));
        }
        if let Some(weir) = &host.weir {
            line.push_str(&format!(", weir: {}", word(weir)));
        }
        text.push_str(&line);
        text.push_str("}\n");
    }
    text
}

/// The machines' keys, as ssh knows hosts.
pub fn known_hosts(launch: &Launch, hosts: &[(PlaceName, Launched)]) -> String {
    let key = launch.keys.host_public.trim();
    hosts
        .iter()
        .map(|(_, host)| match host.port {
            None | Some(22) => format!("{} {key}\n", host.address),
            Some(port) => format!("[{}]:{port} {key}\n", host.address),
        })
        .collect()
}
