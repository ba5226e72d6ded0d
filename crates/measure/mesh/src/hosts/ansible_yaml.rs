//! Ansible's inventory in YAML: at the top groups, each with `hosts`, `vars` and `children`.

use super::ansible_ini::expand;
use super::inventory::Inventory;
use crate::fault::shown;
use weir_yaml::Node;

pub(super) fn read(root: &Node) -> Result<Inventory, String> {
    let mut inventory = Inventory::default();
    if root.entries().is_empty() {
        return Err(
            "it is neither a hosts file with a list 'hosts' nor an Ansible inventory with groups".into(),
        );
    }
    for (name, group) in root.entries() {
        read_group(&mut inventory, name, group)?;
    }
    Ok(inventory)
}

fn read_group(inventory: &mut Inventory, name: &str, group: &Node) -> Result<(), String> {
    inventory.add_group(name)?;
    if group.is_empty() {
        return Ok(());
    }
    let Node::Map(sections) = group else {
        return Err(format!(
            "the group {} is not a map with 'hosts', 'vars' or 'children'",
            shown(name)
        ));
    };
    for (section, content) in sections {
        match section.as_str() {
            "hosts" => read_hosts(inventory, name, content)?,
            "vars" => {
                for (key, value) in content.entries() {
                    if let Some(text) = value.text() {
                        inventory.set_of_group(name, key, text)?;
                    }
                }
            }
            "children" => {
                for (child, group) in content.entries() {
                    inventory.add_child(name, child)?;
                    // The depth of a document is bounded, and with it this.
                    read_group(inventory, child, group)?;
                }
            }
            other => {
                return Err(format!(
                    "the group {} has the unknown key '{}'; use 'hosts', 'vars' or 'children'",
                    shown(name),
                    shown(other)
                ));
            }
        }
    }
    Ok(())
}

/// A map of hosts with their variables; one host may stand alone.
fn read_hosts(inventory: &mut Inventory, group: &str, content: &Node) -> Result<(), String> {
    if let Some(host) = content.text().filter(|text| !text.is_empty()) {
        return inventory.add_host(group, host);
    }
    for (pattern, variables) in content.entries() {
        for host in expand(pattern)? {
            inventory.add_host(group, &host)?;
            for (key, value) in variables.entries() {
                // Lists and maps are for Ansible's own use.
                if let Some(text) = value.text() {
                    inventory.set_of_host(&host, key, text);
                }
            }
        }
    }
    Ok(())
}
