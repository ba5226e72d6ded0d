//! Arguments of `weir testbed`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use weir_mesh::wanted::Wanted;
use weir_testbed::Varied;
use weir_units::{Rate, Share};

use super::mesh::CopyArgs;
use super::mesh_machines::MachineArgs;
use super::mesh_pairs::amount;

/// Default name of a testbed.
const DEFAULT_TESTBED: &str = "testbed";

/// Subcommands of `weir testbed`.
#[derive(Clone, Debug, Subcommand)]
pub enum TestbedCommand {
    /// Run a workflow until its sinks have ended.
    ///
    /// Starts each task in its own network namespace, servers first, joins them by links, plays the workload, and reports
    /// for each task the bytes in and out by the kernel's counters, CPU time and memory. Titles are generated once by
    /// ffmpeg. Tasks that are placed on hosts run there, over SSH, for which this program and titles are copied to them. The run is kept in the results store, with the runs of the viewers as its parts. Ctrl-C ends the run and
    /// keeps what was measured. Everything is removed from the hosts when it ends. Needs root.
    Run(Box<TestbedRunArgs>),
    /// Serve the workflow API of the standard, and run the workflows that it creates.
    ///
    /// POST /workflows with a workflow description document creates a workflow, GET /workflows/ID retrieves it with its state and
    /// those of its tasks, PATCH changes it before it runs, DELETE ends and removes it. Workflows run one after the other; each
    /// result is printed and kept as 'weir testbed run' does. Workflows start programs as root, so that every request needs the
    /// token. Needs root.
    Serve(TestbedServeArgs),
    /// Check a workflow against its functions and this host.
    ///
    /// Prints its tasks and connections, or the first thing that is wrong, with task and key. With --json, prints the
    /// whole workflow description document, also of a workflow in the short form.
    #[command(after_help = "\
Example:
    $ weir testbed check testbeds/a.toml --json > a.json
    $ weir testbed check mine.yaml")]
    Check {
        /// Workflow: JSON or YAML, or the short form in TOML or YAML.
        #[arg(value_name = "WORKFLOW")]
        workflow: PathBuf,
        /// Further functions.
        #[command(flatten)]
        functions: FunctionFiles,
        /// Hosts file, whose hosts tasks may be placed on.
        #[arg(long, value_name = "FILE")]
        hosts: Option<PathBuf>,
    },
    /// Print a workflow as objects of Kubernetes, or write documents for nagare media engine.
    ///
    /// --kubernetes prints a Deployment and a Service for each server, a Job for each sink, ConfigMaps with their files, as one
    /// List in JSON for 'kubectl apply -f -'. --nagare writes workflow.json and a function-NAME.json for each function, valid by
    /// MPEG's schemas, and objects.json with the functions as nagare media engine runs them. Titles come from a volume with the
    /// content of the titles folder. Flow control is left out.
    Export(ExportArgs),
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
    /// Calculate how many viewers an origin's output serves, and what machines for it cost.
    ///
    /// Each viewer plays at --rate, and caches between viewers and origin answer --hit-ratio of the bytes, or what the
    /// popularity of a catalogue makes of a cache's size. Costs are those of the table of instance types, whose machines
    /// hold the output by the rate that they are sold with, without traffic; what no provider's page has confirmed is marked.
    Audience(AudienceArgs),
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
    /// Ends the processes and removes the namespaces, configuration and logs of testbeds whose runner is gone; with --hosts, on
    /// other hosts as well. Removes machines that were launched from this host by a process that is gone. Testbeds that run
    /// stay, unless --all is given.
    #[command(after_help = "\
Example:
    $ weir testbed clean
    $ weir testbed clean --hosts hosts.yaml")]
    Clean {
        /// End and remove testbeds that run as well; with --hosts, those of other runners too.
        #[arg(long)]
        all: bool,
        /// Hosts file, whose hosts to clean over SSH.
        #[arg(long, value_name = "FILE")]
        hosts: Option<PathBuf>,
        /// SSH client program.
        #[arg(long, value_name = "FILE", default_value = "ssh")]
        ssh: String,
        /// Folder of the launch records [default: weir/mesh in $XDG_STATE_HOME or ~/.local/state].
        #[arg(long, value_name = "FOLDER")]
        state: Option<PathBuf>,
    },
    /// Hold the part of a workflow that is placed on this host.
    ///
    /// Started over SSH by 'weir testbed run --hosts', in a folder of its own. Reads requests from standard input, replies on
    /// standard output, and ends its tasks when its standard input ends. Needs root.
    #[command(
        hide = true,
        after_help = "\
Example:
    $ weir testbed part --clean"
    )]
    Part {
        /// Remove what a part that was killed left in this folder.
        #[arg(long)]
        clean: bool,
    },
}

