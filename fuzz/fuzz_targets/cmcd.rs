//! CMCD as header fields and as a query: nothing that is sent may panic the reader; what it refuses it refuses in one short
//! line, and what it accepts can be written again and is then read as the same, apart from the rounding to hundreds. Whatever
//! pace is asked for by it, or by the plain header field, the bounds hold.
//!
//! Input: the query of a URI, or header fields, one per line.

use crate::checks::in_a_line;
use weir_media::cmcd::{Cmcd, CmcdError, HEADERS, MAX_KBITS};
use weir_pacing::{PaceBounds, PaceRequest};

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
        Err(error) => in_a_line(error, 200),
    }
}

/// Writes header fields and parses them.
fn again(keys: &Cmcd) -> Cmcd {
    let written = keys.headers();
    let fields = written.iter().map(|(name, value)| (*name, value.as_bytes()));
    Cmcd::from_headers(fields)
        .unwrap()
        .unwrap_or_else(|| Cmcd::new(keys.version))
}

fn check_pace<'a>(fields: impl Iterator<Item = (&'a str, &'a [u8])>, query: &str) {
    let bounds = PaceBounds::default();
    let pace = bounds.decide(&PaceRequest::read(fields, query), 1_000_000);
    assert_eq!(pace.rate.is_some(), pace.reason.is_paced());
    assert!(pace.rate.is_none_or(|rate| rate >= bounds.floor));
}

pub fn run(input: &[u8]) {
    if let Ok(query) = std::str::from_utf8(input) {
        check(Cmcd::from_query(query));
        check_pace(std::iter::empty(), query);
    }
    let lines = input.split(|byte| *byte == b'\n');
    check(Cmcd::from_headers(HEADERS.into_iter().cycle().zip(lines.clone())));
    let names = ["CMCD-Status", "Pacing-Rate-KBps"];
    check_pace(names.into_iter().cycle().zip(lines), "");
}
