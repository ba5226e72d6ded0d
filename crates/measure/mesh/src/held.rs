//! A launch that this process holds: machines are made, waited for, kept while they are wanted, and removed whatever
//! happens. It must not know what is tested on them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::cloud::hosts::{Files, Launched, hosts_file, known_hosts};
use crate::cloud::record::{PlaceRecord, Record};
use crate::cloud::{Keys, Launch, Own, Zone};
use crate::engine::Engine;
use crate::filter::{End, ExactPair};
use crate::hosts::read_hosts;
use crate::launch::{LaunchError, Machines, Removed};
use crate::place::{PlaceName, Places};
use crate::run::MachinesCost;
use crate::run::threads::{PREPARED_AT_ONCE, Presses};
use crate::ssh::{Caller, on_all, reach, settle};
use crate::state::{RunFolder, StateFolder};

/// Maximum time until machines answer.
const BOOT: Duration = Duration::from_secs(300);
/// Removal takes some minutes, during which machines still cost money.
const REMOVAL_HOURS: f64 = 0.05;
const TICK: Duration = Duration::from_millis(200);

/// Takes what happens, a sentence each.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Now, Unix seconds.
pub fn now_unix_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// How machines are made.
pub struct Means<'m> {
    /// The program that makes them.
    pub engine: Engine,
    /// The user's program that makes them instead of clouds.
    pub own: Option<PathBuf>,
    /// Where launches are written down.
    pub state: &'m StateFolder,
    /// Places at the same time.
    pub at_once: usize,
    /// Stop signals.
    pub presses: &'m Presses,
    /// Takes what happens.
    pub tell: Tell,
    /// Takes what went wrong when nobody takes the error.
    pub complain: Tell,
}

/// Machines that exist until this is dropped.
pub struct Held {
    machines: Option<Machines>,
    /// The hosts file.
    pub hosts_file: PathBuf,
    /// Deadline for their removal, Unix seconds.
    until_unix_s: i64,
    /// Requested zones, in the order of a place's machines.
    zones: BTreeMap<PlaceName, Vec<Zone>>,
    tell: Tell,
    complain: Tell,
}

impl Held {
    /// Writes down a launch, which has its name; nothing is made. `places` gives its places, with prices.
    ///
    /// # Errors
    /// When it makes no sense, or a file or key cannot be made.
    pub fn begin(
        launch: &mut Launch,
        places: impl FnOnce(&Launch) -> Vec<PlaceRecord>,
        means: Means<'_>,
    ) -> Result<Held, LaunchError> {
        let folder = means.state.begin(&launch.run)?;
        launch.keys = keys(&folder).inspect_err(|_| {
            // Nothing has been launched; a leftover folder is empty.
            let _ = folder.remove();
        })?;
        let begun = now_unix_s();
        launch.delete_after_unix_s = begun.saturating_add_unsigned(launch.life_s);
        let program = means.engine.program.display().to_string();
        let mut record = Record::new(launch.run.clone(), begun, launch.delete_after_unix_s, program);
        launch.own = means.own.map(|program| Own {
            program,
            host_key_file: folder.path.join("host_key"),
        });
        record.own = launch.own.clone();
        record.places = places(launch);
        let tell = means.tell.clone();
        let machines = Machines::new(
            means.engine,
            folder,
            record,
            means.at_once,
            means.presses.count.clone(),
            Box::new(move |text: &str| tell(text)),
        );
        let margin = i64::try_from(launch.life_s / 10).unwrap_or(0).min(300);
        Ok(Held {
            hosts_file: machines.path().join("hosts.yaml"),
            machines: Some(machines),
            until_unix_s: launch.delete_after_unix_s - margin,
            zones: launch.zones.clone(),
            tell: means.tell,
            complain: means.complain,
        })
    }

    /// Makes the machines and waits until they answer.
    ///
    /// # Errors
    /// When there are too few machines, or it was interrupted.
    pub fn up(&self, launch: &mut Launch, ssh: &str, presses: &Presses) -> Result<(), LaunchError> {
        let Some(machines) = &self.machines else {
            return Ok(());
        };
        (self.tell)("checking the plan of the launch");
        machines.check(launch)?;
        (self.tell)("launching machines");
        machines.make(launch, &now_unix_s)?;
        let hosts = machines.record().hosts();
        let known = machines.write("known_hosts", &known_hosts(launch, &hosts))?;
        let key = machines.path().join("key");
        let files = Files {
            key: &key,
            known_hosts: &known,
        };
        let text = hosts_file(launch, &hosts, files);
        machines.write("hosts.yaml", &text)?;
        (self.tell)("waiting until the machines answer");
        self.wait_for(&text, ssh, presses)
    }

    /// Waits until SSH works on all machines of a hosts file, or a timeout.
    fn wait_for(&self, file: &str, ssh: &str, presses: &Presses) -> Result<(), LaunchError> {
        let name = self.hosts_file.display().to_string();
        let hosts = read_hosts(&name, file.as_bytes(), Places::known())?;
        let numbers: Vec<usize> = (0..hosts.len()).collect();
        let deadline = Instant::now() + BOOT;
        let kill = &presses.kill;
        let answers = on_all(&numbers, PREPARED_AT_ONCE, |host| {
            loop {
                let answer = reach(&hosts[host], Caller { ssh, kill });
                if presses.count() > 0 || Instant::now() > deadline {
                    return answer;
                }
                if answer.is_ok() {
                    return settle(&hosts[host], Caller { ssh, kill });
                }
                sleep(5 * TICK);
            }
        });
        if presses.count() > 0 {
            let said = "interrupted while machines were starting";
            return Err(LaunchError::Failed(said.to_owned()));
        }
        for (_, answer) in answers {
            if let Err(fault) = answer {
                (self.tell)(&format!("{fault}; not reachable yet"));
            }
        }
        Ok(())
    }

