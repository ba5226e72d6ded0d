//! Terraform or OpenTofu as a program: found, called in the folder of one place, interrupted or killed. It knows steps
//! and their logs, not what is in a module.
//!
//! The engine is in a process group of its own and writes to a file: neither the user's Ctrl-C nor this process's death
//! breaks off what it is doing, so that what it has made stands in its state.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::cloud::verdict::{EngineFailure, FailureKind, judge};

/// Programs that serve, the preferred one first.
const PROGRAMS: [&str; 2] = ["tofu", "terraform"];
const TICK: Duration = Duration::from_millis(50);
/// Most of a log that is read, bytes.
const MOST_LOG: u64 = 256 << 10;

/// No engine is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "neither tofu nor terraform is in PATH: install OpenTofu (https://opentofu.org/docs/intro/install) or Terraform \
     (https://developer.hashicorp.com/terraform/install), or name one with --engine"
)]
pub struct NoEngine;

/// What the engine is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Get the provider.
    Init,
    /// See whether it could be made.
    Plan,
    /// Make it.
    Apply,
    /// Say which hosts and which network there are.
    Output,
    /// Remove it.
    Destroy,
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Init => "init",
            Step::Plan => "plan",
            Step::Apply => "apply",
            Step::Output => "output",
            Step::Destroy => "destroy",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Step::Init => &["init", "-input=false", "-no-color"],
            Step::Plan => &["plan", "-input=false", "-no-color", "-lock-timeout=60s"],
            Step::Apply => &[
                "apply",
                "-input=false",
                "-no-color",
                "-auto-approve",
                "-lock-timeout=60s",
            ],
            Step::Output => &["output", "-no-color", "-json"],
            // An engine whose Weir was killed may still be at work.
            Step::Destroy => &[
                "destroy",
                "-input=false",
                "-no-color",
                "-auto-approve",
                "-lock-timeout=600s",
            ],
        }
    }
}

/// The engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// Its program.
    pub program: PathBuf,
}

impl Engine {
    /// The engine in these folders, as `PATH` lists them.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(path: Option<&OsStr>) -> Result<Engine, NoEngine> {
        let folders: Vec<PathBuf> = path
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default();
        PROGRAMS
            .iter()
            .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
            .find(|program| program.is_file())
            .map(|program| Engine { program })
            .ok_or(NoEngine)
    }

    /// Does a step in a place's folder, with what the provider needs in `data`. Its log is `STEP.log` there.
    ///
    /// With `presses`, the first asks the engine to stop after what it is doing, and the second kills it.
    ///
    /// # Errors
    /// What the engine said.
    pub fn run(
        &self,
        step: Step,
        folder: &Path,
        data: &Path,
        cloud: &str,
        presses: Option<&AtomicUsize>,
    ) -> Result<(), EngineFailure> {
        let log = folder.join(format!("{}.log", step.name()));
        let status = self
            .call(step, folder, data, &log, presses)
            .map_err(|error| EngineFailure {
                kind: FailureKind::Other,
                message: format!(
                    "cannot run '{}' in {}: {error}",
                    self.program.display(),
                    folder.display()
                ),
            })?;
        match status {
            Ended::Well => Ok(()),
            Ended::Interrupted => Err(EngineFailure {
                kind: FailureKind::Interrupted,
                message: "interrupted".into(),
            }),
            Ended::Badly => Err(judge(&end_of(&log), cloud)),
        }
    }

    fn call(
        &self,
        step: Step,
        folder: &Path,
        data: &Path,
        log: &Path,
        presses: Option<&AtomicUsize>,
    ) -> io::Result<Ended> {
        let out = File::create(log)?;
        let errors = match step {
            // Its log is the answer.
            Step::Output => File::create(folder.join("output.err"))?,
            _ => out.try_clone()?,
        };
        let mut child = Command::new(&self.program)
            .args(step.arguments())
            .current_dir(folder)
            .env("TF_DATA_DIR", data)
            .env("TF_IN_AUTOMATION", "1")
            .env("TF_INPUT", "0")
            .env("CHECKPOINT_DISABLE", "1")
            // Options and a workspace of the user's are for modules of the user's.
            .env_remove("TF_CLI_ARGS")
            .env_remove("TF_WORKSPACE")
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .process_group(0)
            .spawn()?;
        wait(&mut child, presses)
    }
}

enum Ended {
    Well,
    Badly,
    Interrupted,
}

fn wait(child: &mut Child, presses: Option<&AtomicUsize>) -> io::Result<Ended> {
    // A process that runs has an identifier above 0.
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match (status.success(), asked) {
                (true, _) => Ended::Well,
                (false, true) => Ended::Interrupted,
                (false, false) => Ended::Badly,
            });
        }
        let count = presses.map_or(0, |presses| presses.load(Ordering::Relaxed));
        if let Some(id) = id {
            if count >= 2 {
                // Its providers and the programs it has started too.
                let _ = kill_process_group(id, Signal::KILL);
                child.wait()?;
                return Ok(Ended::Interrupted);
            }
            if count == 1 && !asked {
                asked = true;
                // That it has just ended is no failure.
                let _ = kill_process(id, Signal::INT);
            }
        }
        thread::sleep(TICK);
    }
}

/// The last of a log; what cannot be read says nothing.
fn end_of(log: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MOST_LOG)))?;
        let mut bytes = Vec::new();
        file.take(MOST_LOG).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}
