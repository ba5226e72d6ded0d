//! Databases that no measurement wrote: of a survey in a store, columns are overwritten with what damage, a hand or a
//! dishonest agent could leave there. Whatever it is, the run is diagnosed or refused in one line; it never panics
//! (these tests run with overflow checks), and never takes long.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::{Value, json};
use weir_diagnose::{DiagnoseError, Options, load, twin};
use weir_link::LossSpec;
use weir_results::{RunFilter, RunId, Store, StoreError, Table};
use weir_simulate::diagnose_by_trial;
use weir_simulate::networks::{Kind, Network, draw};
use weir_simulate::{Random, observe};

/// Rounds with one number changed, in one row or in all of a run.
const ROUNDS: u64 = 100;
/// Rounds with a number of the plans and summaries changed.
const JSON_ROUNDS: u64 = 50;
/// Far more than any round takes, on a busy machine, unless it does not end.
const MOST_TIME: Duration = Duration::from_secs(20);
/// Networks of which the one with the least to simulate is taken.
const DRAWN: u64 = 8;

/// Made once for all tests.
static SOUND: LazyLock<Sound> = LazyLock::new(Sound::new);

/// A survey after another of the same pair, with losses, bursts, an outage, silences and a changed RTT.
struct Sound {
    /// The file; a folder of a static would never be removed.
    database: Vec<u8>,
    run: RunId,
    /// Columns of each table.
    columns: BTreeMap<String, Vec<String>>,
}

impl Sound {
    fn new() -> Self {
        let rate = |network: &Network| network.plan.format.rate().0;
        let drawn = |number: u64| draw(Kind::Outage, 99, number);
        let mut network = (0..DRAWN).map(drawn).min_by_key(rate).unwrap();
        network.before = Some(network.link.clone());
        network.plan.step_ns = 1_500_000_000;
        for route in &mut network.link.forward.routes {
            route.delay_ns += 200_000;
            route.loss.push(LossSpec::GilbertElliott {
                to_bad: 0.0005,
                to_good: 0.2,
                loss_good: 0.0,
                loss_bad: 0.8,
            });
        }
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("sound.db");
        let observed = observe(&network, &database).unwrap();
        keep_a_few(&database, observed.survey.run);
        let connection = Connection::open(&database).unwrap();
        // One file, which can be copied.
        let mode: String = connection
            .query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "delete");
        Sound {
            columns: columns(&connection),
            database: std::fs::read(&database).unwrap(),
            run: observed.survey.run,
        }
    }

    /// A copy in a folder of its own.
    fn copy(&self) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("copy.db");
        std::fs::write(&database, &self.database).unwrap();
        (folder, database)
    }

    /// Changes a copy and diagnoses it; gives what was said of it.
    fn changed(&self, what: &str, change: impl FnOnce(&Connection)) -> Result<(), DiagnoseError> {
        let (_folder, database) = self.copy();
        let connection = Connection::open(&database).unwrap();
        connection
            .execute_batch(
                "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF",
            )
            .unwrap();
        change(&connection);
        drop(connection);
        let began = Instant::now();
        let said = diagnosed(&database, self.run);
        assert!(began.elapsed() < MOST_TIME, "{what} took {:?}", began.elapsed());
        if let Err(error) = &said {
            expected(error, what);
        }
        said
    }
}

/// Deletes most flow tests of both surveys: a few show as much, and hundreds of rounds read them.
fn keep_a_few(database: &Path, run: RunId) {
    let store = Store::open(database).unwrap();
    for survey in store.runs(&RunFilter::default()).unwrap() {
        let filter = RunFilter {
            parent: Some(survey.id),
            kinds: vec!["flows".to_owned()],
            ..RunFilter::default()
        };
        // The last parts come first: the test of the way back, then those of more flows.
        let kept = if survey.id == run { 3 } else { 0 };
        let parts = store.runs(&filter).unwrap();
        let rest = parts.iter().skip(kept).map(|part| part.id);
        let dull = |part: &RunId| {
            let mut silences = 0;
            let count = |_| {
                silences += 1;
                Ok::<(), StoreError>(())
            };
            store.each_record(*part, Table::Silences, count).unwrap();
            survey.id != run || silences == 0
        };
        store.delete_runs(&rest.filter(dull).collect::<Vec<_>>()).unwrap();
    }
}

/// Tables that are read and have something in them, and their columns, those by which rows are found left out.
fn columns(connection: &Connection) -> BTreeMap<String, Vec<String>> {
    let list = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let tables = list(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND\n         name NOT IN ('mtu_probes', 'tcp_seconds', 'link_seconds')",
    );
    tables
        .into_iter()
        .filter(|table| {
            let count = format!("SELECT count(*) FROM {table}");
            connection
                .query_row(&count, [], |row| row.get::<_, i64>(0))
                .unwrap()
                > 0
        })
        .map(|table| {
            let sql =
                format!("SELECT name FROM pragma_table_info('{table}') WHERE name NOT IN ('id', 'run_id')");
            let columns = list(&sql);
            (table, columns)
        })
        .collect()
}

