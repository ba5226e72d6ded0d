//! `weir mesh launch` with AWS's provider against a server of AWS's API (moto) on loopback: launched and removed; killed in
//! the middle and swept, by what it had written down and by tags alone; in two zones of a region; credentials missing.
//!
//! Where `terraform` or `tofu`, the provider (in the folder that `WEIR_TERRAFORM_MIRROR` names), `moto_server` and `aws` are
//! not all there, it says on standard error that nothing was checked. It runs again inside a network namespace of its own,
//! so that no packet leaves the machine.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const INSIDE: &str = "WEIR_MESH_AWS_TEST_INSIDE";
const MIRROR: &str = "WEIR_TERRAFORM_MIRROR";
const SERVER: &str = "127.0.0.1:5055";
const REGIONS: [&str; 2] = ["eu-west-1", "us-east-1"];
const LAUNCH: [&str; 11] = [
    "mesh",
    "launch",
    "--json",
    "--quiet",
    "--pair",
    "aws:eu-west-1->aws:us-east-1",
    "--admit",
    "203.0.113.7",
    // Nothing is behind the addresses.
    "--ssh",
    "true",
    "--one-way",
];

fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// What is not there of what this test needs.
fn missing() -> Option<String> {
    for program in ["moto_server", "aws", "unshare"] {
        if found(program).is_none() {
            return Some(format!("{program} is not in PATH"));
        }
    }
    if found("tofu").or_else(|| found("terraform")).is_none() {
        return Some("neither tofu nor terraform is in PATH".into());
    }
    match std::env::var(MIRROR) {
        Err(_) => Some(format!("{MIRROR} names no folder with AWS's provider")),
        Ok(folder) => {
            assert!(
                Path::new(&folder).is_dir(),
                "{MIRROR} is set, but {folder} is no folder"
            );
            None
        }
    }
}