    /// How the launch stands; none after its removal.
    pub fn record(&self) -> Option<Record> {
        self.machines.as_ref().map(Machines::record)
    }

    /// Waits until it is not wanted any more, its deadline, or --max-usd.
    pub fn hold(&self, is_over: &dyn Fn() -> bool, max_usd: Option<f64>) {
        while !is_over() && !self.is_due(max_usd) {
            sleep(TICK);
        }
    }

    /// Whether it has to be removed: its deadline is near, or --max-usd, which is said.
    pub fn is_due(&self, max_usd: Option<f64>) -> bool {
        let cost = self.cost();
        let Some(most) = max_usd.filter(|most| cost.usd + cost.usd_per_hour * REMOVAL_HOURS > *most) else {
            return now_unix_s() >= self.until_unix_s;
        };
        (self.tell)(&format!("--max-usd {most} is nearly reached"));
        true
    }

    /// Cost of the machines so far, and per hour.
    pub fn cost(&self) -> MachinesCost {
        self.record()
            .map_or_else(MachinesCost::default, |record| record.cost(now_unix_s()))
    }

    /// The pairs with a machine at both ends, with the actual names of zones.
    ///
    /// # Errors
    /// When none is left.
    pub fn pairs_left(&self, pairs: &[String]) -> Result<Vec<String>, LaunchError> {
        let mut there: BTreeMap<PlaceName, Vec<Launched>> = BTreeMap::new();
        for (place, host) in self.record().iter().flat_map(Record::hosts) {
            there.entry(place).or_default().push(host);
        }
        let named = |end: End| -> Option<End> {
            let hosts = there.get(&end.place)?;
            let zone = end.zone.map(|text| {
                let asked = Zone::of(&text);
                let zones = self.zones.get(&end.place).into_iter().flatten();
                let mut machines = zones.zip(hosts).filter(|(_, host)| !host.zone.is_empty());
                let machine = machines.find(|(zone, _)| **zone == asked);
                machine.map_or(text, |(_, host)| host.zone.clone())
            });
            Some(End {
                place: end.place,
                zone,
            })
        };
        let mut left = Vec::new();
        for text in pairs {
            let pair: ExactPair = text.parse()?;
            if let (Some(from), Some(to)) = (named(pair.from), named(pair.to)) {
                left.push(format!("{from}->{to}"));
            }
        }
        if left.is_empty() && !pairs.is_empty() {
            let said = "no pair remains: one end of each could not be launched";
            return Err(LaunchError::Failed(said.to_owned()));
        }
        Ok(left)
    }

    /// Removes the machines.
    ///
    /// # Errors
    /// When something is left.
    pub fn remove(mut self) -> Result<Removed, LaunchError> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<Removed, LaunchError> {
        let Some(machines) = self.machines.take() else {
            return Ok(Removed::default());
        };
        let run = machines.record().run;
        if !machines.record().is_over() {
            (self.tell)("removing the machines");
        }
        let removed = machines.remove(&now_unix_s)?;
        for note in &removed.notes {
            (self.tell)(note);
        }
        if removed.is_clean {
            return Ok(removed);
        }
        let first = removed.failed.first().cloned().unwrap_or_else(|| {
            let place = removed.places.iter().find(|place| place.phase.may_live());
            place.map_or_else(String::new, |place| {
                format!(
                    "{}: {}",
                    place.place,
                    place.problem.as_deref().unwrap_or_default()
                )
            })
        });
        Err(LaunchError::Failed(format!(
            "could not remove everything of launch {run}: {first}; try again with 'weir mesh sweep'"
        )))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Err(error) = self.take_down() {
            (self.complain)(&error.to_string());
        }
    }
}

/// Keys generated for a launch: the operator's, and the machines'.
fn keys(folder: &RunFolder) -> Result<Keys, LaunchError> {
    let failed = |said: String| LaunchError::Failed(said);
    let make = |name: &str, kind: &[&str]| -> Result<(), LaunchError> {
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-N", "", "-C", "weir-mesh", "-f"]);
        let output = command.arg(folder.path.join(name)).args(kind).output();
        let output = output.map_err(|error| {
            failed(format!(
                "cannot start 'ssh-keygen': {error}; install the OpenSSH client"
            ))
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("ssh-keygen failed: {}", said.trim())))
    };
    // The only kind that Azure accepts everywhere.
    make("key", &["-t", "rsa", "-b", "3072"])?;
    make("host_key", &["-t", "ed25519"])?;
    let read = |name: &str| -> Result<String, LaunchError> {
        const MOST: usize = 16 << 10;
        Ok(String::from_utf8_lossy(&folder.read(name, MOST)?).into_owned())
    };
    Ok(Keys {
        operator_public: read("key.pub")?,
        host_private: read("host_key")?,
        host_public: read("host_key.pub")?,
    })
}
