//! Files of experiments: no text may panic the reader; it refuses in one line, and an accepted file has distinguishable runs,
//! in any order.

use std::collections::BTreeSet;

use crate::checks::in_a_line;
use weir_load::experiment::{Done, Outcome, left, read};

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match read(text) {
        Ok(experiment) => {
            let cells = experiment.cells();
            let keys: BTreeSet<String> = cells.iter().map(|cell| cell.key()).collect();
            assert_eq!(keys.len(), cells.len());
            assert!(!cells.is_empty() && cells.len() <= 10_000);
            let done: Vec<Done> = cells
                .iter()
                .map(|cell| Done {
                    cell: cell.clone(),
                    run: 1,
                    outcome: Outcome::default(),
                })
                .collect();
            assert!(left(&experiment, &done).is_empty());
            assert!(!experiment.load_options(&cells[0]).is_empty());
        }
        Err(error) => in_a_line(error, 2500),
    }
}
