//! `weir lab run` and what it prints.

use serde_json::Value;

use crate::{Finished, LIMIT, run_within, weir};

/// `weir lab run --json` with these link options, and this command on the near host.
#[track_caller]
pub fn lab_run(options: &[&str], command: &[&str]) -> Finished {
    let arguments = [
        &["lab", "run", "--json", "--max-lateness", "10s"],
        options,
        &["--"],
        command,
    ]
    .concat();
    run_within(LIMIT, weir(&arguments))
}

/// The objects that a run printed: the command's, if it prints JSON, and at the end the link's account.
#[track_caller]
pub fn objects(done: &Finished) -> (Option<Value>, Value) {
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    let mut lines: Vec<&str> = done.stdout.lines().collect();
    let account = parse(
        lines
            .pop()
            .unwrap_or_else(|| panic!("no account; {}", done.stderr)),
    );
    (lines.pop().map(parse), account)
}
