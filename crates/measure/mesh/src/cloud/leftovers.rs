//! What carries the tags of a launch, whoever knows of it: read from a cloud's own list of tags or from the program
//! that makes machines, and the commands that remove it. Pure: it makes command lines and reads answers.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::{DELETE_AFTER_TAG, RUN_TAG};
use crate::MeshError;
use crate::fault::shown;

/// Longest answer that is read, bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Most things in one answer.
const MOST: usize = 100_000;

/// Something that a launch has left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Leftover {
    /// The launch.
    pub run: String,
    /// When it was to be gone, Unix seconds, where its tag says so.
    pub delete_after_unix_s: Option<i64>,
    /// Kind, as its cloud calls it.
    pub kind: String,
    /// Its name there.
    pub id: String,
}

impl Leftover {
    /// Whether its time is over.
    pub fn is_due(&self, now_unix_s: i64) -> bool {
        self.delete_after_unix_s.is_some_and(|due| due <= now_unix_s)
    }
}

/// Whether a word can be that of a launch: 4 to 20 lowercase letters and digits.
pub fn is_run(word: &str) -> bool {
    (4..=20).contains(&word.len())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Names that can stand in a command line: of AWS's resources, of machines of the user's own.
fn is_id(word: &str) -> bool {
    (1..=128).contains(&word.len())
        && !word.starts_with('-')
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Arguments of `aws` that list what carries our tags in a region.
pub fn aws_list(region: &str) -> Vec<String> {
    let filter = format!("Name=key,Values={RUN_TAG},{DELETE_AFTER_TAG}");
    aws(region, &["describe-tags", "--filters", &filter])
}

/// Arguments of `aws` that list the instances that are not terminated: those that are keep their tags for an hour.
pub fn aws_list_instances(region: &str) -> Vec<String> {
    let tag = format!("Name=tag-key,Values={RUN_TAG}");
    aws(
        region,
        &[
            "describe-instances",
            "--filters",
            &tag,
            "Name=instance-state-name,Values=pending,running,stopping,stopped,shutting-down",
            "--query",
            "Reservations[].Instances[].InstanceId",
        ],
    )
}

/// Arguments of `aws` that list the route tables with our tags. What ties a table to a subnet has no tags of its own,
/// and AWS keeps a table as long as it is tied to one.
pub fn aws_list_route_tables(region: &str) -> Vec<String> {
    let tag = format!("Name=tag-key,Values={RUN_TAG}");
    aws(region, &["describe-route-tables", "--filters", &tag])
}

/// Arguments of `aws` that list the regions that the account has.
pub fn aws_list_regions() -> Vec<String> {
    aws(
        "us-east-1",
        &["describe-regions", "--query", "Regions[].RegionName"],
    )
}

fn aws(region: &str, arguments: &[&str]) -> Vec<String> {
    let global = ["--region", region, "--output", "json", "ec2"];
    global
        .iter()
        .chain(arguments)
        .map(|word| (*word).to_owned())
        .collect()
}

/// Reads the answers to [`aws_list`] and [`aws_list_instances`].
///
/// # Errors
/// When they are none.
pub fn read_aws(tags: &[u8], instances: &[u8]) -> Result<Vec<Leftover>, MeshError> {
    let alive: BTreeSet<String> = read_names(instances)?.into_iter().collect();
    let tags = read_json(tags)?;
    // By the resource: its kind and both tags.
    let mut found: BTreeMap<&str, (&str, Option<&str>, Option<&str>)> = BTreeMap::new();
    for tag in tags["Tags"].as_array().into_iter().flatten().take(MOST) {
        let text = |key: &str| tag[key].as_str().unwrap_or_default();
        let entry = found
            .entry(text("ResourceId"))
            .or_insert((text("ResourceType"), None, None));
        match text("Key") {
            RUN_TAG => entry.1 = Some(text("Value")),
            DELETE_AFTER_TAG => entry.2 = Some(text("Value")),
            _ => {}
        }
    }
    Ok(found
        .into_iter()
        .filter_map(|(id, (kind, run, due))| {
            let run = run.filter(|run| is_run(run))?;
            (is_id(id) && (kind != "instance" || alive.contains(id))).then(|| Leftover {
                run: run.to_owned(),
                delete_after_unix_s: due.and_then(|due| due.parse().ok()),
                kind: shown(kind),
                id: id.to_owned(),
            })
        })
        .collect())
}

/// Associations of a route table, by the table's id.
pub type Associations = BTreeMap<String, Vec<String>>;

/// Parses the response to [`aws_list_route_tables`]. The association of a network's main table cannot be removed: it is
/// omitted, and removed with the network.
///
/// # Errors
/// When it is none.
pub fn read_associations(bytes: &[u8]) -> Result<Associations, MeshError> {
    let answer = read_json(bytes)?;
    let mut found = Associations::new();
    let tables = answer["RouteTables"].as_array().into_iter().flatten();
    let all = tables.flat_map(|table| table["Associations"].as_array().into_iter().flatten());
    for association in all.filter(|one| one["Main"] != true).take(MOST) {
        let id = |key: &str| {
            association[key]
                .as_str()
                .filter(|id| is_id(id))
                .map(str::to_owned)
        };
        if let (Some(table), Some(one)) = (id("RouteTableId"), id("RouteTableAssociationId")) {
            found.entry(table).or_default().push(one);
        }
    }
    Ok(found)
}

/// Reads a list of names, such as the answer to [`aws_list_regions`].
///
/// # Errors
/// When it is none.
pub fn read_names(bytes: &[u8]) -> Result<Vec<String>, MeshError> {
    let value = read_json(bytes)?;
    Ok(value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| is_id(name))
        .take(MOST)
        .map(str::to_owned)
        .collect())
}

fn read_json(bytes: &[u8]) -> Result<Value, MeshError> {
    let bad = |problem: String| MeshError::file("the answer of aws", problem);
    if bytes.len() > MOST_BYTES {
        return Err(bad("it is longer than 16 MiB".into()));
    }
    serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))
}