fn diagnosed(database: &Path, run: RunId) -> Result<(), DiagnoseError> {
    let store = Store::open_read_only(database)?;
    let measured = load(&store, run)?;
    let options = Options {
        trial_packets: Some(1_000),
        ..Options::default()
    };
    let diagnosis = diagnose_by_trial(&measured, &options);
    // As the command prints it.
    serde_json::to_string(&diagnosis).unwrap();
    // Its path has a link that can be read back, or none for a known reason.
    twin(&measured).map(drop)
}

/// An error for the person who asked: one line that is not long, of a kind that says what to do.
fn expected(error: &DiagnoseError, what: &str) {
    let line = error.to_string();
    assert!(
        !line.contains('\n') && line.chars().count() < 1_000,
        "{what}: {line}"
    );
    let known = matches!(
        error,
        DiagnoseError::Implausible { .. }
            | DiagnoseError::Unreadable { .. }
            | DiagnoseError::Nothing { .. }
            | DiagnoseError::Unheard { .. }
            | DiagnoseError::Store(StoreError::StrangeValue { .. })
    );
    assert!(known, "{what}: {line}");
}

fn below(random: &mut Random, bound: usize) -> usize {
    random.whole(0, bound as u64 - 1) as usize
}

/// What a cell is overwritten with.
fn strange(random: &mut Random) -> Cell {
    const TWO_TO_53: i64 = 1 << 53;
    let numbers = [
        0,
        -1,
        1,
        7,
        255,
        65_535,
        u32::MAX.into(),
        1_000_000_000_000,
        1_000_000_000_000_000,
        TWO_TO_53,
        -TWO_TO_53,
        4_102_444_800_000_000_000,
        i64::MAX,
        i64::MAX - 1,
        i64::MIN,
    ];
    let others = [
        Cell::Null,
        Cell::Real(1.5),
        Cell::Real(-1e300),
        Cell::Real(f64::INFINITY),
        Cell::Text("reverse".to_owned()),
        Cell::Text("[0,0,0,1,65535]".to_owned()),
        Cell::Text("{\"flows\": [".to_owned()),
        Cell::Text("[".repeat(10_000)),
        Cell::Text("a\nlong text ".repeat(2_000)),
        Cell::Blob(vec![0xff; 1_000]),
    ];
    if random.chance(0.7) {
        Cell::Integer(numbers[below(random, numbers.len())])
    } else {
        others[below(random, others.len())].clone()
    }
}

#[test]
fn any_column_may_hold_anything() {
    let sound = &*SOUND;
    let tables: Vec<&String> = sound.columns.keys().collect();
    for table in [
        "runs",
        "rtt_packets",
        "stream_bursts",
        "flow_bursts",
        "silences",
        "loss_windows",
        "host_seconds",
    ] {
        assert!(tables.iter().any(|known| *known == table), "nothing in {table}");
    }
    let (mut passed, mut refused) = (0, 0);
    for round in 0..ROUNDS {
        let random = &mut Random::new(round);
        let table = tables[below(random, tables.len())];
        let columns = &sound.columns[table];
        let column = &columns[below(random, columns.len())];
        let value = strange(random);
        // A row, the rows of a run, or every row of the table.
        let some = random.whole(0, 1 << 20);
        let one = |what: &str| {
            format!("(SELECT {what} FROM {table} LIMIT 1 OFFSET {some} % (SELECT count(*) FROM {table}))")
        };
        let rows = [
            format!("rowid = {}", one("rowid")),
            format!("run_id = {}", one("run_id")),
            "true".to_owned(),
        ];
        let rows = &rows[below(random, rows.len())];
        let what = format!(
            "round {round}: {table}.{column} = {:.60} where {rows}",
            format!("{value:?}")
        );
        let said = sound.changed(&what, |connection| {
            // What a NOT NULL keeps out does not get in.
            let sql = format!("UPDATE OR IGNORE {table} SET {column} = ?1 WHERE {rows}");
            connection.execute(&sql, [&value]).unwrap();
        });
        match said {
            Ok(()) => passed += 1,
            Err(_) => refused += 1,
        }
    }
    // The rounds have to reach both what is summed and what is refused before.
    assert!(
        passed > ROUNDS / 10 && refused > ROUNDS / 10,
        "{passed} passed, {refused} refused"
    );
}

