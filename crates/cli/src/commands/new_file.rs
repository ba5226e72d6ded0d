//! Files that a command writes: refused where they exist, and never seen half written. It must not know what is in them.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use super::Failure;
use super::runs::is_same_file;

/// Refuses the results store, and, without `force`, a file that exists. Before the work, so that nobody waits for a refusal.
pub fn check(path: &Path, store: &Path, force: bool) -> Result<(), Failure> {
    if is_same_file(path, store) {
        return Err(Failure::usage(format!(
            "{} is the results store itself; name another file",
            path.display()
        )));
    }
    if !force && path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    Ok(())
}

fn exists(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} exists; give --force to replace it, or another name",
        path.display()
    ))
}

/// That a file could not be written.
pub fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::environment(format!(
        "cannot write {}: {error}; check that its directory exists, and its free space",
        path.display()
    ))
}

/// Fills a file beside the path and then puts it in its place. Returns its size.
pub fn write(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&File) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let name = path.file_name().ok_or_else(|| {
        Failure::usage(format!(
            "{} names no file; write a name such as report.html",
            path.display()
        ))
    })?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.tmp", std::process::id()));
    let unfinished = path.with_file_name(hidden);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unfinished)
        .map_err(|error| failed(path, &error))?;
    let sized = || {
        file.sync_all()?;
        Ok(file.metadata()?.len())
    };
    let filled = fill(&file).and_then(|()| sized().map_err(|error: io::Error| failed(path, &error)));
    let done = filled.and_then(|bytes| place(&unfinished, path, force).map(|()| bytes));
    // After a rename there is nothing left to remove.
    let _ = std::fs::remove_file(&unfinished);
    done
}

fn place(unfinished: &Path, path: &Path, force: bool) -> Result<(), Failure> {
    let rename = || std::fs::rename(unfinished, path).map_err(|error| failed(path, &error));
    if force {
        return rename();
    }
    // Unlike renaming, this fails if there is a file by now.
    match std::fs::hard_link(unfinished, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(path)),
        // Not all file systems know links.
        Err(_) => rename(),
    }
}
