//! `weir mesh launch` with AWS's provider against a server of AWS's API (moto) on loopback: launched and removed, in two
//! regions and in two zones of one; killed in the middle and swept by tags alone.
//!
//! Where `terraform` or `tofu`, the provider (in the folder that `WEIR_TERRAFORM_MIRROR` names), `moto_server` and `aws` are
//! not all there, it says on standard error that nothing was checked.

use std::fs;
use std::io::Write;

use serde_json::Value;

use super::aws_server::{LAUNCH, aws, has, in_the_cloud, missing, nothing_is_left, start_server};
use super::engines::kill_engines;
use super::{sweep_aws, weir};
use weir_rig::{Finished, LIMIT, Running, engine, isolated, run_within, wait_until};

const REGIONS: [&str; 2] = ["eu-west-1", "us-east-1"];

fn instances(region: &str) -> Vec<Value> {
    let alive = "--filters Name=instance-state-name,Values=pending,running";
    let query = "--query Reservations[].Instances[]";
    let told = aws(region, &format!("describe-instances {alive} {query}"));
    told.as_array().unwrap().clone()
}

/// A launch whose machines are up, and what it reports.
#[track_caller]
fn launched(pair: &str) -> (Running, Value) {
    let mut launch = Running::start(in_the_cloud(weir(&format!("{LAUNCH} {pair}"))));
    let line = launch.first_line(LIMIT);
    (launch, serde_json::from_str(&line).unwrap())
}

#[track_caller]
fn removed(launch: Running) {
    launch.signal("INT");
    launch.wait(LIMIT).expect_code(0);
    nothing_is_left(&REGIONS);
}

#[track_caller]
fn mesh(code: i32, line: &str) -> Finished {
    run_within(LIMIT, in_the_cloud(weir(line))).expect_code(code)
}

#[test]
fn a_launch_on_aws_is_removed_and_what_a_kill_leaves_is_swept_when_it_is_due() {
    let missing = missing();
    if let Some(missing) = &missing {
        let text = format!("\n*** NOT CHECKED against a server of AWS's API: {missing} ***\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
    isolated!(root);
    sweep_aws::everything_that_is_due_goes_and_what_is_refused_for_a_while_is_tried_again();
    if missing.is_some() {
        return;
    }
    weir_rig::see_own_processes();
    let _server = start_server();
    in_two_regions();
    in_two_zones_of_a_region();

    // Killed in the middle, with no record and no state: they have gone with the host that launched.
    kill_in_the_middle();
    fs::remove_dir_all(".local").unwrap();
    let swept = mesh(0, "mesh sweep --place aws:eu-west-1,aws:us-east-1 --all --json").json();
    assert!(!swept["tagged"].as_array().unwrap().is_empty(), "{swept}");
    nothing_is_left(&REGIONS);
}

/// What a plan for the hosts of a launch tests: the addresses, in the plan's order.
#[track_caller]
fn planned(up: &Value, more: &str) -> Vec<Value> {
    let file = up["hosts_file"].as_str().unwrap();
    let plan = mesh(0, &format!("mesh plan --hosts {file} --one-way --json {more}")).json();
    let pairs = plan["pairs"].as_array().unwrap().clone();
    pairs.into_iter().map(|pair| pair["addresses"].clone()).collect()
}

fn in_two_regions() {
    let (launch, up) = launched("aws:eu-west-1->aws:us-east-1 --peering");
    // The operator's SSH, both networks, and both hosts.
    let mut expected: Vec<String> = ["203.0.113.7/32", "10.77.0.0/16", "10.78.0.0/16"]
        .map(str::to_owned)
        .into();
    for (region, place) in REGIONS.iter().zip(up["places"].as_array().unwrap()) {
        let instances = instances(region);
        assert_eq!(instances.len(), 1, "{region}");
        let address = &instances[0]["PublicIpAddress"];
        let host = &place["hosts"][0];
        assert_eq!(*address, host["address"]);
        assert_eq!(instances[0]["PrivateIpAddress"], host["private_address"]);
        assert_eq!(
            (&host["network"], &instances[0]["InstanceType"]),
            (&"aws".into(), &"c5.large".into())
        );
        expected.push(format!("{}/32", address.as_str().unwrap()));
        let tags = instances[0]["Tags"].as_array().unwrap();
        let tag = |key: &str| tags.iter().find(|tag| tag["Key"] == key).unwrap()["Value"].clone();
        assert_eq!(tag("weir-run"), up["launch"]);
        assert_eq!(tag("weir-delete-after"), up["delete_after_unix_s"].to_string());
    }
    expected.sort();
    // What the server has, not what was asked for.
    for region in REGIONS {
        let query = "--query SecurityGroups[].IpPermissions[].IpRanges[].CidrIp";
        let ranges = aws(
            region,
            &format!("describe-security-groups --filters Name=tag-key,Values=weir-run {query}"),
        );
        let mut ranges: Vec<&str> = ranges
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        ranges.sort_unstable();
        assert_eq!(ranges, expected, "{region}");
        // The connection was accepted, and each side has a route to the other's range.
        let told = aws(region, "describe-vpc-peering-connections");
        let joined = &told["VpcPeeringConnections"][0];
        assert_eq!(joined["Status"]["Code"], "active", "{region}: {told}");
        let other = if region == REGIONS[0] {
            "10.78.0.0/16"
        } else {
            "10.77.0.0/16"
        };
        let query = format!(
            "--query RouteTables[].Routes[?DestinationCidrBlock=='{other}'][].VpcPeeringConnectionId"
        );
        let route = aws(region, &format!("describe-route-tables {query}"));
        assert_eq!(route[0], joined["VpcPeeringConnectionId"], "{region}: {route}");
    }
    assert_eq!(planned(&up, ""), ["private"]);
    assert_eq!(planned(&up, "--addresses both"), ["private", "public"]);
    removed(launch);
}

/// Kills a launch and its engines while machines are being made.
#[track_caller]
fn kill_in_the_middle() {
    let killed = Running::start(in_the_cloud(weir(&format!(
        "{LAUNCH} aws:eu-west-1->aws:us-east-1"
    ))));
    wait_until("an instance", LIMIT, || {
        REGIONS
            .iter()
            .any(|region| has(region, "Instances").contains("weir-run"))
            .then_some(())
    });
    drop(killed);
    kill_engines(&engine().unwrap());
}

fn in_two_zones_of_a_region() {
    let (launch, up) = launched("aws:us-east-1b->aws:us-east-1/1");
    let hosts = up["places"][0]["hosts"].as_array().unwrap();
    // The first zone, and the one that is named.
    let zones: Vec<&Value> = hosts.iter().map(|host| &host["zone"]).collect();
    assert_eq!(zones, ["us-east-1a", "us-east-1b"], "{up}");
    let there = instances("us-east-1");
    for host in hosts {
        let instance = there.iter().find(|one| one["PublicIpAddress"] == host["address"]);
        assert_eq!(instance.unwrap()["Placement"]["AvailabilityZone"], host["zone"]);
        assert_eq!(instance.unwrap()["PrivateIpAddress"], host["private_address"]);
    }
    assert_eq!(planned(&up, "--zones"), ["private"]);
    removed(launch);
    // More than there are: told before anything is made.
    let done = mesh(
        3,
        &format!("{LAUNCH} aws:us-east-1->aws:us-east-1 --zones --machines 16"),
    );
    let last = done.stderr.lines().last().unwrap();
    assert!(last.starts_with("weir: aws:us-east-1: "), "{last}");
    assert!(last.contains("There are fewer than"), "{last}");
    nothing_is_left(&REGIONS);
}
