//! The JSON that every command prints, against the schemas in `docs/schemas`: the documentation of `--json` is what
//! the built binary says, or this test fails. An agent and the commands run on loopback, at rates that load nothing.

mod printing;
pub mod schemas;
mod strictness;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tempfile::TempDir;

use printing::printed_by;
use schemas::{assert_documented, docs, schema, validator};
use strictness::{assert_strict, fields};

const SCHEMAS: [&str; 47] = [
    "agent",
    "rtt",
    "flows",
    "survey",
    "send",
    "recv",
    "diagnose",
    "runs-list",
    "runs-show",
    "runs-export",
    "runs-note",
    "runs-tag",
    "runs-delete",
    "report",
    "report-data",
    "ui",
    "origin",
    "origin-demo",
    "origin-index",
    "origin-dref",
    "load",
    "load-experiment",
    "load-experiment-plan",
    "load-find-capacity",
    "lab-run",
    "lab-link-show",
    "lab-link-down",
    "lab-neighbour",
    "lab-neighbour-serve",
    "lab-calibrate",
    "lab-profiles",
    "lab-profiles-show",
    "lab-clean",
    "lab-pacing",
    "lab-pacing-list",
    "lab-pacing-show",
    "lab-traps",
    "lab-traps-show",
    "lab-traps-list",
    "mesh-regions",
    "mesh-plan",
    "mesh-import",
    "mesh-report",
    "mesh-run",
    "mesh-sweep",
    "mesh-launch",
    "mesh-status",
];
/// Schemas that output is checked against where there are hosts, in the end-to-end tests (`mesh`).
const WHERE_HOSTS_ARE: [&str; 4] = ["mesh-run", "mesh-sweep", "mesh-launch", "mesh-status"];
/// Documents of a kind that are taken apart; the others are only validated.
const TAKEN_APART: usize = 2;

#[test]
fn everything_that_is_printed_is_documented() {
    for name in SCHEMAS {
        let validator = validator(name);
        assert!(
            WHERE_HOSTS_ARE.contains(&name) || printed_by(name).next().is_some(),
            "nothing was printed for {name}"
        );
        for (what, document) in printed_by(name) {
            assert_documented(what, &validator, document);
        }
    }
}

#[test]
fn the_schemas_notice_every_missing_and_every_new_field() {
    for name in SCHEMAS {
        let validator = validator(name);
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (what, document) in printed_by(name) {
            let of_kind = seen
                .entry(format!("{} {}", document["table"], document["kind"]))
                .or_default();
            *of_kind += 1;
            // What the document of a report takes over from elsewhere is open in its schema; its series are taken
            // apart where they are made.
            if *of_kind <= TAKEN_APART && name != "report-data" {
                assert_strict(what, &validator, document);
            }
        }
    }
}

/// What the two tests above would not notice: commands that never reach the parts that differ.
#[test]
fn the_commands_reach_all_parts_of_the_schemas() {
    let strings = |name: &str, field: &str| -> BTreeSet<&str> {
        printed_by(name)
            .filter_map(|(_, document)| document[field].as_str())
            .collect()
    };
    let kinds = BTreeSet::from([
        "find-capacity",
        "flows",
        "lab",
        "load",
        "mtu",
        "pacing",
        "recv",
        "rtt",
        "send",
        "survey",
        "tcp",
    ]);
    assert_eq!(strings("runs-list", "kind"), kinds);
    assert_eq!(
        strings("runs-list", "outcome"),
        BTreeSet::from(["failed", "finished"])
    );
    // The omitted ones report silence and dropped flows, which do not occur on loopback.
    let tables = strings("runs-export", "table");
    let left_out = ["silences", "flow_bursts", "flow_changes"];
    let wanted = weir_results::Table::ALL
        .map(weir_results::Table::name)
        .into_iter()
        .filter(|table| !left_out.contains(table));
    for table in wanted {
        assert!(tables.contains(table), "no line of {table} in {tables:?}");
    }
    let some =
        |name: &str, holds: &dyn Fn(&Value) -> bool| printed_by(name).any(|(_, document)| holds(document));
    assert!(some("rtt", &|rtt| rtt["reflector"].is_null()), "no STAMP");
    assert!(some("rtt", &|rtt| rtt["reflector"].is_object()), "no agent");
    let both = |flows: &Value| flows["forward"].is_object() && flows["reverse"].is_object();
    assert!(some("flows", &both), "no test both ways");
    let unpaced = |flows: &Value| flows["reverse"].is_object() && flows["reverse"]["asked"].is_null();
    assert!(some("flows", &unpaced), "no test without a rate");
    let late = |flows: &Value| flows["reverse"]["late"].as_u64() > Some(0);
    assert!(some("flows", &late), "no loss");
    let full = |survey: &Value| {
        ["mtu", "rtt", "reverse", "best"]
            .iter()
            .all(|part| survey[part].is_object())
    };
    assert!(some("survey", &full), "the survey left steps out");
}

/// Rows of some tables need loss, which does not occur on loopback: their lines are checked against the columns.
#[test]
fn lines_of_every_table_have_the_columns_of_the_database() {
    let schema = schema("runs-export");
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("weir.db");
    drop(weir_results::Store::open(&path).expect("a database"));
    let database = rusqlite::Connection::open(&path).expect("SQLite opens it");
    for table in weir_results::Table::ALL {
        let line = &schema["$defs"][format!("line_{}", table.name())];
        let documented: BTreeSet<String> = line["properties"]
            .as_object()
            .unwrap_or_else(|| panic!("no schema for lines of {}", table.name()))
            .keys()
            .filter(|name| *name != "table")
            .cloned()
            .collect();
        let statement = database
            .prepare(&format!("SELECT * FROM {}", table.name()))
            .expect("the table");
        let columns: BTreeSet<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        assert_eq!(documented, columns, "{}", table.name());
        assert_eq!(line["additionalProperties"], json!(false), "{}", table.name());
        let required = line["required"].as_array().map_or(0, Vec::len);
        assert_eq!(required, columns.len() + 1, "{}", table.name());
    }
}

#[test]
fn every_field_is_described_and_is_on_the_page() {
    let read = |name: &str| std::fs::read_to_string(docs().join(name)).expect("the page");
    let (commands, data) = (read("json-output.md"), read("report-data.md"));
    for name in SCHEMAS {
        assert!(
            commands.contains(&format!("schemas/{name}.schema.json")),
            "{name} is not linked"
        );
        let page = if name == "report-data" { &data } else { &commands };
        for (field, described) in fields(&schema(name)) {
            assert!(described, "{name}: {field} has no description");
            assert!(
                page.contains(&format!("`{field}`")),
                "{name}: {field} is not on the page"
            );
        }
    }
}

#[test]
fn the_schemas_are_schemas_and_refuse_nonsense() {
    for name in SCHEMAS {
        let schema = schema(name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(jsonschema::meta::is_valid(&schema), "{name} is no schema");
        let validator = validator(name);
        for nonsense in [json!({}), json!(null), json!([]), json!({ "table": "nonsense" })] {
            assert!(!validator.is_valid(&nonsense), "{name} takes {nonsense}");
        }
    }
}
