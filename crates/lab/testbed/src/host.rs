//! What a run asks of a host that holds some of its tasks. It must not know where the host is, nor how it holds them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cache_log::CacheCounts;
use crate::error::TestbedError;
use crate::measured::Sample;

/// A host. Tasks are named by their index in the workflow; lists are in the order in which the host was given its tasks.
pub trait Host {
    /// Makes the network of its tasks. Returns the cores of each, counted from 0.
    ///
    /// # Errors
    /// What the host lacks or refuses, in a line.
    fn set_up(&mut self) -> Result<Vec<Vec<usize>>, TestbedError>;

    /// Starts a task on its cores. Returns its process; none for a task without one.
    ///
    /// # Errors
    /// Why it does not start, in a line that names task and key.
    fn start(&mut self, task: usize) -> Result<Option<Started>, TestbedError>;

    /// Whether a task accepts connections.
    ///
    /// # Errors
    /// When the host does not say.
    fn is_listening(&mut self, task: usize) -> Result<bool, TestbedError>;

    /// How the processes of its tasks ended; none for those that run, or have not started.
    ///
    /// # Errors
    /// When the host does not say.
    fn endings(&mut self) -> Result<Vec<Option<Ending>>, TestbedError>;

    /// Counters of its tasks; with `own`, what functions count themselves as well.
    ///
    /// # Errors
    /// When the host does not say.
    fn sample(&mut self, own: bool) -> Result<Vec<Sample>, TestbedError>;

    /// Asks its sinks to end, and does not wait for them.
    ///
    /// # Errors
    /// When the host cannot be asked.
    fn end_sinks(&mut self) -> Result<(), TestbedError>;

    /// What a task has written until now.
    ///
    /// # Errors
    /// When the host does not say.
    fn output(&mut self, task: usize) -> Result<Output, TestbedError>;

    /// Ends all processes, clients first, and removes what it made.
    ///
    /// # Errors
    /// What cannot be removed.
    fn take_down(&mut self) -> Result<(), TestbedError>;
}

/// A process that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its number on its host.
    pub pid: u32,
    /// When it began, clock ticks since boot; none if it has ended by now.
    pub start_ticks: Option<u64>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Whether its exit status is 0.
    pub success: bool,
    /// Its exit status or signal, in words.
    pub status: String,
}

/// What a task has written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Standard output of a sink, if it is text of at most 1 MiB; else empty.
    pub printed: String,
    /// The last 64 KiB of its standard error.
    pub log: String,
    /// Requests by where their response came from, if it is a cache with a log.
    pub cache: Option<CacheCounts>,
    /// The database of a sink, if it has one, on the host of the runner.
    pub database: Option<PathBuf>,
}