/// Arguments of `weir testbed run`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir testbed run testbeds/a.toml
    $ weir testbed run mine.json --function mine.toml --name second
    $ weir testbed run testbeds/a.toml testbeds/e.toml -o page.md
    $ weir testbed run testbeds/placed.toml --hosts hosts.yaml
    $ weir testbed run testbeds/placed.toml --launch first=aws:eu-west-1 \\
        --launch second=c5.large@aws:eu-west-1,c5.2xlarge@aws:eu-west-1 --admit 203.0.113.7 --max-usd 5
    $ weir testbed run testbeds/e.toml --vary origin.segment=2s,4s,8s --vary viewers.viewers=10,50 --repeats 3")]
pub struct TestbedRunArgs {
    /// Workflow: JSON or YAML, or the short form in TOML or YAML; several run one after the other.
    #[arg(value_name = "WORKFLOW", required = true)]
    pub workflows: Vec<PathBuf>,
    /// Run each workflow with each of these values of a task's parameter; given several times, with each combination.
    #[arg(long, value_name = "TASK.PARAMETER=VALUE,...")]
    pub vary: Vec<Varied>,
    /// Run everything N times, each time in another order, so that a machine that slows down does so for all of it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub repeats: u16,
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
    /// Hosts file, whose hosts tasks may be placed on: Weir's own YAML, or an Ansible inventory (INI or YAML).
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Copies of this program.
    #[command(flatten)]
    pub copies: CopyArgs,
    /// Machines to launch.
    #[command(flatten)]
    pub launched: TestbedLaunchArgs,
}

/// Machines that are launched for a run.
#[derive(Clone, Debug, Args)]
pub struct TestbedLaunchArgs {
    /// Launch the host NAME of the workflows in a cloud, and remove it at the end; given for each host. With several machines,
    /// separated by commas, the workflows run on each; given several times, on each combination.
    ///
    /// Machines without a type are of the one of --machine-type. All machines are launched together, with OpenTofu or Terraform.
    #[arg(
        long,
        value_name = "NAME=[TYPE@]PLACE,...",
        conflicts_with = "hosts",
        help_heading = "Machines"
    )]
    pub launch: Vec<Wanted>,
    /// Package of the system to install on launched machines, such as nginx-light; may be given more than once.
    #[arg(long, value_name = "NAME", requires = "launch", help_heading = "Machines")]
    pub package: Vec<String>,
    /// Cost of launched machines in US dollars, by list prices, at which the run ends and they are removed.
    #[arg(long, value_name = "USD", requires = "launch", value_parser = amount, help_heading = "Machines")]
    pub max_usd: Option<f64>,
    /// File with your prices, which override the built-in table (CSV: cloud,area,what,usd).
    #[arg(long, value_name = "FILE", requires = "launch", help_heading = "Machines")]
    pub prices: Option<PathBuf>,
    /// How they are launched.
    #[command(flatten)]
    pub machines: MachineArgs,
}

/// Arguments of `weir testbed serve`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ (umask 077; openssl rand -hex 32 > weir.token)
    $ weir testbed serve --token-file weir.token
    $ weir testbed check mine.toml --json |
        curl -H \"Authorization: Bearer $(cat weir.token)\" -H 'Content-Type: application/json' \\
            --data-binary @- http://127.0.0.1:4790/workflows
    $ curl -H \"Authorization: Bearer $(cat weir.token)\" http://127.0.0.1:4790/workflows/mine")]
pub struct TestbedServeArgs {
    /// Address and port to serve on; port 0 selects a free port and prints it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4790")]
    pub listen: SocketAddr,
    /// File with a token that requests must have, as 'Authorization: Bearer TOKEN'.
    ///
    /// White space around the token is ignored.
    #[arg(long, value_name = "FILE")]
    pub token_file: PathBuf,
    /// Further functions.
    #[command(flatten)]
    pub functions: FunctionFiles,
    /// Folder of the generated titles, shared by workflows with the same titles.
    #[arg(long, value_name = "DIR", default_value = "weir-titles")]
    pub titles_folder: PathBuf,
}

