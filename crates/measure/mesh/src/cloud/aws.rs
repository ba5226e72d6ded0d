//! A module for AWS: a network of its own, machines that are terminated when they shut down.

use serde_json::{Map, Value, json};

use super::cloud_init::user_data;
use super::network::{Placement, to};
use super::{
    Arch, Image, Launch, MESH_PER_GROUP, Zone, distinct, enough_zones, header, literal, nth, numbered,
};
use crate::place::PlaceName;

/// Accounts whose images these are: Canonical's, Debian's, Amazon's.
const CANONICAL: &str = "099720109477";
const DEBIAN: &str = "136693071363";
const AMAZON: &str = "137112412989";
/// Disk of a machine, as large as the image.
const DISK_GIB: u32 = 8;
/// Zones of the region itself, such as us-east-1a, and not local ones such as us-east-1-bos-1a.
const ZONE: &str = "^[a-z]+(-[a-z]+)+-[0-9][a-z]$";

pub(super) fn module(launch: &Launch, place: &PlaceName) -> Value {
    let names = launch.host_names(place);
    let zones = launch.zones_of(place);
    let types = launch.types_of(place, ["c5.large", "c6g.large"]);
    let offered = offered(&types);
    let (architecture, word) = match launch.arch {
        Arch::X86 => ("x86_64", "amd64"),
        Arch::Arm => ("arm64", "arm64"),
    };
    let (owner, image) = match launch.image("aws") {
        Image::Debian => (DEBIAN, format!("debian-12-{word}-*")),
        Image::AmazonLinux => (AMAZON, format!("al2023-ami-2023.*-{architecture}")),
        Image::Ubuntu | Image::OracleLinux => (
            CANONICAL,
            format!("ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-{word}-server-*"),
        ),
    };
    json!({
        "terraform": header("aws", "hashicorp/aws", ">= 5.40, < 7.0"),
        "provider": { "aws": { "region": place.region, "default_tags": { "tags": launch.tags() } } },
        "data": {
            "aws_ami": { "image": {
                "most_recent": true,
                "owners": [owner],
                "filter": [
                    { "name": "name", "values": [image] },
                    { "name": "architecture", "values": [architecture] },
                ],
            } },
            "aws_ec2_instance_type_offerings": offered,
        },
        "locals": {
            "zones": format!(
                "${{[for zone in sort({}) : zone if length(regexall(\"{ZONE}\", zone)) > 0]}}",
                zones_of_all(&offered)
            ),
        },
        "resource": resources(launch, place, &zones, &types),
        "output": {
            "hosts": { "value": names.iter().enumerate().map(|(index, name)| {
                let host = format!("aws_instance.host{}", index + 1);
                json!({
                    "name": name,
                    "address": format!("${{{host}.public_ip}}"),
                    "private-address": format!("${{{host}.private_ip}}"),
                    "network": launch.network(place),
                    "zone": format!("${{{host}.availability_zone}}"),
                    "instance-type": types[index],
                    "placement-group": if launch.placement == Placement::Any { String::new() } else { group_name(launch) },
                })
            }).collect::<Vec<Value>>() },
            "network": { "value": { "id": "${aws_vpc.mesh.id}", "links": links(launch, place) } },
        },
    })
}

/// In which zones each type is offered: not every zone has every type.
fn offered(types: &[&str]) -> Map<String, Value> {
    let zones = |(index, kind): (usize, &&str)| {
        let offered = json!({
            "location_type": "availability-zone",
            "filter": { "name": "instance-type", "values": [kind] },
        });
        (nth("zones", index), offered)
    };
    distinct(types).into_iter().enumerate().map(zones).collect()
}

/// The zones in which all types are offered, in the engine's own words.
fn zones_of_all(offered: &Map<String, Value>) -> String {
    let names = offered.keys();
    let lists: Vec<String> = names
        .map(|name| format!("data.aws_ec2_instance_type_offerings.{name}.locations"))
        .collect();
    match &lists[..] {
        [only] => only.clone(),
        lists => format!("setintersection({})", lists.join(", ")),
    }
}

fn group_name(launch: &Launch) -> String {
    format!("weir-{}", launch.run)
}

/// Connections that are begun from here: to places that come later by name.
fn links(launch: &Launch, place: &PlaceName) -> Map<String, Value> {
    let peers = launch.peers(place).into_iter();
    peers
        .filter(|(peer, _)| place < *peer)
        .map(|(peer, _)| {
            let id = format!("${{aws_vpc_peering_connection.{}.id}}", to(peer));
            (peer.to_string(), id.into())
        })
        .collect()
}

/// What joins this network to those of other regions: one side asks, the other accepts, both have a route.
fn join(launch: &Launch, place: &PlaceName, resources: &mut Value) {
    for (peer, network) in launch.peers(place) {
        let name = to(peer);
        if place < peer {
            resources["aws_vpc_peering_connection"][&name] = json!({
                "vpc_id": "${aws_vpc.mesh.id}",
                "peer_vpc_id": network.id,
                "peer_region": peer.region,
            });
        }
        let Some(link) = launch.link(place, peer) else {
            continue;
        };
        if place > peer {
            resources["aws_vpc_peering_connection_accepter"][&name] =
                json!({ "vpc_peering_connection_id": link, "auto_accept": true });
        }
        resources["aws_route"][&name] = json!({
            "route_table_id": "${aws_route_table.mesh.id}",
            "destination_cidr_block": launch.range(peer),
            "vpc_peering_connection_id": link,
        });
    }
}

