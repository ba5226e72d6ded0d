//! The machines that tests run between, from a file: our own YAML, or an Ansible inventory as INI or YAML. It knows how
//! hosts are written, not how they are reached.

mod ansible_ini;
mod ansible_yaml;
mod inventory;
mod own;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::MeshError;
use crate::distance::Coordinates;
use crate::fault::shown;
use crate::filter::Over;
use crate::place::{Place, PlaceName, Places, cloud, is_word};
use crate::select::Node;

/// Longest hosts file, bytes.
pub const MOST_BYTES: usize = 4 << 20;
/// Most hosts in one.
pub const MOST_HOSTS: usize = 10_000;
/// Port of an agent unless the file says otherwise.
const AGENT_PORT: u16 = 4747;

/// A machine, and how it is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name in the file, which is unique there.
    pub name: String,
    /// Where it is.
    pub place: PlaceName,
    /// Where that is, if the file or the table of places says so.
    pub coordinates: Option<Coordinates>,
    /// Its zone; may be empty.
    pub zone: String,
    /// Name or address that `ssh` is given.
    pub ssh_address: String,
    /// User on the host, unless ssh's own configuration says.
    pub ssh_user: Option<String>,
    /// Port of its SSH server, likewise.
    pub ssh_port: Option<u16>,
    /// File with the private key, likewise.
    pub ssh_key: Option<String>,
    /// More arguments for `ssh`, such as `-J` and a jump host.
    pub ssh_arguments: Vec<String>,
    /// Name or address at which the other hosts reach it.
    pub test_address: String,
    /// Address at which hosts of the same network reach it; may be empty.
    #[serde(default)]
    pub private_address: String,
    /// That network; may be empty.
    #[serde(default)]
    pub network: String,
    /// Type of instance, placement group and fault domain that were ordered for it.
    #[serde(default)]
    pub placed: Placed,
    /// TCP port of its agent.
    pub agent_port: u16,
    /// Path of a `weir` that is there already; else it is copied.
    pub weir: Option<String>,
    /// Groups that it is in.
    pub groups: Vec<String>,
}

/// Where and as what a host was ordered from its cloud; empty fields are as the cloud likes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Type of its instance.
    pub instance_type: String,
    /// Its placement group.
    pub placement_group: String,
    /// Its fault domain.
    pub fault_domain: String,
}

impl Host {
    /// Where others reach it over these addresses.
    pub fn address(&self, over: Over) -> &str {
        match over {
            Over::Public => &self.test_address,
            Over::Private => &self.private_address,
        }
    }

    /// As an end of tests.
    pub fn node(&self, places: &Places) -> Node {
        let mut place = places
            .get(&self.place)
            .cloned()
            .unwrap_or_else(|| Place::own(self.place.clone(), None));
        place.coordinates = self.coordinates.or(place.coordinates);
        Node {
            name: self.name.clone(),
            place,
            zone: self.zone.clone(),
            network: self.network.clone(),
        }
    }
}

/// Variables of a host, by the names that are used here.
type Variables = BTreeMap<String, String>;

