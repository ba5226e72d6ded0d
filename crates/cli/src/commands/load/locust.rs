//! `weir load --locust-master`: a Locust master sets the number of viewers. All counts of the worker are stored as one
//! run, with full distributions; Locust itself keeps rounded ones.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::args::{GlobalOptions, LoadArgs};
use weir_load::engine::{self, Config, Second, SoFar, Target, Watch};
use weir_load::locust::{Fleet, LOCUSTFILE, Orders, Settled, message::Spawn, work};
use weir_load::measure::{Account, LoadSummary, Quality};
use weir_load::viewer::{Play, RungChoice};
use weir_measure::{Sink, Stop};
use weir_results::Record;

use super::super::output::print;
use super::super::result::StoredResult;
use super::super::run_store::{Ended, OpenRun, RunStore, json as stored, new_run};
use super::super::{Failure, say, tables};
use super::{plan, remarks, watching};

/// The classes of the locustfile, and the options with their URLs.
const CLASSES: [(&str, &str); 2] = [("WeirDash", "weir_dash"), ("WeirHls", "weir_hls")];

/// Prints the locustfile for a master.
pub fn print_locustfile() -> Result<(), Failure> {
    print(LOCUSTFILE)
}

/// Works for a master until it sends quit.
pub fn run(args: &LoadArgs, master: &str, global: &GlobalOptions, stop: &Stop) -> Result<(), Failure> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce)
        .map_err(|error| Failure::environment(format!("cannot generate a name for this worker: {error}")))?;
    let host = weir_net::host::HostFacts::read(None);
    let orders = Orders {
        master: master.to_owned(),
        node: format!("{}_weir_{:016x}", host.name, u64::from_be_bytes(nonce)),
    };
    engine::raise_descriptors();
    let store = RunStore::open(&global.db)?;
    let run = store.begin(
        &new_run("load", master, &plan::parameters(args, &args.urls), &host),
        "load",
        true,
    )?;
    let id = run.id();
    let began = Instant::now();
    let mut fleet = Viewers {
        args,
        run: &run,
        running: BTreeMap::new(),
        counted: Arc::default(),
    };
    let tell = |line: &str| {
        if !global.quiet {
            say(&format!("weir load: {line}"));
        }
    };
    let result = work(&orders, &mut fleet, &|| stop.is_set(), &tell);
    drop(fleet.take());
    let duration_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let summary = fleet.summary(duration_ns);
    drop(fleet);
    let end = Ended::of(&result, stop);
    let outcome = end.outcome();
    let kept = run.finish(&end, &stored(&summary));
    result?;
    let notes: Vec<String> = remarks(&summary).into_iter().collect();
    let printed = StoredResult::new(&store, id, "load", outcome, &notes);
    printed.print(global.json, &summary, || tables::load(&summary))?;
    kept?;
    Ok(())
}

/// Users of Locust's classes, with one engine per class.
struct Viewers<'a> {
    args: &'a LoadArgs,
    run: &'a OpenRun<'a>,
    running: BTreeMap<String, Running>,
    counted: Arc<Mutex<Counted>>,
}

/// Counts of the engines.
#[derive(Default)]
struct Counted {
    /// Since the last report.
    fresh: Account,
    /// Rows since then.
    rows: Vec<Record>,
    /// Total.
    whole: Account,
    quality: Quality,
    arrivals: u64,
    most_viewers: u64,
    cpu_ns: u64,
    busiest: f64,
}

struct Running {
    /// Its options.
    asked: (String, Play, RungChoice),
    target: Arc<Target>,
    ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Collects the counts of engines for the next report.
struct Counting(Arc<Mutex<Counted>>);

impl Watch for Counting {
    fn second(&self, second: &Second, _: &SoFar) -> bool {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.fresh.merge(&second.account);
        counted.whole.merge(&second.account);
        counted.quality.merge(&second.quality);
        counted.rows.extend(watching::second_rows(second));
        counted.arrivals += second.arrivals;
        counted.most_viewers = counted.most_viewers.max(second.viewers);
        counted.cpu_ns += second.cpu_ns;
        counted.busiest = counted.busiest.max(second.busiest);
        true
    }
}

impl Viewers<'_> {
    /// All counts.
    fn summary(&self, duration_ns: u64) -> LoadSummary {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let done = LoadSummary::of(&counted.whole, &counted.quality, duration_ns);
        LoadSummary {
            most_viewers: counted.most_viewers,
            arrivals: counted.arrivals,
            cpu_ns: counted.cpu_ns,
            busiest: counted.busiest,
            generator_limited: engine::is_limited(counted.busiest, &done.schedule_error),
            ..done
        }
    }

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

impl Viewers<'_> {
    /// Sets the number of users of one class.
    fn set_class(&mut self, class: &str, count: u32, spawn: &Spawn) -> Result<(), String> {
        let asked = asked(class, spawn)?;
        let same = self
            .running
            .get(class)
            .is_some_and(|running| running.asked == asked);
        if !same {
            if let Some(before) = self.running.remove(class) {
                end(before);
            }
            if count == 0 {
                return Ok(());
            }
            let started = self.start(asked)?;
            self.running.insert(class.to_owned(), started);
        }
        if let Some(running) = self.running.get(class) {
            running.target.set(count);
        }
        Ok(())
    }
}

fn end(running: Running) {
    running.ending.store(true, Ordering::Release);
    // A thread that panicked has printed its message on standard error.
    let _ = running.thread.join();
}

impl Fleet for Viewers<'_> {
    fn set(&mut self, spawn: &Spawn) -> Settled {
        let mut settled = Settled::default();
        for (class, count) in &spawn.users {
            if let Err(problem) = self.set_class(class, *count, spawn) {
                // Engines with other options do not match the master's request.
                if let Some(before) = self.running.remove(class) {
                    end(before);
                }
                if *count > 0 {
                    let users = if *count == 1 { "user" } else { "users" };
                    let problem = format!("cannot run {count} {users} of {class}: {problem}");
                    settled.problems.push(problem);
                }
            }
            let runs = self.running.contains_key(class);
            settled.users.insert(class.clone(), if runs { *count } else { 0 });
        }
        settled
    }

    fn stop(&mut self) {
        for (_, running) in std::mem::take(&mut self.running) {
            end(running);
        }
    }

    fn take(&mut self) -> Account {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut counted.rows)
            .into_iter()
            .for_each(|row| self.run.record(row));
        std::mem::take(&mut counted.fresh)
    }
}

/// Behaviour of a class's users, by the options of the master.
fn asked(class: &str, spawn: &Spawn) -> Result<(String, Play, RungChoice), String> {
    let known = CLASSES.into_iter().find(|(name, _)| *name == class);
    let (_, option) = known.ok_or_else(|| {
        format!("unknown class '{class}'; start the master with the file printed by 'weir load locustfile'")
    })?;
    let given = spawn.options.get(option).filter(|url| !url.is_empty());
    let title = given
        .or(spawn.host.as_ref().filter(|host| !host.is_empty()))
        .cloned();
    let title = title.ok_or_else(|| {
        format!(
            "no URL to load; start the master with --{} URL or --host URL",
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
