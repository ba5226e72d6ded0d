//! Manual pages, made from the argument tree. It must not know what the arguments mean.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::Cli;

/// The tree with its pages' names set and without the help subcommand, which needs no page.
fn tree() -> Command {
    let mut tree = Cli::command().disable_help_subcommand(true);
    tree.build();
    tree
}

/// Writes the page of `weir` itself.
///
/// # Errors
/// Whatever `out` fails with.
pub fn write_page(out: &mut dyn Write) -> io::Result<()> {
    render(&tree(), out)?;
    out.flush()
}

/// Writes the pages of `weir` and all its subcommands into `directory`, which is made if it is missing. Returns the
/// files.
///
/// # Errors
/// Whatever the file system fails with.
pub fn write_pages(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(directory)?;
    let mut files = Vec::new();
    write_tree(&tree(), directory, &mut files)?;
    Ok(files)
}

fn write_tree(command: &Command, directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut page = Vec::new();
    render(command, &mut page)?;
    let file = directory.join(Man::new(command.clone()).get_filename());
    fs::write(&file, page)?;
    files.push(file);
    for subcommand in command
        .get_subcommands()
        .filter(|subcommand| !subcommand.is_hide_set())
    {
        write_tree(subcommand, directory, files)?;
    }
    Ok(())
}

fn render(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let man = Man::new(command.clone())
        .manual("Weir")
        .source(concat!("weir ", env!("CARGO_PKG_VERSION")));
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command
        .get_subcommands()
        .any(|subcommand| !subcommand.is_hide_set())
    {
        man.render_subcommands_section(out)?;
    }
    if let Some(text) = command.get_after_help() {
        // Unfilled, or the commands of an example would run into one another.
        let mut section = Roff::default();
        section.control("SH", ["EXAMPLES"]);
        section.control("nf", []);
        for line in text.to_string().lines() {
            section.text([roman(line)]);
        }
        section.control("fi", []);
        section.to_writer(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_for_every_visible_subcommand() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = write_pages(&directory.path().join("man1")).expect("pages");
        let mut names: Vec<String> = files
            .iter()
            .filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        let expected = [
            "weir-agent.1",
            "weir-completions.1",
            "weir-diagnose.1",
            "weir-doctor.1",
            "weir-evidence.1",
            "weir-flows.1",
            "weir-lab-calibrate.1",
            "weir-lab-clean.1",
            "weir-lab-grid.1",
            "weir-lab-link-down.1",
            "weir-lab-link-shell.1",
            "weir-lab-link-show.1",
            "weir-lab-link-up.1",
            "weir-lab-link.1",
            "weir-lab-neighbour-bulk.1",
            "weir-lab-neighbour-game.1",
            "weir-lab-neighbour-http.1",
            "weir-lab-neighbour-serve.1",
            "weir-lab-neighbour-udp.1",
            "weir-lab-neighbour-voip.1",
            "weir-lab-neighbour.1",
            "weir-lab-pacing.1",
            "weir-lab-population.1",
            "weir-lab-profiles.1",
            "weir-lab-run.1",
            "weir-lab-simulate.1",
            "weir-lab-traps.1",
            "weir-lab-tune.1",
            "weir-lab.1",
            "weir-load-experiment.1",
            "weir-load-find-capacity.1",
            "weir-load.1",
            "weir-mesh-export.1",
            "weir-mesh-import.1",
            "weir-mesh-launch.1",
            "weir-mesh-plan.1",
            "weir-mesh-regions.1",
            "weir-mesh-report.1",
            "weir-mesh-run.1",
            "weir-mesh-status.1",
            "weir-mesh-sweep.1",
            "weir-mesh-window.1",
            "weir-mesh.1",
            "weir-origin-demo.1",
            "weir-origin-dref.1",
            "weir-origin-index.1",
            "weir-origin.1",
            "weir-recv.1",
            "weir-report.1",
            "weir-rtt.1",
            "weir-runs-delete.1",
            "weir-runs-export.1",
            "weir-runs-list.1",
            "weir-runs-merge.1",
            "weir-runs-note.1",
            "weir-runs-show.1",
            "weir-runs-tag.1",
            "weir-runs.1",
            "weir-send.1",
            "weir-survey.1",
            "weir-tcp.1",
            "weir-testbed-audience.1",
            "weir-testbed-check.1",
            "weir-testbed-clean.1",
            "weir-testbed-export.1",
            "weir-testbed-functions.1",
            "weir-testbed-logs.1",
            "weir-testbed-run.1",
            "weir-testbed-status.1",
            "weir-testbed-stop.1",
            "weir-testbed.1",
            "weir-twin.1",
            "weir-ui.1",
            "weir-watch-history.1",
            "weir-watch.1",
            "weir.1",
        ];
        assert_eq!(names, expected);
        for file in files {
            let page = fs::read_to_string(&file).expect("a page");
            assert!(page.contains(".SH EXAMPLES"), "{} has no example", file.display());
        }
    }

    #[test]
    fn the_page_of_weir_names_its_subcommands() {
        let mut page = Vec::new();
        write_page(&mut page).expect("memory takes all");
        let page = String::from_utf8(page).expect("pages are text");
        assert!(
            page.contains(r"weir\-survey(1)") && !page.contains(r"weir\-man(1)"),
            "{page}"
        );
    }
}
