//! Arguments of `weir testbed`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Default name of a testbed.
const DEFAULT_TESTBED: &str = "testbed";

/// Subcommands of `weir testbed`.
#[derive(Clone, Debug, Subcommand)]
pub enum TestbedCommand {
    /// Run a workflow until its sinks have ended.
    ///
    /// Starts each task in its own network namespace, servers first, joins them by links, plays the workload, and reports
    /// for each task the bytes in and out by the kernel's counters, CPU time and memory. Titles are generated once by
    /// ffmpeg. The run is kept in the results store, with the runs of the viewers as its parts. Ctrl-C ends the run and
    /// keeps what was measured. Everything is removed from the host when it ends. Needs root.
    Run(TestbedRunArgs),
    /// Check a workflow against its functions and this host.
    ///
    /// Prints its tasks and connections, or the first thing that is wrong, with task and key. With --json, prints the
    /// whole workflow description document, also of a workflow in the short form.
    #[command(after_help = "\
Example:
    $ weir testbed check testbeds/a.toml --json > a.json")]
    Check {
        /// Workflow: JSON, or the short form in TOML.
        #[arg(value_name = "WORKFLOW")]
        workflow: PathBuf,
        /// Further functions.
        #[command(flatten)]
        functions: FunctionFiles,
    },
    /// List functions with their ports and parameters.
    ///
    /// A function is a document with the command that runs it; docs/testbed.md shows how to write one for an origin of
    /// your own. With --json, prints one line per function.
    #[command(after_help = "\
Example:
    $ weir testbed functions
    $ weir testbed functions --function mine.toml")]
    Functions {
        /// Further functions.
        #[command(flatten)]
        functions: FunctionFiles,
    },
    /// List testbeds with the states of their tasks.
    ///
    /// States are those of the standard: instantiated, idle, running, in-error, destroyed. Testbeds that have ended are
    /// listed until the next run of the same name, or 'weir testbed clean'.
    #[command(after_help = "\
Example:
    $ weir testbed status")]
    Status,
    /// Print what a task has written to standard error.
    ///
    /// Logs are kept until the next run of the same name, or 'weir testbed clean'.
    #[command(after_help = "\
Example:
    $ weir testbed logs origin --name testbed")]
    Logs {
        /// Name of the task.
        #[arg(value_name = "TASK")]
        task: String,
        /// Name of the testbed.
        #[arg(long, value_name = "NAME", default_value = DEFAULT_TESTBED)]
        name: String,
    },
    /// End a run, which keeps what was measured.
    ///
    /// The sinks end first; then the runner reports, stores the run, and removes the tasks.
    #[command(after_help = "\
Example:
    $ weir testbed stop")]
    Stop {
        /// Name of the testbed.
        #[arg(value_name = "NAME", default_value = DEFAULT_TESTBED)]
        name: String,
    },
    /// Remove leftovers of runs that were killed.
    ///
    /// Ends the processes and removes the namespaces, configuration and logs of testbeds whose runner is gone. Testbeds
    /// that run stay, unless --all is given.
    #[command(after_help = "\
Example:
    $ weir testbed clean")]
    Clean {
        /// End and remove testbeds that run as well.
        #[arg(long)]
        all: bool,
    },
}

/// Arguments of `weir testbed run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir testbed run testbeds/a.toml
    $ weir testbed run mine.json --function mine.toml --name second
    $ weir testbed run testbeds/a.toml testbeds/e.toml -o page.md")]
pub struct TestbedRunArgs {
    /// Workflow: JSON, or the short form in TOML; several run one after the other.
    #[arg(value_name = "WORKFLOW", required = true)]
    pub workflows: Vec<PathBuf>,
    /// Further functions.
    #[command(flatten)]
    pub functions: FunctionFiles,
    /// Write the results to this file as Markdown.
    #[arg(short, long, value_name = "PAGE")]
    pub output: Option<PathBuf>,
    /// Published results to show beside, by workflow (TOML).
    #[arg(long, value_name = "FILE")]
    pub published: Option<PathBuf>,
    /// Name of the testbed; one of each name runs at a time.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_TESTBED)]
    pub name: String,
    /// Folder of the generated titles, shared by workflows with the same titles.
    #[arg(long, value_name = "DIR", default_value = "weir-titles")]
    pub titles_folder: PathBuf,
}

/// Function documents.
#[derive(Clone, Debug, Default, Args)]
pub struct FunctionFiles {
    /// Function document (TOML, or JSON if its name ends in .json); may be given more than once.
    #[arg(long, value_name = "FILE")]
    pub function: Vec<PathBuf>,
}
