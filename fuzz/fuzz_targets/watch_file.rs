//! Files of watchers: no text may panic the reader or the plan; both refuse in one line, and an accepted file has a schedule
//! that starts what is due.

use crate::checks::in_a_line;
use weir_watch::config::read;
use weir_watch::plan::Plan;
use weir_watch::schedule::Schedule;

/// 2026-01-01 00:00:00 UTC.
const NOW_NS: u64 = 1_767_225_600_000_000_000;

pub fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let read = read(text, None).and_then(|config| Ok((Plan::of(&config)?, config)));
    match read {
        Ok((plan, config)) => {
            assert_eq!(plan.pairs.len(), config.pairs.len());
            let mut schedule = Schedule::new(&config, &plan, NOW_NS);
            let mut now_ns = NOW_NS;
            for _ in 0..20 {
                let Some(next_ns) = schedule.next_wake() else {
                    return;
                };
                now_ns = now_ns.max(next_ns);
                for start in schedule.wake(now_ns) {
                    assert!(start.until_ns > now_ns);
                    schedule.ended(now_ns, start.task, start.until_ns % 2 == 0);
                }
            }
        }
        Err(error) => in_a_line(error, 2500),
    }
}
