//! Results of other tools, tables of places, tables of prices and filters: no bytes may panic their readers; what is
//! refused is refused in one short line, and what is taken can be reported on and written as CSV.
//!
//! Input: any bytes, for every parser.

use crate::checks::in_a_line;
use weir_mesh::MeshError;
use weir_mesh::distance::{Coordinates, Metres};
use weir_mesh::filter::{CloudPair, ExactPair};
use weir_mesh::import::{ImportOptions, export_csv, import, read_locations};
use weir_mesh::place::{PlaceName, Places};
use weir_mesh::price::Prices;
use weir_mesh::report::report;
use weir_record::RunId;

fn assert_short(error: &MeshError) {
    in_a_line(error, 2500);
}

pub fn run(input: &[u8]) {
    let options = ImportOptions {
        as_published: false,
        pair: Some((
            PlaceName::new("aws", "eu-west-1"),
            PlaceName::new("gcp", "us-central1"),
        )),
    };
    match import("file", input, Places::known(), &options) {
        Ok(imported) => {
            let found = report(&imported.tests);
            assert!(found.tests <= imported.tests.len());
            let rows: Vec<_> = imported.tests.into_iter().map(|test| (RunId(1), test)).collect();
            export_csv(rows.iter(), std::io::sink()).expect("nothing refuses it");
        }
        Err(error) => assert_short(&error),
    }
    if let Err(error) = read_locations("file", input) {
        assert_short(&error);
    }
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let refusals = [
        Prices::default().override_with("file", text).err(),
        text.parse::<ExactPair>().err(),
        text.parse::<CloudPair>().err(),
        text.parse::<Metres>().err(),
        text.parse::<Coordinates>().err(),
        Places::known().find(text).err(),
    ];
    refusals.iter().flatten().for_each(assert_short);
}