/// Function documents.
#[derive(Clone, Debug, Default, Args)]
pub struct FunctionFiles {
    /// Function document (TOML, or JSON or YAML by its name); may be given more than once.
    #[arg(long, value_name = "FILE")]
    pub function: Vec<PathBuf>,
}

/// Arguments of `weir testbed export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir testbed export testbeds/e.toml --kubernetes --image registry.example.net/weir:1 | kubectl apply -f -
    $ weir testbed export testbeds/e.toml --nagare e --image registry.example.net/weir-nagare:1")]
#[command(group(clap::ArgGroup::new("form").required(true).args(["kubernetes", "nagare"])))]
pub struct ExportArgs {
    /// Workflow: JSON or YAML, or the short form in TOML or YAML.
    #[arg(value_name = "WORKFLOW")]
    pub workflow: PathBuf,
    /// Print plain objects of Kubernetes.
    #[arg(long)]
    pub kubernetes: bool,
    /// Write documents for nagare media engine to this folder.
    #[arg(long, value_name = "DIR")]
    pub nagare: Option<PathBuf>,
    /// Image with 'weir', and with the programs of the functions; for --nagare, with its /task-shim as well.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// Image of nagare's workflow-manager-helper.
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = "ghcr.io/nagare-media/engine/workflow-manager-helper:dev"
    )]
    pub helper_image: String,
    /// Claim of the volume with titles.
    #[arg(long, value_name = "NAME", default_value = "weir-titles")]
    pub titles_claim: String,
    /// Further functions.
    #[command(flatten)]
    pub functions: FunctionFiles,
}

/// Arguments of `weir testbed audience`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Example:
    $ weir testbed audience --out 2.6Gbit/s --hit-ratio 99.9%
    $ weir testbed audience --out 2.6Gbit/s --titles 10000 --cached 2000 --at-once 5%
    $ weir testbed audience --out 2.6Gbit/s --hit-ratio 99% --viewers 3300000")]
pub struct AudienceArgs {
    /// Rate that leaves the origin, such as OUT of a testbed.
    #[arg(long, value_name = "RATE", value_parser = some_rate)]
    pub out: Rate,
    /// Rate that a viewer plays; by default video and sound of the published experiment.
    #[arg(long, value_name = "RATE", default_value = "4.026Mbit/s", value_parser = some_rate)]
    pub rate: Rate,
    /// Share of the bytes that caches answer, below 100%.
    #[arg(
        long,
        value_name = "SHARE",
        required_unless_present = "titles",
        conflicts_with = "titles"
    )]
    pub hit_ratio: Option<Share>,
    /// Titles of the catalogue; requests of each are independent, and its cache drops what was used least recently.
    #[arg(long, value_name = "N", requires = "cached", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub titles: Option<u32>,
    /// Titles that the cache holds; below --titles.
    #[arg(long, value_name = "N", requires = "titles")]
    pub cached: Option<u32>,
    /// Exponent of the popularity: title n is asked for n^-ZIPF times as often as the first.
    #[arg(long, value_name = "ZIPF", default_value_t = 0.8, requires = "titles", value_parser = exponent)]
    pub zipf: f64,
    /// Share of the audience that plays at the same moment, above 0%.
    #[arg(long, value_name = "SHARE", default_value = "100%")]
    pub at_once: Share,
    /// Audience whose hit ratio to calculate.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub viewers: Option<u64>,
    /// List the costs of this cloud only: aws, gcp, azure, oracle.
    #[arg(long, value_name = "CLOUD", value_delimiter = ',')]
    pub cloud: Vec<String>,
}

/// Parses a rate above zero.
fn some_rate(text: &str) -> Result<Rate, String> {
    match text.parse::<Rate>() {
        Ok(Rate(0)) => Err("nobody is served at 0 bit/s".to_owned()),
        Ok(rate) => Ok(rate),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses an exponent of Zipf's law.
fn exponent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=3.0).contains(&number) => Ok(number),
        _ => Err(format!("'{text}' is no number from 0 to 3")),
    }
}
