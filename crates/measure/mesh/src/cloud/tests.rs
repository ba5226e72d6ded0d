use super::hosts::{Files, Launched, hosts_file, known_hosts, read_output};
use super::network::Placement;
use super::record::{Phase, PlaceRecord, Record};
use super::*;
use crate::hosts::read_hosts;
use crate::place::Places;
use std::path::Path;

fn launch() -> Launch {
    Launch {
        run: "ab12cd34".into(),
        delete_after_unix_s: 1_800_000_000,
        life_s: 7200,
        admit: vec!["203.0.113.7".parse().unwrap()],
        keys: Keys {
            operator_public: "ssh-rsa AAAA operator\n".into(),
            host_private: "-----BEGIN-----\n${x}\n-----END-----\n".into(),
            host_public: "ssh-ed25519 BBBB host\n".into(),
        },
        oracle_compartment: Some("ocid1.compartment.oc1..example".into()),
        ..Launch::default()
    }
}

fn launched(name: &str, address: &str) -> Launched {
    Launched {
        name: name.into(),
        address: address.parse().unwrap(),
        test_address: None,
        private_address: None,
        network: String::new(),
        instance_type: String::new(),
        placement_group: String::new(),
        fault_domain: String::new(),
        zone: String::new(),
        user: None,
        port: None,
        weir: None,
    }
}

#[test]
fn a_range_is_an_address_or_not_too_wide() {
    let text = |range: &str| range.parse::<Range>().map(|range| range.to_string());
    assert_eq!(text("203.0.113.7").unwrap(), "203.0.113.7/32");
    assert_eq!(text("203.0.113.7/24").unwrap(), "203.0.113.0/24");
    for bad in [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "203.0.113.7/33",
        "2001:db8::1",
        "",
        "1.2.3.4/x",
    ] {
        let error = text(bad).unwrap_err().to_string();
        assert!(error.contains("203.0.113.0/24"), "{bad}: {error}");
    }
}

#[test]
fn everything_that_can_has_both_tags_and_no_rule_lets_anybody_else_in() {
    let mut launch = launch();
    launch.mesh = vec![Ipv4Addr::new(198, 51, 100, 1)];
    for place in [
        "aws:eu-west-1",
        "gcp:europe-west1",
        "azure:westeurope",
        "oracle:uk-london-1",
    ] {
        let text = launch.module(&PlaceName::parse(place).unwrap()).unwrap();
        let module: Value = serde_json::from_str(&text).unwrap();
        assert!(text.contains("\"weir-run\": \"ab12cd34\""), "{place}");
        assert!(text.contains("\"weir-delete-after\": \"1800000000\""), "{place}");
        let everybody: Vec<String> = [
            "cidr_blocks",
            "source_ranges",
            "source",
            "source_address_prefixes",
        ]
        .iter()
        .flat_map(|key| values(&module["resource"], key))
        // The network itself.
        .filter(|range| range != "10.77.0.0/16")
        .collect();
        assert!(text.contains("10.77.0.0/16"), "{place}");
        assert!(
            everybody
                .iter()
                .all(|range| ["203.0.113.7/32", "198.51.100.1/32"].contains(&range.as_str())),
            "{place}: {everybody:?}"
        );
        // The operator's SSH, and everything of the mesh's.
        assert_eq!(everybody.len(), 2, "{place}: {everybody:?}");
        // A template of the user data's would be the engine's to fill in.
        assert!(!text.replace("$${", "").contains("${x}"), "{place}");
    }
}

