//! The workflow API of the standard (ISO/IEC 23090-8): create, retrieve, update and delete, over workflows that run one after
//! the other. Who runs them takes the next one, and reports its end. It must not know sockets, nor how a workflow is run.

mod server;

use std::path::Path;

use serde_json::{Value, json};

use crate::document::Document;
use crate::error::TestbedError;
use crate::form::Form;
use crate::function::Functions;
use crate::name::is_name;
use crate::state::{TaskState, TestbedState};
use crate::workflow::{Capabilities, LINK, Workflow};

pub use server::{ApiConfig, ApiServer};

/// Maximum number of workflows, with those that have ended and are not deleted.
pub const MOST_WORKFLOWS: usize = 16;
/// Where workflows are.
const PATH: &str = "/workflows";
/// Types of a workflow description document.
const TYPES: [&str; 2] = ["application/json", "application/mpeg-nbmp-wdd+json"];
/// Time until a workflow that is being stopped is gone, for `Retry-After`, seconds.
const RETRY_S: &str = "1";

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its path, without a query.
    pub path: &'a str,
    /// `Content-Type`.
    pub content_type: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

/// The response to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// Headers besides those of the body.
    pub headers: Vec<(&'static str, String)>,
    /// A workflow description document, or `{"error": "..."}`.
    pub body: Option<Value>,
    /// A testbed whose leftovers are to be removed from the host.
    pub forget: Option<String>,
}

impl Answer {
    fn new(status: u16, body: Option<Value>) -> Self {
        Answer {
            status,
            headers: Vec::new(),
            body,
            forget: None,
        }
    }

    fn error(status: u16, line: impl Into<String>) -> Self {
        Answer::new(status, Some(json!({ "error": line.into() })))
    }

    fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((header, value.into()));
        self
    }
}

impl From<TestbedError> for Answer {
    fn from(error: TestbedError) -> Self {
        Answer::error(400, error.to_string())
    }
}

/// A workflow whose turn it is.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its identifier, which is the name of its testbed.
    pub id: String,
    /// The document.
    pub document: Document,
    /// What to run.
    pub workflow: Workflow,
}

#[derive(Debug)]
enum Phase {
    /// Others run before it.
    Waiting,
    Running {
        /// Whether it is to end, and to be removed then.
        deleted: bool,
    },
    Ended {
        /// Why it ended early.
        failure: Option<String>,
    },
}

#[derive(Debug)]
struct Kept {
    id: String,
    document: Document,
    workflow: Workflow,
    phase: Phase,
}

/// The workflows of a server, in the order of their creation.
#[derive(Debug)]
pub struct Workflows {
    functions: Functions,
    host: Capabilities,
    kept: Vec<Kept>,
}

impl Workflows {
    /// None yet; those to come may use `functions`, and must fit on `host`.
    pub fn new(functions: Functions, host: Capabilities) -> Self {
        Workflows {
            functions,
            host,
            kept: Vec::new(),
        }
    }

    /// Responds to a request; `state` is what the host knows of a testbed.
    pub fn answer(&mut self, asked: &Asked<'_>, state: impl Fn(&str) -> Option<TestbedState>) -> Answer {
        let Some(rest) = asked.path.strip_prefix(PATH) else {
            return Answer::error(
                404,
                format!("there is nothing at this path; workflows are at {PATH}"),
            );
        };
        let id = match rest.strip_prefix('/') {
            Some(id) => id,
            None if !rest.is_empty() => {
                return Answer::error(
                    404,
                    format!("there is nothing at this path; workflows are at {PATH}"),
                );
            }
            None if asked.method == "POST" => {
                return self.create(asked).unwrap_or_else(|refused| refused);
            }
            None => return Answer::error(405, "only POST, which creates a workflow").with("allow", "POST"),
        };
        let Some(index) = self.kept.iter().position(|kept| kept.id == id) else {
            return Answer::error(404, "there is no workflow with this identifier");
        };
        match asked.method {
            "GET" => Answer::new(200, Some(self.kept[index].described(state(id)))),
            "PATCH" => self.update(index, asked).unwrap_or_else(|refused| refused),
            "DELETE" => self.delete(index),
            _ => Answer::error(405, "only GET, PATCH and DELETE").with("allow", "GET, PATCH, DELETE"),
        }
    }

