use super::*;

fn read(file: &str, text: &str) -> Result<Vec<Host>, String> {
    read_hosts(file, text.as_bytes(), Places::known()).map_err(|error| error.to_string())
}

fn error(file: &str, text: &str) -> String {
    let problem = read(file, text).unwrap_err();
    assert!(
        problem.starts_with(file) && problem.lines().count() == 1 && problem.len() < 500,
        "{problem}"
    );
    problem
}

const OWN: &str = "\
defaults: {user: ubuntu, port: 2222}
hosts:
  - name: encoder
    address: 203.0.113.5
    test-address: 10.0.0.5
    place: aws:us-east-1
    zone: use1-az4
  - {name: cellar, latitude: 52.5, longitude: 13.4, user: me, weir: /usr/bin/weir, agent-port: 5000}
  - {address: far.example.net, cloud: google, region: us-central1, ssh-arguments: '-J jump -o \"User Known=x\"'}
";

#[test]
fn our_own_file_is_read_with_its_defaults() {
    let hosts = read("hosts.yaml", OWN).unwrap();
    let encoder = &hosts[0];
    assert_eq!((encoder.name.as_str(), encoder.ssh_port), ("encoder", Some(2222)));
    assert_eq!(encoder.place, PlaceName::new("aws", "us-east-1"));
    assert_eq!(
        (encoder.test_address.as_str(), encoder.zone.as_str()),
        ("10.0.0.5", "use1-az4")
    );
    let cellar = &hosts[1];
    assert_eq!(cellar.place.to_string(), "cellar");
    assert_eq!(cellar.coordinates, Coordinates::new(52.5, 13.4));
    assert_eq!(
        (
            cellar.ssh_user.as_deref(),
            cellar.weir.as_deref(),
            cellar.agent_port
        ),
        (Some("me"), Some("/usr/bin/weir"), 5000)
    );
    let far = &hosts[2];
    assert_eq!(
        (far.name.as_str(), far.place.to_string().as_str()),
        ("far.example.net", "gcp:us-central1")
    );
    assert_eq!(far.ssh_arguments, ["-J", "jump", "-o", "User Known=x"]);
}

#[test]
fn an_ansible_inventory_is_read_in_both_forms_alike() {
    let ini = include_str!("../../tests/data/inventory.ini");
    let yaml = include_str!("../../tests/data/inventory.yaml");
    let mut of_ini = read("hosts", ini).unwrap();
    let mut of_yaml = read("inventory.yaml", yaml).unwrap();
    of_ini.sort_by(|one, other| one.name.cmp(&other.name));
    of_yaml.sort_by(|one, other| one.name.cmp(&other.name));
    for host in of_ini.iter_mut().chain(&mut of_yaml) {
        host.groups.sort();
    }
    assert_eq!(of_ini, of_yaml);
}

/// `ansible-inventory --list` of ansible-core 2.x, kept with `make_inventory.py` beside it.
#[test]
fn every_host_has_the_variables_that_ansible_gives_it() {
    let expected: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/data/inventory.json")).unwrap();
    let hosts = read("hosts", include_str!("../../tests/data/inventory.ini")).unwrap();
    let of_ansible = expected.as_object().unwrap();
    assert_eq!(hosts.len(), of_ansible.len());
    for host in hosts {
        let variables = &of_ansible[&host.name];
        let text = |key: &str| match &variables[key] {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        for (key, found) in [
            ("ansible_host", Some(host.ssh_address)),
            ("ansible_user", host.ssh_user),
            ("ansible_port", host.ssh_port.map(|port| port.to_string())),
            ("weir_place", Some(host.place.to_string())),
            ("weir_zone", Some(host.zone).filter(|zone| !zone.is_empty())),
        ] {
            assert_eq!(found, text(key), "{key} of {}", host.name);
        }
    }
}

/// The name of a file, its text, in which `\n` is a line break, and a part of the error.
const WRONG: &str = r#"
hosts.yaml | hosts: []\n | it names no hosts
hosts.yaml | hosts:\n  - {name: a, adress: b}\n | did you mean 'address'?
hosts.yaml | hosts:\n  - {name: a, place: aws:us-esat-1}\n | did you mean 'aws:us-east-1'?
hosts.yaml | hosts:\n  - {name: a, cloud: aws}\n | a cloud needs a region
hosts.yaml | hosts:\n  - {name: a, latitude: 1}\n | a latitude needs a longitude
hosts.yaml | hosts:\n  - {name: a, latitude: 91, longitude: 0}\n | not a point on the earth
hosts.yaml | hosts:\n  - {name: a}\n  - {name: a}\n | two hosts have the name a
hosts.yaml | hosts:\n  - {name: a, address: -oProxyCommand=x}\n | invalid address
hosts.yaml | hosts:\n  - {name: a, address: 'b; rm -rf /'}\n | invalid address
hosts.yaml | hosts:\n  - {name: a, port: 0}\n | is not a port
hosts.yaml | hosts:\n  - {name: a, user: "x\e[31m"}\n | invalid user
hosts.yaml | hosts:\n  - {name: a, ssh-arguments: "-J 'x"}\n | a quote is not closed
hosts.yaml | hosts: [\n | hosts.yaml:
hosts.yaml | all: {hosts: {a: {ansible_host: '{{ ip }}'}}}\n | is a template
hosts.yaml | a: {children: {b: {children: {a: {}}}}}\n | contains itself
hosts.yaml | a: {host: {}}\n | use 'hosts', 'vars' or 'children'
hosts.yaml | just text\n | neither a hosts file
hosts | [web\na\n | line 1
hosts | [web:what]\n | unknown section ':what'
hosts | [web]\na b\n | line 2: 'b' is not KEY=VALUE
hosts | a[1:x]\n | is not a range
hosts | a[1:99999999]\n | is not a range
hosts | a[0:9999]b[0:9999]\n | more than 10000 hosts
hosts | [web:vars]\nnothing\n | is not KEY=VALUE
"#;

#[test]
fn what_is_wrong_is_said_with_its_line_or_host() {
    for line in WRONG.lines().filter(|line| !line.is_empty()) {
        let parts: Vec<&str> = line.split(" | ").collect();
        let problem = error(parts[0], &parts[1].replace("\\n", "\n"));
        assert!(problem.contains(parts[2]), "{line}: {problem}");
    }
}

#[test]
fn bombs_and_deep_nests_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(error("hosts.yaml", &bomb).contains("aliases included"));
    let deep = "[".repeat(100_000);
    assert!(error("hosts.yaml", &deep).contains("hosts.yaml: "));
    let long = "#".repeat(MOST_BYTES + 1);
    assert!(error("hosts.yaml", &long).contains("longer than 4 MiB"));
}

#[test]
fn ranges_are_written_as_ansible_does() {
    let expand = |pattern: &str| ansible_ini::expand(pattern).unwrap();
    assert_eq!(
        expand("www[08:11].x"),
        ["www08.x", "www09.x", "www10.x", "www11.x"]
    );
    assert_eq!(expand("db-[a:c]"), ["db-a", "db-b", "db-c"]);
    assert_eq!(expand("n[0:10:5]"), ["n0", "n5", "n10"]);
    assert_eq!(expand("r[1:2]h[1:2]"), ["r1h1", "r1h2", "r2h1", "r2h2"]);
}

#[test]
fn words_are_split_as_by_a_shell() {
    assert_eq!(
        words(r#"a 'b c' "d \"e" f\ g ''"#).unwrap(),
        ["a", "b c", "d \"e", "f g", ""]
    );
    assert!(words("a \\").is_err());
}
