//! The workflow API by the standard's own description of it (OpenAPI), where that is there: statuses, and documents in requests
//! and responses; and what is refused.

use serde_json::{Value, json};
use weir_testbed::{
    Answer, Asked, Functions, MOST_WORKFLOWS, TaskState, TaskStatus, TestbedState, Workflows,
};

use crate::schemas::{assert_valid, data, schema};
use crate::{LARGE, read, shipped};

fn workflows() -> Workflows {
    Workflows::new(Functions::built_in().expect("functions"), LARGE)
}

/// A document of ours that needs no files beside it.
fn document() -> Value {
    let quick = shipped().into_iter().find(|path| path.ends_with("quick.toml"));
    let (document, _) = read(&quick.expect("a workflow")).expect("a workflow");
    serde_json::to_value(document).expect("JSON")
}

fn ask(workflows: &mut Workflows, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let text = body.map(Value::to_string).unwrap_or_default();
    let asked = Asked {
        method,
        path,
        content_type: body.map(|_| "application/json"),
        body: text.as_bytes(),
    };
    workflows.answer(&asked, |_| None)
}

fn state(answer: &Answer) -> &str {
    let body = answer.body.as_ref().expect("a document");
    body["general"]["state"].as_str().expect("a state")
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| value.as_str())
}

#[test]
fn statuses_and_documents_are_those_of_the_standards_description() {
    let Some(data) = data() else { return };
    let text = std::fs::read_to_string(data.join("openapi-workflow.json")).expect("the description");
    let openapi: Value = serde_json::from_str(&text).expect("JSON");
    let whole = schema(&data, "workflow");
    let mut workflows = workflows();
    let document = document();
    // Requests are documents of the standard, too.
    assert_valid(&whole, "request", &document);
    let id = document["general"]["id"].as_str().expect("an id").to_owned();
    let own = format!("/workflows/{id}");
    let mut seen = Vec::new();
    let mut held = |workflows: &mut Workflows, method: &str, path: &str, body: Option<&Value>| {
        let answer = ask(workflows, method, path, body);
        let described = match path {
            "/workflows" => &openapi["paths"]["/workflows"],
            _ => &openapi["paths"]["/workflows/{workflowId}"],
        };
        let responses = &described[method.to_lowercase()]["responses"];
        let response = &responses[answer.status.to_string()];
        assert!(
            response.is_object(),
            "{method} {path}: {} is not described",
            answer.status
        );
        if response["content"].is_object() {
            let body = answer.body.as_ref().expect("a document");
            assert_valid(&whole, &format!("{method} {path}"), body);
        }
        if response["headers"]["Retry-After"].is_object() {
            let seconds: Option<u32> = header(&answer, "retry-after").and_then(|text| text.parse().ok());
            assert!(seconds.is_some_and(|seconds| seconds >= 1));
        }
        seen.push((method.to_owned(), answer.status));
        answer
    };
    let created = held(&mut workflows, "POST", "/workflows", Some(&document));
    assert_eq!((created.status, state(&created)), (201, "instantiated"));
    assert_eq!(header(&created, "location"), Some(own.as_str()));
    held(
        &mut workflows,
        "POST",
        "/workflows",
        Some(&json!({ "general": {} })),
    );
    assert_eq!(state(&held(&mut workflows, "GET", &own, None)), "instantiated");
    let mut changed = document.clone();
    changed["general"]["description"] = json!("changed");
    let answer = held(&mut workflows, "PATCH", &own, Some(&changed));
    assert_eq!(
        answer.body.expect("a document")["general"]["description"],
        "changed"
    );
    assert_eq!(workflows.next_job().expect("a job").id, id);
    assert_eq!(held(&mut workflows, "DELETE", &own, None).status, 202);
    assert!(workflows.is_to_end(&id) && workflows.ended(&id, None));
    for method in ["GET", "PATCH", "DELETE"] {
        assert_eq!(held(&mut workflows, method, &own, Some(&document)).status, 404);
    }
    held(&mut workflows, "POST", "/workflows", Some(&document));
    let deleted = held(&mut workflows, "DELETE", &own, None);
    assert_eq!((deleted.status, state(&deleted)), (200, "destroyed"));
    // Every status of every operation was seen, but those that say that it comes later, of which one was.
    for (path, operations) in openapi["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            for status in operation["responses"].as_object().expect("responses").keys() {
                let status: u16 = status.parse().expect("a status");
                let found = seen.contains(&(method.to_uppercase(), status));
                assert!(found || status == 202, "{method} {path}: {status} was not seen");
            }
        }
    }
}

fn status(task: &str, state: TaskState) -> TaskStatus {
    TaskStatus {
        task: task.to_owned(),
        function: task.to_owned(),
        host: None,
        state,
        namespace: String::new(),
        pid: None,
        start_ticks: None,
    }
}

