//! A module for Azure: a resource group with all of it, machines that are deallocated at their deadline. From inside, a
//! machine can only stop itself, which Azure goes on billing; a schedule of Azure's own deallocates it.

use serde_json::{Map, Value, json};

use super::cloud_init::user_data;
use super::{Arch, Launch, Zone, header, literal, numbered};
use crate::place::PlaceName;

const SECONDS_A_DAY: i64 = 24 * 3600;

pub(super) fn module(launch: &Launch, place: &PlaceName) -> Value {
    let names = launch.host_names(place);
    let zones = launch.zones_of(place);
    json!({
        "terraform": header("azurerm", "hashicorp/azurerm", ">= 4.0, < 5.0"),
        // The subscription is what ARM_SUBSCRIPTION_ID says.
        "provider": { "azurerm": { "features": {
            "resource_group": { "prevent_deletion_if_contains_resources": false },
        } } },
        "resource": resources(launch, place, &zones),
        "output": { "hosts": { "value": names.iter().enumerate().map(|(index, name)| {
            let number = index + 1;
            json!({
                "name": name,
                "address": format!("${{azurerm_public_ip.host{number}.ip_address}}"),
                "zone": zones[index].to_string(),
            })
        }).collect::<Vec<Value>>() } },
    })
}

fn resources(launch: &Launch, place: &PlaceName, zones: &[Zone]) -> Value {
    let hosts = zones.len();
    let name = launch.name(place);
    // What every kind of resource has.
    let common = |name: &str, more: Value| {
        let mut object = json!({
            "name": name,
            "location": place.region,
            "resource_group_name": "${azurerm_resource_group.mesh.name}",
            "tags": launch.tags(),
        });
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        object
    };
    let mut resources = json!({
        "azurerm_resource_group": { "mesh": {
            "name": name,
            "location": place.region,
            "tags": launch.tags(),
        } },
        "azurerm_virtual_network": { "mesh": common("mesh", json!({ "address_space": ["10.77.0.0/16"] })) },
        "azurerm_subnet": { "mesh": {
            "name": "mesh",
            "resource_group_name": "${azurerm_resource_group.mesh.name}",
            "virtual_network_name": "${azurerm_virtual_network.mesh.name}",
            "address_prefixes": ["10.77.0.0/20"],
        } },
        "azurerm_network_security_group": { "mesh": common("mesh", json!({ "security_rule": rules(launch) })) },
        "azurerm_subnet_network_security_group_association": { "mesh": {
            "subnet_id": "${azurerm_subnet.mesh.id}",
            "network_security_group_id": "${azurerm_network_security_group.mesh.id}",
        } },
        "azurerm_public_ip": numbered(hosts, "host", |number| {
            let mut address = json!({ "allocation_method": "Static", "sku": "Standard" });
            if zones[number - 1] != Zone::Any {
                address["zones"] = json!([zones[number - 1].to_string()]);
            }
            common(&format!("host{number}"), address)
        }),
        "azurerm_network_interface": numbered(hosts, "host", |number| {
            common(&format!("host{number}"), json!({ "ip_configuration": {
                "name": "mesh",
                "subnet_id": "${azurerm_subnet.mesh.id}",
                "private_ip_address_allocation": "Dynamic",
                "public_ip_address_id": format!("${{azurerm_public_ip.host{number}.id}}"),
            } }))
        }),
        "azurerm_linux_virtual_machine": numbered(hosts, "host", |number| {
            common(&format!("host{number}"), machine(launch, number, &zones[number - 1]))
        }),
        "azurerm_dev_test_global_vm_shutdown_schedule": numbered(hosts, "host", |number| json!({
            "virtual_machine_id": format!("${{azurerm_linux_virtual_machine.host{number}.id}}"),
            "location": place.region,
            "enabled": true,
            "daily_recurrence_time": deadline(launch.delete_after_unix_s),
            "timezone": "UTC",
            "notification_settings": { "enabled": false },
            "tags": launch.tags(),
        })),
    });
    if launch.placement_group {
        resources["azurerm_proximity_placement_group"] = json!({ "mesh": common("mesh", json!({})) });
    }
    resources
}

fn machine(launch: &Launch, number: usize, zone: &Zone) -> Value {
    let sku = match launch.arch {
        Arch::X86 => "server",
        Arch::Arm => "server-arm64",
    };
    let mut machine = json!({
        "size": launch.machine_type("azure", ["Standard_B1s", "Standard_B2pts_v2"]),
        // Not the user that cloud-init makes: Azure wants one of its own.
        "admin_username": "weiradmin",
        "admin_ssh_key": { "username": "weiradmin", "public_key": launch.keys.operator_public.trim() },
        "network_interface_ids": [format!("${{azurerm_network_interface.host{number}.id}}")],
        "custom_data": format!("${{base64encode({})}}", quoted(&user_data(launch, "azure"))),
        "os_disk": { "caching": "ReadWrite", "storage_account_type": "Standard_LRS" },
        "source_image_reference": {
            "publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": sku, "version": "latest",
        },
    });
    // Its zones are called 1, 2 and 3; a region without zones takes none.
    if *zone != Zone::Any {
        machine["zone"] = zone.to_string().into();
    }
    if launch.spot {
        machine["priority"] = "Spot".into();
        machine["eviction_policy"] = "Delete".into();
    }
    if launch.placement_group {
        machine["proximity_placement_group_id"] = "${azurerm_proximity_placement_group.mesh.id}".into();
    }
    machine
}

/// A string in the engine's own language, inside a template.
pub(super) fn quoted(text: &str) -> String {
    // Its escapes are those of JSON, but for templates.
    literal(&Value::from(text).to_string())
}

/// Time of day in UTC, a minute after the deadline inside.
fn deadline(unix_s: i64) -> String {
    let minutes = unix_s.rem_euclid(SECONDS_A_DAY) / 60 + 1;
    format!("{:02}{:02}", minutes / 60 % 24, minutes % 60)
}

/// Rules with every attribute, as JSON has to give them.
fn rules(launch: &Launch) -> Vec<Value> {
    let rule = |name: &str, priority: u16, protocol: &str, port: &str, ranges: Vec<String>| {
        let mut rule: Map<String, Value> = [
            "source_address_prefix",
            "destination_address_prefixes",
            "destination_port_ranges",
            "source_port_ranges",
            "source_application_security_group_ids",
            "destination_application_security_group_ids",
        ]
        .into_iter()
        .map(|name| (name.to_owned(), Value::Null))
        .collect();
        for (key, value) in [
            ("name", name),
            ("description", ""),
            ("direction", "Inbound"),
            ("access", "Allow"),
            ("protocol", protocol),
            ("source_port_range", "*"),
            ("destination_port_range", port),
            ("destination_address_prefix", "*"),
        ] {
            rule.insert(key.to_owned(), value.into());
        }
        rule.insert("priority".to_owned(), priority.into());
        rule.insert("source_address_prefixes".to_owned(), ranges.into());
        Value::Object(rule)
    };
    let mut rules = vec![rule("operator", 100, "Tcp", "22", launch.operators())];
    if !launch.mesh.is_empty() {
        rules.push(rule("mesh", 110, "*", "*", launch.members()));
    }
    rules
}
