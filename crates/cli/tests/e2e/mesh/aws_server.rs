//! A server of AWS's API (moto) on loopback, and what it has. Soak tests use it, too.
//!
//! It needs `terraform` or `tofu`, the provider (in the folder that `WEIR_TERRAFORM_MIRROR` names), `moto_server` and `aws`.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use weir_rig::{LIMIT, Running, engine, run, run_within, wait_until};

const MIRROR: &str = "WEIR_TERRAFORM_MIRROR";
const SERVER: &str = "127.0.0.1:5055";
/// Nothing is behind the addresses.
pub const LAUNCH: &str = "mesh launch --json --quiet --admit 203.0.113.7 --ssh true --one-way --pair";

/// What is not there of what this test needs.
pub fn missing() -> Option<String> {
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
pub fn in_the_cloud(mut command: Command) -> Command {
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
pub fn start_server() -> Running {
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
pub fn aws(region: &str, line: &str) -> Value {
    let mut command = Command::new("aws");
    command
        .args(["--region", region, "--output", "json", "ec2"])
        .args(line.split(' '));
    run_within(LIMIT, in_the_cloud(command)).expect_code(0).json()
}

/// What the server has of a kind, as its API's XML: resources with Weir's tags, and instances that are alive.
pub fn has(region: &str, kind: &str) -> String {
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
pub fn nothing_is_left(regions: &[&str]) {
    for region in regions {
        for kind in "Instances Vpcs SecurityGroups InternetGateways Subnets RouteTables Volumes".split(' ') {
            let there = has(region, kind);
            assert!(!there.contains("weir-run"), "{region}: {there}");
        }
        // Connections that are gone are still listed, with their tags.
        let told = aws(region, "describe-vpc-peering-connections");
        for joined in told["VpcPeeringConnections"].as_array().unwrap() {
            assert_eq!(joined["Status"]["Code"], "deleted", "{region}: {told}");
        }
    }
    let states = fs::read_dir(".local/state/weir/mesh");
    assert_eq!(states.map_or(0, Iterator::count), 0);
}