    fn create(&mut self, asked: &Asked<'_>) -> Result<Answer, Answer> {
        let document = document(asked)?;
        if self.kept.len() >= MOST_WORKFLOWS {
            let line = format!("there are {MOST_WORKFLOWS} workflows, the maximum; delete one");
            return Err(Answer::error(503, line).with("retry-after", RETRY_S));
        }
        let id = self.free_id(&document.general.id);
        let kept = self.checked(id.clone(), document)?;
        let described = kept.described(None);
        self.kept.push(kept);
        Ok(Answer::new(201, Some(described)).with("location", format!("{PATH}/{id}")))
    }

    /// The wanted identifier, which is the name of a testbed as well; where that cannot be, a similar one.
    fn free_id(&self, wanted: &str) -> String {
        let wanted = if is_name(wanted) { wanted } else { "workflow" };
        let is_free = |id: &String| is_name(id) && self.kept.iter().all(|kept| kept.id != *id);
        // Numbers are short: the beginning leaves room for one.
        let beginning: String = wanted.chars().take(28).collect();
        let numbered = (2..=MOST_WORKFLOWS + 1).map(|number| format!("{beginning}-{number}"));
        let mut all = std::iter::once(wanted.to_owned()).chain(numbered);
        // Of more identifiers than there are workflows, one is free.
        all.find(is_free).unwrap_or_else(|| wanted.to_owned())
    }

    /// A workflow that can be run here.
    fn checked(&self, id: String, mut document: Document) -> Result<Kept, Answer> {
        document.general.id.clone_from(&id);
        let named = document
            .repository
            .iter()
            .flat_map(|repository| &repository.location);
        if named.count() > 0 {
            return Err(Answer::error(
                400,
                "repository: location: give function documents to 'weir testbed serve' by --function",
            ));
        }
        let links = document.processing.connection_map.iter();
        let mut links = links.flat_map(|connection| &connection.other_parameters);
        let is_file = |text: String| text.contains(['/', '.']);
        if links.any(|parameter| parameter.name == LINK && parameter.text().is_some_and(is_file)) {
            return Err(Answer::error(
                400,
                format!("connection-map: {LINK}: use the name of a profile; files of this host are not read"),
            ));
        }
        let workflow = Workflow::of(&document, &self.functions, Path::new(""))?;
        workflow.hosts_are_known(&[])?;
        workflow.fits(None, self.host)?;
        workflow.programs_are_here(None)?;
        Ok(Kept {
            id,
            document,
            workflow,
            phase: Phase::Waiting,
        })
    }

    fn update(&mut self, index: usize, asked: &Asked<'_>) -> Result<Answer, Answer> {
        let document = document(asked)?;
        let id = self.kept[index].id.clone();
        if !matches!(self.kept[index].phase, Phase::Waiting) {
            let line =
                "the workflow has begun to run and can no longer be changed; delete it, and create another";
            return Err(Answer::error(409, line));
        }
        if ![id.as_str(), ""].contains(&document.general.id.as_str()) {
            return Err(Answer::error(
                400,
                format!("general: id: it is '{id}' and stays so"),
            ));
        }
        self.kept[index] = self.checked(id, document)?;
        Ok(Answer::new(200, Some(self.kept[index].described(None))))
    }

    fn delete(&mut self, index: usize) -> Answer {
        if let Phase::Running { deleted } = &mut self.kept[index].phase {
            *deleted = true;
            return Answer::new(202, None).with("retry-after", RETRY_S);
        }
        let mut kept = self.kept.remove(index);
        kept.phase = Phase::Ended { failure: None };
        let mut answer = Answer::new(200, Some(kept.described(None)));
        answer.forget = Some(kept.id);
        answer
    }