/// Every number in a value, by its place.
fn numbers(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(place.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                numbers(item, &format!("{place}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                numbers(field, &format!("{place}/{name}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[test]
fn any_number_of_a_plan_or_summary_may_be_anything() {
    let sound = &*SOUND;
    let (_folder, database) = sound.copy();
    let connection = Connection::open(&database).unwrap();
    let mut places: Vec<(i64, &str, String)> = Vec::new();
    for column in ["parameters", "summary", "local_host"] {
        let sql = format!("SELECT run_id, {column} FROM runs WHERE {column} IS NOT NULL");
        let mut statement = connection.prepare(&sql).unwrap();
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))
            .unwrap();
        for (run, text) in rows.map(Result::unwrap) {
            let mut found = Vec::new();
            numbers(&serde_json::from_str(&text).unwrap(), "", &mut found);
            places.extend(found.into_iter().map(|place| (run, column, place)));
        }
    }
    let values = [
        json!(0),
        json!(1),
        json!(-1),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(u32::MAX),
        json!(u16::MAX),
        json!(1_000_000_000_000_000_u64),
        json!(1e300),
        json!(null),
        json!([]),
    ];
    for round in 0..JSON_ROUNDS {
        let random = &mut Random::new(round);
        // Plans have fewer numbers than summaries, and more is computed from them.
        let wanted = if random.chance(0.5) {
            "parameters"
        } else {
            "summary"
        };
        let chosen: Vec<_> = places.iter().filter(|(_, column, _)| *column == wanted).collect();
        let (run, column, place) = chosen[below(random, chosen.len())];
        let value = &values[below(random, values.len())];
        let what = format!("round {round}: {column} of run {run}, {place} = {value}");
        let _ = sound.changed(&what, |connection| {
            let text: String = connection
                .query_row(
                    &format!("SELECT {column} FROM runs WHERE run_id = ?1"),
                    [run],
                    |row| row.get(0),
                )
                .unwrap();
            let mut document: Value = serde_json::from_str(&text).unwrap();
            *document.pointer_mut(place).unwrap() = value.clone();
            let sql = format!("UPDATE runs SET {column} = ?1 WHERE run_id = ?2");
            connection
                .execute(&sql, rusqlite::params![document.to_string(), run])
                .unwrap();
        });
    }
}

/// What is said names the run, the table, the column and the value, and what to do next.
#[test]
fn a_refusal_says_where_the_number_is() {
    let sound = &*SOUND;
    let change = |sql: &'static str| {
        let said = sound.changed(sql, |connection| {
            connection.execute(sql, []).unwrap();
        });
        said.unwrap_err().to_string()
    };
    let flow = change("UPDATE flow_seconds SET flow = 60000");
    for part in [
        "run ",
        "60000",
        "column flow ",
        "table flow_seconds",
        "weir runs delete",
    ] {
        assert!(flow.contains(part), "{part}: {flow}");
    }
    let negative = change("UPDATE stream_seconds SET lost = -5");
    for part in [
        "run ",
        "-5",
        "column lost ",
        "table stream_seconds",
        "delete the run",
    ] {
        assert!(negative.contains(part), "{part}: {negative}");
    }
    let sum = change("UPDATE rtt_packets SET window = 1000000000000");
    assert!(sum.contains("window"), "{sum}");
}

/// Clocks that are years apart are no damage.
#[test]
fn clocks_that_are_years_apart_are_diagnosed() {
    let sound = &*SOUND;
    let said = sound.changed("delays of ten years", |connection| {
        connection
            .execute_batch(
                "UPDATE flow_seconds SET owd_min_ns = owd_min_ns + 315360000000000000,
                     owd_p50_ns = owd_p50_ns + 315360000000000000, owd_p99_ns = owd_p99_ns + 315360000000000000;
                 UPDATE rtt_packets SET owd_forward_ns = owd_forward_ns - 315360000000000000",
            )
            .unwrap();
    });
    assert!(said.is_ok(), "{said:?}");
}

/// A test whose payload the path MTU decides has none in its parameters, which are stored before it is found.
#[test]
fn a_payload_that_was_found_later_is_diagnosed() {
    let sound = &*SOUND;
    for (what, summary) in [("finished", "summary"), ("killed", "NULL")] {
        let said = sound.changed(what, |connection| {
            let changed = connection
                .execute(
                    &format!(
                        "UPDATE runs SET parameters = json_set(parameters, '$.flows.length', 0), summary = {summary}
                         WHERE kind = 'flows' AND json_type(parameters, '$.flows.length') = 'integer'"
                    ),
                    [],
                )
                .unwrap();
            assert!(changed > 0);
        });
        assert!(said.is_ok(), "{what}: {said:?}");
    }
}

/// Where nothing came through there is nothing to judge, and above all no limit at 0 bit/s and no clean path.
#[test]
fn a_test_that_received_nothing_says_so() {
    let said = SOUND.changed("unheard", |connection| {
        connection
            .execute_batch(
                "PRAGMA foreign_keys = ON;
                 DELETE FROM runs WHERE kind IN ('mtu', 'tcp', 'rtt');
                 UPDATE runs SET summary = NULL;
                 UPDATE flow_seconds SET lost = lost + received, received = 0, bytes = 0;
                 UPDATE stream_seconds SET lost = lost + received, received = 0, bytes = 0;",
            )
            .unwrap();
    });
    let error = said.unwrap_err();
    assert!(
        matches!(error, DiagnoseError::Unheard { sent: 1.., .. }),
        "{error:?}"
    );
}
