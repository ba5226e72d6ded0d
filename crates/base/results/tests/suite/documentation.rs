//! `docs/database.md` is correct: its queries run and its tables are those of the database.

use rusqlite::Connection;
use weir_results::{SCHEMA_VERSION, Table};

use crate::sample;

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/database.md");
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
    let sql = "SELECT name, type = 'table' FROM sqlite_master
               WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(sql).unwrap();
    let names = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let names: Vec<(String, bool)> = names.map(Result::unwrap).collect();
    assert!(names.len() > Table::ALL.len());
    for (name, is_table) in &names {
        let heading = format!("### `{name}`\n");
        let section = document
            .split(&heading)
            .nth(1)
            .unwrap_or_else(|| panic!("no heading for {name}"));
        let section = section.split("\n#").next().unwrap();
        let statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        for column in statement.column_names() {
            // The page describes `id` and `run_id` once for all tables of records.
            let everywhere = *is_table && name != "runs" && ["id", "run_id"].contains(&column);
            assert!(
                everywhere || section.contains(&format!("| `{column}` |")),
                "{name} lacks {column}"
            );
        }
    }
}