    /// Begins the next workflow; none while one runs.
    pub fn next_job(&mut self) -> Option<Job> {
        let runs = |kept: &Kept| matches!(kept.phase, Phase::Running { .. });
        if self.kept.iter().any(runs) {
            return None;
        }
        let waits = |kept: &&mut Kept| matches!(kept.phase, Phase::Waiting);
        let next = self.kept.iter_mut().find(waits)?;
        next.phase = Phase::Running { deleted: false };
        Some(Job {
            id: next.id.clone(),
            document: next.document.clone(),
            workflow: next.workflow.clone(),
        })
    }

    /// Whether a workflow that runs is to end.
    pub fn is_to_end(&self, id: &str) -> bool {
        let found = self.kept.iter().find(|kept| kept.id == id);
        found.is_none_or(|kept| matches!(kept.phase, Phase::Running { deleted: true }))
    }

    /// A workflow has ended, early if there is a `failure`. Returns whether the leftovers of its testbed are to be removed.
    pub fn ended(&mut self, id: &str, failure: Option<String>) -> bool {
        let Some(index) = self.kept.iter().position(|kept| kept.id == id) else {
            return true;
        };
        if matches!(self.kept[index].phase, Phase::Running { deleted: true }) {
            self.kept.remove(index);
            return true;
        }
        self.kept[index].phase = Phase::Ended { failure };
        false
    }
}

impl Kept {
    /// The document with the states of the workflow and of its tasks; `known` is what the host knows of its testbed.
    fn described(&self, known: Option<TestbedState>) -> Value {
        let known = known.filter(|_| matches!(self.phase, Phase::Running { .. }));
        let own = match &self.phase {
            Phase::Waiting => TaskState::Instantiated,
            Phase::Running { .. } => workflow_state(known.as_ref()),
            Phase::Ended { failure: None } => TaskState::Destroyed,
            Phase::Ended { failure: Some(_) } => TaskState::InError,
        };
        let mut document = self.document.clone();
        own.name().clone_into(&mut document.general.state);
        for restriction in &mut document.processing.function_restrictions {
            let mut tasks = known.iter().flat_map(|known| &known.tasks);
            let task = tasks.find(|task| task.task == restriction.instance);
            let state = task.map_or(own, |task| task.state);
            state.name().clone_into(&mut restriction.general.state);
        }
        if let Phase::Ended { failure: Some(line) } = &self.phase {
            let acknowledge = json!({ "status": "failed", "failed": [line] });
            document.other.insert("acknowledge".to_owned(), acknowledge);
        }
        json!(document)
    }
}

/// The state of a workflow that runs: as far as its tasks are.
fn workflow_state(known: Option<&TestbedState>) -> TaskState {
    let any = |state| known.is_some_and(|known| known.tasks.iter().any(|task| task.state == state));
    let has_begun = any(TaskState::Running);
    match () {
        () if any(TaskState::InError) => TaskState::InError,
        () if has_begun => TaskState::Running,
        () if any(TaskState::Idle) => TaskState::Idle,
        () => TaskState::Instantiated,
    }
}

/// The document in a request. Other types than those of a document are refused: a form of another page in the user's browser
/// can send some of them without asking.
fn document(asked: &Asked<'_>) -> Result<Document, Answer> {
    let given = asked.content_type.unwrap_or_default();
    let kind = given.split(';').next().unwrap_or_default().trim();
    if !TYPES.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
        return Err(Answer::error(415, format!("Content-Type: use {}", TYPES[0])));
    }
    let text = std::str::from_utf8(asked.body).map_err(|_| Answer::error(400, "the body is not UTF-8"))?;
    Form::Json.parse(text).map_err(Answer::from)
}