/// Texts under `key`, but for those of rules for what goes out.
fn values(value: &Value, key: &str) -> Vec<String> {
    let texts = |value: &Value| -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(items) => items
                .iter()
                .filter_map(|item| Some(item.as_str()?.to_owned()))
                .collect(),
            _ => Vec::new(),
        }
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !name.starts_with("egress"))
            .flat_map(|(name, field)| {
                if name == key {
                    texts(field)
                } else {
                    values(field, key)
                }
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(|item| values(item, key)).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_large_mesh_is_spread_over_groups() {
    let mut launch = launch();
    launch.mesh = (1..=120).map(|last| Ipv4Addr::new(198, 51, 100, last)).collect();
    let text = launch.module(&PlaceName::new("aws", "eu-west-1")).unwrap();
    let module: Value = serde_json::from_str(&text).unwrap();
    let groups = module["resource"]["aws_security_group"].as_object().unwrap();
    let names: Vec<&String> = groups.keys().collect();
    assert_eq!(names, ["mesh1", "mesh2", "mesh3", "operator"]);
    let ranges = |group: &str| values(&groups[group], "cidr_blocks").len();
    assert_eq!((ranges("mesh1"), ranges("mesh3")), (50, 20));
    // SSH, and private addresses.
    assert_eq!(ranges("operator"), 2);
}

#[test]
fn machines_of_a_region_have_zones_and_names_of_their_own() {
    assert_eq!(Zone::of(""), Zone::Any);
    assert_eq!(Zone::of("2"), Zone::Nth(2));
    for name in ["0", "us-east-1a", "99999"] {
        assert_eq!(Zone::of(name), Zone::Named(name.into()));
    }
    let place = PlaceName::new("aws", "eu-west-1");
    let mut launch = launch();
    launch.zones = [(place.clone(), vec![Zone::Nth(2), Zone::Nth(1), Zone::Nth(2)])].into();
    assert_eq!(
        launch.host_names(&place),
        ["aws-eu-west-1", "aws-eu-west-1-2", "aws-eu-west-1-3"]
    );
    let module: Value = serde_json::from_str(&launch.module(&place).unwrap()).unwrap();
    let resource = &module["resource"];
    let subnets = resource["aws_subnet"].as_object().unwrap();
    assert_eq!(subnets.len(), 2, "one for each zone");
    assert_eq!(subnets["zone1"]["availability_zone"], "${local.zones[1]}");
    assert_eq!(subnets["zone2"]["availability_zone"], "${local.zones[0]}");
    assert_ne!(subnets["zone1"]["cidr_block"], subnets["zone2"]["cidr_block"]);
    let subnet = |host: &str| resource["aws_instance"][host]["subnet_id"].clone();
    assert!(subnet("host1") == subnet("host3") && subnet("host1") != subnet("host2"));
    // A group's machines are side by side.
    launch.placement = Placement::Close;
    assert_eq!(launch.module(&place), Err(MeshError::GroupOverZones));
    assert_eq!(launch.check(), Err(MeshError::GroupOverZones));
    launch.zones = [(place.clone(), vec![Zone::Any, Zone::Any])].into();
    assert!(launch.module(&place).is_ok());
}

#[test]
fn what_a_cloud_does_not_have_is_said() {
    let place = PlaceName::new("azure", "westeurope");
    let spread = Launch {
        placement: Placement::Apart,
        zones: [(place, vec![Zone::Nth(1), Zone::Nth(2)])].into(),
        ..launch()
    };
    let amazon = Launch {
        images: [("oracle".to_owned(), Image::AmazonLinux)].into(),
        ..launch()
    };
    let without_compartment = Launch {
        oracle_compartment: None,
        ..launch()
    };
    for (launch, cloud, region, part) in [
        (&spread, "azure", "westeurope", "--fault-domains"),
        (&amazon, "oracle", "uk-london-1", "oracle-linux"),
        (
            &without_compartment,
            "oracle",
            "uk-london-1",
            "--oracle-compartment",
        ),
        (&without_compartment, "", "cellar", "which is not in a cloud"),
    ] {
        let error = launch
            .module(&PlaceName::new(cloud, region))
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_hosts_file_is_one_that_a_run_reads() {
    let output = br#"{"hosts": {"sensitive": false, "type": ["tuple", []], "value": [{"name": "aws-eu-west-1",
        "address": "198.51.100.1", "private-address": "10.77.0.4", "network": "aws:eu-west-1", "zone": "eu-west-1a",
        "instance-type": "c5.large", "placement-group": ""}]},
        "network": {"sensitive": false, "type": "string", "value": {"id": "vpc-1", "links": {}}}}"#;
    let mut made = read_output(output, &["aws-eu-west-1".into()]).unwrap();
    assert_eq!(made.network.unwrap().id, "vpc-1");
    let one = made.hosts.remove(0);
    let mut two = launched("gcp-europe-west1", "198.51.100.2");
    two.user = Some("root".into());
    two.port = Some(2222);
    two.test_address = Some("10.1.0.2".parse().unwrap());
    two.weir = Some("/opt/a weir".into());
    let hosts = [
        (PlaceName::new("aws", "eu-west-1"), one),
        (PlaceName::new("gcp", "europe-west1"), two),
    ];
    let files = Files {
        key: Path::new("/home/a b/key"),
        known_hosts: Path::new("/home/a 'b/known_hosts"),
    };
    let text = hosts_file(&launch(), &hosts, files);
    let read = read_hosts("hosts.yaml", text.as_bytes(), Places::known()).unwrap();
    assert_eq!(read[0].ssh_user.as_deref(), Some("weir"));
    assert_eq!(read[0].zone, "eu-west-1a");
    assert_eq!(
        (read[0].private_address.as_str(), read[0].network.as_str()),
        ("10.77.0.4", "aws:eu-west-1")
    );
    assert_eq!(
        (
            read[0].placed.instance_type.as_str(),
            read[0].placed.placement_group.as_str()
        ),
        ("c5.large", "")
    );
    assert_eq!(read[0].ssh_key.as_deref(), Some("/home/a b/key"));
    assert_eq!(
        read[0].ssh_arguments[1],
        "UserKnownHostsFile=\"/home/a 'b/known_hosts\""
    );
    assert_eq!(read[1].ssh_user.as_deref(), Some("root"));
    assert_eq!(
        (read[1].ssh_port, read[1].test_address.as_str()),
        (Some(2222), "10.1.0.2")
    );
    assert_eq!(read[1].weir.as_deref(), Some("/opt/a weir"));
    assert_eq!(
        known_hosts(&launch(), &hosts),
        "198.51.100.1 ssh-ed25519 BBBB host\n[198.51.100.2]:2222 ssh-ed25519 BBBB host\n"
    );
}

