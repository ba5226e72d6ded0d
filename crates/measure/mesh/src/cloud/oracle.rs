//! A module for Oracle's cloud: a network of its own, machines that stop at their deadline (a stopped one of these
//! shapes costs nothing but its disk).

use serde_json::{Value, json};

use super::azure::quoted;
use super::cloud_init::user_data;
use super::{Launch, Zone, enough_zones, header, numbered};
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
    if launch.placement_group {
        return Err(MeshError::NotOffered {
            cloud: "oracle",
            problem: "has no placement groups that Weir supports: remove --placement-group or the cloud",
        });
    }
    let names = launch.host_names(place);
    let shape = launch.machine_type("oracle", ["VM.Standard.E4.Flex", "VM.Standard.A1.Flex"]);
    Ok(json!({
        "terraform": header("oci", "oracle/oci", ">= 6.0, < 8.0"),
        "provider": { "oci": { "region": place.region } },
        "data": {
            "oci_identity_availability_domains": { "zones": { "compartment_id": compartment } },
            "oci_core_images": { "image": {
                "compartment_id": compartment,
                "operating_system": "Canonical Ubuntu",
                "operating_system_version": "24.04",
                "shape": shape,
                "sort_by": "TIMECREATED",
                "sort_order": "DESC",
            } },
        },
        "resource": resources(launch, compartment, shape, &launch.zones_of(place)),
        "output": { "hosts": { "value": names.iter().enumerate().map(|(index, name)| {
            let host = format!("oci_core_instance.host{}", index + 1);
            json!({
                "name": name,
                "address": format!("${{{host}.public_ip}}"),
                // Its zones have a prefix of the tenancy's and the region's: abCD:UK-LONDON-1-AD-1.
                "zone": format!("${{try(regex(\"AD-[0-9]+$\", {host}.availability_domain), \"\")}}"),
            })
        }).collect::<Vec<Value>>() } },
    }))
}

fn resources(launch: &Launch, compartment: &str, shape: &str, zones: &[Zone]) -> Value {
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
    rules.extend(
        launch
            .members()
            .iter()
            .map(|range| json!({ "protocol": "all", "source": range })),
    );
    json!({
        "oci_core_vcn": { "mesh": common(json!({ "cidr_blocks": ["10.77.0.0/16"] })) },
        "oci_core_internet_gateway": { "mesh": in_network(json!({})) },
        "oci_core_route_table": { "mesh": in_network(json!({ "route_rules": [{
            "destination": "0.0.0.0/0",
            "network_entity_id": "${oci_core_internet_gateway.mesh.id}",
        }] })) },
        "oci_core_security_list": { "mesh": in_network(json!({
            "ingress_security_rules": rules,
            "egress_security_rules": [{ "protocol": "all", "destination": "0.0.0.0/0" }],
        })) },
        "oci_core_subnet": { "mesh": in_network(json!({
            "cidr_block": "10.77.0.0/20",
            "route_table_id": "${oci_core_route_table.mesh.id}",
            "security_list_ids": ["${oci_core_security_list.mesh.id}"],
        })) },
        "oci_core_instance": numbered(zones.len(), "host", |host| common(instance(launch, shape, &zones[host - 1]))),
    })
}

/// A zone's whole name, in the engine's own words.
fn domain(zone: &Zone) -> String {
    match zone.index() {
        Some(index) => format!("${{{ZONES}[{index}].name}}"),
        None => format!("${{one([for zone in {ZONES} : zone.name if endswith(zone.name, \"-{zone}\")])}}"),
    }
}

fn instance(launch: &Launch, shape: &str, zone: &Zone) -> Value {
    let mut instance = json!({
        "availability_domain": domain(zone),
        "shape": shape,
        "source_details": { "source_type": "image", "source_id": "${data.oci_core_images.image.images[0].id}" },
        "create_vnic_details": {
            "subnet_id": "${oci_core_subnet.mesh.id}",
            "assign_public_ip": true,
            "freeform_tags": launch.tags(),
        },
        "metadata": { "user_data": format!("${{base64encode({})}}", quoted(&user_data(launch, "oracle"))) },
    });
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
