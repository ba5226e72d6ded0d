//! Workflows whose tasks are placed on hosts, run on hosts that a test stands for: who is asked what, what adds up, and what is
//! known when one of them goes away.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weir_results::TaskSecond;
use weir_testbed::{
    Elsewhere, Ended, Ending, Flow, Host, Output, Part, Registry, Sample, Setting, Started, TaskState,
    TestbedError, Watch, Way, Workflow, run,
};

use crate::read;

/// Storage and viewers on one host, the origin between them on the other.
const WORKFLOW: &str = "name = 'w'\ndescription = 'd'\n\
    [[task]]\nname = 'storage'\nfunction = 'weir-source'\nhost = 'h1'\n\
    [[task]]\nname = 'middle'\nfunction = 'origin'\nhost = 'h2'\n\
    [[task]]\nname = 'viewers'\nfunction = 'weir-sink'\nhost = 'h1'\n\
    [[connection]]\nfrom = 'storage'\nto = 'middle'\n\
    [[connection]]\nfrom = 'middle'\nto = 'viewers'\n";

fn workflow(text: &str) -> Workflow {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("workflow.toml");
    std::fs::write(&path, text).expect("a file");
    read(&path).expect("a workflow").1
}

/// Two hosts, and what they were asked.
#[derive(Default)]
struct Hosts {
    asked: RefCell<Vec<String>>,
    parts: RefCell<BTreeMap<String, Part>>,
    /// One that goes away once the workload runs.
    lost: Option<&'static str>,
}

struct Standing<'a> {
    hosts: &'a Hosts,
    name: String,
    tasks: Vec<usize>,
    samples: u64,
    plays: bool,
}

impl Hosts {
    fn note(&self, host: &str, what: &str) {
        self.asked.borrow_mut().push(format!("{host} {what}"));
    }
}

impl Elsewhere for Hosts {
    fn names(&self) -> Vec<&str> {
        vec!["h1", "h2"]
    }
    fn id(&self, host: &str) -> Result<String, TestbedError> {
        Ok(format!("run-{host}"))
    }
    fn secret(&self) -> &str {
        "sesame"
    }
    fn address(&self, server: &str, client: Option<&str>) -> Result<(String, u16), TestbedError> {
        Ok((format!("{server}.from.{}", client.unwrap_or("here")), 4747))
    }
    fn open(&self, host: &str, part: Part, _folder: &Path) -> Result<Box<dyn Host + '_>, TestbedError> {
        self.note(host, "open");
        let tasks = part.tasks.clone();
        self.parts.borrow_mut().insert(host.to_owned(), part);
        Ok(Box::new(Standing {
            hosts: self,
            name: host.to_owned(),
            tasks,
            samples: 0,
            plays: false,
        }))
    }
}

impl Standing<'_> {
    /// Fails once the workload runs, if it is the one that goes away.
    fn is_there(&self) -> Result<(), TestbedError> {
        let begun = self
            .hosts
            .asked
            .borrow()
            .iter()
            .any(|asked| asked == "h1 start 2");
        match self.hosts.lost == Some(self.name.as_str()) && begun {
            false => Ok(()),
            true => Err(TestbedError::Lost {
                host: self.name.clone(),
                problem: "no route to host".to_owned(),
            }),
        }
    }
}

impl Host for Standing<'_> {
    fn set_up(&mut self) -> Result<Vec<Vec<usize>>, TestbedError> {
        self.hosts.note(&self.name, "set up");
        Ok(self.tasks.iter().map(|task| vec![*task + 10]).collect())
    }
    fn start(&mut self, task: usize) -> Result<Option<Started>, TestbedError> {
        self.hosts.note(&self.name, &format!("start {task}"));
        self.plays |= task == 2;
        Ok(Some(Started {
            pid: 7,
            start_ticks: None,
        }))
    }
    fn is_listening(&mut self, _task: usize) -> Result<bool, TestbedError> {
        Ok(true)
    }
    fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError> {
        self.is_there()?;
        let ending = |task: &usize| {
            let ended = *task == 2 && self.plays && self.hosts.lost.is_none();
            ended.then(|| Ending {
                success: true,
                status: "exit status: 0".to_owned(),
            })
        };
        Ok(self.tasks.iter().map(ending).collect())
    }
    fn sample(&mut self, _own: bool) -> Result<Vec<Sample>, TestbedError> {
        self.is_there()?;
        let way = |task: usize| Way {
            bytes: self.samples * 1000,
            packets: self.samples,
            payload_bytes: self.samples * 100 * (task as u64 + 1),
        };
        let sample = |task: &usize| Sample {
            flow: Flow {
                taken: way(*task),
                given: way(*task),
            },
            cpu_ns: self.samples,
            ..Sample::default()
        };
        let samples = self.tasks.iter().map(sample).collect();
        self.samples += 1;
        Ok(samples)
    }
    fn end_sinks(&mut self) -> Result<(), TestbedError> {
        self.hosts.note(&self.name, "end sinks");
        Ok(())
    }
    fn output(&mut self, task: usize) -> Result<Output, TestbedError> {
        self.is_there()?;
        Ok(Output {
            log: format!("log of {task}\n"),
            ..Output::default()
        })
    }
    fn take_down(&mut self) -> Result<(), TestbedError> {
        self.hosts.note(&self.name, "take down");
        Ok(())
    }
}

