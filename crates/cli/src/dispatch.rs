//! From a command line to the exit status: picks the command, connects signals and logging, prints what failed.

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command};
use crate::commands::signals::stop_on_signals;
use crate::commands::{self, Failure};

/// Runs the command of this process's arguments, and returns its exit status (docs/commands).
pub fn run() -> ExitCode {
    let cli = Cli::from_command_line();
    log_to_standard_error(&cli);
    match dispatch(&cli) {
        Ok(status) => status,
        Err(failure) => {
            commands::say(&format!("weir: {}", failure.message));
            failure.exit_code()
        }
    }
}

fn dispatch(cli: &Cli) -> Result<ExitCode, Failure> {
    let global = &cli.global;
    let done = match &cli.command {
        Command::Agent(args) => commands::agent::run(args, global, stop_on_signals()?),
        Command::Doctor(args) => return commands::doctor::run(args, global, &stop_on_signals()?),
        Command::Rtt(args) => commands::rtt::run(args, global, &stop_on_signals()?),
        Command::Flows(args) => commands::flows::run(args, global, &stop_on_signals()?),
        Command::Tcp(args) => commands::tcp::run(args, global, &stop_on_signals()?),
        Command::Survey(args) => commands::survey::run(args, global, &stop_on_signals()?),
        Command::Watch(args) => commands::watch::run(args, global, &stop_on_signals()?),
        Command::Evidence(args) => commands::evidence::run(args, global),
        Command::Send(args) => commands::send::run(args, global, &stop_on_signals()?),
        Command::Recv(args) => commands::recv::run(args, global, &stop_on_signals()?),
        Command::Diagnose(args) => commands::diagnose::run(args, global),
        Command::Twin(args) => commands::twin::run(args, global),
        Command::Report(args) => commands::report::run(args, global),
        Command::Ui(args) => commands::ui::run(args, global, stop_on_signals()?),
        Command::Origin(args) => commands::origin::run(args, global, stop_on_signals()?),
        Command::Load(args) => commands::load::run(args, global, &stop_on_signals()?),
        Command::Lab(command) => return commands::lab::run(command, global),
        Command::Testbed(command) => commands::testbed::run(command, global),
        Command::Mesh(command) => commands::mesh::run(command, global),
        Command::Runs(command) => commands::runs::run(command, global),
        Command::Completions { shell } => {
            crate::completions::write_completions(*shell, &mut std::io::stdout())
                .map_err(|error| Failure::environment(error.to_string()))
        }
        Command::Man { out } => {
            let written = match out {
                Some(directory) => crate::man::write_pages(directory).map(drop),
                None => crate::man::write_page(&mut std::io::stdout()),
            };
            written.map_err(|error| Failure::environment(error.to_string()))
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}

/// Warnings always; with `-v` what sessions do, with `-vv` more. `WEIR_LOG` overrides.
fn log_to_standard_error(cli: &Cli) {
    let level = match (cli.global.quiet, cli.global.verbose, &cli.command) {
        (true, _, _) => "error",
        (_, 0, Command::Agent(_)) | (_, 1, _) => "info",
        (_, 0, _) => "warn",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("WEIR_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        // Otherwise a standard error that is closed ends the process.
        .log_internal_errors(false)
        .init();
}
