//! `docs/database.md` is true: its queries run and its tables are the database's.

use rusqlite::Connection;
use weir_results::{SCHEMA_VERSION, Table};

use crate::sample;

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/database.md");
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

#[test]
fn every_query_in_the_document_gives_rows() {
    let (_directory, path, _) = sample::database();
    let connection = Connection::open(&path).unwrap();
    let document = document();
    let queries: Vec<&str> = document
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    assert!(queries.len() >= 5, "the document has {} queries", queries.len());
    for query in queries {
        let mut statement = connection
            .prepare(query)
            .unwrap_or_else(|error| panic!("{error} in:\n{query}"));
        let mut rows = statement.query([]).unwrap();
        let row = rows.next().unwrap_or_else(|error| panic!("{error} in:\n{query}"));
        assert!(row.is_some(), "no rows from:\n{query}");
    }
}

#[test]
fn the_document_names_every_column_of_every_table_and_view() {
    let (_directory, path, _) = sample::database();
    let connection = Connection::open(&path).unwrap();
    let document = document();
    assert!(document.contains(&format!("schema version {SCHEMA_VERSION}.")));
    let views = ["rtt", "drops", "bursts", "sbursts", "flows"];
    for name in Table::ALL
        .map(Table::name)
        .into_iter()
        .chain(views)
        .chain(["runs"])
    {
        let heading = format!("### `{name}`\n");
        let section = document
            .split(&heading)
            .nth(1)
            .unwrap_or_else(|| panic!("no heading for {name}"));
        let section = section.split("\n#").next().unwrap();
        let statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        for column in statement.column_names() {
            // `id` and `run_id` of the tables are told once for all of them.
            let everywhere = !views.contains(&name) && name != "runs" && ["id", "run_id"].contains(&column);
            assert!(
                everywhere || section.contains(&format!("| `{column}` |")),
                "{name} lacks {column}"
            );
        }
    }
}
