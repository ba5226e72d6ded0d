//! `weir lab run` and what it prints.

use serde_json::Value;

use crate::{LIMIT, run_within, weir};

/// `weir lab run --json` with these link options, and this command on the near host: what the command printed as JSON, if it
/// did, and the link's account.
#[track_caller]
pub fn lab_run(options: &[&str], command: &[&str]) -> (Value, Value) {
    let first = ["lab", "run", "--json", "--max-lateness", "10s"];
    let line = [&first[..], options, &["--"], command].concat();
    let mut printed = run_within(LIMIT, weir(&line)).expect_code(0).json_lines();
    let account = printed.pop().expect("an account");
    (printed.pop().unwrap_or(Value::Null), account)
}