#[track_caller]
fn wait_until(what: &str, seconds: u64, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(seconds);
    while !holds() {
        assert!(Instant::now() < deadline, "waited for {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The server and what commands need to find it.
struct Cloud {
    server: Child,
    folder: tempfile::TempDir,
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Cloud {
    fn start() -> Cloud {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
            std::env::var(MIRROR).unwrap()
        );
        fs::write(folder.path().join("engine.rc"), config).unwrap();
        // Canonical's image, which the server does not know.
        let images = serde_json::json!([{
            "ami_id": "ami-12345678",
            "name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20260101",
            "owner_id": "099720109477",
            "architecture": "x86_64",
            "public": true,
            "virtualization_type": "hvm",
            "hypervisor": "xen",
            "root_device_type": "ebs",
            "description": "",
            "image_location": "amazon/ubuntu",
        }]);
        fs::write(folder.path().join("images.json"), images.to_string()).unwrap();
        let (host, port) = SERVER.split_once(':').unwrap();
        let server = Command::new("moto_server")
            .args(["-H", host, "-p", port])
            .env("MOTO_AMIS_PATH", folder.path().join("images.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(folder.path().join("server.log")).unwrap())
            .spawn()
            .unwrap();
        let cloud = Cloud { server, folder };
        wait_until("the server", 120, || TcpStream::connect(SERVER).is_ok());
        cloud
    }

    fn with_environment(&self, command: &mut Command) {
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("TF_CLI_CONFIG_FILE", self.folder.path().join("engine.rc"))
            .env("AWS_ENDPOINT_URL", format!("http://{SERVER}"))
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env_remove("XDG_STATE_HOME")
            .env_remove("WEIR_DB")
            .env_remove("AWS_PROFILE")
            .stdin(Stdio::null());
    }

    fn weir(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(weir_rig::binary());
        command.args(arguments);
        self.with_environment(&mut command);
        command
    }

    #[track_caller]
    fn json_of(&self, arguments: &[&str]) -> Value {
        let output = self.weir(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// What the server's own API says.
    #[track_caller]
    fn aws(&self, region: &str, arguments: &[&str]) -> Value {
        let mut command = Command::new("aws");
        command
            .args(["--region", region, "--output", "json", "ec2"])
            .args(arguments);
        self.with_environment(&mut command);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "aws {arguments:?}: {said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn instances(&self, region: &str) -> Vec<Value> {
        let answer = self.aws(
            region,
            &[
                "describe-instances",
                "--filters",
                "Name=instance-state-name,Values=pending,running",
                "--query",
                "Reservations[].Instances[]",
            ],
        );
        answer.as_array().unwrap().clone()
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        for region in REGIONS {
            assert_eq!(self.instances(region), Vec::<Value>::new(), "{region}");
            for (what, list) in [
                ("describe-vpcs", "Vpcs"),
                ("describe-security-groups", "SecurityGroups"),
                ("describe-internet-gateways", "InternetGateways"),
                ("describe-subnets", "Subnets"),
                ("describe-route-tables", "RouteTables"),
                ("describe-volumes", "Volumes"),
            ] {
                let answer = self.aws(region, &[what, "--filters", "Name=tag-key,Values=weir-run"]);
                assert_eq!(answer[list], serde_json::json!([]), "{region} {what}");
            }
        }
        let states = self.folder.path().join(".local/state/weir/mesh");
        assert_eq!(fs::read_dir(states).map_or(0, Iterator::count), 0);
    }
}

/// Processes of the engine in these namespaces, each the first of its group.
fn engines() -> Vec<String> {
    let program = found("tofu").or_else(|| found("terraform")).unwrap();
    let name = program.to_str().unwrap().to_owned();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let text = fs::read(path.join("cmdline")).ok()?;
            let is_one = text.split(|byte| *byte == 0).next() == Some(name.as_bytes());
            is_one.then(|| path.file_name().unwrap().to_str().unwrap().to_owned())
        })
        .collect()
}

#[track_caller]
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

const TEST: &str = "mesh_aws::a_launch_on_aws_is_removed_and_what_a_kill_leaves_is_swept";

#[test]
fn a_launch_on_aws_is_removed_and_what_a_kill_leaves_is_swept() {
    if let Some(missing) = missing() {
        let text = format!("\n*** NOT CHECKED against a server of AWS's API: {missing} ***\n");
        std::io::stderr().write_all(text.as_bytes()).unwrap();
        return;
    }
    if std::env::var_os(INSIDE).is_none() {
        let inner = Command::new("unshare")
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", TEST, "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&inner.stdout),
            String::from_utf8_lossy(&inner.stderr),
        );
        assert!(
            inner.status.success() && out.contains("1 passed"),
            "inside:\n{out}\n{err}"
        );
        return;
    }
    run("mount", &["-t", "proc", "proc", "/proc"]);
    run("ip", &["link", "set", "lo", "up"]);
    let cloud = Cloud::start();
    launched_and_removed(&cloud);
    killed_and_swept(&cloud);
    swept_by_tags_alone(&cloud);
    in_two_zones_of_a_region(&cloud);
    without_credentials(&cloud);
}

fn launched_and_removed(cloud: &Cloud) {
    let mut held = cloud.weir(&LAUNCH).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(held.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let up: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"));
    let mut addresses = Vec::new();
    for (region, place) in REGIONS.iter().zip(up["places"].as_array().unwrap()) {
        let instances = cloud.instances(region);
        assert_eq!(instances.len(), 1, "{region}");
        assert_eq!(instances[0]["PublicIpAddress"], place["hosts"][0]["address"]);
        let tags = instances[0]["Tags"].as_array().unwrap();
        let tag = |key: &str| tags.iter().find(|tag| tag["Key"] == key).unwrap()["Value"].clone();
        assert_eq!(tag("weir-run"), up["launch"]);
        assert_eq!(tag("weir-delete-after"), up["delete_after_unix_s"].to_string());
        addresses.push(instances[0]["PublicIpAddress"].as_str().unwrap().to_owned());
    }
    // The operator's SSH, and both hosts: what the server has, not what was asked for.
    for region in REGIONS {
        let groups = cloud.aws(
            region,
            &[
                "describe-security-groups",
                "--filters",
                "Name=tag-key,Values=weir-run",
            ],
        );
        let mut ranges: Vec<String> = groups["SecurityGroups"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|group| group["IpPermissions"].as_array().unwrap().clone())
            .flat_map(|rule| rule["IpRanges"].as_array().unwrap().clone())
            .map(|range| range["CidrIp"].as_str().unwrap().to_owned())
            .collect();
        ranges.sort();
        let mut expected: Vec<String> = addresses.iter().map(|address| format!("{address}/32")).collect();
        expected.push("203.0.113.7/32".into());
        expected.sort();
        assert_eq!(ranges, expected, "{region}");
    }
    run("kill", &["-INT", &held.id().to_string()]);
    assert_eq!(held.wait().unwrap().code(), Some(0));
    cloud.nothing_is_left();
}

fn killed_and_swept(cloud: &Cloud) {
    kill_in_the_middle(cloud);
    let swept = cloud.json_of(&["mesh", "sweep", "--json"]);
    assert_eq!(swept["launches"][0]["outcome"], "removed", "{swept}");
    cloud.nothing_is_left();
}

/// With no record and no state: they have gone with the host that launched.
fn swept_by_tags_alone(cloud: &Cloud) {
    kill_in_the_middle(cloud);
    fs::remove_dir_all(cloud.folder.path().join(".local")).unwrap();
    let places = REGIONS.map(|region| format!("aws:{region}")).join(",");
    let swept = cloud.json_of(&["mesh", "sweep", "--place", &places, "--all", "--json"]);
    assert!(!swept["tagged"].as_array().unwrap().is_empty(), "{swept}");
    cloud.nothing_is_left();
}

/// Kills a launch and its engines while machines are being made.
fn kill_in_the_middle(cloud: &Cloud) {
    let mut killed = cloud.weir(&LAUNCH).stdout(Stdio::null()).spawn().unwrap();
    wait_until("an instance", 300, || {
        REGIONS.iter().any(|region| !cloud.instances(region).is_empty())
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    for id in engines() {
        // Some have ended already, and providers have no group of their own.
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{id}")])
            .output();
    }
    wait_until("the end of the engines", 60, || engines().is_empty());
}

fn in_two_zones_of_a_region(cloud: &Cloud) {
    let order = [
        &LAUNCH[..4],
        &["--pair", "aws:us-east-1b->aws:us-east-1/1"],
        &LAUNCH[6..],
    ]
    .concat();
    let mut held = cloud.weir(&order).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(held.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let up: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: '{line}'"));
    let hosts = up["places"][0]["hosts"].as_array().unwrap();
    // The first zone, and the one that is named.
    let zones: Vec<&Value> = hosts.iter().map(|host| &host["zone"]).collect();
    assert_eq!(zones, ["us-east-1a", "us-east-1b"], "{up}");
    let instances = cloud.instances("us-east-1");
    for host in hosts {
        let is_this = |instance: &&Value| instance["PublicIpAddress"] == host["address"];
        let instance = instances.iter().find(is_this).unwrap();
        assert_eq!(instance["Placement"]["AvailabilityZone"], host["zone"]);
    }
    assert_eq!(cloud.instances("eu-west-1"), Vec::<Value>::new());
    run("kill", &["-INT", &held.id().to_string()]);
    assert_eq!(held.wait().unwrap().code(), Some(0));
    cloud.nothing_is_left();
    // More than there are: told before anything is made.
    let order = [
        &LAUNCH[..4],
        &[
            "--pair",
            "aws:us-east-1->aws:us-east-1",
            "--zones",
            "--machines",
            "16",
        ],
        &LAUNCH[6..],
    ]
    .concat();
    let output = cloud.weir(&order).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("weir: aws:us-east-1: ") && last.contains("There are fewer than"),
        "{said}"
    );
    cloud.nothing_is_left();
}

fn without_credentials(cloud: &Cloud) {
    let output = cloud
        .weir(&LAUNCH)
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("weir: ")).collect();
    assert!(errors.len() == 1 && errors[0].contains("AWS_PROFILE"), "{said}");
    cloud.nothing_is_left();
}
