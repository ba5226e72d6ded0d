//! Weir's own hosts file: a map with `hosts`, a list, and `defaults`, what all of them have unless they say otherwise.

use super::{MOST_HOSTS, Named, Variables, host_name};
use crate::fault::shown;
use crate::suggest::nearest;
use weir_yaml::Node;

/// Keys of a host, and the variables that they are.
const KEYS: [(&str, &str); 19] = [
    ("address", "ansible_host"),
    ("user", "ansible_user"),
    ("port", "ansible_port"),
    ("key", "ansible_ssh_private_key_file"),
    ("ssh-arguments", "ansible_ssh_common_args"),
    ("place", "weir_place"),
    ("cloud", "weir_cloud"),
    ("region", "weir_region"),
    ("zone", "weir_zone"),
    ("latitude", "weir_latitude"),
    ("longitude", "weir_longitude"),
    ("test-address", "weir_test_address"),
    ("private-address", "weir_private_address"),
    ("network", "weir_network"),
    ("instance-type", "weir_instance_type"),
    ("placement-group", "weir_placement_group"),
    ("fault-domain", "weir_fault_domain"),
    ("agent-port", "weir_agent_port"),
    ("weir", "weir_binary"),
];

/// Whether it is such a file: in an Ansible inventory, what stands at the top is a group.
pub(super) fn is_own(root: &Node) -> bool {
    matches!(root.get("hosts"), Some(Node::List(_)))
}

pub(super) fn read(root: &Node) -> Result<Vec<Named>, String> {
    for (key, _) in root.entries() {
        if !["hosts", "defaults"].contains(&key.as_str()) {
            return Err(format!(
                "unknown top-level key '{}'; use 'hosts' and 'defaults'",
                shown(key)
            ));
        }
    }
    let defaults = match root.get("defaults") {
        Some(node) => variables(node, "defaults")?,
        None => Variables::new(),
    };
    let Some(Node::List(items)) = root.get("hosts") else {
        return Ok(Vec::new());
    };
    if items.len() > MOST_HOSTS {
        return Err(format!("it has more than {MOST_HOSTS} hosts"));
    }
    let mut seen = std::collections::BTreeSet::new();
    items
        .iter()
        .map(|item| host(item, &defaults, &mut seen))
        .collect()
}

fn host(
    item: &Node,
    defaults: &Variables,
    seen: &mut std::collections::BTreeSet<String>,
) -> Result<Named, String> {
    let name = item
        .get("name")
        .or(item.get("address"))
        .and_then(Node::text)
        .ok_or("a host has neither name nor address")?;
    host_name(name)?;
    if !seen.insert(name.to_owned()) {
        return Err(format!("two hosts have the name {}", shown(name)));
    }
    let mut all = defaults.clone();
    all.extend(variables(item, name)?);
    Ok(Named {
        name: name.to_owned(),
        variables: all,
        groups: Vec::new(),
    })
}

fn variables(node: &Node, owner: &str) -> Result<Variables, String> {
    let mut found = Variables::new();
    for (key, value) in node.entries().iter().filter(|(key, _)| key != "name") {
        let (_, variable) = KEYS.iter().find(|(known, _)| known == key).ok_or_else(|| {
            let suggestion = nearest(key, KEYS.iter().map(|(known, _)| *known))
                .map(|known| format!(": did you mean '{known}'?"))
                .unwrap_or_default();
            format!(
                "{}: unknown key '{}' of a host{suggestion}",
                shown(owner),
                shown(key)
            )
        })?;
        let text = value
            .text()
            .ok_or_else(|| format!("{}: {key} is not a single value", shown(owner)))?;
        found.insert((*variable).to_owned(), text.to_owned());
    }
    Ok(found)
}
