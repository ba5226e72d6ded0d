//! A module for Oracle's cloud: a network of its own, machines that stop at their deadline (a stopped one of these
//! shapes costs nothing but its disk).

use serde_json::{Map, Value, json};

use super::azure::quoted;
use super::cloud_init::user_data;
use super::network::{Placement, to};
use super::{Image, Launch, Zone, distinct, enough_zones, header, nth, numbered};
use crate::MeshError;
use crate::place::PlaceName;

/// IANA's number of TCP, by which rules name it.
const TCP: &str = "6";

/// The region's zones, in the engine's own words.
const ZONES: &str = "data.oci_identity_availability_domains.zones.availability_domains";

pub(super) fn module(launch: &Launch, place: &PlaceName) -> Result<Value, MeshError> {
    let Some(compartment) = &launch.oracle_compartment else {
        return Err(MeshError::NotOffered {
            cloud: "oracle",
            problem: "needs a compartment: give its OCID with --oracle-compartment",
        });
    };
    let names = launch.host_names(place);
    let shapes = launch.types_of(place, ["VM.Standard.E4.Flex", "VM.Standard.A1.Flex"]);
    let (system, version) = match launch.image("oracle") {
        Image::OracleLinux => ("Oracle Linux", "9"),
        _ => ("Canonical Ubuntu", "24.04"),
    };
    Ok(json!({
        "terraform": header("oci", "oracle/oci", ">= 6.0, < 8.0"),
        "provider": { "oci": { "region": place.region } },
        "data": {
            "oci_identity_availability_domains": { "zones": { "compartment_id": compartment } },
            // Not every image is for every shape.
            "oci_core_images": Map::from_iter(distinct(&shapes).into_iter().enumerate().map(|(index, shape)| {
                (nth("image", index), json!({
                    "compartment_id": compartment,
                    "operating_system": system,
                    "operating_system_version": version,
                    "shape": shape,
                    "sort_by": "TIMECREATED",
                    "sort_order": "DESC",
                }))
            })),
        },
        "resource": resources(launch, place, compartment, &shapes),
        "output": {
            "hosts": { "value": names.iter().enumerate().map(|(index, name)| {
                let host = format!("oci_core_instance.host{}", index + 1);
                json!({
                    "name": name,
                    "address": format!("${{{host}.public_ip}}"),
                    "private-address": format!("${{{host}.private_ip}}"),
                    "network": launch.network(place),
                    // Its zones have a prefix of the tenancy's and the region's: abCD:UK-LONDON-1-AD-1.
                    "zone": format!("${{try(regex(\"AD-[0-9]+$\", {host}.availability_domain), \"\")}}"),
                    "instance-type": shapes[index],
                    "fault-domain": fault_domain(launch.placement, index + 1).unwrap_or_default(),
                })
            }).collect::<Vec<Value>>() },
            "network": { "value": { "id": "${oci_core_vcn.mesh.id}", "links": links(launch, place) } },
        },
    }))
}

/// Each zone has three; machines of one are close to each other.
fn fault_domain(placement: Placement, host: usize) -> Option<String> {
    match placement {
        Placement::Any => None,
        Placement::Close => Some("FAULT-DOMAIN-1".to_owned()),
        Placement::Apart => Some(format!("FAULT-DOMAIN-{}", (host - 1) % 3 + 1)),
    }
}

/// Connections that wait here for the other side: those to places that come later by name.
fn links(launch: &Launch, place: &PlaceName) -> Map<String, Value> {
    let peers = launch.peers(place).into_iter();
    peers
        .filter(|(peer, _)| place < *peer)
        .map(|(peer, _)| {
            let id = format!("${{oci_core_remote_peering_connection.{}.id}}", to(peer));
            (peer.to_string(), id.into())
        })
        .collect()
}

/// What joins this network to those of other regions: a gateway with a connection for each, which waits on one side and calls on
/// the other, and routes.
fn join(launch: &Launch, place: &PlaceName, common: &dyn Fn(Value) -> Value, resources: &mut Value) {
    let peers = launch.peers(place);
    if peers.is_empty() {
        return;
    }
    resources["oci_core_drg"] = json!({ "mesh": common(json!({})) });
    resources["oci_core_drg_attachment"] = json!({ "mesh": {
        "drg_id": "${oci_core_drg.mesh.id}",
        "network_details": { "type": "VCN", "id": "${oci_core_vcn.mesh.id}" },
    } });
    for (peer, _) in peers {
        let mut connection = json!({ "drg_id": "${oci_core_drg.mesh.id}" });
        let link = launch.link(place, peer);
        if let Some(link) = link.filter(|_| place > peer) {
            connection["peer_id"] = link.into();
            connection["peer_region_name"] = peer.region.clone().into();
        }
        resources["oci_core_remote_peering_connection"][to(peer)] = common(connection);
    }
}

