//! A bound on the CPU time of a command and of all that it starts: a control group of its own, by either of the kernel's two
//! interfaces (CFS bandwidth control). It must not know what the command is for.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Where a host has its control groups, those with the controller of CPU time first.
const ROOTS: [&str; 4] = [
    "/sys/fs/cgroup/cpu",
    "/sys/fs/cgroup/cpu,cpuacct",
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
];
/// Interval in which a bound holds, microseconds. Who has used up its time waits for the next one.
const PERIOD_US: f64 = 20_000.0;
/// Least bound, cores: the kernel takes no less than a millisecond of an interval.
pub const LEAST_CORES: f64 = 0.05;
/// Longest wait for the kernel to see that a group is empty.
const EMPTY_TRIES: u32 = 100;
const EMPTY_WAIT: Duration = Duration::from_millis(10);

/// A control group with a bound. It stays when this is dropped: [`remove`] takes its name.
#[derive(Debug)]
pub struct CpuBound {
    folder: PathBuf,
}

impl CpuBound {
    /// Makes a group of this name, whose processes together get at most the time of so many cores, [`LEAST_CORES`] at least.
    ///
    /// # Errors
    /// When this host has no such controller, the caller may not use it, or the name is taken.
    pub fn create(name: &str, cores: f64) -> io::Result<Self> {
        let quota_us = (cores.max(LEAST_CORES) * PERIOD_US).round();
        let found = ROOTS
            .iter()
            .find_map(|root| Some((Path::new(root), Interface::below(Path::new(root))?)));
        let (root, interface) =
            found.ok_or_else(|| io::Error::other("no control group has a controller of CPU time"))?;
        if interface == Interface::Second {
            fs::write(root.join("cgroup.subtree_control"), "+cpu")?;
        }
        let folder = root.join(name);
        fs::create_dir(&folder)?;
        let bound = CpuBound { folder };
        for (file, value) in interface.bound(quota_us) {
            fs::write(bound.folder.join(file), value).inspect_err(|_| {
                let _ = fs::remove_dir(&bound.folder);
            })?;
        }
        Ok(bound)
    }

    /// Puts the process of `command`, and all that it starts, into the group.
    ///
    /// # Errors
    /// When the group is gone or may not be entered.
    pub fn hold(&self, command: &mut Command) -> io::Result<()> {
        let mut processes = File::options()
            .write(true)
            .open(self.folder.join("cgroup.procs"))?;
        // SAFETY: the closure runs between fork and exec and makes one system call, which is allowed there; it takes no lock and no
        // memory. 0 is the process that writes.
        unsafe { command.pre_exec(move || processes.write_all(b"0")) };
        Ok(())
    }
}

/// The kernel's interfaces of control groups (admin-guide/cgroup-v1, admin-guide/cgroup-v2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interface {
    /// Each controller has a hierarchy of its own.
    First,
    /// All are in one, where a group gives those of a list to the groups below it.
    Second,
}

impl Interface {
    /// That by which groups below `root` can have the controller of CPU time.
    fn below(root: &Path) -> Option<Self> {
        let all = fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        if root.join("cpu.cfs_quota_us").exists() {
            Some(Interface::First)
        } else if all.split_whitespace().any(|one| one == "cpu") {
            Some(Interface::Second)
        } else {
            None
        }
    }

    /// Files of a group that gets so much of each interval, and what they hold.
    fn bound(self, quota_us: f64) -> Vec<(&'static str, String)> {
        match self {
            Interface::First => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", quota_us.to_string()),
            ],
            Interface::Second => vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))],
        }
    }
}

/// Removes the group of this name, whose processes have ended; a missing one is no error.
///
/// # Errors
/// When it has processes, or as `rmdir(2)`.
pub fn remove(name: &str) -> io::Result<()> {
    ROOTS
        .iter()
        .try_for_each(|root| remove_folder(&Path::new(root).join(name)))
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    let mut tries = 0;
    // Where nothing can be written, even the removal of what is not there fails.
    while folder.exists() {
        match fs::remove_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // A process that was killed leaves its group a moment after its end is seen.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < EMPTY_TRIES => {
                tries += 1;
                thread::sleep(EMPTY_WAIT);
            }
            done => return done,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_written_as_the_interface_of_the_host_has_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Interface::below(folder.path()), None);
        let controllers = folder.path().join("cgroup.controllers");
        fs::write(&controllers, "cpuset memory\n").unwrap();
        assert_eq!(Interface::below(folder.path()), None);
        fs::write(&controllers, "cpuset cpu memory\n").unwrap();
        assert_eq!(Interface::below(folder.path()), Some(Interface::Second));
        // "$MAX $PERIOD", microseconds: half a core is 10 ms of every 20 ms.
        assert_eq!(
            Interface::Second.bound(10_000.0),
            [("cpu.max", "10000 20000".to_owned())]
        );
        fs::write(folder.path().join("cpu.cfs_quota_us"), "-1\n").unwrap();
        assert_eq!(Interface::below(folder.path()), Some(Interface::First));
        let both = Interface::First.bound(10_000.0);
        assert_eq!(both[1], ("cpu.cfs_quota_us", "10000".to_owned()));
        remove("weir-no-such-group").unwrap();
    }
}
