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

    /// The pages, without the `.1` of their section.
    const PAGES: [&str; 76] = [
        "weir-agent",
        "weir-completions",
        "weir-diagnose",
        "weir-doctor",
        "weir-evidence",
        "weir-flows",
        "weir-lab-calibrate",
        "weir-lab-clean",
        "weir-lab-grid",
        "weir-lab-link-down",
        "weir-lab-link-shell",
        "weir-lab-link-show",
        "weir-lab-link-up",
        "weir-lab-link",
        "weir-lab-neighbour-bulk",
        "weir-lab-neighbour-game",
        "weir-lab-neighbour-http",
        "weir-lab-neighbour-serve",
        "weir-lab-neighbour-udp",
        "weir-lab-neighbour-voip",
        "weir-lab-neighbour",
        "weir-lab-pacing",
        "weir-lab-population",
        "weir-lab-profiles",
        "weir-lab-run",
        "weir-lab-simulate",
        "weir-lab-traps",
        "weir-lab-tune",
        "weir-lab",
        "weir-load-find-capacity",
        "weir-load",
        "weir-mesh-export",
        "weir-mesh-import",
        "weir-mesh-launch",
        "weir-mesh-plan",
        "weir-mesh-regions",
        "weir-mesh-report",
        "weir-mesh-run",
        "weir-mesh-status",
        "weir-mesh-sweep",
        "weir-mesh-window",
        "weir-mesh",
        "weir-origin-demo",
        "weir-origin-dref",
        "weir-origin-index",
        "weir-origin",
        "weir-recv",
        "weir-report",
        "weir-rtt",
        "weir-runs-delete",
        "weir-runs-export",
        "weir-runs-list",
        "weir-runs-merge",
        "weir-runs-note",
        "weir-runs-show",
        "weir-runs-tag",
        "weir-runs",
        "weir-send",
        "weir-survey",
        "weir-tcp",
        "weir-testbed-audience",
        "weir-testbed-check",
        "weir-testbed-clean",
        "weir-testbed-export",
        "weir-testbed-functions",
        "weir-testbed-logs",
        "weir-testbed-run",
        "weir-testbed-serve",
        "weir-testbed-status",
        "weir-testbed-stop",
        "weir-testbed",
        "weir-twin",
        "weir-ui",
        "weir-watch-history",
        "weir-watch",
        "weir",
    ];

    #[test]
    fn a_page_for_every_visible_subcommand() {
        let directory = tempfile::tempdir().expect("a directory");
        let files = write_pages(&directory.path().join("man1")).expect("pages");
        let mut names: Vec<String> = files
            .iter()
            .filter_map(|file| Some(file.file_name()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        assert_eq!(names, PAGES.map(|page| format!("{page}.1")));
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