/// Routes out, and to joined networks.
fn routes(launch: &Launch, place: &PlaceName) -> Vec<Value> {
    let out =
        json!({ "destination": "0.0.0.0/0", "network_entity_id": "${oci_core_internet_gateway.mesh.id}" });
    let peers = launch.peers(place).into_iter();
    let joined = peers.map(|(peer, _)| {
        json!({ "destination": launch.range(peer), "network_entity_id": "${oci_core_drg_attachment.mesh.drg_id}" })
    });
    std::iter::once(out).chain(joined).collect()
}

fn resources(launch: &Launch, place: &PlaceName, compartment: &str, shapes: &[&str]) -> Value {
    let zones = launch.zones_of(place);
    let name = format!("weir-{}", launch.run);
    let common = |more: Value| {
        let mut object = json!({
            "compartment_id": compartment,
            "display_name": name,
            "freeform_tags": launch.tags(),
        });
        if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
            object.extend(more);
        }
        object
    };
    let in_network = |mut more: Value| {
        more["vcn_id"] = "${oci_core_vcn.mesh.id}".into();
        common(more)
    };
    let mut rules: Vec<Value> = launch
        .operators()
        .iter()
        .map(|range| json!({ "protocol": TCP, "source": range, "tcp_options": { "min": 22, "max": 22 } }))
        .collect();
    let members = [launch.private_ranges(place), launch.members()].concat();
    let all = members
        .iter()
        .map(|range| json!({ "protocol": "all", "source": range }));
    rules.extend(all);
    let mut resources = json!({
        "oci_core_vcn": { "mesh": common(json!({ "cidr_blocks": [launch.range(place)] })) },
        "oci_core_internet_gateway": { "mesh": in_network(json!({})) },
        "oci_core_route_table": { "mesh": in_network(json!({ "route_rules": routes(launch, place) })) },
        "oci_core_security_list": { "mesh": in_network(json!({
            "ingress_security_rules": rules,
            "egress_security_rules": [{ "protocol": "all", "destination": "0.0.0.0/0" }],
        })) },
        "oci_core_subnet": { "mesh": in_network(json!({
            "cidr_block": launch.subnet(place, 0),
            "route_table_id": "${oci_core_route_table.mesh.id}",
            "security_list_ids": ["${oci_core_security_list.mesh.id}"],
        })) },
        "oci_core_instance": numbered(zones.len(), "host", |host| {
            common(instance(launch, shapes, host, &zones[host - 1]))
        }),
    });
    join(launch, place, &common, &mut resources);
    resources
}

/// A zone's whole name, in the engine's own words.
fn domain(zone: &Zone) -> String {
    match zone.index() {
        Some(index) => format!("${{{ZONES}[{index}].name}}"),
        None => format!("${{one([for zone in {ZONES} : zone.name if endswith(zone.name, \"-{zone}\")])}}"),
    }
}

fn instance(launch: &Launch, shapes: &[&str], host: usize, zone: &Zone) -> Value {
    let shape = shapes[host - 1];
    let images = distinct(shapes);
    let image = nth(
        "image",
        images.iter().position(|other| **other == shape).unwrap_or(0),
    );
    let mut instance = json!({
        "availability_domain": domain(zone),
        "shape": shape,
        "source_details": {
            "source_type": "image",
            "source_id": format!("${{data.oci_core_images.{image}.images[0].id}}"),
        },
        "create_vnic_details": {
            "subnet_id": "${oci_core_subnet.mesh.id}",
            "assign_public_ip": true,
            "freeform_tags": launch.tags(),
        },
        "metadata": { "user_data": format!("${{base64encode({})}}", quoted(&user_data(launch, "oracle"))) },
    });
    if let Some(domain) = fault_domain(launch.placement, host) {
        instance["fault_domain"] = domain.into();
    }
    if let Some(lifecycle) = enough_zones(zone, ZONES) {
        instance["lifecycle"] = lifecycle;
    }
    if shape.ends_with(".Flex") {
        instance["shape_config"] = json!({ "ocpus": 1, "memory_in_gbs": 4 });
    }
    if launch.spot {
        instance["preemptible_instance_config"] = json!({
            "preemption_action": { "type": "TERMINATE", "preserve_boot_volume": false },
        });
    }
    instance
}
