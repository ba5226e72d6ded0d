//! `weir mesh launch` with AWS's provider against a server of AWS's API (moto) on loopback: launched and removed, in two
//! regions and in two zones of one; killed in the middle and swept by tags alone.
//!
//! Where `terraform` or `tofu`, the provider (in the folder that `WEIR_TERRAFORM_MIRROR` names), `moto_server` and `aws` are
//! not all there, it says on standard error that nothing was checked.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::launch::{engine, processes};
use super::{sweep_aws, weir};
use weir_rig::{Finished, LIMIT, Running, isolated, run, run_within, wait_until};

const MIRROR: &str = "WEIR_TERRAFORM_MIRROR";
const SERVER: &str = "127.0.0.1:5055";
const REGIONS: [&str; 2] = ["eu-west-1", "us-east-1"];
/// Nothing is behind the addresses.
const LAUNCH: &str = "mesh launch --json --quiet --admit 203.0.113.7 --ssh true --one-way --pair";

/// What is not there of what this test needs.
fn missing() -> Option<String> {
    let path = std::env::var_os("PATH").unwrap();
    let found = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let lacking = ["moto_server", "aws"].into_iter().find(|program| !found(program));
    if lacking.is_some() || engine().is_none() {
        return Some(format!(
            "{} is not in PATH",
            lacking.unwrap_or("tofu or terraform")
        ));
    }
    let Ok(folder) = std::env::var(MIRROR) else {
        return Some(format!("{MIRROR} names no folder with AWS's provider"));
    };
    assert!(
        Path::new(&folder).is_dir(),
        "{MIRROR} is set, but {folder} is no folder"
    );
    None
}

/// A command that finds the server.
fn in_the_cloud(mut command: Command) -> Command {
    command
        .env("HOME", weir_rig::SCRATCH)
        .env("TF_CLI_CONFIG_FILE", weir_rig::path("engine.rc"))
        .env("AWS_ENDPOINT_URL", format!("http://{SERVER}"))
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env_remove("AWS_PROFILE");
    command
}

#[track_caller]
fn start_server() -> Running {
    let mirror = std::env::var(MIRROR).unwrap();
    let config =
        format!("provider_installation {{\n  filesystem_mirror {{\n    path = \"{mirror}\"\n  }}\n}}\n");
    fs::write("engine.rc", config).unwrap();
    // Canonical's image, which the server does not know.
    let images = json!([{
        "ami_id": "ami-12345678", "name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260101",
        "owner_id": "099720109477", "architecture": "x86_64", "public": true, "virtualization_type": "hvm",
        "hypervisor": "xen", "root_device_type": "ebs", "description": "", "image_location": "amazon/ubuntu",
    }]);
    fs::write("images.json", images.to_string()).unwrap();
    let (host, port) = SERVER.split_once(':').unwrap();
    let mut server = Command::new("moto_server");
    server.args(["-H", host, "-p", port]);
    server.env("MOTO_AMIS_PATH", weir_rig::path("images.json"));
    let server = Running::start(server);
    wait_until("the server", LIMIT, || TcpStream::connect(SERVER).ok());
    server
}

/// What the server's own API says.
#[track_caller]
fn aws(region: &str, line: &str) -> Value {
    let mut command = Command::new("aws");
    command
        .args(["--region", region, "--output", "json", "ec2"])
        .args(line.split(' '));
    run_within(LIMIT, in_the_cloud(command)).expect_code(0).json()
}

fn instances(region: &str) -> Vec<Value> {
    let alive = "--filters Name=instance-state-name,Values=pending,running";
    let query = "--query Reservations[].Instances[]";
    let told = aws(region, &format!("describe-instances {alive} {query}"));
    told.as_array().unwrap().clone()
}

/// What the server has of a kind, as its API's XML: resources with Weir's tags, and instances that are alive.
fn has(region: &str, kind: &str) -> String {
    let (name, values) = match kind {
        "Instances" => (
            "instance-state-name",
            "&Filter.1.Value.1=pending&Filter.1.Value.2=running",
        ),
        _ => ("tag-key", "&Filter.1.Value.1=weir-run"),
    };
    let order = format!("Action=Describe{kind}&Version=2016-11-15&Filter.1.Name={name}{values}");
    let scope =
        format!("Credential=test/20260101/{region}/ec2/aws4_request, SignedHeaders=host, Signature=0");
    let header = format!("Authorization: AWS4-HMAC-SHA256 {scope}");
    let told = run(
        "curl",
        &["-s", "-H", &header, "-d", &order, &format!("http://{SERVER}/")],
    );
    assert!(told.contains(&format!("<Describe{kind}Response")), "{told}");
    told
}

#[track_caller]
fn nothing_is_left() {
    for region in REGIONS {
        for kind in "Instances Vpcs SecurityGroups InternetGateways Subnets RouteTables Volumes".split(' ') {
            let there = has(region, kind);
            assert!(!there.contains("weir-run"), "{region}: {there}");
        }
    }
    let states = fs::read_dir(".local/state/weir/mesh");
    assert_eq!(states.map_or(0, Iterator::count), 0);
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
    nothing_is_left();
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
    nothing_is_left();
}

fn in_two_regions() {
    let (launch, up) = launched("aws:eu-west-1->aws:us-east-1");
    let mut expected = vec!["203.0.113.7/32".to_owned()];
    for (region, place) in REGIONS.iter().zip(up["places"].as_array().unwrap()) {
        let instances = instances(region);
        assert_eq!(instances.len(), 1, "{region}");
        let address = &instances[0]["PublicIpAddress"];
        assert_eq!(*address, place["hosts"][0]["address"]);
        expected.push(format!("{}/32", address.as_str().unwrap()));
        let tags = instances[0]["Tags"].as_array().unwrap();
        let tag = |key: &str| tags.iter().find(|tag| tag["Key"] == key).unwrap()["Value"].clone();
        assert_eq!(tag("weir-run"), up["launch"]);
        assert_eq!(tag("weir-delete-after"), up["delete_after_unix_s"].to_string());
    }
    expected.sort();
    // The operator's SSH, and both hosts: what the server has, not what was asked for.
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
    }
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
    let engine = engine().unwrap();
    for id in processes(&engine) {
        // Some have ended already, and providers have no group of their own.
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{id}")])
            .output();
    }
    wait_until("the end of the engines", LIMIT, || {
        processes(&engine).is_empty().then_some(())
    });
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
    }
    removed(launch);
    // More than there are: told before anything is made.
    let done = mesh(
        3,
        &format!("{LAUNCH} aws:us-east-1->aws:us-east-1 --zones --machines 16"),
    );
    let last = done.stderr.lines().last().unwrap();
    assert!(last.starts_with("weir: aws:us-east-1: "), "{last}");
    assert!(last.contains("There are fewer than"), "{last}");
    nothing_is_left();
}
