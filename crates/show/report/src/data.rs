//! The document of a report: its form as `docs/report-data.md` tells it. It must not know where numbers come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use weir_diagnose::Diagnosis;
use weir_results::{ClockStep, Run, RunId};

/// What `format` says.
pub const FORMAT: &str = "weir-report-data";
/// What `version` says: grows when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

/// Runs and what is drawn of them.
#[derive(Debug, Serialize)]
pub struct ReportData {
    /// [`FORMAT`].
    pub format: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Version of the Weir that made the document.
    pub weir_version: &'static str,
    /// When it did, Unix nanoseconds.
    pub made_unix_ns: u64,
    /// The runs that were asked for, each followed by its parts.
    pub runs: Vec<RunData>,
    /// Tests between places of all these runs together, where more than one of them has such tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<MeshData>,
}

/// Tests between places of several runs, as if one run had made them.
#[derive(Debug, Serialize)]
pub struct MeshData {
    /// The runs.
    pub runs: Vec<RunId>,
    /// When the earliest of them began, Unix nanoseconds: times of the series count from here.
    pub started_unix_ns: u64,
    /// `mesh_tests`, `mesh_places`, `mesh_fits` and `mesh_windows`.
    pub series: BTreeMap<&'static str, Series>,
}

/// A run with its series.
#[derive(Debug, Serialize)]
pub struct RunData {
    /// The row of the table `runs`.
    #[serde(flatten)]
    pub run: Run,
    /// What it tells about the path; none for a part that comes with its run.
    pub diagnosis: Option<Diagnosis>,
    /// Why there is no diagnosis, where there should be one.
    pub no_diagnosis: Option<String>,
    /// When a host's clock was set back while it was recorded.
    pub clock_steps: Vec<ClockStep>,
    /// By name; those without rows are left out.
    pub series: BTreeMap<&'static str, Series>,
}

/// A table of numbers to draw.
#[derive(Debug, PartialEq, Serialize)]
pub struct Series {
    /// Rows of the database that it was made from.
    pub rows: u64,
    /// Length of the bins into which rows were summed, nanoseconds; none where each row stands for itself.
    pub bin_ns: Option<u64>,
    /// Rows that are not in it because there were too many.
    pub left_out: u64,
    /// All of the same length.
    #[serde(serialize_with = "as_map")]
    pub columns: Vec<(&'static str, Column)>,
}

/// The values of a series under one name.
#[derive(Debug, PartialEq, Serialize)]
pub struct Column {
    /// `ns`, `bytes` or `cores`; none for counts, numbers of things, shares and words.
    pub unit: Option<&'static str>,
    /// One for each entry.
    pub values: Values,
}

/// Values of one kind; none is what was not measured.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    /// Counts, lengths and times.
    Integers(Vec<Option<i64>>),
    /// Means and shares.
    Reals(Vec<Option<f64>>),
    /// Words such as a direction.
    Words(Vec<Cow<'static, str>>),
}

impl Values {
    /// Entries.
    pub fn len(&self) -> usize {
        match self {
            Values::Integers(values) => values.len(),
            Values::Reals(values) => values.len(),
            Values::Words(values) => values.len(),
        }
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Series {
    /// A series of columns, whose units their names tell.
    pub(crate) fn new(rows: u64, bin_ns: Option<u64>, columns: Vec<(&'static str, Values)>) -> Self {
        let with_unit = |(name, values): (&'static str, Values)| {
            let unit = unit_of(name);
            (name, Column { unit, values })
        };
        Series {
            rows,
            bin_ns,
            left_out: 0,
            columns: columns.into_iter().map(with_unit).collect(),
        }
    }

    /// The values of a column.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, column)| &column.values)
    }
}

/// Columns in the order in which the page lists them, which readers by eye are grateful for.
fn as_map<S: Serializer>(columns: &[(&'static str, Column)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(columns.len()))?;
    for (name, column) in columns {
        map.serialize_entry(name, column)?;
    }
    map.end()
}

/// The unit of a column, by its name.
fn unit_of(name: &str) -> Option<&'static str> {
    if name.ends_with("_ns") {
        Some("ns")
    } else if name.ends_with("_cores") {
        Some("cores")
    } else if name == "bytes" || name.ends_with("_bytes") || name == "length" || name == "size" {
        Some("bytes")
    } else {
        None
    }
}
