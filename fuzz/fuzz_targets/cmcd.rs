//! CMCD as header fields and as a query: nothing that is sent may upset the reader; what it refuses it refuses in one short
//! line, and what it takes can be written again and is then read as the same, apart from the rounding to hundreds.
//!
//! Input: the query of a URI, or header fields, one a line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_media::cmcd::{Cmcd, CmcdError, MAX_KBITS};

fn check(read: Result<Option<Cmcd>, CmcdError>) {
    match read {
        Ok(None) => {}
        Ok(Some(keys)) => {
            assert!(
                keys.requested_throughput
                    .is_none_or(|rate| (1..=MAX_KBITS).contains(&rate))
            );
            let once = again(&keys);
            // Written once, it is rounded; written twice, nothing changes any more.
            assert_eq!(again(&once), once);
            assert_eq!(
                Cmcd::from_query(&format!("CMCD={}", keys.query())).unwrap(),
                Some(once)
            );
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.chars().any(char::is_control), "{line}");
            assert!(line.len() < 200, "{line}");
        }
    }
}

/// Written as header fields and read.
fn again(keys: &Cmcd) -> Cmcd {
    let written = keys.headers();
    let fields = written.iter().map(|(name, value)| (*name, value.as_bytes()));
    Cmcd::from_headers(fields)
        .unwrap()
        .unwrap_or_else(|| Cmcd::new(keys.version))
}

fuzz_target!(|input: &[u8]| {
    if let Ok(query) = std::str::from_utf8(input) {
        check(Cmcd::from_query(query));
    }
    let lines = input.split(|byte| *byte == b'\n');
    let names = ["CMCD-Object", "CMCD-Request", "CMCD-Status", "CMCD-Session"];
    check(Cmcd::from_headers(names.into_iter().cycle().zip(lines)));
});
