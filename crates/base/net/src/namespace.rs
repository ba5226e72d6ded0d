//! Network namespaces: created without a name, so that they vanish with the last process that holds them, and commands
//! run inside. A process belongs to a namespace thread by thread, so whatever enters one does it on a thread of its
//! own. It must not know what the namespaces are for.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::calls::{PLAIN, mount, result, unmount, unshare};
use crate::process::{ProcessHandle, die_with_parent};

/// The network namespace of the thread that opens it.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, held open.
#[derive(Debug)]
pub struct NetworkNamespace {
    file: File,
}

impl NetworkNamespace {
    /// Creates a namespace without a path.
    ///
    /// # Errors
    /// When the caller may not create one (`CAP_SYS_ADMIN`).
    pub fn create() -> io::Result<Self> {
        let file = on_own_thread(|| {
            unshare(libc::CLONE_NEWNET)?;
            File::open(OWN)
        })?;
        Ok(NetworkNamespace { file })
    }

    /// Opens the namespace at `path`, such as `/run/netns/NAME`.
    ///
    /// # Errors
    /// As opening the file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(NetworkNamespace {
            file: File::open(path)?,
        })
    }

    /// Device and inode, which identify the namespace while somebody holds it.
    fn identity(&self) -> io::Result<(u64, u64)> {
        let found = self.file.metadata()?;
        Ok((found.dev(), found.ino()))
    }

    /// Numbers of the processes inside, whoever started them, in ascending order. Zombies are left out: they are in no namespace
    /// any more.
    ///
    /// # Errors
    /// When the namespace or `/proc` cannot be read.
    pub fn processes(&self) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir("/proc")?;
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        let wanted = self.identity()?;
        let mut found: Vec<u32> = numbers.filter(|id| is_inside(*id, wanted)).collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Kills all processes inside, and those that they start meanwhile; `limit_ms` is how long it waits for each end. Returns how
    /// many it killed.
    ///
    /// # Errors
    /// When the namespace cannot be read, or a process does not end.
    pub fn kill_processes(&self, limit_ms: u32) -> io::Result<usize> {
        let mut killed = 0;
        loop {
            let inside = self.processes()?;
            if inside.is_empty() {
                return Ok(killed);
            }
            for id in inside {
                // One that has just ended has no handle; one whose number was reused is not in the namespace.
                let Ok(handle) = ProcessHandle::of(id) else {
                    continue;
                };
                if !is_inside(id, self.identity()?) {
                    continue;
                }
                handle.signal(libc::SIGKILL);
                if !handle.wait_for_end(limit_ms)? {
                    return Err(io::Error::other(format!("process {id} does not end")));
                }
                killed += 1;
            }
        }
    }

    /// Runs `work` on a thread inside the namespace and waits for its end.
    ///
    /// # Errors
    /// When the namespace cannot be entered or there are no threads left.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        on_own_thread(|| {
            self.enter()?;
            Ok(work())
        })
    }

    /// Starts `work` on a thread inside the namespace.
    ///
    /// # Errors
    /// When there are no threads left; the thread's own, when the namespace cannot be entered.
    pub fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<thread::JoinHandle<io::Result<T>>> {
        let namespace = self.file.try_clone().map(|file| NetworkNamespace { file })?;
        thread::Builder::new().spawn(move || {
            namespace.enter()?;
            Ok(work())
        })
    }

    /// Moves the calling thread into the namespace, permanently.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: setns takes a descriptor, which is open, and a number.
        result(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) })
    }

    /// Gives the namespace a name as `ip netns` does, a file at `path` in a folder such as `/run/netns`; it then
    /// lives on without any process.
    ///
    /// # Errors
    /// When the file exists already, or mounts are not allowed.
    pub fn attach_name(&self, path: &Path) -> io::Result<()> {
        let (Some(folder), Some(file)) = (path.parent().and_then(Path::to_str), path.to_str()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        fs::create_dir_all(folder)?;
        // Shared, so that the name and its removal are visible in other mount namespaces.
        if mount(None, folder, None, libc::MS_SHARED | libc::MS_REC).is_err() {
            mount(Some(folder), folder, None, libc::MS_BIND | libc::MS_REC)?;
            mount(None, folder, None, libc::MS_SHARED | libc::MS_REC)?;
        }
        File::create_new(path)?;
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        mount(Some(&own), file, None, libc::MS_BIND).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }

    /// Removes a name; a missing one is not an error.
    ///
    /// # Errors
    /// When mounts are not allowed.
    pub fn detach_name(path: &Path) -> io::Result<()> {
        if let Some(file) = path.to_str() {
            // A file left by a crash is not a mount.
            let _ = unmount(file);
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Starts `command` inside. It sees the namespace's interfaces under `/sys/class/net`, and `hosts`, lines as in
    /// `/etc/hosts`, added to that file; both by its own mounts. No signal is blocked for it, and it is killed when
    /// this process dies.
    ///
    /// # Errors
    /// When the namespace cannot be entered or the command does not start.
    pub fn spawn(&self, mut command: Command, hosts: &str) -> io::Result<Inmate> {
        let namespace = self.file.try_clone().map(|file| NetworkNamespace { file })?;
        let hosts = hosts.to_owned();
        let (started, starting) = mpsc::channel();
        let (ended, status) = mpsc::channel();
        // The kernel kills the child when this *thread* ends, so it stays until the child has ended.
        thread::Builder::new()
            .name("weir-command".to_owned())
            .spawn(move || {
                let begun = namespace
                    .enter()
                    .and_then(|()| own_view(&hosts))
                    .and_then(|()| die_with_parent(&mut command).spawn())
                    .and_then(|mut child| {
                        let process = ProcessHandle::of(child.id())?;
                        Ok((process, child.stdout.take(), child))
                    });
                match begun {
                    Ok((process, stdout, mut child)) => {
                        let _ = started.send(Ok((process, stdout)));
                        let _ = ended.send(child.wait());
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                    }
                }
            })?;
        let (process, stdout) = starting
            .recv()
            .map_err(|_| io::Error::other("the thread that starts the command ended"))??;
        Ok(Inmate {
            process,
            stdout,
            status,
            ended: None,
        })
    }
}

/// Whether a process is in the network namespace of this device and inode.
fn is_inside(id: u32, wanted: (u64, u64)) -> bool {
    let found = fs::metadata(format!("/proc/{id}/ns/net"));
    found.is_ok_and(|found| (found.dev(), found.ino()) == wanted)
}

impl AsRawFd for NetworkNamespace {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// A command that runs in a namespace. When it is dropped, the command is killed.
#[derive(Debug)]
pub struct Inmate {
    process: ProcessHandle,
    stdout: Option<ChildStdout>,
    status: mpsc::Receiver<io::Result<ExitStatus>>,
    ended: Option<ExitStatus>,
}

impl Inmate {
    /// Its process number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Its standard output, if that is a pipe; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// Sends a signal; no effect after its end.
    pub fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    /// How it ended; none while it runs.
    ///
    /// # Errors
    /// As `waitpid(2)`.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = match self.status.try_recv() {
                Ok(status) => Some(status?),
                Err(mpsc::TryRecvError::Empty) => None,
                Err(mpsc::TryRecvError::Disconnected) => return Err(io::Error::other("nobody waits for it")),
            };
        }
        Ok(self.ended)
    }

    /// Waits at most `limit` for its end.
    ///
    /// # Errors
    /// As `waitpid(2)`.
    pub fn wait_for(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = match self.status.recv_timeout(limit) {
                Ok(status) => Some(status?),
                Err(mpsc::RecvTimeoutError::Timeout) => None,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("nobody waits for it"));
                }
            };
        }
        Ok(self.ended)
    }
}