/// Reads what the program that makes machines prints for `list`: `RUN DELETE_AFTER NAME`, a line for each.
pub fn read_own(text: &str) -> Vec<Leftover> {
    text.lines()
        .take(MOST)
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (run, due, id) = (words.next()?, words.next()?, words.next()?);
            (is_run(run) && is_id(id)).then(|| Leftover {
                run: run.to_owned(),
                delete_after_unix_s: due.parse().ok(),
                kind: "machine".to_owned(),
                id: id.to_owned(),
            })
        })
        .collect()
}

/// Commands that remove something, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal<'l> {
    /// What is removed.
    pub leftover: &'l Leftover,
    /// Arguments of `aws`; none where this kind is unknown here.
    pub commands: Vec<Vec<String>>,
}

/// Kinds in the order in which they can be removed: what is used comes after what uses it. A route table comes before
/// its subnets, so that what ties them is undone while both are there: some servers keep it when a subnet goes.
const ORDER: [&str; 11] = [
    "instance",
    "volume",
    "network-interface",
    "elastic-ip",
    "security-group",
    "route-table",
    "subnet",
    "internet-gateway",
    "vpc-peering-connection",
    "vpc",
    "placement-group",
];

/// How to remove all these from a region of AWS, whose route tables have these associations.
pub fn aws_removals<'l>(
    region: &str,
    leftovers: &'l [Leftover],
    associations: &Associations,
) -> Vec<Removal<'l>> {
    let mut sorted: Vec<&Leftover> = leftovers.iter().collect();
    let place = |leftover: &Leftover| ORDER.iter().position(|kind| *kind == leftover.kind);
    sorted.sort_by_key(|leftover| place(leftover).unwrap_or(ORDER.len()));
    let networks = |run: &str| {
        leftovers
            .iter()
            .filter(|leftover| leftover.kind == "vpc" && leftover.run == run)
            .map(|leftover| leftover.id.clone())
            .collect::<Vec<String>>()
    };
    sorted
        .into_iter()
        .map(|leftover| {
            let id = leftover.id.as_str();
            let one = |arguments: &[&str]| vec![aws(region, arguments)];
            let commands = match leftover.kind.as_str() {
                "instance" => {
                    let mut commands = one(&["terminate-instances", "--instance-ids", id]);
                    commands.extend(one(&["wait", "instance-terminated", "--instance-ids", id]));
                    commands
                }
                "volume" => one(&["delete-volume", "--volume-id", id]),
                "network-interface" => one(&["delete-network-interface", "--network-interface-id", id]),
                "elastic-ip" => one(&["release-address", "--allocation-id", id]),
                "security-group" => one(&["delete-security-group", "--group-id", id]),
                "internet-gateway" => {
                    let mut commands: Vec<Vec<String>> = networks(&leftover.run)
                        .iter()
                        .flat_map(|vpc| {
                            one(&[
                                "detach-internet-gateway",
                                "--internet-gateway-id",
                                id,
                                "--vpc-id",
                                vpc,
                            ])
                        })
                        .collect();
                    commands.extend(one(&["delete-internet-gateway", "--internet-gateway-id", id]));
                    commands
                }
                "subnet" => one(&["delete-subnet", "--subnet-id", id]),
                "route-table" => {
                    let mut commands: Vec<Vec<String>> = associations
                        .get(id)
                        .into_iter()
                        .flatten()
                        .flat_map(|tie| one(&["disassociate-route-table", "--association-id", tie]))
                        .collect();
                    commands.extend(one(&["delete-route-table", "--route-table-id", id]));
                    commands
                }
                "vpc-peering-connection" => {
                    one(&["delete-vpc-peering-connection", "--vpc-peering-connection-id", id])
                }
                "vpc" => one(&["delete-vpc", "--vpc-id", id]),
                // Its name, which is made of the run, and not its id.
                "placement-group" => {
                    let name = format!("weir-{}", leftover.run);
                    one(&["delete-placement-group", "--group-name", &name])
                }
                _ => Vec::new(),
            };
            Removal { leftover, commands }
        })
        .collect()
}