#[derive(Default)]
struct Ready(Vec<String>);

impl Watch for Ready {
    fn ready(&mut self, task: &str) {
        self.0.push(task.to_owned());
    }
    fn second(&mut self, _second: TaskSecond) {}
}

fn played(hosts: &Hosts, registry: &Registry) -> Result<Ended, TestbedError> {
    let setting = Setting {
        name: "bed".to_owned(),
        weir: PathBuf::from("/nowhere/weir"),
        contents: BTreeMap::new(),
    };
    let mut ready = Ready::default();
    let ended = run(
        &workflow(WORKFLOW),
        &setting,
        Some(hosts),
        registry,
        &|| false,
        &mut ready,
    );
    assert_eq!(ready.0, ["storage", "middle"]);
    ended
}

#[test]
fn hosts_hold_their_tasks_and_their_counters_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = Registry::of_folder(folder.path());
    let hosts = Hosts::default();
    let ended = played(&hosts, &registry).expect("a run");
    assert!(ended.failure.is_none() && ended.summary.lost_hosts.is_empty());
    assert_eq!(
        *hosts.asked.borrow(),
        [
            "h1 open",
            "h2 open",
            "h1 set up",
            "h2 set up",
            "h1 start 0",
            "h2 start 1",
            "h1 start 2",
            "h2 take down",
            "h1 take down"
        ]
    );
    let parts = hosts.parts.borrow();
    let (one, two) = (&parts["h1"], &parts["h2"]);
    assert_eq!((&one.tasks[..], &two.tasks[..]), (&[0, 2][..], &[1][..]));
    assert_eq!(
        (one.name.as_str(), one.port, two.port),
        ("run-h1", Some(4747), Some(4747))
    );
    let reached = |part: &Part| -> Vec<(usize, String)> {
        let servers = part.servers.iter();
        servers
            .map(|(number, (address, _))| (*number, address.clone()))
            .collect()
    };
    assert_eq!(reached(one), [(1, "h2.from.h1".to_owned())]);
    assert_eq!(reached(two), [(0, "h1.from.h2".to_owned())]);
    for (index, task) in ended.summary.tasks.iter().enumerate() {
        // One reading before the workload and one after it.
        assert_eq!(
            task.given.payload_bytes,
            100 * (index as u64 + 1),
            "{}",
            task.task
        );
        assert_eq!(task.cores, [index + 10]);
        let host = if index == 1 { "h2" } else { "h1" };
        assert_eq!(task.host.as_deref(), Some(host));
        let log = registry.log("bed", &task.task).expect("a path");
        assert_eq!(
            std::fs::read_to_string(log).expect("a log"),
            format!("log of {index}\n")
        );
    }
    let state = registry.get("bed").expect("a state").expect("a state");
    assert!(state.has_ended() && state.parts.is_empty(), "{state:?}");
    assert_eq!(state.tasks[1].namespace, "weir-testbed-run-h2-middle");
}

#[test]
fn a_host_that_goes_away_is_named_and_the_others_are_taken_down() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = Registry::of_folder(folder.path());
    let hosts = Hosts {
        lost: Some("h2"),
        ..Hosts::default()
    };
    let ended = played(&hosts, &registry).expect("what was measured");
    let failure = ended.failure.expect("a failure").to_string();
    assert!(
        failure.starts_with("host h2 is lost: no route to host"),
        "{failure}"
    );
    assert!(failure.contains("weir testbed clean --hosts"), "{failure}");
    let summary = ended.summary;
    assert_eq!(summary.lost_hosts["h2"], "no route to host");
    let states: Vec<TaskState> = summary.tasks.iter().map(|task| task.state).collect();
    assert_eq!(
        states,
        [TaskState::Running, TaskState::InError, TaskState::Running]
    );
    // The others were read after it was lost.
    assert_eq!(summary.tasks[0].given.payload_bytes, 100);
    assert_eq!(summary.tasks[1].given.payload_bytes, 0);
    let asked = hosts.asked.borrow();
    assert_eq!(asked.last().map(String::as_str), Some("h1 take down"));
    assert!(
        !asked.iter().any(|asked| asked == "h2 take down"),
        "it is not there"
    );
    // What it may have left is known until it is removed.
    let left = registry.parts_left(true).expect("parts");
    let left: Vec<&str> = left.iter().map(|part| part.id.as_str()).collect();
    assert_eq!(left, ["run-h2"]);
}
