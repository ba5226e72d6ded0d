//! A module for Azure: a resource group with all of it, machines that are deallocated at their deadline. From inside, a
//! machine can only stop itself, which Azure goes on billing; a schedule of Azure's own deallocates it.

use serde_json::{Map, Value, json};

use super::cloud_init::user_data;
use super::network::{Placement, to};
use super::{Arch, Image, Launch, Zone, header, literal, numbered};
use crate::place::PlaceName;

const SECONDS_A_DAY: i64 = 24 * 3600;

pub(super) fn module(launch: &Launch, place: &PlaceName) -> Value {
    let names = launch.host_names(place);
    let zones = launch.zones_of(place);
    let sizes = sizes(launch, place);
    json!({
        "terraform": header("azurerm", "hashicorp/azurerm", ">= 4.0, < 5.0"),
        // The subscription is what ARM_SUBSCRIPTION_ID says.
        "provider": { "azurerm": { "features": {
            "resource_group": { "prevent_deletion_if_contains_resources": false },
        } } },
        "resource": resources(launch, place, &zones),
        "output": {
            "hosts": { "value": names.iter().enumerate().map(|(index, name)| {
                let number = index + 1;
                json!({
                    "name": name,
                    "address": format!("${{azurerm_public_ip.host{number}.ip_address}}"),
                    "private-address": format!("${{azurerm_network_interface.host{number}.private_ip_address}}"),
                    "network": launch.network(place),
                    "zone": zones[index].to_string(),
                    "instance-type": sizes[index],
                })
            }).collect::<Vec<Value>>() },
            "network": { "value": { "id": "${azurerm_virtual_network.mesh.id}" } },
        },
    })
}

fn sizes<'l>(launch: &'l Launch, place: &PlaceName) -> Vec<&'l str> {
    launch.types_of(place, ["Standard_D2s_v5", "Standard_D2ps_v5"])
}

/// Whether a size has a virtual function of the card: burstable and basic ones have not, and with it goes a larger MTU.
fn is_accelerated(size: &str) -> bool {
    !["Standard_A", "Standard_B", "Basic_"]
        .iter()
        .any(|start| size.starts_with(start))
}

fn resources(launch: &Launch, place: &PlaceName, zones: &[Zone]) -> Value {
    let hosts = zones.len();
    let sizes = sizes(launch, place);
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
        "azurerm_virtual_network": { "mesh": common("mesh", json!({ "address_space": [launch.range(place)] })) },
        "azurerm_subnet": { "mesh": {
            "name": "mesh",
            "resource_group_name": "${azurerm_resource_group.mesh.name}",
            "virtual_network_name": "${azurerm_virtual_network.mesh.name}",
            "address_prefixes": [launch.subnet(place, 0)],
        } },
        "azurerm_network_security_group": { "mesh": common("mesh", json!({ "security_rule": rules(launch, place) })) },
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
            common(&format!("host{number}"), json!({
                "accelerated_networking_enabled": is_accelerated(sizes[number - 1]),
                "ip_configuration": {
                    "name": "mesh",
                    "subnet_id": "${azurerm_subnet.mesh.id}",
                    "private_ip_address_allocation": "Dynamic",
                    "public_ip_address_id": format!("${{azurerm_public_ip.host{number}.id}}"),
                },
            }))
        }),
        "azurerm_linux_virtual_machine": numbered(hosts, "host", |number| {
            let machine = machine(launch, number, &zones[number - 1], sizes[number - 1]);
            common(&format!("host{number}"), machine)
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
    match launch.placement {
        Placement::Any => {}
        Placement::Close => {
            resources["azurerm_proximity_placement_group"] = json!({ "mesh": common("mesh", json!({})) });
        }
        // Every region has two, some have three.
        Placement::Apart => {
            let set = json!({ "platform_fault_domain_count": 2, "managed": true });
            resources["azurerm_availability_set"] = json!({ "mesh": common("mesh", set) });
        }
    }
    join(launch, place, &mut resources);
    resources
}

/// What joins this network to those of other regions.
fn join(launch: &Launch, place: &PlaceName, resources: &mut Value) {
    for (peer, network) in launch.peers(place) {
        // Each side has its own half.
        resources["azurerm_virtual_network_peering"][to(peer)] = json!({
            "name": to(peer),
            "resource_group_name": "${azurerm_resource_group.mesh.name}",
            "virtual_network_name": "${azurerm_virtual_network.mesh.name}",
            "remote_virtual_network_id": network.id,
        });
    }
}

fn machine(launch: &Launch, number: usize, zone: &Zone, size: &str) -> Value {
    let (publisher, offer, sku) = match (launch.image("azure"), launch.arch) {
        (Image::Debian, Arch::X86) => ("Debian", "debian-12", "12-gen2"),
        (Image::Debian, Arch::Arm) => ("Debian", "debian-12", "12-arm64"),
        (_, Arch::X86) => ("Canonical", "ubuntu-24_04-lts", "server"),
        (_, Arch::Arm) => ("Canonical", "ubuntu-24_04-lts", "server-arm64"),
    };
    let mut machine = json!({
        "size": size,
        // Not the user that cloud-init makes: Azure wants one of its own.
        "admin_username": "weiradmin",
        "admin_ssh_key": { "username": "weiradmin", "public_key": launch.keys.operator_public.trim() },
        "network_interface_ids": [format!("${{azurerm_network_interface.host{number}.id}}")],
        "custom_data": format!("${{base64encode({})}}", quoted(&user_data(launch, "azure"))),
        "os_disk": { "caching": "ReadWrite", "storage_account_type": "Standard_LRS" },
        "source_image_reference": {
            "publisher": publisher, "offer": offer, "sku": sku, "version": "latest",
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
    match launch.placement {
        Placement::Any => {}
        Placement::Close => {
            machine["proximity_placement_group_id"] = "${azurerm_proximity_placement_group.mesh.id}".into();
        }
        Placement::Apart => {
            machine["availability_set_id"] = "${azurerm_availability_set.mesh.id}".into();
        }
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
fn rules(launch: &Launch, place: &PlaceName) -> Vec<Value> {
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
    let members = [launch.private_ranges(place), launch.members()].concat();
    vec![
        rule("operator", 100, "Tcp", "22", launch.operators()),
        rule("mesh", 110, "*", "*", members),
    ]
}