/// Whether the error of `aws` for a failed removal means that the resource is gone anyway.
pub fn is_gone(stderr: &str) -> bool {
    [
        "NotFound",
        "NotAttached",
        "PlacementGroup.Unknown",
        // A connection keeps its tags for hours after its end.
        "InvalidStateTransition",
        "does not exist",
    ]
    .iter()
    .any(|word| stderr.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    // As the AWS CLI's manual shows it.
    const TAGS: &str = r#"{"Tags": [
        {"Key": "weir-run", "ResourceId": "vpc-1", "ResourceType": "vpc", "Value": "ab12"},
        {"Key": "weir-delete-after", "ResourceId": "vpc-1", "ResourceType": "vpc", "Value": "1000"},
        {"Key": "weir-run", "ResourceId": "igw-1", "ResourceType": "internet-gateway", "Value": "ab12"},
        {"Key": "weir-run", "ResourceId": "i-1", "ResourceType": "instance", "Value": "ab12"},
        {"Key": "weir-run", "ResourceId": "i-2", "ResourceType": "instance", "Value": "ab12"},
        {"Key": "weir-run", "ResourceId": "--x", "ResourceType": "vpc", "Value": "ab12"},
        {"Key": "weir-run", "ResourceId": "vpc-2", "ResourceType": "vpc", "Value": "not ours"}]}"#;

    #[test]
    fn what_is_alive_is_removed_in_an_order_that_works() {
        let found = read_aws(TAGS.as_bytes(), br#"["i-1"]"#).unwrap();
        let removals = aws_removals("eu-west-1", &found, &Associations::new());
        let order: Vec<&str> = removals.iter().map(|one| one.leftover.id.as_str()).collect();
        assert_eq!(order, ["i-1", "igw-1", "vpc-1"]);
        assert_eq!(removals[1].commands.len(), 2, "detached, then deleted");
        assert!(removals[1].commands[0].ends_with(&["--vpc-id".into(), "vpc-1".into()]));
        let due = &removals[2].leftover;
        assert!(due.is_due(1000) && !due.is_due(999) && !removals[0].leftover.is_due(i64::MAX));
        assert!(read_aws(b"An error", b"[]").is_err());
    }

    // As the AWS CLI's manual shows it, with the association of a main table, of a subnet, and one that is no name.
    const ROUTE_TABLES: &str = r#"{"RouteTables": [
        {"Associations": [{"Main": true, "RouteTableAssociationId": "rtbassoc-1", "RouteTableId": "rtb-1"}],
         "RouteTableId": "rtb-1", "VpcId": "vpc-1"},
        {"Associations": [
            {"Main": false, "RouteTableAssociationId": "rtbassoc-2", "RouteTableId": "rtb-2", "SubnetId": "subnet-1",
             "AssociationState": {"State": "associated"}},
            {"RouteTableAssociationId": "rtbassoc-3", "RouteTableId": "rtb-2"},
            {"Main": false, "RouteTableAssociationId": "--x", "RouteTableId": "rtb-2"}],
         "RouteTableId": "rtb-2", "VpcId": "vpc-1"}]}"#;

    #[test]
    fn a_route_table_is_freed_of_its_subnets_and_removed_before_they_are() {
        let associations = read_associations(ROUTE_TABLES.as_bytes()).unwrap();
        let of_one = vec!["rtbassoc-2".to_owned(), "rtbassoc-3".to_owned()];
        assert_eq!(associations, Associations::from([("rtb-2".to_owned(), of_one)]));
        let leftover = |kind: &str, id: &str| Leftover {
            run: "ab12".into(),
            delete_after_unix_s: None,
            kind: kind.into(),
            id: id.into(),
        };
        let found = [
            leftover("subnet", "subnet-1"),
            leftover("vpc", "vpc-1"),
            leftover("route-table", "rtb-2"),
        ];
        let removals = aws_removals("eu-west-1", &found, &associations);
        let calls: Vec<String> = removals
            .iter()
            .flat_map(|removal| &removal.commands)
            .map(|command| command[5..].join(" "))
            .collect();
        assert_eq!(
            calls,
            [
                "disassociate-route-table --association-id rtbassoc-2",
                "disassociate-route-table --association-id rtbassoc-3",
                "delete-route-table --route-table-id rtb-2",
                "delete-subnet --subnet-id subnet-1",
                "delete-vpc --vpc-id vpc-1",
            ]
        );
        assert_eq!(read_associations(b"{}").unwrap(), Associations::new());
        assert!(read_associations(b"An error").is_err());
    }

    #[test]
    fn only_lines_that_can_be_ours_are_read_of_a_list() {
        let found = read_own("ab12 1000 h1\nab12 - h2\n\nAB 1 h3\nab12 5 -rf\nab12 5\n");
        let ids: Vec<(&str, Option<i64>)> = found
            .iter()
            .map(|one| (one.id.as_str(), one.delete_after_unix_s))
            .collect();
        assert_eq!(ids, [("h1", Some(1000)), ("h2", None)]);
    }
}
