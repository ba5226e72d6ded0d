//! Workflows as users write them: what is accepted, what is refused and how, and what MPEG's schemas say.

mod kubernetes;
mod refused;
mod schemas;

use std::path::{Path, PathBuf};

use weir_testbed::{Capabilities, Document, TestbedError, Workflow};

/// The workflows that we ship.
fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testbeds");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let files = entries
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.is_file());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

fn read(path: &Path) -> Result<(Document, Workflow), TestbedError> {
    let (document, functions) = weir_testbed::read(path, &[])?;
    let workflow = Workflow::of(&document, &functions, path.parent().expect("a folder"))?;
    Ok((document, workflow))
}

/// A host that meets every requirement.
const LARGE: Capabilities = Capabilities {
    cores: 64,
    ram_mib: 1 << 20,
};

#[test]
fn every_workflow_that_we_ship_is_one_and_so_is_its_json() {
    let folder = tempfile::tempdir().expect("a folder");
    for path in shipped() {
        let name = path.display();
        let (document, workflow) = read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        workflow
            .fits(LARGE)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let json = folder.path().join("workflow.json");
        std::fs::write(&json, serde_json::to_string(&document).expect("JSON")).expect("a file");
        // A function document is found beside the workflow.
        for location in document
            .repository
            .iter()
            .flat_map(|repository| &repository.location)
        {
            let beside = path.with_file_name(&location.url);
            let copy = folder.path().join(&location.url);
            std::fs::create_dir_all(copy.parent().expect("a folder")).expect("a folder");
            std::fs::copy(beside, copy).expect("a copy");
        }
        let (again, from_json) = read(&json).unwrap_or_else(|error| panic!("{name} as JSON: {error}"));
        assert_eq!(again, document, "{name}");
        let tasks = |workflow: &Workflow| -> Vec<_> {
            workflow
                .tasks
                .iter()
                .map(|task| (task.name.clone(), task.parameters.clone(), task.vcpu))
                .collect()
        };
        assert_eq!(tasks(&from_json), tasks(&workflow), "{name}");
    }
}

#[test]
fn the_examples_of_the_page_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/testbed.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let blocks = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default());
    let (workflows, functions): (Vec<&str>, Vec<&str>) = blocks.partition(|block| block.contains("[[task]]"));
    assert!(!workflows.is_empty() && !functions.is_empty());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("workflow.toml");
    for workflow in workflows {
        std::fs::write(&path, workflow).expect("a file");
        read(&path).unwrap_or_else(|error| panic!("{error} in:\n{workflow}"));
    }
    for function in functions {
        weir_testbed::Function::read(function, false)
            .unwrap_or_else(|error| panic!("{error} in:\n{function}"));
    }
}
