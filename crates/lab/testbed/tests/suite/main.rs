//! Workflows as users write them: what is accepted, what is refused and how, and what MPEG's schemas say.

mod api;
mod kubernetes;
mod mutated;
mod nagare;
mod placed;
mod refused;
mod schemas;

use std::path::{Path, PathBuf};

use weir_testbed::{Capabilities, Document, Form, Function, TestbedError, Workflow};

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
            .fits(None, LARGE)
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
        let yaml = folder.path().join("workflow.yaml");
        std::fs::copy(&json, &yaml).expect("JSON is YAML");
        assert_eq!(read(&yaml).expect("a workflow").0, document, "{name} as YAML");
        let tasks = |workflow: &Workflow| -> Vec<_> {
            workflow
                .tasks
                .iter()
                .map(|task| {
                    (
                        task.name.clone(),
                        task.parameters.clone(),
                        task.vcpu,
                        task.cpu_limit,
                    )
                })
                .collect()
        };
        assert_eq!(tasks(&from_json), tasks(&workflow), "{name}");
    }
}

#[test]
fn yaml_is_the_document_or_the_short_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        read(&path)
            .map(|(document, _)| document)
            .map_err(|error| error.to_string())
    };
    let toml = "name = 'w'\ndescription = 'd'\n[[task]]\nname = 'files'\nfunction = 'weir-source'\n\
                parameters = { dref = true, duration = '1m' }\n[[task]]\nname = 'viewers'\nfunction = 'weir-sink'\n\
                vcpu = 1\nparameters = { viewers = 10 }\n[[connection]]\nfrom = 'files'\nto = 'viewers'\ntypical-delay = 20\n";
    let yaml = "name: w\ndescription: d\ntask:\n- {name: files, function: weir-source, parameters: {dref: true, duration: 1m}}\n\
                - name: viewers\n  function: weir-sink\n  vcpu: 1\n  parameters:\n    viewers: 10\n\
                connection:\n- {from: files, to: viewers, typical-delay: 20}\n";
    let document = whole("w.toml", toml).expect("a workflow");
    assert_eq!(whole("w.yaml", yaml).expect("a workflow"), document);
    assert_eq!(
        whole("w.yml", &serde_json::to_string(&document).expect("JSON")).expect("JSON is YAML"),
        document
    );
    let said = |text: &str| whole("x.yaml", text).expect_err(text);
    assert!(said(&yaml.replace("vcpu", "vpcu")).contains("unknown field `vpcu`"));
    assert!(said("general: {id: w}\n").contains("processing"));
    assert!(said("- just\n- a list\n").contains("x.yaml: "));
    assert!(said("a: &a [x]\nb: [*c]\n").contains("x.yaml: "));
    assert!(said(&"#".repeat(1 << 21)).contains("longer than 1 MiB"));
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        bomb.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 10].join(", ")
        ));
    }
    assert!(said(&bomb).contains("aliases included"));
}

#[test]
fn the_examples_of_the_page_are_right() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/testbed.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let blocks = |form: &str| -> Vec<&str> {
        let after = page.split(form).skip(1);
        after
            .map(|rest| rest.split("```").next().unwrap_or_default())
            .collect()
    };
    let (workflows, functions): (Vec<&str>, Vec<&str>) = blocks("```toml\n")
        .into_iter()
        .partition(|block| block.contains("[[task]]"));
    assert!(!workflows.is_empty() && !functions.is_empty());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("workflow.toml");
    for workflow in workflows {
        std::fs::write(&path, workflow).expect("a file");
        read(&path).unwrap_or_else(|error| panic!("{error} in:\n{workflow}"));
    }
    let yaml = folder.path().join("workflow.yaml");
    for workflow in blocks("```yaml\n") {
        std::fs::write(&yaml, workflow).expect("a file");
        read(&yaml).unwrap_or_else(|error| panic!("{error} in:\n{workflow}"));
    }
    for function in functions {
        Function::read(function, Form::Toml).unwrap_or_else(|error| panic!("{error} in:\n{function}"));
    }
}
