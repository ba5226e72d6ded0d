//! Shell completion scripts, made from the argument tree. It must not know what the arguments mean.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;

/// Writes the completion script for `shell`.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weir", &mut script);
    out.write_all(&script)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_completes_every_subcommand() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            write_completions(*shell, &mut script).expect("memory takes all");
            let script = String::from_utf8(script).expect("scripts are text");
            for word in [
                "agent",
                "rtt",
                "flows",
                "survey",
                "report",
                "note",
                "tag",
                "lab",
                "profiles",
                "runs",
                "export",
                "fail-if",
                "1080p59.94-422-10",
            ] {
                // Elvish and PowerShell complete no values.
                let values = !matches!(shell, Shell::Elvish | Shell::PowerShell);
                assert!(
                    script.contains(word) || (word.contains('.') && !values),
                    "{shell}: no {word}"
                );
            }
        }
    }

    #[test]
    fn a_writer_that_fails_is_an_error() {
        let mut full: &mut [u8] = &mut [0; 10];
        assert!(write_completions(Shell::Bash, &mut full).is_err());
    }
}
