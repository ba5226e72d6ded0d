//! Network namespaces: made without a name, so that they vanish with the last process that holds them, and commands
//! run inside. A process belongs to a namespace thread by thread, so whatever enters one does it on a thread of its
//! own. It must not know what the namespaces are for.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus};
use std::sync::mpsc;
use std::thread;

/// The network namespace of the thread that opens it.
const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, held open.
#[derive(Debug)]
pub struct NetworkNamespace {
    file: File,
}

impl NetworkNamespace {
    /// Makes a namespace that no path leads to.
    ///
    /// # Errors
    /// When the caller may not make one (`CAP_SYS_ADMIN`).
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

    /// Moves the calling thread into the namespace, for good.
    fn enter(&self) -> io::Result<()> {
        // SAFETY: setns takes a descriptor, which is open, and a number.
        result(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) })
    }

    /// Starts `command` inside. It sees the namespace's interfaces under `/sys/class/net`, and `hosts`, lines as in
    /// `/etc/hosts`, added to that file; both by mounts of its own. No signal is blocked for it, and it is killed when
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

impl AsRawFd for NetworkNamespace {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
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
        self.process.id
    }

    /// Its standard output, if that is a pipe; once.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.stdout.take()
    }

    /// Sends a signal; one that has ended does not mind.
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
    pub fn wait_for(&mut self, limit: std::time::Duration) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = match self.status.recv_timeout(limit) {
                Ok(status) => Some(status?),
                Err(mpsc::RecvTimeoutError::Timeout) => None,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(io::Error::other("nobody waits for it")),
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

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug)]
pub struct ProcessHandle {
    id: u32,
    descriptor: OwnedFd,
}

impl ProcessHandle {
    /// The process that has this number now.
    ///
    /// # Errors
    /// When there is none.
    pub fn of(id: u32) -> io::Result<Self> {
        // SAFETY: pidfd_open takes two numbers; a non-negative result is a new descriptor that we own.
        let descriptor = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, id as libc::pid_t, 0);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd as libc::c_int)
        };
        Ok(ProcessHandle { id, descriptor })
    }

    /// Sends a signal, if it still runs. False when it has ended or may not be signalled.
    pub fn signal(&self, signal: i32) -> bool {
        // SAFETY: pidfd_send_signal takes numbers and an information pointer that may be null.
        let done = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.descriptor.as_raw_fd(),
                signal,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
        done == 0
    }

    /// Waits at most `limit_ms` for its end; true when it has ended.
    ///
    /// # Errors
    /// As `poll(2)`.
    pub fn wait_for_end(&self, limit_ms: u32) -> io::Result<bool> {
        let mut descriptor = libc::pollfd {
            fd: self.descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd.
        let count = unsafe { libc::poll(&mut descriptor, 1, i32::try_from(limit_ms).unwrap_or(i32::MAX)) };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(count > 0)
    }
}

/// Has the kernel kill the command when the thread that starts it ends, and gives it a clean set of signals.
fn die_with_parent(command: &mut Command) -> &mut Command {
    // SAFETY: the closure runs between fork and exec and makes only system calls that are allowed there; it takes
    // no lock and no memory.
    unsafe {
        command.pre_exec(|| {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
            result(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))
        })
    }
}

/// Starts `command` as a child that is killed when the calling thread ends.
///
/// # Errors
/// As starting a command.
pub fn spawn_bound(mut command: Command) -> io::Result<std::process::Child> {
    die_with_parent(&mut command).spawn()
}

/// Where a thread's own view of the file system is put together: it shows something else afterwards anyway.
const STAGE: &str = "/sys";
const HOSTS: &str = "/etc/hosts";
const PLAIN: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;

/// Gives the calling thread a file system view of its own, in which `/sys` is that of its network namespace and
/// `/etc/hosts` has more lines. Nothing of it is left on a disk.
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

/// Takes the topmost mount off `target`; what is bound elsewhere stays.
fn unmount(target: &str) -> io::Result<()> {
    let target = CString::new(target)?;
    // SAFETY: a C string that lives through the call.
    result(unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) })
}

/// As `mount(2)`, without data.
fn mount(source: Option<&str>, target: &str, kind: Option<&str>, flags: libc::c_ulong) -> io::Result<()> {
    let text = |text: &str| CString::new(text).map_err(io::Error::from);
    let source = source.map(text).transpose()?;
    let kind = kind.map(text).transpose()?;
    let target = text(target)?;
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: each pointer is null or a C string that lives through the call.
    result(unsafe {
        libc::mount(
            pointer(&source),
            target.as_ptr(),
            pointer(&kind),
            flags,
            std::ptr::null(),
        )
    })
}

/// Moves the calling process, which must have only one thread yet, into namespaces in which it may do as root does
/// with networks and mounts (if it may not already), with a file system view of its own, and has its children from
/// now on live in a process namespace of their own: when the first of them ends, the kernel kills all others.
///
/// # Errors
/// When this user may not make such namespaces.
pub fn confine() -> io::Result<()> {
    // SAFETY: these take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let spaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID;
    if unshare(spaces).is_err() {
        unshare(spaces | libc::CLONE_NEWUSER)?;
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    }
    mount(None, "/", None, libc::MS_REC | libc::MS_PRIVATE)
}

/// First step of the first process in the process namespace that [`confine`] made: has `/proc` show that one.
///
/// # Errors
/// As `mount(2)`.
pub fn show_own_processes() -> io::Result<()> {
    mount(Some("weir"), "/proc", Some("proc"), PLAIN)
}

/// The effective capabilities of the calling thread hold this one (its number in `capability.h`).
fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << number) != 0)
}

/// This process may make network namespaces, interfaces and mounts where it is.
pub fn may_make_networks() -> bool {
    const CAP_NET_ADMIN: u32 = 12;
    const CAP_SYS_ADMIN: u32 = 21;
    has_capability(CAP_NET_ADMIN) && has_capability(CAP_SYS_ADMIN)
}

fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes plain numbers.
    result(unsafe { libc::unshare(flags) })
}

fn result(done: libc::c_int) -> io::Result<()> {
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Runs `work` on a thread that ends with it, so that what it does to the thread's namespaces stays there.
fn on_own_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        thread::Builder::new()
            .spawn_scoped(scope, work)?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
