//! Hosts of a testbed, from a hosts file: those that tasks are placed on, and what of runs that were killed is left on them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};
use weir_mesh::hosts::Host;
use weir_mesh::place::Places;
use weir_mesh::programs::Programs;
use weir_mesh::ssh::Caller;
use weir_testbed::{OverSsh, PartStatus, Registry, clean_hosts, serve_part};

use crate::args::CopyArgs;
use crate::commands::signals::stop_on_signals;

use super::super::Failure;
use super::super::mesh::{hosts_of, programs, random_hex};
use super::need_root;

/// What ends parts, and fetches what they measured, is not cut short.
static NEVER: AtomicBool = AtomicBool::new(false);

/// What is copied to hosts, and how.
pub struct Copying {
    programs: Programs,
    ssh: String,
    interrupted: Arc<AtomicBool>,
}

impl Copying {
    /// As the arguments say; once `interrupted`, nothing more is copied.
    pub fn new(copies: &CopyArgs, interrupted: &Arc<AtomicBool>) -> Result<Self, Failure> {
        Ok(Copying {
            programs: programs(copies)?,
            ssh: copies.ssh.clone(),
            interrupted: interrupted.clone(),
        })
    }

    /// These hosts, as one run has them.
    pub fn to<'r>(&'r self, hosts: &'r [Host]) -> Result<OverSsh<'r>, Failure> {
        Ok(OverSsh {
            machines: hosts,
            programs: &self.programs,
            opening: Caller {
                kill: &self.interrupted,
                ..caller(&self.ssh)
            },
            caller: caller(&self.ssh),
            word: random_hex()?[..16].to_owned(),
            secret: random_hex()?,
        })
    }
}

fn caller(ssh: &str) -> Caller<'_> {
    Caller { ssh, kill: &NEVER }
}

/// The hosts of a file; none without a file.
pub fn read(file: Option<&Path>) -> Result<Vec<Host>, Failure> {
    file.map_or(Ok(Vec::new()), |file| hosts_of(file, None, Places::known()))
}

/// Their names.
pub fn names(hosts: &[Host]) -> Vec<&str> {
    hosts.iter().map(|host| host.name.as_str()).collect()
}

/// Removes what is left on the hosts of a file: parts that testbeds of this host had there, and those that run no more. Returns
/// hosts with folders, and what failed.
pub fn clean(
    file: &Path,
    ssh: &str,
    all: bool,
    known: &[PartStatus],
) -> Result<(Vec<Value>, Vec<String>), Failure> {
    let hosts = hosts_of(file, None, Places::known())?;
    let (removed, failed) = clean_hosts(&hosts, known, all, caller(ssh));
    let removed = removed.into_iter();
    let removed = removed.map(|(host, folder)| json!({ "host": host, "folder": folder }));
    Ok((removed.collect(), failed))
}

/// Holds a part on this host, in the folder in which it was started; or removes what one left there.
pub fn part(clean: bool) -> Result<(), Failure> {
    need_root()?;
    let failed =
        |error: std::io::Error| Failure::environment(format!("cannot find this folder or program: {error}"));
    let registry = Registry::of_folder(&std::env::current_dir().map_err(failed)?);
    if clean {
        registry.clean(true)?;
        return Ok(());
    }
    let weir = std::env::current_exe().map_err(failed)?;
    let stop = stop_on_signals()?;
    let requests = std::io::BufReader::new(std::io::stdin());
    let mut replies = std::io::stdout();
    Ok(serve_part(requests, &mut replies, &registry, &weir, &|| {
        stop.is_set()
    })?)
}