#[test]
fn an_output_that_lacks_a_host_is_refused() {
    let names = ["a".to_owned()];
    for bad in ["", "{}", "[]", r#"{"hosts": 7}"#] {
        let error = read_output(bad.as_bytes(), &names).unwrap_err().to_string();
        assert!(error.starts_with("the engine's output"), "{bad}: {error}");
    }
    for bad in [
        "[]",
        "[null]",
        r#"[{"name": "a"}]"#,
        r#"[{"name": "b", "address": "1.2.3.4"}]"#,
        r#"[{"name": "a", "address": "-oProxyCommand=x"}]"#,
        r#"[{"name": "a", "address": "1.2.3.4", "private-address": "x"}]"#,
    ] {
        let whole = format!(r#"{{"hosts": {{"value": {bad}}}}}"#);
        let error = read_output(whole.as_bytes(), &names).unwrap_err().to_string();
        assert!(error.starts_with("the engine's output"), "{bad}: {error}");
    }
}

#[test]
fn a_record_comes_back_and_says_what_it_has_cost() {
    let mut record = Record::new("ab12cd34".into(), 1000, 8200, "/usr/bin/tofu".into());
    let mut place = PlaceRecord::new(PlaceName::new("aws", "eu-west-1"), 2, Some(0.01));
    assert_eq!(place.usd(5000), Some(0.0));
    place.phase = Phase::Up;
    place.begun_unix_s = Some(1000);
    place.hosts = vec![launched("aws-eu-west-1", "198.51.100.1")];
    // Two machines for two hours.
    assert!((place.usd(8200).unwrap() - 0.04).abs() < 1e-12);
    place.gone_unix_s = Some(4600);
    assert!((place.usd(8200).unwrap() - 0.02).abs() < 1e-12);
    record.places.push(place);
    assert_eq!(
        Record::read("launch.json", record.text().as_bytes()).unwrap(),
        record
    );
    assert!(!record.is_over());
    // What is gone has cost something, and costs nothing more.
    let cost = record.cost(9000);
    assert!((cost.usd - 0.02).abs() < 1e-12 && (cost.usd_per_hour - 0.02).abs() < 1e-12);
    record.places[0].phase = Phase::Gone;
    assert_eq!(record.cost(9000).usd_per_hour, 0.0);
    for (from, to) in [
        ("eu-west-1", "../../x"),
        ("ab12cd34", "AB"),
        ("\"aws\"", "\"../aws\""),
        ("\"version\": 1", "\"version\": 2"),
    ] {
        let text = record.text().replace(from, to);
        assert!(Record::read("launch.json", text.as_bytes()).is_err(), "{to}");
    }
}
