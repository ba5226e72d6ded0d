//! `weir load --locust-master`: viewers as many as a Locust master says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use weir_cli::args::{GlobalOptions, LoadArgs};
use weir_load::engine::{self, Config, Second, SoFar, Target, Watch};
use weir_load::locust::{Fleet, Orders, WorkerError, message::Spawn, work};
use weir_load::measure::Account;
use weir_load::viewer::{Play, RungChoice};
use weir_measure::Stop;

use super::super::{Failure, say};
use super::plan;

/// The classes of the stub, and where in the options their addresses stand.
const CLASSES: [(&str, &str); 2] = [("WeirDash", "weir_dash"), ("WeirHls", "weir_hls")];

/// Works for a master until it says quit.
pub fn run(args: &LoadArgs, master: &str, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce)
        .map_err(|error| Failure::environment(format!("cannot make a name for this worker: {error}")))?;
    let host = weir_net::host::HostFacts::read(None).name;
    let orders = Orders {
        master: master.to_owned(),
        node: format!("{host}_weir_{:016x}", u64::from_be_bytes(nonce)),
    };
    engine::raise_descriptors();
    let mut fleet = Viewers {
        args,
        running: BTreeMap::new(),
        counted: Arc::default(),
    };
    let tell = |line: &str| {
        if !global.quiet {
            say(&format!("weir load: {line}"));
        }
    };
    work(&orders, &mut fleet, &|| stop.is_set(), &tell)?;
    Ok(())
}

/// Users of Locust's classes, each class an engine of its own.
struct Viewers<'a> {
    args: &'a LoadArgs,
    running: BTreeMap<String, Running>,
    counted: Arc<Mutex<Account>>,
}

struct Running {
    /// What it was started with.
    asked: (String, Play, RungChoice),
    target: Arc<Target>,
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Gathers what engines count, for the next report.
struct Counting(Arc<Mutex<Account>>);

impl Watch for Counting {
    fn second(&self, second: &Second, _: &SoFar) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .merge(&second.account);
        true
    }
}

impl Viewers<'_> {
    fn config(&self, (title, play, rung): &(String, Play, RungChoice)) -> Result<Config, String> {
        let failed = |failure: Failure| failure.message;
        let titles = [title.clone()];
        let mut config = plan::config(self.args, &titles).map_err(failed)?;
        config.behaviour.play = *play;
        config.behaviour.rung = *rung;
        config.arrivals = weir_load::schedule::Arrivals::Steps {
            levels: Vec::new(),
            each: std::time::Duration::ZERO,
        };
        config.duration = None;
        engine::permitted(&config, true).map_err(|error| error.to_string())?;
        Ok(config)
    }

    fn start(&self, asked: (String, Play, RungChoice)) -> Result<Running, String> {
        let config = self.config(&asked)?;
        let (target, ending) = (Arc::new(Target::default()), Arc::new(AtomicBool::new(false)));
        let (theirs, end) = (target.clone(), ending.clone());
        let counting = Counting(self.counted.clone());
        let thread = std::thread::Builder::new()
            .name("viewers".to_owned())
            .spawn(move || {
                let stop = || end.load(Ordering::Acquire);
                if let Err(error) = engine::run(&config, Some(theirs.as_ref()), &stop, &counting) {
                    say(&format!("weir load: {error}"));
                }
            });
        Ok(Running {
            asked,
            target,
            ending,
            thread: thread.map_err(|error| format!("cannot start a thread for viewers: {error}"))?,
        })
    }
}

fn end(running: Running) {
    running.ending.store(true, Ordering::Release);
    // A thread that broke off has said why on standard error.
    let _ = running.thread.join();
}

impl Fleet for Viewers<'_> {
    fn set(&mut self, spawn: &Spawn) -> Result<(), String> {
        for (class, count) in &spawn.users {
            let asked = asked(class, spawn)?;
            let same = self
                .running
                .get(class)
                .is_some_and(|running| running.asked == asked);
            if !same {
                if *count == 0 {
                    continue;
                }
                if let Some(before) = self.running.remove(class) {
                    end(before);
                }
                let started = self.start(asked)?;
                self.running.insert(class.clone(), started);
            }
            if let Some(running) = self.running.get(class) {
                running.target.set(*count);
            }
        }
        Ok(())
    }

    fn stop(&mut self) {
        for (_, running) in std::mem::take(&mut self.running) {
            end(running);
        }
    }

    fn take(&mut self) -> Account {
        std::mem::take(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What users of a class do, by the options of the master.
fn asked(class: &str, spawn: &Spawn) -> Result<(String, Play, RungChoice), String> {
    let known = CLASSES.into_iter().find(|(name, _)| *name == class);
    let (_, option) = known.ok_or_else(|| {
        format!(
            "this worker has no class '{class}'; start the master with the file of 'weir load locustfile'"
        )
    })?;
    let given = spawn.options.get(option).filter(|url| !url.is_empty());
    let title = given
        .or(spawn.host.as_ref().filter(|host| !host.is_empty()))
        .cloned();
    let title = title.ok_or_else(|| {
        format!(
            "there is no address to load: give the master --{} URL or --host URL",
            option.replace('_', "-")
        )
    })?;
    let word = |name: &str| spawn.options.get(name).map_or("", String::as_str);
    let play = match word("weir_play") {
        "real-time" => Play::RealTime,
        "random" => Play::Random,
        "manifest" => Play::Manifest,
        _ => Play::Loop,
    };
    let rung = match word("weir_rung") {
        "lowest" => RungChoice::Lowest,
        "random" => RungChoice::Random,
        "abr" => RungChoice::Adaptive,
        _ => RungChoice::Highest,
    };
    Ok((title, play, rung))
}

impl From<WorkerError> for Failure {
    fn from(error: WorkerError) -> Self {
        Failure::environment(error.to_string())
    }
}
