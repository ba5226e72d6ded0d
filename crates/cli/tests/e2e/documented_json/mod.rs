//! The JSON that every command prints, against the schemas in `docs/schemas`: the documentation of `--json` is what
//! the built binary says, or this test fails.

mod printing;
pub mod schemas;
pub mod strictness;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tempfile::TempDir;

use printing::Document;
use schemas::{assert_documented, docs, schema, validator};
use strictness::{assert_strict, fields};
use weir_rig::{isolated, see_own_processes};

/// What other tests print, who hold it against its schema.
const ELSEWHERE: [&str; 20] = [
    "doctor",
    "event",
    "evidence",
    "lab-link-down",
    "mesh-launch",
    "mesh-run",
    "mesh-status",
    "mesh-sweep",
    "origin-access-log",
    "origin-demo",
    "origin-dref",
    "runs-merge",
    "testbed-check",
    "testbed-clean",
    "testbed-serve",
    "testbed-status",
    "watch",
    "watch-history",
    "watch-plan",
    "watch-rates",
];
/// Documents of a kind that are taken apart; the others are only validated.
const TAKEN_APART: usize = 2;

/// Names of all schemas.
fn all() -> BTreeSet<String> {
    let files = std::fs::read_dir(docs().join("schemas")).expect("the folder");
    let names = files.map(|file| file.expect("a file").file_name().into_string().expect("a name"));
    let schemas = names.filter_map(|name| Some(name.strip_suffix(".schema.json")?.to_owned()));
    schemas.collect()
}

#[test]
fn everything_that_is_printed_is_as_its_schema_says_and_every_schema_is_strict_and_on_the_page() {
    isolated!();
    see_own_processes();
    every_schema_is_one_refuses_nonsense_and_has_its_fields_described_and_on_the_page();
    lines_of_every_table_have_the_columns_of_the_database();
    what_is_printed_is_documented();
}

#[track_caller]
fn what_is_printed_is_documented() {
    let documents = printing::printed();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut validators = BTreeMap::new();
    for (name, what, document) in &documents {
        let validator = validators.entry(name).or_insert_with(|| validator(name));
        assert_documented(what, validator, document);
        let kind = format!("{name} {} {}", document["table"], document["kind"]);
        let of_kind = seen.entry(kind).or_default();
        *of_kind += 1;
        // What the document of a report takes over from elsewhere is open in its schema; its series are taken
        // apart where they are made.
        if *of_kind <= TAKEN_APART && name != "report-data" {
            assert_strict(what, validator, document);
        }
    }
    let printed: BTreeSet<String> = documents.iter().map(|(name, ..)| name.clone()).collect();
    let elsewhere = BTreeSet::from(ELSEWHERE.map(str::to_owned));
    assert_eq!(&printed | &elsewhere, all());
    all_parts_are_reached(&documents);
}

/// What the test above would not notice: commands that never reach the parts that differ.
#[track_caller]
fn all_parts_are_reached(documents: &[Document]) {
    let of = |name: &'static str| documents.iter().filter(move |document| document.0 == name);
    let strings = |name: &'static str, field: &str| -> BTreeSet<String> {
        let texts = of(name).filter_map(|(.., document)| document[field].as_str());
        texts.map(str::to_owned).collect()
    };
    let kinds =
        "find-capacity flows grid lab load mtu pacing population recv rtt send survey tcp tcp-sweep testbed tune"
            .split(' ');
    assert_eq!(strings("runs-list", "kind"), kinds.map(str::to_owned).collect());
    let search = of("runs-list")
        .find(|(.., run)| run["kind"] == "find-capacity")
        .expect("a search");
    let trials = of("runs-list").filter(|(.., run)| run["parent_run_id"] == search.2["run_id"]);
    assert!(
        trials.count() >= 1,
        "each trial is a run that belongs to its search"
    );
    let outcomes = ["failed", "finished"].map(str::to_owned);
    assert_eq!(strings("runs-list", "outcome"), BTreeSet::from(outcomes));
    // The omitted ones report silence and dropped flows, which do not occur on loopback.
    let tables = strings("runs-export", "table");
    let left_out = ["silences", "flow_bursts", "flow_changes"];
    for table in weir_results::Table::ALL.map(weir_results::Table::name) {
        assert!(
            tables.contains(table) || left_out.contains(&table),
            "no line of {table} in {tables:?}"
        );
    }
    let some =
        |name: &'static str, holds: &dyn Fn(&Value) -> bool| of(name).any(|(.., document)| holds(document));
    assert!(some("rtt", &|rtt| rtt["reflector"].is_null()), "no STAMP");
    assert!(some("rtt", &|rtt| rtt["reflector"].is_object()), "no agent");
    let both = |flows: &Value| flows["forward"].is_object() && flows["reverse"].is_object();
    assert!(some("flows", &both), "no test both ways");
    let unpaced = |flows: &Value| flows["reverse"].is_object() && flows["reverse"]["asked"].is_null();
    assert!(some("flows", &unpaced), "no test without a rate");
    assert!(
        some("flows", &|flows| flows["reverse"]["late"].as_u64() > Some(0)),
        "no loss"
    );
    let parts = ["mtu", "rtt", "reverse", "best"];
    let full = |survey: &Value| parts.iter().all(|part| survey[part].is_object());
    assert!(some("survey", &full), "the survey left steps out");
    for state in ["built", "there", "failed"] {
        assert!(
            strings("origin-index", "state").contains(state),
            "no index is {state}"
        );
    }
}

/// Rows of some tables need loss, which does not occur on loopback: their lines are checked against the columns.
#[track_caller]
fn lines_of_every_table_have_the_columns_of_the_database() {
    let schema = schema("runs-export");
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("weir.db");
    drop(weir_results::Store::open(&path).expect("a database"));
    let database = rusqlite::Connection::open(&path).expect("SQLite opens it");
    for table in weir_results::Table::ALL.map(weir_results::Table::name) {
        let line = &schema["$defs"][format!("line_{table}")];
        let documented = line["properties"].as_object().expect(table).keys();
        let documented: BTreeSet<&str> = documented
            .map(String::as_str)
            .filter(|name| *name != "table")
            .collect();
        let statement = database
            .prepare(&format!("SELECT * FROM {table}"))
            .expect("the table");
        let columns: BTreeSet<&str> = statement.column_names().into_iter().collect();
        assert_eq!(documented, columns, "{table}");
        assert_eq!(line["additionalProperties"], json!(false), "{table}");
        let required = line["required"].as_array().map_or(0, Vec::len);
        assert_eq!(required, columns.len() + 1, "{table}");
    }
}

#[track_caller]
fn every_schema_is_one_refuses_nonsense_and_has_its_fields_described_and_on_the_page() {
    let read = |name: &str| std::fs::read_to_string(docs().join(name)).expect("the page");
    let (commands, data) = (read("json-output.md"), read("report-data.md"));
    assert!(all().len() >= 47);
    for name in all() {
        let schema = schema(&name);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(jsonschema::meta::is_valid(&schema), "{name} is no schema");
        for nonsense in [json!({}), json!(null), json!([]), json!({ "table": "nonsense" })] {
            assert!(!validator(&name).is_valid(&nonsense), "{name} takes {nonsense}");
        }
        let link = format!("schemas/{name}.schema.json");
        assert!(commands.contains(&link), "{name} is not linked");
        let page = if name == "report-data" { &data } else { &commands };
        for (field, described) in fields(&schema) {
            assert!(described, "{name}: {field} has no description");
            assert!(
                page.contains(&format!("`{field}`")),
                "{name}: {field} is not on the page"
            );
        }
    }
}
