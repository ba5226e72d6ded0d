//! One program with a time limit: input in, output out, killed when it is slow or told to. It knows nothing of SSH.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Most output that is kept of either stream, bytes; what comes after is read and dropped.
const MOST_OUTPUT: u64 = 1 << 20;
/// Most bytes of a file.
const MOST_FILE: u64 = 256 << 20;
const TICK: Duration = Duration::from_millis(50);

/// What the program reads.
pub(crate) enum Input<'i> {
    /// Nothing.
    None,
    /// These bytes.
    Bytes(&'i [u8]),
    /// A file.
    File(&'i Path),
    /// The output of another program.
    Stream(Stdio),
}

/// Where what it prints goes.
#[derive(Clone, Copy)]
pub(crate) enum Output<'o> {
    /// Into [`Finished::Exit`].
    Text,
    /// Into a file that is not there yet and that only its owner may read; what comes after [`MOST_FILE`] is dropped.
    File(&'o Path),
}

/// How it ended.
#[derive(Debug)]
pub(crate) enum Finished {
    /// By itself; a signal counts as status 255.
    Exit {
        status: i32,
        stdout: String,
        stderr: String,
    },
    /// It took too long.
    Slow,
    /// `kill` was set.
    Killed,
}

pub(crate) fn run(
    program: &str,
    arguments: &[String],
    input: Input<'_>,
    output: Output<'_>,
    limit: Duration,
    kill: &AtomicBool,
) -> io::Result<Finished> {
    let into = match output {
        Output::Text => None,
        Output::File(path) => Some(
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(path)?,
        ),
    };
    let (stdin, bytes) = match input {
        Input::None => (Stdio::null(), None),
        Input::Bytes(bytes) => (Stdio::piped(), Some(bytes)),
        Input::File(path) => (File::open(path)?.into(), None),
        Input::Stream(stream) => (stream, None),
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for us: a test that runs may end by itself.
        .process_group(0)
        .spawn()?;
    if let (Some(bytes), Some(mut stdin)) = (bytes, child.stdin.take()) {
        // As short as a token; a program that does not read it says why on its own.
        let _ = stdin.write_all(bytes);
    }
    let (stdout, stderr) = (
        gather(child.stdout.take(), into),
        gather(child.stderr.take(), None),
    );
    let ended = wait(&mut child, limit, kill)?;
    let text = |gathering: thread::JoinHandle<Vec<u8>>| {
        let bytes = gathering.join().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(match ended {
        Ended::Exit(status) => Finished::Exit {
            status,
            stdout: text(stdout),
            stderr: text(stderr),
        },
        // What it has started may hold the pipes open: nobody waits for that.
        Ended::Slow => Finished::Slow,
        Ended::Killed => Finished::Killed,
    })
}

enum Ended {
    Exit(i32),
    Slow,
    Killed,
}

fn wait(child: &mut Child, limit: Duration, kill: &AtomicBool) -> io::Result<Ended> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Exit(status.code().unwrap_or(255)));
        }
        let killed = kill.load(Ordering::Relaxed);
        if killed || Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(if killed { Ended::Killed } else { Ended::Slow });
        }
        thread::sleep(TICK);
    }
}

fn gather(stream: Option<impl Read + Send + 'static>, into: Option<File>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What could be read before an error is what there is.
            let _ = match into {
                Some(mut file) => io::copy(&mut stream.by_ref().take(MOST_FILE), &mut file).map(drop),
                None => stream
                    .by_ref()
                    .take(MOST_OUTPUT)
                    .read_to_end(&mut bytes)
                    .map(drop),
            };
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        bytes
    })
}
