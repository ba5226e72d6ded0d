//! Programs under test: started, watched with a limit, signalled, and killed when the test lets go of them.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{LIMIT, SCRATCH};

/// The built `weir`: cargo puts it one folder above the tests.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
    folder.join("weir")
}

/// A `weir` command line without anything from this process's environment that would change what it does.
pub fn weir(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments);
    for variable in ["WEIR_TOKEN", "WEIR_DB", "WEIR_LOG", "NO_COLOR"] {
        command.env_remove(variable);
    }
    // What cleans up after killed runs must not find launches of machines that are not a test's.
    command.env("XDG_STATE_HOME", format!("{SCRATCH}/state"));
    command
}

/// The same with its arguments in one line, separated by spaces.
pub fn weir_line(line: &str) -> Command {
    weir(&line.split_whitespace().collect::<Vec<_>>())
}

/// A running `weir` with these arguments.
#[track_caller]
pub fn started(line: &str) -> Running {
    Running::start(weir_line(line))
}

/// Runs `weir` with these arguments to its end, with this exit status.
#[track_caller]
pub fn ran(code: i32, line: &str) -> Finished {
    run_within(LIMIT, weir_line(line)).expect_code(code)
}

/// A program that has ended.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote on standard output.
    pub stdout: String,
    /// What it wrote on standard error.
    pub stderr: String,
}

impl Finished {
    /// Exit status; -1 after a signal.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Checks the exit status.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(
            self.code(),
            code,
            "exit status; standard output:\n{}\nstandard error:\n{}",
            self.stdout,
            self.stderr
        );
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Checks that there is one line of error, and that it has these words.
    #[track_caller]
    pub fn error_has(&self, words: &str) {
        assert!(self.one_error().contains(words), "'{words}' in: {}", self.stderr);
    }

    /// Checks that standard error has these words.
    #[track_caller]
    pub fn stderr_has(&self, words: &str) {
        assert!(self.stderr.contains(words), "'{words}' in: {}", self.stderr);
    }

    /// Checks that standard output has these words.
    #[track_caller]
    pub fn stdout_has(&self, words: &str) {
        assert!(self.stdout.contains(words), "'{words}' in: {}", self.stdout);
    }

    /// Standard output as one JSON object.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in standard output:\n{}\n{}", self.stdout, self.stderr))
    }

    /// Standard output as a JSON object on each line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// Checks that the error is one line that begins with the program's name, and gives it.
    #[track_caller]
    pub fn one_error(&self) -> &str {
        let lines: Vec<&str> = self
            .stderr
            .lines()
            .filter(|line| line.starts_with("weir:") && !line.starts_with("weir: warning:"))
            .collect();
        assert_eq!(lines.len(), 1, "one line of error in:\n{}", self.stderr);
        lines[0]
    }
}

/// A running program; killed when dropped.
pub struct Running {
    child: Child,
    stdout: Gathering,
    stderr: Gathering,
}

struct Gathering {
    text: Arc<Mutex<String>>,
    thread: JoinHandle<()>,
}

impl Gathering {
    fn start(stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let kept = text.clone();
        let thread = std::thread::spawn(move || {
            let mut stream = BufReader::new(stream);
            let mut line = Vec::new();
            while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let said = String::from_utf8_lossy(&line).into_owned();
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push_str(&said);
                line.clear();
            }
        });
        Gathering { text, thread }
    }

    fn so_far(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Running {
    /// Starts a program and gathers its output.
    #[track_caller]
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Running {
            stdout: Gathering::start(child.stdout.take().expect("a pipe")),
            stderr: Gathering::start(child.stderr.take().expect("a pipe")),
            child,
        }
    }

    /// What it has written on standard output.
    pub fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    /// What it has written on standard error.
    pub fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    /// The first line on standard output.
    #[track_caller]
    pub fn first_line(&mut self, limit: Duration) -> String {
        wait_until("the first line of output", limit, || {
            let line = self.stdout.so_far().lines().next().map(str::to_owned);
            let ended = line.is_none() && !self.is_running();
            assert!(!ended, "it ended:\n{}", self.stderr.so_far());
            line
        })
    }

    /// Number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal by name, such as INT.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        super::run("sh", &["-c", &format!("kill -{name} {}", self.child.id())]);
    }

    /// Waits for its end.
    #[track_caller]
    pub fn wait(mut self, limit: Duration) -> Finished {
        let status = wait_until("the end of the program", limit, || {
            self.child.try_wait().expect("a child to wait for")
        });
        // A program that it left behind may hold its output open.
        let text = |gathering: &Gathering| {
            wait_until("the end of its output", limit, || {
                gathering.thread.is_finished().then(|| gathering.so_far())
            })
        };
        Finished {
            status,
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed any more, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks again and again until there is an answer.
#[track_caller]
pub fn wait_until<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "{what} did not come within {limit:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command line to its end within `limit`.
#[track_caller]
pub fn run_within(limit: Duration, command: Command) -> Finished {
    Running::start(command).wait(limit)
}

/// Runs a helper, which must succeed, and gives its output.
#[track_caller]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments);
    let done = run_within(LIMIT, command);
    assert!(
        done.status.success(),
        "{program} {arguments:?} failed: {}{}",
        done.stdout,
        done.stderr
    );
    done.stdout
}

/// The engine of launches in `PATH`, OpenTofu or Terraform; none if neither is there.
pub fn engine() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    ["tofu", "terraform"]
        .iter()
        .flat_map(|program| folders.iter().map(move |folder| folder.join(program)))
        .find(|program| program.is_file())
}