/// Reads a hosts file.
///
/// # Errors
/// When it is too long, cannot be read, or names hosts that cannot be: with the line, or the host.
pub fn read_hosts(file: &str, bytes: &[u8], places: &Places) -> Result<Vec<Host>, MeshError> {
    if bytes.len() > MOST_BYTES {
        return Err(MeshError::file(
            file,
            "it is longer than 4 MiB, the maximum for a hosts file",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| MeshError::file(file, "it is not UTF-8 text"))?;
    let hosts = if is_yaml(file, text) {
        let root = weir_yaml::read(text).map_err(|problem| MeshError::file(file, problem.to_string()))?;
        if own::is_own(&root) {
            own::read(&root)
        } else {
            ansible_yaml::read(&root).and_then(|inventory| inventory.hosts())
        }
    } else {
        ansible_ini::read(text).and_then(|inventory| inventory.hosts())
    }
    .map_err(|problem| MeshError::file(file, problem))?;
    if hosts.is_empty() {
        return Err(MeshError::file(file, "it names no hosts"));
    }
    hosts
        .into_iter()
        .map(|named| host_of(named, places).map_err(|problem| MeshError::file(file, problem)))
        .collect()
}

/// By its name, else by its first line that says something: an inventory in INI begins with a section or a host.
fn is_yaml(file: &str, text: &str) -> bool {
    let extension = file.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
    if let Some((_, extension)) = extension {
        match extension {
            "yml" | "yaml" | "json" => return true,
            "ini" | "cfg" => return false,
            _ => {}
        }
    }
    let first = text
        .lines()
        .map(str::trim_end)
        .find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    first.is_some_and(|line| line == "---" || line.starts_with('{') || line.ends_with(':'))
}

/// A host as a file names it.
struct Named {
    name: String,
    variables: Variables,
    groups: Vec<String>,
}

/// Makes a host of its variables; those of no use here are left alone.
fn host_of(named: Named, places: &Places) -> Result<Host, String> {
    let Named {
        name,
        variables,
        groups,
    } = named;
    let shown_name = shown(&name);
    let get = |key: &str| variables.get(key).map(String::as_str);
    let either = |keys: [&'static str; 2]| keys.into_iter().find_map(|key| Some((key, get(key)?)));
    let is_template = |key: &&&str| get(key).is_some_and(|value| value.contains("{{"));
    if let Some(key) = USED.iter().find(is_template) {
        return Err(format!(
            "host {shown_name}: {key} is a template, which only Ansible can evaluate: write its value"
        ));
    }
    let word = |key: &'static str, value: &str| {
        plain_word(value).ok_or_else(|| format!("host {shown_name}: invalid {key} '{}'", shown(value)))
    };
    let path = |key: &'static str, value: &str| {
        plain_path(value).ok_or_else(|| format!("host {shown_name}: invalid {key} '{}'", shown(value)))
    };
    let port = |key: &str, value: &str| {
        let number = value.parse::<u16>().ok().filter(|port| *port > 0);
        number.ok_or_else(|| {
            format!(
                "host {shown_name}: '{}' in {key} is not a port (1 to 65535)",
                shown(value)
            )
        })
    };
    let address = word("address", get("ansible_host").unwrap_or(&name))?;
    let (place, coordinates) = place_of(&name, &variables, places)?;
    let optional = |what: &'static str, key: &str| -> Result<String, String> {
        get(key).map_or(Ok(String::new()), |value| word(what, value))
    };
    let network = optional("network", "weir_network")?;
    let private_address = optional("private address", "weir_private_address")?;
    if network.is_empty() != private_address.is_empty() {
        return Err(format!(
            "host {shown_name}: a private address needs the name of its network, and the reverse"
        ));
    }
    Ok(Host {
        place,
        coordinates,
        zone: optional("zone", "weir_zone")?,
        network,
        private_address,
        placed: Placed {
            instance_type: optional("instance type", "weir_instance_type")?,
            placement_group: optional("placement group", "weir_placement_group")?,
            fault_domain: optional("fault domain", "weir_fault_domain")?,
        },
        test_address: word("test address", get("weir_test_address").unwrap_or(&address))?,
        ssh_user: either(["ansible_user", "ansible_ssh_user"])
            .map(|(_, user)| word("user", user))
            .transpose()?,
        ssh_port: either(["ansible_port", "ansible_ssh_port"])
            .map(|(key, value)| port(key, value))
            .transpose()?,
        ssh_key: get("ansible_ssh_private_key_file")
            .map(|key| path("key file", key))
            .transpose()?,
        agent_port: get("weir_agent_port")
            .map(|value| port("weir_agent_port", value))
            .transpose()?
            .unwrap_or(AGENT_PORT),
        weir: get("weir_binary")
            .map(|file| path("path of weir", file))
            .transpose()?,
        ssh_address: address,
        ssh_arguments: ssh_arguments(&variables)
            .map_err(|problem| format!("host {shown_name}: {problem}"))?,
        groups,
        name,
    })
}

