//! The statements that read and write tables of records. It knows names and order of columns, not the content of a row.

use weir_record::Table;

/// The statement that adds a row; its parameters are the run and those of a record's columns.
pub(crate) fn insert(table: Table) -> String {
    let columns = table.columns();
    let (names, places) = (columns.join(", "), ", ?".repeat(columns.len()));
    format!("INSERT INTO {table} (run_id, {names}) VALUES (?{places})")
}

/// The statement that reads a run's rows in the order in which they were stored. A run's rows
/// are contiguous: a scan by primary key reads them in order, while the index by run would make SQLite sort them all
/// first.
pub(crate) fn select(table: Table) -> String {
    format!(
        "SELECT {} FROM {table} NOT INDEXED
         WHERE run_id = ?1
           AND id >= (SELECT min(id) FROM {table} WHERE run_id = ?1)
           AND id <= (SELECT max(id) FROM {table} WHERE run_id = ?1)
         ORDER BY id",
        table.columns().join(", "),
    )
}

/// Like [`select`], by subject and then by start time.
pub(crate) fn select_by_time(table: Table) -> String {
    format!(
        "SELECT {} FROM {} WHERE run_id = ?1 ORDER BY {}{}, id",
        table.columns().join(", "),
        table.name(),
        table.subject(),
        table.began_sql(),
    )
}

/// The statement that counts bins of ?3 ns, from ?2 on, that have rows; with `by_subject`, each subject's own.
pub(crate) fn count_bins(table: Table, by_subject: bool) -> String {
    let began = format!("({} - ?2)", table.began_sql());
    // SQLite divides towards zero; bins before the start have negative numbers.
    format!(
        "SELECT count(*) FROM (
             SELECT DISTINCT {}({began} - (({began} % ?3) + ?3) % ?3) / ?3 FROM {} WHERE run_id = ?1
         )",
        if by_subject { table.subject() } else { "" },
        table.name(),
    )
}

/// The statement that counts the subjects, and the maximum number of rows of one.
pub(crate) fn count_subjects(table: Table) -> String {
    format!(
        "SELECT count(*), coalesce(max(n), 0) FROM (
             SELECT count(*) AS n FROM {} WHERE run_id = ?1 GROUP BY {}run_id
         )",
        table.name(),
        table.subject(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SCHEMA;
    use weir_record::{Cell, MeshTest};

    #[test]
    fn the_declarations_have_the_columns_of_the_schema() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        let columns_of = |table: &str| -> Vec<String> {
            let statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
            statement.column_names().into_iter().map(str::to_owned).collect()
        };
        for table in Table::ALL {
            let columns = columns_of(table.name());
            assert_eq!(columns[..2], ["id", "run_id"], "{table}");
            assert_eq!(columns[2..], table.columns(), "{table}");
        }
        let mut stored = columns_of("mesh_tests");
        let mut declared = ["id", "run_id", "outcome"].map(str::to_owned).to_vec();
        MeshTest::columns("", &mut declared);
        stored.sort();
        declared.sort();
        assert_eq!(stored, declared);
    }

    #[test]
    fn the_documentation_lists_the_tables_whose_rows_are_merged() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/database.md");
        let page = std::fs::read_to_string(page).unwrap();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let (merged, events): (Vec<Table>, Vec<Table>) =
            Table::ALL.into_iter().partition(|table| table.merges());
        for (before, tables) in [("sum up a second", merged), ("single events", events)] {
            let names: Vec<String> = tables.iter().map(|table| format!("`{table}`")).collect();
            let list = format!("{before} ({})", names.join(", "));
            assert!(page.contains(&list), "the page has no '{list}'");
        }
    }
}