/// The network has a subnet in each zone where machines are.
fn resources(launch: &Launch, place: &PlaceName, zones: &[Zone], types: &[&str]) -> Value {
    let subnets = distinct(zones);
    let subnet_of = |host: usize| {
        subnets
            .iter()
            .position(|zone| **zone == zones[host - 1])
            .map_or(1, |at| at + 1)
    };
    let named = json!({ "Name": format!("weir-{}", launch.run) });
    let groups = groups(launch, place);
    let ids: Vec<String> = groups
        .keys()
        .map(|group| format!("${{aws_security_group.{group}.id}}"))
        .collect();
    let mut resources = json!({
        "aws_vpc": { "mesh": { "cidr_block": launch.range(place), "tags": named } },
        "aws_internet_gateway": { "mesh": { "vpc_id": "${aws_vpc.mesh.id}" } },
        "aws_subnet": numbered(subnets.len(), "zone", |number| {
            subnet(subnets[number - 1], launch.subnet(place, number - 1))
        }),
        "aws_route_table": { "mesh": { "vpc_id": "${aws_vpc.mesh.id}" } },
        "aws_route": { "out": {
            "route_table_id": "${aws_route_table.mesh.id}",
            "destination_cidr_block": "0.0.0.0/0",
            "gateway_id": "${aws_internet_gateway.mesh.id}",
        } },
        "aws_route_table_association": numbered(subnets.len(), "zone", |number| json!({
            "subnet_id": format!("${{aws_subnet.zone{number}.id}}"),
            "route_table_id": "${aws_route_table.mesh.id}",
        })),
        "aws_security_group": groups,
        "aws_instance": numbered(zones.len(), "host", |host| {
            instance(launch, types[host - 1], &ids, subnet_of(host))
        }),
    });
    let strategy = match launch.placement {
        Placement::Any => None,
        Placement::Close => Some("cluster"),
        Placement::Apart => Some("spread"),
    };
    if let Some(strategy) = strategy {
        resources["aws_placement_group"] =
            json!({ "mesh": { "name": group_name(launch), "strategy": strategy } });
    }
    join(launch, place, &mut resources);
    resources
}

fn subnet(zone: &Zone, range: String) -> Value {
    let mut subnet = json!({
        "vpc_id": "${aws_vpc.mesh.id}",
        "cidr_block": range,
        "availability_zone": match zone.index() {
            Some(index) => format!("${{local.zones[{index}]}}"),
            None => zone.to_string(),
        },
    });
    if let Some(lifecycle) = enough_zones(zone, "local.zones") {
        subnet["lifecycle"] = lifecycle;
    }
    subnet
}

fn instance(launch: &Launch, kind: &str, groups: &[String], subnet: usize) -> Value {
    let mut instance = json!({
        "ami": "${data.aws_ami.image.id}",
        "instance_type": kind,
        "subnet_id": format!("${{aws_subnet.zone{subnet}.id}}"),
        "vpc_security_group_ids": groups,
        "associate_public_ip_address": true,
        "user_data": literal(&user_data(launch, "aws")),
        // The deadline inside then ends all of it, the disk too.
        "instance_initiated_shutdown_behavior": "terminate",
        "metadata_options": { "http_tokens": "required" },
        "root_block_device": { "volume_size": DISK_GIB, "delete_on_termination": true, "tags": launch.tags() },
        "tags": { "Name": format!("weir-{}", launch.run) },
        "depends_on": ["aws_route.out", format!("aws_route_table_association.zone{subnet}")],
    });
    if launch.spot {
        instance["instance_market_options"] = json!({
            "market_type": "spot",
            "spot_options": { "instance_interruption_behavior": "terminate", "spot_instance_type": "one-time" },
        });
    }
    if launch.placement != Placement::Any {
        instance["placement_group"] = "${aws_placement_group.mesh.id}".into();
    }
    instance
}

/// One group for the operator and private addresses, and as many as the mesh's public addresses need.
fn groups(launch: &Launch, place: &PlaceName) -> Map<String, Value> {
    let group = |name: &str, description: &str, rules: Vec<Value>| {
        json!({
            "name": format!("weir-{}-{name}", launch.run),
            "description": description,
            "vpc_id": "${aws_vpc.mesh.id}",
            "ingress": rules,
            "egress": [rule("-1", [0, 0], &["0.0.0.0/0".to_owned()])],
        })
    };
    let ssh = rule("tcp", [22, 22], &launch.operators());
    let private = rule("-1", [0, 0], &launch.private_ranges(place));
    let mut groups = Map::from_iter([(
        "operator".to_owned(),
        group(
            "operator",
            "SSH from who launched it, and private addresses of the mesh",
            vec![ssh, private],
        ),
    )]);
    for (index, members) in launch.members().chunks(MESH_PER_GROUP).enumerate() {
        let name = format!("mesh{}", index + 1);
        let all = rule("-1", [0, 0], members);
        groups.insert(name.clone(), group(&name, "Hosts of the mesh", vec![all]));
    }
    groups
}

/// A rule with every attribute, as JSON has to give them.
fn rule(protocol: &str, [from, to]: [u16; 2], ranges: &[String]) -> Value {
    json!({
        "description": "",
        "protocol": protocol,
        "from_port": from,
        "to_port": to,
        "cidr_blocks": ranges,
        "ipv6_cidr_blocks": [],
        "prefix_list_ids": [],
        "security_groups": [],
        "self": false,
    })
}
