//! The hosts of a run, each with the tasks that it holds, asked as one. It must not know when a workload begins and ends, nor how
//! hosts are reached.

use std::collections::BTreeMap;

use crate::elsewhere::Elsewhere;
use crate::error::TestbedError;
use crate::filling::Served;
use crate::host::{Ending, Host, Output, Started};
use crate::local_host::LocalHost;
use crate::measured::Sample;
use crate::part::Part;
use crate::setting::Setting;
use crate::state::{PartStatus, Registry};
use crate::workflow::Workflow;

/// A host, and the tasks that it holds.
struct Holder<'a> {
    /// Its name; none for this one.
    name: Option<String>,
    tasks: Vec<usize>,
    host: Box<dyn Host + 'a>,
}

/// All hosts of a run.
pub(crate) struct Holders<'a> {
    workflow: &'a Workflow,
    holders: Vec<Holder<'a>>,
    /// The last ones of each task.
    samples: Vec<Sample>,
    /// Hosts that went away, and what shows it. They are not asked again.
    lost: BTreeMap<String, String>,
}

impl<'a> Holders<'a> {
    /// Of a run that has opened none of them.
    pub(crate) fn new(workflow: &'a Workflow) -> Self {
        Holders {
            workflow,
            holders: Vec::new(),
            samples: vec![Sample::default(); workflow.tasks.len()],
            lost: BTreeMap::new(),
        }
    }

