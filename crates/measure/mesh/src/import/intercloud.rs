//! The results of DoiT International's `intercloud-throughput`: a CSV file with the columns `timestamp`, `run_id`,
//! `from_cloud`, `from_region`, `to_cloud`, `to_region`, `bitrate_Bps`, `avgrtt` (milliseconds), `gcp_vm`, `aws_vm`.
//!
//! `bitrate_Bps` is what iperf2 says it has *transferred*, in bytes, in a test of 10 s, and no rate: every value is a
//! multiple of iperf2's buffer of 131,072 bytes. Taken as bit/s, as the published charts do, it overstates by 25 %.

use serde_json::json;
use weir_record::{MeshEnd, MeshTest};

use super::when::unix_ns;
use super::{ImportOptions, Imported, MOST_TESTS};
use crate::MeshError;
use crate::fault::shown;
use crate::place::{cloud, is_word};

/// Seconds that each of its TCP tests took.
const TEST_SECONDS: f64 = 10.0;
/// Bytes of iperf2's buffer, of which the transferred bytes are a multiple.
const BUFFER: f64 = 131_072.0;
/// Columns that a row must have.
const COLUMNS: [&str; 7] = [
    "timestamp",
    "from_cloud",
    "from_region",
    "to_cloud",
    "to_region",
    "bitrate_Bps",
    "avgrtt",
];
/// More than any link carries, bit/s, and the longest RTT that is one, milliseconds.
const MOST_BPS: f64 = 1e13;
const MOST_RTT_MS: f64 = 60_000.0;

pub(super) fn read(file: &str, bytes: &[u8], options: &ImportOptions) -> Result<Imported, MeshError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader
        .headers()
        .map_err(|error| MeshError::file(file, format!("cannot read its first line: {error}")))?
        .clone();
    let place_of = |name: &str| header.iter().position(|column| column.trim() == name);
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        *place = place_of(name).ok_or_else(|| {
            MeshError::file(
                file,
                format!(
                    "missing column '{name}': 'weir mesh import' reads results.csv of intercloud-throughput and iperf3 --json"
                ),
            )
        })?;
    }
    let (run, machines) = (place_of("run_id"), [place_of("gcp_vm"), place_of("aws_vm")]);
    let (mut tests, mut buffers) = (Vec::new(), 0);
    for row in reader.records() {
        let row = row.map_err(|error| MeshError::file(file, format!("cannot read a line: {error}")))?;
        let line = row.position().map_or(0, csv::Position::line);
        if tests.len() == MOST_TESTS {
            return Err(MeshError::file(
                file,
                format!("it has more than {MOST_TESTS} tests: split it"),
            ));
        }
        let cells = places.map(|place| row.get(place).unwrap_or("").trim());
        let bad = |what: &str| MeshError::file(file, format!("line {line}: {what}; correct or remove it"));
        let transferred = number(cells[5], "bitrate_Bps").map_err(|what| bad(&what))?;
        buffers += usize::from(transferred % BUFFER == 0.0);
        let optional = |place: Option<usize>| place.and_then(|place| row.get(place)).map(shown);
        let details = json!({
            "run_id": optional(run),
            "gcp_vm": optional(machines[0]),
            "aws_vm": optional(machines[1]),
        });
        let mut test = test_of(cells, transferred, options).map_err(|what| bad(&what))?;
        test.details = details;
        tests.push(test);
    }
    let notes = notes(tests.len(), buffers, options);
    Ok(Imported {
        source: "intercloud-throughput",
        tests,
        notes,
    })
}

fn test_of(cells: [&str; 7], transferred: f64, options: &ImportOptions) -> Result<MeshTest, String> {
    let [timestamp, from_cloud, from_region, to_cloud, to_region, _, rtt] = cells;
    let end = |cloud_name: &str, region: &str| {
        let cloud = cloud(cloud_name).map_err(|error| error.to_string())?;
        if !is_word(region) {
            return Err(format!("'{}' is not a region name", shown(region)));
        }
        Ok(MeshEnd {
            cloud: cloud.to_owned(),
            region: region.to_owned(),
            ..MeshEnd::default()
        })
    };
    let bps = if options.as_published {
        transferred
    } else {
        transferred * 8.0 / TEST_SECONDS
    };
    let rtt_ms = number(rtt, "avgrtt")?;
    if bps > MOST_BPS || rtt_ms > MOST_RTT_MS {
        return Err("its rate or RTT is out of range".to_owned());
    }
    Ok(MeshTest {
        unix_ns: unix_ns(timestamp).ok_or_else(|| format!("'{}' is not a time", shown(timestamp)))?,
        source: "intercloud-throughput".into(),
        from: end(from_cloud, from_region)?,
        to: end(to_cloud, to_region)?,
        rtt_mean_ns: Some((rtt_ms * 1e6).round() as u64),
        tcp_bps: Some(bps.round() as u64),
        bytes: transferred as u64,
        ..MeshTest::default()
    })
}

/// A number of 0 or more.
fn number(text: &str, column: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!(
            "'{}' in {column} is not a number of 0 or more",
            shown(text)
        )),
    }
}

fn notes(tests: usize, buffers: usize, options: &ImportOptions) -> Vec<String> {
    let mut notes = Vec::new();
    if options.as_published {
        notes.push(
            "bitrate_Bps was read as bit/s, as published; it is bytes in 10 s, so these rates are 25 % too high".into(),
        );
    } else {
        notes.push(
            "bitrate_Bps is bytes transferred in 10 s: rates are 0.8 times the published ones (--as-published keeps those)"
                .into(),
        );
    }
    if buffers < tests {
        notes.push(format!(
            "{} of {tests} values of bitrate_Bps are not multiples of 131,072 bytes: another version of the tool may have \
            used another unit",
            tests - buffers
        ));
    }
    notes
}
