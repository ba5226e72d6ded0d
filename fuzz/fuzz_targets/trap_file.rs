//! Files of traps: no text may panic the reader; it refuses in one line, and an accepted trap is small enough for a quick
//! session in virtual time.

use crate::checks::in_a_line;
use weir_lab::traps::Scenario;

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match Scenario::parse(text, "fuzz") {
        Ok(scenario) => {
            assert!((1..=16).contains(&scenario.media.rungs.len()));
            assert!((1..=7_200).contains(&scenario.media.segments));
            assert!((1..=16).contains(&scenario.variants.len()));
            assert!(scenario.start_buffer.0 <= scenario.buffer.0);
            for variant in &scenario.variants {
                assert!(variant.first_rung < scenario.media.rungs.len());
            }
            for claim in &scenario.claims {
                assert!(claim.variant.max(claim.of) < scenario.variants.len());
            }
            assert!(!scenario.trap.is_empty() && !scenario.trap.chars().any(char::is_control));
        }
        Err(error) => in_a_line(error, 4_000),
    }
}
