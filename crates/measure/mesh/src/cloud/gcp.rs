//! A module for Google Cloud: a network of its own, machines that the cloud deletes at their deadline.

use serde_json::{Value, json};

use super::cloud_init::user_data;
use super::network::{Placement, to};
use super::{Arch, Launch, Zone, enough_zones, header, literal, numbered};
use crate::place::PlaceName;

/// The region's zones, in the engine's own words.
const ZONES: &str = "data.google_compute_zones.zones.names";

pub(super) fn module(launch: &Launch, place: &PlaceName) -> Value {
    let names = launch.host_names(place);
    let types = types(launch, place);
    json!({
        "terraform": header("google", "hashicorp/google", ">= 6.0, < 8.0"),
        // The project is what GOOGLE_PROJECT or gcloud's configuration says.
        "provider": { "google": { "region": place.region } },
        "data": { "google_compute_zones": { "zones": { "region": place.region, "status": "UP" } } },
        "resource": resources(launch, place, &names),
        "output": {
            "hosts": { "value": names.iter().enumerate().map(|(index, name)| {
                let host = format!("google_compute_instance.host{}", index + 1);
                json!({
                    "name": name,
                    "address": format!("${{{host}.network_interface[0].access_config[0].nat_ip}}"),
                    "private-address": format!("${{{host}.network_interface[0].network_ip}}"),
                    "network": launch.network(place),
                    "zone": format!("${{{host}.zone}}"),
                    "instance-type": types[index],
                })
            }).collect::<Vec<Value>>() },
            "network": { "value": { "id": "${google_compute_network.mesh.self_link}" } },
        },
    })
}

fn types<'l>(launch: &'l Launch, place: &PlaceName) -> Vec<&'l str> {
    launch.types_of(place, ["e2-standard-2", "t2a-standard-1"])
}

fn resources(launch: &Launch, place: &PlaceName, names: &[String]) -> Value {
    let name = launch.name(place);
    let mut network = json!({ "name": name, "auto_create_subnetworks": false });
    if let Some(mtu) = launch.mtu("gcp") {
        network["mtu"] = mtu.into();
    }
    let mut firewalls = json!({ "operator": {
        "name": format!("{name}-operator"),
        "network": "${google_compute_network.mesh.id}",
        "source_ranges": launch.operators(),
        "allow": [{ "protocol": "tcp", "ports": ["22"] }],
    } });
    let members = [launch.private_ranges(place), launch.members()].concat();
    firewalls["mesh"] = json!({
        "name": format!("{name}-mesh"),
        "network": "${google_compute_network.mesh.id}",
        "source_ranges": members,
        "allow": [{ "protocol": "all" }],
    });
    let (zones, types) = (launch.zones_of(place), types(launch, place));
    let mut resources = json!({
        // Networks and their rules have no labels: the run is in their names.
        "google_compute_network": { "mesh": network },
        "google_compute_subnetwork": { "mesh": {
            "name": name,
            "network": "${google_compute_network.mesh.id}",
            "ip_cidr_range": launch.subnet(place, 0),
        } },
        "google_compute_firewall": firewalls,
        "google_compute_instance": numbered(names.len(), "host", |number| {
            instance(launch, &format!("{name}-{number}"), &zones[number - 1], types[number - 1])
        }),
    });
    let policy = match launch.placement {
        Placement::Any => None,
        Placement::Close => Some(json!({ "collocation": "COLLOCATED", "vm_count": names.len() })),
        // It has up to eight of them.
        Placement::Apart => Some(json!({ "availability_domain_count": names.len().min(8) })),
    };
    if let Some(policy) = policy {
        resources["google_compute_resource_policy"] =
            json!({ "mesh": { "name": name, "group_placement_policy": policy } });
    }
    for (peer, network) in launch.peers(place) {
        // Each side has its own half; routes to subnets follow.
        resources["google_compute_network_peering"][to(peer)] = json!({
            "name": to(peer),
            "network": "${google_compute_network.mesh.self_link}",
            "peer_network": network.id,
        });
    }
    resources
}

fn instance(launch: &Launch, name: &str, zone: &Zone, kind: &str) -> Value {
    let word = match launch.arch {
        Arch::X86 => "amd64",
        Arch::Arm => "arm64",
    };
    let mut scheduling = json!({
        "max_run_duration": { "seconds": launch.life_s },
        "instance_termination_action": "DELETE",
        "automatic_restart": false,
        "on_host_maintenance": "TERMINATE",
    });
    if launch.spot {
        scheduling["provisioning_model"] = "SPOT".into();
        scheduling["preemptible"] = true.into();
    }
    let mut instance = json!({
        "name": name,
        "machine_type": kind,
        "zone": match zone.index() {
            Some(index) => format!("${{{ZONES}[{index}]}}"),
            None => zone.to_string(),
        },
        "labels": launch.tags(),
        "boot_disk": { "initialize_params": {
            "image": format!("ubuntu-os-cloud/ubuntu-2404-lts-{word}"),
            "labels": launch.tags(),
        } },
        "network_interface": { "subnetwork": "${google_compute_subnetwork.mesh.id}", "access_config": {} },
        "metadata": { "user-data": literal(&user_data(launch, "gcp")) },
        "scheduling": scheduling,
    });
    if let Some(lifecycle) = enough_zones(zone, ZONES) {
        instance["lifecycle"] = lifecycle;
    }
    if launch.placement != Placement::Any {
        instance["resource_policies"] = json!(["${google_compute_resource_policy.mesh.id}"]);
    }
    instance
}
