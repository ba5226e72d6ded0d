//! Servers on the far host: origins for the viewer and for a second viewer, and the far end of other neighbours.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::units::Rate;
use weir_lab::pacing::{Case, MANIFEST, NeighbourKind, Server, Variant};
use weir_lab::{FAR_IPV4, Host, Lab};

use super::program::{Program, weir};
use crate::commands::Failure;

/// Ports on the far host, one per server, so that connections can be attributed to servers.
pub const MEDIA_PORT: u16 = 8080;
const VIDEO_PORT: u16 = 8081;
const NEIGHBOUR_PORT: u16 = 8082;

/// Maximum time until nginx is ready.
const NGINX_PATIENCE: Duration = Duration::from_secs(10);

/// URL of the title that the viewer plays.
pub fn media_url() -> String {
    format!("http://{FAR_IPV4}:{MEDIA_PORT}/{MANIFEST}")
}

/// URL of the title for a second viewer.
pub fn video_url() -> String {
    format!("http://{FAR_IPV4}:{VIDEO_PORT}/{MANIFEST}")
}

/// Address of the neighbours' far end.
pub fn neighbour_address() -> String {
    format!("{FAR_IPV4}:{NEIGHBOUR_PORT}")
}

/// Starts the servers of a trial, and waits until all are ready.
pub fn start(
    lab: &Lab,
    folder: &Path,
    variant: Option<&Variant>,
    case: &Case,
) -> Result<Vec<Program>, Failure> {
    let mut servers = Vec::new();
    match variant.map(|variant| variant.server) {
        None => {}
        Some(Server::Weir) => servers.push(origin(lab, folder, MEDIA_PORT, "the origin")?),
        Some(Server::Nginx(limit)) => servers.push(start_nginx(lab, folder, limit)?),
    }
    let is_video = |kind: &NeighbourKind| matches!(kind, NeighbourKind::Video { .. });
    if case.neighbours.iter().any(|neighbour| is_video(&neighbour.kind)) {
        servers.push(origin(lab, folder, VIDEO_PORT, "the neighbour's origin")?);
    }
    if case.neighbours.iter().any(|neighbour| !is_video(&neighbour.kind)) {
        let address = neighbour_address();
        let command = weir(&[
            "lab",
            "neighbour",
            "serve",
            "--listen",
            &address,
            "--json",
            "--quiet",
        ])?;
        let server = Program::start(lab, Host::Far, "'weir lab neighbour serve'", command)?;
        server.wait_until_ready()?;
        servers.push(server);
    }
    Ok(servers)
}

fn origin(lab: &Lab, folder: &Path, port: u16, what: &str) -> Result<Program, Failure> {
    let address = format!("{FAR_IPV4}:{port}");
    let mut command = weir(&[
        "origin", "--files", "--pace", "--json", "--quiet", "--listen", &address,
    ])?;
    command.arg(folder);
    let server = Program::start(lab, Host::Far, what, command)?;
    server.wait_until_ready()?;
    Ok(server)
}

/// Path of nginx, if it is installed. On Debian it is in a folder of root's PATH only.
pub fn nginx() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.find_map(|folder| Some(folder.join("nginx")).filter(|file| file.is_file()))
}

fn start_nginx(lab: &Lab, folder: &Path, limit: Option<Rate>) -> Result<Program, Failure> {
    let failed = |why: &str| Failure::environment(format!("cannot start nginx: {why}"));
    let program = nginx().ok_or_else(|| failed("it is not installed"))?;
    let (configuration, pid) = (folder.join("nginx.conf"), folder.join("nginx.pid"));
    std::fs::write(&configuration, nginx_configuration(folder, limit))
        .map_err(|error| failed(&format!("{}: {error}", configuration.display())))?;
    // That of the previous trial.
    let _ = std::fs::remove_file(&pid);
    let mut command = Command::new(program);
    command
        .arg("-e")
        .arg("stderr")
        .arg("-p")
        .arg(folder)
        .arg("-c")
        .arg(&configuration);
    let mut server = Program::start(lab, Host::Far, "nginx", command)?;
    let patience = Instant::now() + NGINX_PATIENCE;
    // nginx listens before it writes its pid file.
    while !pid.is_file() {
        if server.ended()?.is_some() || Instant::now() >= patience {
            return Err(failed("it exited or did not become ready in time"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(server)
}

/// Configuration of one foreground process that serves the folder and keeps all its files there.
fn nginx_configuration(folder: &Path, limit: Option<Rate>) -> String {
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
