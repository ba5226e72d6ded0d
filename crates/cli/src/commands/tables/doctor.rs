//! The checks of `weir doctor`.

use weir_measure::fitness::{Check, Fitness};
use weir_results::Side;

/// Each check in a line, with what mends it below.
pub fn checks(checks: &[Check]) -> String {
    let mut text = String::new();
    for side in [Side::Local, Side::Remote] {
        let of_side: Vec<&Check> = checks.iter().filter(|check| check.side == side).collect();
        if of_side.is_empty() {
            continue;
        }
        let title = match side {
            Side::Local => "this host",
            Side::Remote => "the agent's host",
        };
        text.push_str(&format!("{title}\n"));
        for check in of_side {
            let verdict = match check.fitness {
                Fitness::Good => "ok",
                Fitness::Warning => "warning",
                Fitness::Fault => "FAULT",
            };
            text.push_str(&format!(
                "  {verdict:<8} {:<15} {}, wanted {}\n",
                check.name, check.value, check.wanted
            ));
            if let Some(mend) = &check.mend {
                text.push_str(&format!("           -> {}\n", mend.text));
            }
        }
    }
    text
}
