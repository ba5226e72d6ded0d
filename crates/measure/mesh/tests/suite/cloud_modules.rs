//! The modules for clouds, compared with manually reviewed files (`golden/`), and, where an engine and the provider are
//! on the machine, validated by the provider (`validate`).
//!
//! `WEIR_UPDATE_GOLDEN=1` writes the files anew. `WEIR_TERRAFORM_MIRROR` names a folder with providers, as
//! `terraform providers mirror` or its unpacked form makes one.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_mesh::cloud::network::{Mtu, Network, Placement};
use weir_mesh::cloud::{Arch, Image, Keys, Launch, Own, Zone};
use weir_mesh::place::PlaceName;
use weir_rig::engine;

const PLACES: [&str; 4] = [
    "aws:eu-west-1",
    "gcp:europe-west1",
    "azure:westeurope",
    "oracle:uk-london-1",
];

/// The smallest launch, one with everything that can be asked for, one in two zones of a region, one of which the other
/// region is there, on either side of the connection, and one of a testbed's machines.
fn launches(place: &str) -> [(&'static str, Launch); 5] {
    let small = Launch {
        run: "ab12cd34ef".into(),
        delete_after_unix_s: 1_800_000_000,
        life_s: 7200,
        admit: vec!["203.0.113.7".parse().unwrap()],
        keys: Keys {
            operator_public: "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC weir-mesh\n".into(),
            host_private:
                "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----\n".into(),
            host_public: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI weir-mesh\n".into(),
        },
        oracle_compartment: Some("ocid1.compartment.oc1..example".into()),
        ..Launch::default()
    };
    let large = Launch {
        arch: Arch::Arm,
        mesh: vec![Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)],
        spot: true,
        mtu: Some(Mtu::Largest),
        placement: Placement::Close,
        zones: [(PlaceName::parse(place).unwrap(), vec![Zone::Any, Zone::Any])].into(),
        machine_types: [("gcp".to_owned(), "c4a-standard-4".to_owned())].into(),
        ..small.clone()
    };
    let named = match place {
        "aws:eu-west-1" => "eu-west-1a",
        "gcp:europe-west1" => "europe-west1-b",
        "azure:westeurope" => "3",
        _ => "AD-1",
    };
    let zones = Launch {
        zones: [(
            PlaceName::parse(place).unwrap(),
            vec![Zone::Nth(2), Zone::of(named)],
        )]
        .into(),
        ..small.clone()
    };
    let (own_system, peers) = match place {
        "aws:eu-west-1" => (Image::AmazonLinux, ["aws:ap-south-1", "aws:us-east-1"]),
        "gcp:europe-west1" => (Image::Ubuntu, ["gcp:asia-east1", "gcp:us-east1"]),
        "azure:westeurope" => (Image::Debian, ["azure:centralindia", "azure:westus"]),
        _ => (Image::OracleLinux, ["oracle:ap-mumbai-1", "oracle:us-ashburn-1"]),
    };
    let here = PlaceName::parse(place).unwrap();
    let [before, after] = peers.map(|peer| PlaceName::parse(peer).unwrap());
    let network = |id: &str, link: Option<&PlaceName>| Network {
        id: id.to_owned(),
        links: link
            .map(|to| (to.to_string(), format!("{id}-link")))
            .into_iter()
            .collect(),
    };
    let peered = Launch {
        peering: true,
        placement: Placement::Apart,
        images: [(here.cloud.clone(), own_system)].into(),
        networks: [
            (before.clone(), network("net-before", Some(&here))),
            (after.clone(), network("net-after", None)),
            (here.clone(), network("net-here", Some(&after))),
        ]
        .into(),
        zones: [
            (before, vec![Zone::Any]),
            (here.clone(), vec![Zone::Any, Zone::Any]),
            (after, vec![Zone::Any]),
        ]
        .into(),
        ..small.clone()
    };
    let fleet = fleet(here, &small);
    [
        ("small", small),
        ("fleet", fleet),
        ("large", large),
        ("zones", zones),
        ("peered", peered),
    ]
}

/// Machines of three types, two of them the same, that let in root and install a package.
fn fleet(place: PlaceName, small: &Launch) -> Launch {
    let (kind, larger) = match place.cloud.as_str() {
        "aws" => ("c5.large", "c6in.xlarge"),
        "gcp" => ("e2-standard-2", "c2-standard-4"),
        "azure" => ("Standard_D2s_v5", "Standard_B2s"),
        _ => ("VM.Standard.E4.Flex", "VM.Standard2.1"),
    };
    let types = vec![None, Some(larger.to_owned()), Some(kind.to_owned())];
    Launch {
        root: true,
        packages: vec!["nginx-light".to_owned()],
        types: [(place.clone(), types)].into(),
        zones: [(place, vec![Zone::Any; 3])].into(),
        ..small.clone()
    }
}

fn folder_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

#[track_caller]
fn assert_golden(name: &str, text: &str) {
    let path = folder_of(name);
    if std::env::var_os("WEIR_UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        golden == text,
        "{name} has changed: WEIR_UPDATE_GOLDEN=1 writes it anew, git diff shows how"
    );
}

#[test]
fn modules_are_as_they_were_when_they_were_looked_through() {
    for place in PLACES {
        for (size, launch) in launches(place) {
            let name = PlaceName::parse(place).unwrap();
            let text = launch.module(&name).unwrap();
            assert_golden(&format!("{}-{size}.tf.json", name.cloud), &text);
        }
    }
    let (_, mut own) = launches("aws:eu-west-1").into_iter().next().unwrap();
    own.own = Some(Own {
        program: "/opt/make ${machines}".into(),
        host_key_file: "/state/host_key".into(),
    });
    let text = own.module(&PlaceName::new("aws", "eu-west-1")).unwrap();
    assert_golden("own.tf.json", &text);
}

/// Says past what captures a test's output that something was not checked.
fn not_checked(what: &str, why: &str) {
    let text = format!("\n*** NOT CHECKED {what}: {why} ***\n");
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

#[test]
fn providers_that_are_here_find_their_modules_valid() {
    let Some(engine) = engine() else {
        not_checked("modules by an engine", "neither tofu nor terraform is in PATH");
        return;
    };
    for place in PLACES {
        let name = PlaceName::parse(place).unwrap();
        for (size, launch) in launches(place) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("main.tf.json"), launch.module(&name).unwrap()).unwrap();
            let config = folder.path().join("engine.rc");
            let mirror = std::env::var("WEIR_TERRAFORM_MIRROR").unwrap_or_else(|_| "/nonexistent".into());
            let text = format!(
                "provider_installation {{\n  filesystem_mirror {{\n    path = \"{mirror}\"\n  }}\n}}\n"
            );
            std::fs::write(&config, text).unwrap();
            let call = |arguments: &[&str]| {
                let output = Command::new(&engine)
                    .args(arguments)
                    .current_dir(folder.path())
                    .env("TF_CLI_CONFIG_FILE", &config)
                    .env("CHECKPOINT_DISABLE", "1")
                    .output()
                    .unwrap();
                let said = format!(
                    "{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
                (output.status.success(), said)
            };
            let (there, said) = call(&["init", "-input=false", "-no-color"]);
            if !there {
                assert!(said.contains("provider"), "{place}: {said}");
                not_checked(
                    &format!("the module for {} by its provider", name.cloud),
                    "it is in no folder that WEIR_TERRAFORM_MIRROR names",
                );
                break;
            }
            let (valid, said) = call(&["validate", "-no-color"]);
            assert!(valid, "{place} {size}: {said}");
        }
    }
}