#[test]
fn states_follow_the_run_and_a_failure_is_said() {
    let mut workflows = workflows();
    let document = document();
    let first = ask(&mut workflows, "POST", "/workflows", Some(&document));
    let second = ask(&mut workflows, "POST", "/workflows", Some(&document));
    let id = |answer: &Answer| {
        answer.body.as_ref().expect("a document")["general"]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let (first, second) = (id(&first), id(&second));
    assert_ne!(first, second);
    let job = workflows.next_job().expect("a job");
    assert_eq!(
        (job.id.as_str(), job.workflow.id.as_str()),
        (first.as_str(), first.as_str())
    );
    // One after the other.
    assert!(workflows.next_job().is_none());
    let known = |states: [TaskState; 3]| TestbedState {
        name: first.clone(),
        workflow: first.clone(),
        pid: 1,
        start_ticks: 1,
        started_unix_ns: 1,
        parts: Vec::new(),
        tasks: ["storage", "origin", "viewers"]
            .into_iter()
            .zip(states)
            .map(|(task, state)| status(task, state))
            .collect(),
    };
    let path = format!("/workflows/{first}");
    let get = Asked {
        method: "GET",
        path: &path,
        content_type: None,
        body: b"",
    };
    let states = |workflows: &mut Workflows, states: [TaskState; 3]| -> Vec<String> {
        let body = workflows
            .answer(&get, |_| Some(known(states)))
            .body
            .expect("a document");
        let tasks = body["processing"]["function-restrictions"]
            .as_array()
            .expect("tasks")
            .iter();
        let tasks = tasks.map(|task| task["general"]["state"].clone());
        let all = std::iter::once(body["general"]["state"].clone()).chain(tasks);
        all.map(|state| state.as_str().expect("a state").to_owned())
            .collect()
    };
    use TaskState::{Idle, InError, Instantiated, Running};
    let setting_up = states(&mut workflows, [Idle, Instantiated, Instantiated]);
    assert_eq!(setting_up, ["idle", "idle", "instantiated", "instantiated"]);
    assert_eq!(states(&mut workflows, [Running; 3]), ["running"; 4]);
    let failing = states(&mut workflows, [Running, InError, Running]);
    assert_eq!(failing, ["in-error", "running", "in-error", "running"]);
    let late = ask(&mut workflows, "PATCH", &path, Some(&document));
    assert_eq!(late.status, 409);
    assert!(!workflows.ended(&first, Some("task origin: it ended under load".to_owned())));
    let failed = ask(&mut workflows, "GET", &path, None);
    assert_eq!(state(&failed), "in-error");
    let body = failed.body.expect("a document");
    assert_eq!(
        body["acknowledge"],
        json!({ "status": "failed", "failed": ["task origin: it ended under load"] })
    );
    assert_eq!(workflows.next_job().expect("a job").id, second);
    assert!(!workflows.ended(&second, None));
    let ended = ask(&mut workflows, "GET", &format!("/workflows/{second}"), None);
    assert_eq!(state(&ended), "destroyed");
    assert_eq!(ask(&mut workflows, "DELETE", &path, None).forget, Some(first));
}

#[test]
fn what_cannot_be_run_is_refused_in_a_line_and_nothing_of_it_stays() {
    let mut workflows = workflows();
    let document = document();
    let mut refused = |status: u16, words: &str, change: &dyn Fn(&mut Value)| {
        let mut wrong = document.clone();
        change(&mut wrong);
        let answer = ask(&mut workflows, "POST", "/workflows", Some(&wrong));
        let line = answer.body.expect("an error")["error"]
            .as_str()
            .expect("a line")
            .to_owned();
        assert_eq!(answer.status, status, "{line}");
        assert!(line.contains(words) && !line.contains('\n'), "{words} in: {line}");
    };
    let tasks = |wrong: &mut Value| {
        wrong["processing"]["function-restrictions"]
            .as_array_mut()
            .expect("tasks")
            .to_owned()
    };
    refused(400, "nonsense", &|wrong| {
        let mut changed = tasks(wrong);
        changed[0]["general"]["id"] = json!("nonsense");
        wrong["processing"]["function-restrictions"] = json!(changed);
    });
    refused(400, "hardware: vcpu", &|wrong| {
        let mut changed = tasks(wrong);
        changed[1]["requirements"] = json!({ "hardware": { "vcpu": 1000 } });
        wrong["processing"]["function-restrictions"] = json!(changed);
    });
    refused(400, "--function", &|wrong| {
        wrong["repository"] = json!({ "location": [{ "url": "/etc/passwd" }] });
    });
    refused(400, "files of this host", &|wrong| {
        let link = json!([{ "name": "weir.link", "datatype": "string", "values": [{ "restrictions": ["/etc/passwd"] }] }]);
        wrong["processing"]["connection-map"][0]["other-parameters"] = link;
    });
    let plain = Asked {
        method: "POST",
        path: "/workflows",
        content_type: Some("text/plain"),
        body: b"{}",
    };
    assert_eq!(workflows.answer(&plain, |_| None).status, 415);
    for (method, path, status) in [
        ("GET", "/workflows", 405),
        ("PUT", "/workflows/x", 404),
        ("GET", "/workflowsx", 404),
        ("GET", "/", 404),
        ("GET", "/workflows/../x", 404),
    ] {
        assert_eq!(
            ask(&mut workflows, method, path, None).status,
            status,
            "{method} {path}"
        );
    }
    for _ in 0..MOST_WORKFLOWS {
        assert_eq!(
            ask(&mut workflows, "POST", "/workflows", Some(&document)).status,
            201
        );
    }
    let full = ask(&mut workflows, "POST", "/workflows", Some(&document));
    assert_eq!(full.status, 503);
}
