//! What a user reads first: the answer, then findings in one line each, then tables; evidence on request.

use serde_json::Value;

use weir_rig::{Agent, Database, Host, LIMIT, isolated, run_within, weir};

/// Where a text begins that has to be there.
#[track_caller]
fn at(output: &str, text: &str) -> usize {
    output
        .find(text)
        .unwrap_or_else(|| panic!("no '{text}' in: {output}"))
}

/// The lines before the findings have to be two to five and begin with a verdict.
#[track_caller]
fn begins_with_an_answer(output: &str) {
    let head = &output[..at(output, "findings of run")];
    assert!(
        ["Yes", "No: ", "Cannot say "]
            .iter()
            .any(|word| head.starts_with(word)),
        "{output}"
    );
    for line in ["\nWorst: ", "\nRests on: "] {
        at(head, line);
    }
}

#[test]
fn the_answer_comes_first_and_evidence_on_request() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("answer.db"));
    let command = |arguments: &[&str]| {
        let all = [arguments, &["--db", &database]].concat();
        run_within(LIMIT, weir(&all)).expect_code(0).stdout
    };
    let survey = command(&[
        "survey",
        &target,
        "--rate",
        "5Mbit/s",
        "--step",
        "200ms",
        "--max-flows",
        "2",
    ]);
    begins_with_an_answer(&survey);
    assert!(
        at(&survey, "findings of run 1") < at(&survey, "path MTU"),
        "{survey}"
    );
    assert!(
        at(&survey, "path MTU") < at(&survey, "by payload length"),
        "{survey}"
    );
    assert!(
        at(&survey, "by payload length") < at(&survey, "sent in all"),
        "{survey}"
    );
    let plain = [
        survey.clone(),
        command(&["diagnose", "1"]),
        command(&["runs", "show", "1"]),
    ];
    for output in &plain {
        begins_with_an_answer(output);
        for word in ["confidence ", "sql>", "p-value"] {
            assert!(!output.contains(word), "'{word}' in: {output}");
        }
        let findings = &output[..at(output, "weir diagnose 1 -v")];
        assert!(!findings.contains(" ns"), "{output}");
        let told: Vec<&str> = findings.lines().filter(|line| line.starts_with("  ")).collect();
        assert!(told.iter().any(|line| line.contains("rtt-level")), "{output}");
    }
    assert!(at(&plain[2], "findings of run 1") < at(&plain[2], "run 1: survey to"));
    let details = command(&["diagnose", "1", "-v"]);
    begins_with_an_answer(&details);
    for word in ["confidence ", "sql> SELECT", "do: ", " ns\n"] {
        at(&details, word);
    }
    assert!(at(&command(&["runs", "show", "1", "-v"]), "sql> SELECT") > 0);

    let json = |text: &str| -> Value { serde_json::from_str(text).expect("JSON") };
    let diagnosed = json(&command(&["diagnose", "1", "--json"]));
    let shown = json(&command(&["runs", "show", "1", "--json"]));
    assert_eq!(diagnosed["answer"], shown["answer"]);
    assert!(
        plain[1].starts_with(
            diagnosed["answer"]["sentence"]
                .as_str()
                .unwrap_or("?")
                .split(':')
                .next()
                .unwrap()
        )
    );
}

#[test]
fn what_was_found_is_stored_once_and_listed() {
    isolated!();
    let agent = Agent::start(Host::Near, &[]);
    let (target, database) = (agent.local(), weir_rig::path("listed.db"));
    let command = |arguments: &[&str]| {
        let all = [arguments, &["--db", &database]].concat();
        run_within(LIMIT, weir(&all)).expect_code(0)
    };
    command(&["rtt", &target, "--for", "200ms", "--interval", "50ms", "-q"]);
    let rows = || Database::open(&database).all::<String>("SELECT answer FROM verdicts");
    assert_eq!(rows(), ["cannot_say"], "at the end of the run");
    Database::change(&database, "DELETE FROM verdicts");
    let listed = command(&["runs", "list"]).stdout;
    let line = listed.lines().find(|line| line.contains("rtt")).unwrap();
    assert!(line.ends_with("no findings"), "{listed}");
    assert_eq!(rows(), ["cannot_say"], "by the first list");
    // What is stored is what is shown.
    Database::change(&database, "UPDATE verdicts SET faults = 2, notices = 3");
    let listed = command(&["runs", "list"]).stdout;
    assert!(listed.contains("2 faults, 3 notices"), "{listed}");
    Database::change(&database, "UPDATE verdicts SET faults = NULL, notices = NULL");
    let listed = command(&["runs", "list", "--json"]).stdout;
    assert!(listed.contains("\"verdict\":null"), "{listed}");
    let none = command(&["runs", "list", "--kind", "flows"]);
    assert!(
        none.stderr.contains("listed.db has runs of kind rtt"),
        "{}",
        none.stderr
    );
}