fn ssh_arguments(variables: &Variables) -> Result<Vec<String>, String> {
    let mut arguments = Vec::new();
    for key in ["ansible_ssh_common_args", "ansible_ssh_extra_args"] {
        let text = variables.get(key).map_or("", String::as_str);
        arguments.extend(words(text).map_err(|problem| format!("{key}: {problem}"))?);
    }
    Ok(arguments)
}

/// A value that can stand in a command line: no option, and without blanks and quotes.
fn plain_word(value: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '@' | '%');
    let is_plain = !value.is_empty() && value.len() <= 255 && !value.starts_with('-');
    (is_plain && value.chars().all(fits)).then(|| value.to_owned())
}

/// A path of a file: no option, and without control characters.
fn plain_path(value: &str) -> Option<String> {
    let is_plain = !value.is_empty() && value.len() <= 4096 && !value.starts_with('-');
    (is_plain && !value.chars().any(char::is_control)).then(|| value.to_owned())
}

/// Variables that are used here.
const USED: [&str; 22] = [
    "ansible_host",
    "ansible_user",
    "ansible_ssh_user",
    "ansible_port",
    "ansible_ssh_port",
    "ansible_ssh_private_key_file",
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "weir_place",
    "weir_cloud",
    "weir_region",
    "weir_zone",
    "weir_latitude",
    "weir_longitude",
    "weir_test_address",
    "weir_private_address",
    "weir_network",
    "weir_instance_type",
    "weir_placement_group",
    "weir_fault_domain",
    "weir_agent_port",
    "weir_binary",
];

/// Where a host is: `weir_place`, or `weir_cloud` and `weir_region`, or a place of its own with its name.
fn place_of(
    name: &str,
    variables: &Variables,
    places: &Places,
) -> Result<(PlaceName, Option<Coordinates>), String> {
    let get = |key: &str| variables.get(key).map(String::as_str);
    let host = shown(name);
    let of_host = |problem: MeshError| format!("host {host}: {problem}");
    let given = match (get("weir_latitude"), get("weir_longitude")) {
        (None, None) => None,
        (Some(latitude), Some(longitude)) => {
            let point: Coordinates = format!("{latitude},{longitude}").parse().map_err(of_host)?;
            Some(point)
        }
        _ => {
            return Err(format!(
                "host {host}: a latitude needs a longitude, and the reverse"
            ));
        }
    };
    let text = match (get("weir_place"), get("weir_cloud"), get("weir_region")) {
        (Some(place), ..) => place.to_owned(),
        (None, Some(cloud_name), Some(region)) => format!("{cloud_name}:{region}"),
        (None, None, Some(region)) => region.to_owned(),
        (None, Some(cloud_name), None) => {
            cloud(cloud_name).map_err(of_host)?;
            return Err(format!("host {host}: a cloud needs a region, and the reverse"));
        }
        (None, None, None) => name.to_owned(),
    };
    if let Ok(place) = places.find(&text) {
        return Ok((place.name.clone(), given.or(place.coordinates)));
    }
    let own = PlaceName::parse(&text).map_err(of_host)?;
    // A region that the table does not have may be newer than the table; without coordinates it is a typo.
    if given.is_none() && (!own.cloud.is_empty() || text != name) {
        return Err(format!(
            "host {host}: {}; a place of your own needs a latitude and a longitude",
            places.unknown(&text)
        ));
    }
    Ok((own, given))
}

/// Splits a command line as a shell does: spaces, quotes and backslashes, nothing else.
pub(crate) fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => {
                let escaped = letters.next().ok_or("it ends with a backslash")?;
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    words.extend(word);
    Ok(words)
}

/// Checks a name for a host.
fn host_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let good = is_word(name)
        || ((1..=255).contains(&name.len()) && !name.starts_with('-') && name.chars().all(fits));
    good.then_some(())
        .ok_or_else(|| format!("'{}' is not a host name", shown(name)))
}

#[cfg(test)]
mod tests;
