//! Processes of the engine of launches, OpenTofu or Terraform. Soak tests use it, too.

use std::fs;
use std::path::Path;
use std::process::Command;

use weir_rig::{LIMIT, wait_until};

/// Processes whose command line begins so, in the namespace of the test.
fn processes(program: &Path) -> Vec<String> {
    let name = program.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|id| {
            let text = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            text.split(|byte| *byte == 0).next() == Some(name.as_bytes())
        })
        .collect()
}

/// Kills the engines that a launch started, with their process groups, as when a host goes down.
#[track_caller]
pub fn kill_engines(engine: &Path) {
    wait_until("the end of the engines", LIMIT, || {
        let left = processes(engine);
        for id in &left {
            // Some have ended already, and providers have no group of their own.
            let _ = Command::new("kill")
                .args(["-KILL", "--", &format!("-{id}")])
                .output();
        }
        left.is_empty().then_some(())
    });
}