impl Drop for Inmate {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.process.signal(libc::SIGKILL);
            let _ = self.status.recv();
        }
    }
}

/// Staging path of a thread's own view of the file system: it is mounted over afterwards anyway.
const STAGE: &str = "/sys";
const HOSTS: &str = "/etc/hosts";

/// Gives the calling thread its own view of the file system, in which `/sys` shows its network namespace and
/// `/etc/hosts` has more lines. Nothing is written to a disk.
fn own_view(hosts: &str) -> io::Result<()> {
    unshare(libc::CLONE_NEWNS)?;
    mount(None, "/", None, libc::MS_REC | libc::MS_PRIVATE)?;
    if Path::new(HOSTS).exists() {
        let own = fs::read_to_string(HOSTS).unwrap_or_default();
        let staged = format!("{STAGE}/hosts");
        mount(Some("weir"), STAGE, Some("tmpfs"), PLAIN)?;
        fs::write(&staged, format!("{}\n{hosts}", own.trim_end()))?;
        fs::set_permissions(&staged, fs::Permissions::from_mode(0o644))?;
        mount(Some(&staged), HOSTS, None, libc::MS_BIND)?;
        unmount(STAGE)?;
    }
    // A user namespace may have no right to this; then /sys shows the interfaces of the host, and only programs
    // that look there are misled.
    let _ = mount(Some("weir"), "/sys", Some("sysfs"), PLAIN);
    Ok(())
}

/// Runs `work` on a thread that ends with it, so that its changes to the thread's namespaces stay there.
fn on_own_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        thread::Builder::new()
            .spawn_scoped(scope, work)?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
