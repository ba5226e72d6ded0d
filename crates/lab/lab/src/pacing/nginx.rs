//! nginx on the far host, where a variant of a scenario is served by it. It must not know what it is compared with.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use weir_net::namespace::Inmate;
use weir_units::Rate;

use super::trials::TrialError;
use crate::hosts::{FAR_IPV4, Host};
use crate::lab::Lab;

/// Port of the media on the far host; each server there has its own, so that connections can be attributed to servers.
pub(super) const MEDIA_PORT: u16 = 8080;
/// Maximum time until it is ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// Path of nginx, if it is installed. On Debian it is in a folder of root's PATH only.
pub fn nginx() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.find_map(|folder| Some(folder.join("nginx")).filter(|file| file.is_file()))
}

/// A process that serves a folder; it is killed when this is dropped.
pub(super) struct Nginx {
    _process: Inmate,
}

impl Nginx {
    /// Starts it and waits until it is ready.
    pub(super) fn start(lab: &Lab, folder: &Path, limit: Option<Rate>) -> Result<Self, TrialError> {
        let failed = |why: &str| TrialError(format!("cannot start nginx: {why}"));
        let program = nginx().ok_or_else(|| failed("it is not installed"))?;
        let (configuration, pid) = (folder.join("nginx.conf"), folder.join("nginx.pid"));
        std::fs::write(&configuration, text(folder, limit))
            .map_err(|error| failed(&format!("{}: {error}", configuration.display())))?;
        // That of the previous trial.
        let _ = std::fs::remove_file(&pid);
        let mut command = Command::new(program);
        command.args(["-e", "stderr", "-p"]).arg(folder);
        command.arg("-c").arg(&configuration);
        // Its own process group: Ctrl-C goes to the lab, which ends it.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        let process = lab.spawn(Host::Far, command);
        let mut process = process.map_err(|error| failed(&error.to_string()))?;
        let patience = Instant::now() + PATIENCE;
        // nginx listens before it writes its pid file.
        while !pid.is_file() {
            let ended = process.try_wait().map_err(|error| failed(&error.to_string()))?;
            if ended.is_some() || Instant::now() >= patience {
                return Err(failed("it exited or did not become ready in time"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Nginx { _process: process })
    }
}

/// Configuration of one foreground process that serves the folder and keeps all its files there.
fn text(folder: &Path, limit: Option<Rate>) -> String {
    let folder = folder.display();
    let limit = limit.map_or(String::new(), |rate| format!("limit_rate {};", rate.0 / 8));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|kind| format!("{kind}_temp_path {folder}/nginx-{kind};\n"))
        .collect();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr error;\nevents {{ worker_connections 64; }}\n\
         http {{\naccess_log off;\ndefault_type application/octet-stream;\nkeepalive_requests 100000;\n{temporary}\
         server {{ listen {FAR_IPV4}:{MEDIA_PORT}; root {folder}; {limit} }}\n}}\n"
    )
}