    /// Opens this host and the others for their parts.
    pub(crate) fn open(
        &mut self,
        setting: &Setting,
        registry: &Registry,
        elsewhere: Option<(&'a dyn Elsewhere, &[PartStatus])>,
    ) -> Result<(), TestbedError> {
        let workflow = self.workflow;
        let own = self.part(None, &setting.name, setting, elsewhere.map(|(hosts, _)| hosts))?;
        if !own.tasks.is_empty() {
            let tasks = own.tasks.clone();
            let host = Box::new(LocalHost::new(own, registry, &setting.weir)?);
            self.holders.push(Holder {
                name: None,
                tasks,
                host,
            });
        }
        let Some((elsewhere, parts)) = elsewhere else {
            return workflow.hosts_are_known(&[]);
        };
        let folder = registry.folder(&setting.name)?;
        for PartStatus { host, id } in parts {
            let part = self.part(Some(host), id, setting, Some(elsewhere))?;
            let tasks = part.tasks.clone();
            let opened = elsewhere.open(host, part, &folder)?;
            self.holders.push(Holder {
                name: Some(host.clone()),
                tasks,
                host: opened,
            });
        }
        Ok(())
    }

    /// What a host has to do.
    fn part(
        &self,
        host: Option<&str>,
        name: &str,
        setting: &Setting,
        elsewhere: Option<&dyn Elsewhere>,
    ) -> Result<Part, TestbedError> {
        let Workflow {
            tasks, connections, ..
        } = self.workflow;
        let served = |task: usize| -> Option<(String, Served)> {
            let name = &tasks[task].name;
            Some((name.clone(), setting.contents.get(name)?.clone()))
        };
        let mut part = Part {
            name: name.to_owned(),
            workflow: self.workflow.clone(),
            tasks: self.workflow.tasks_on(host).collect(),
            contents: self.workflow.tasks_on(host).filter_map(served).collect(),
            port: None,
            servers: BTreeMap::new(),
            secret: elsewhere.map_or("", Elsewhere::secret).to_owned(),
        };
        for (number, connection) in connections.iter().enumerate() {
            let [server, client] = [connection.from, connection.to].map(|task| tasks[task].host.as_deref());
            let (Some(elsewhere), Some(on)) = (elsewhere, server) else {
                continue;
            };
            if server == client {
                continue;
            }
            let (address, port) = elsewhere.address(on, client)?;
            if client == host {
                part.servers.insert(number, (address, port));
            } else if server == host {
                part.port = Some(port);
            }
        }
        Ok(part)
    }

    /// Asks a host, by its position; one that goes away is noted.
    fn ask<T>(
        &mut self,
        position: usize,
        what: impl FnOnce(&mut dyn Host) -> Result<T, TestbedError>,
    ) -> Result<T, TestbedError> {
        let reply = what(self.holders[position].host.as_mut());
        if let Err(TestbedError::Lost { host, problem }) = &reply {
            self.lost.insert(host.clone(), problem.clone());
        }
        reply
    }

    /// Asks all hosts that are there, and puts the replies for their tasks in the order of the workflow; `none` stands for others.
    fn ask_all<T: Clone>(
        &mut self,
        mut all: Vec<T>,
        mut what: impl FnMut(&mut dyn Host) -> Result<Vec<T>, TestbedError>,
    ) -> Result<Vec<T>, TestbedError> {
        for position in 0..self.holders.len() {
            if self.is_lost(position) {
                continue;
            }
            let replies = self.ask(position, &mut what)?;
            for (task, reply) in self.holders[position].tasks.iter().zip(replies) {
                all[*task] = reply;
            }
        }
        Ok(all)
    }

    fn is_lost(&self, position: usize) -> bool {
        let name = self.holders[position].name.as_ref();
        name.is_some_and(|name| self.lost.contains_key(name))
    }

    /// Position of the host of a task.
    fn of(&self, task: usize) -> Result<usize, TestbedError> {
        let position = self
            .holders
            .iter()
            .position(|holder| holder.tasks.contains(&task));
        position.ok_or_else(|| TestbedError::Failed(format!("no host holds task {task}")))
    }

    /// Makes the networks. Returns the cores of each task.
    pub(crate) fn set_up(&mut self) -> Result<Vec<Vec<usize>>, TestbedError> {
        self.ask_all(vec![Vec::new(); self.workflow.tasks.len()], |host| host.set_up())
    }

    pub(crate) fn start(&mut self, task: usize) -> Result<Option<Started>, TestbedError> {
        self.ask(self.of(task)?, |host| host.start(task))
    }

    pub(crate) fn is_listening(&mut self, task: usize) -> Result<bool, TestbedError> {
        self.ask(self.of(task)?, |host| host.is_listening(task))
    }

    /// How the processes of all tasks ended.
    pub(crate) fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError> {
        self.ask_all(vec![None; self.workflow.tasks.len()], |host| host.endings())
    }

    /// Counters of all tasks; where a host went away before, the last ones.
    pub(crate) fn sample(&mut self, own: bool) -> Result<Vec<Sample>, TestbedError> {
        self.samples = self.ask_all(self.samples.clone(), |host| host.sample(own))?;
        Ok(self.samples.clone())
    }

    pub(crate) fn end_sinks(&mut self) -> Result<(), TestbedError> {
        (0..self.holders.len()).try_for_each(|position| self.ask(position, |host| host.end_sinks()))
    }

    /// What a task has written until now; none if its host went away.
    pub(crate) fn output(&mut self, task: usize) -> Result<Option<Output>, TestbedError> {
        let position = self.of(task)?;
        if self.is_lost(position) {
            return Ok(None);
        }
        match self.ask(position, |host| host.output(task)) {
            Err(TestbedError::Lost { .. }) => Ok(None),
            output => output.map(Some),
        }
    }

    /// Hosts that went away, and what shows it.
    pub(crate) fn lost(&self) -> &BTreeMap<String, String> {
        &self.lost
    }

    /// Ends and removes the tasks of all hosts that are there. Returns the names of the other hosts on which nothing is left.
    pub(crate) fn take_down(mut self) -> Result<Vec<String>, TestbedError> {
        let mut clean = Vec::new();
        let mut failure = None;
        for position in (0..self.holders.len()).rev() {
            if self.is_lost(position) {
                continue;
            }
            match self.ask(position, |host| host.take_down()) {
                Ok(()) => clean.extend(self.holders[position].name.clone()),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(clean), Err)
    }
}
