//! Finding and removing what carries the tags of launches, with no state of ours: by the `aws` program, or by the
//! program that makes machines. It calls programs; what they are asked and what they say is read in
//! [`crate::cloud::leftovers`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::cloud::leftovers::{
    Leftover, aws_list, aws_list_instances, aws_list_regions, aws_list_route_tables, aws_removals, is_gone,
    read_associations, read_aws, read_names, read_own,
};
use crate::process::{Finished, Input, Output, run};

/// Time for one command; waiting for the end of an instance takes the longest.
const LIMIT: Duration = Duration::from_secs(660);
/// A network can go only when its interfaces have, which takes AWS a while: so often, with a pause.
const TRIES: usize = 4;
const PAUSE: Duration = Duration::from_secs(5);

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// A region of AWS.
    Aws {
        /// Its name.
        region: String,
    },
    /// A program that makes machines.
    Own {
        /// It.
        program: PathBuf,
    },
}

/// Why nothing could be found out, or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaggedError {
    /// The program is not there.
    #[error("cannot start '{program}' to look for tags: {error}")]
    Missing {
        /// It.
        program: String,
        /// Why.
        error: String,
    },
    /// It failed.
    #[error("'{program} {what}' failed: {said}")]
    Failed {
        /// It.
        program: String,
        /// What it was to do.
        what: String,
        /// The last that it said.
        said: String,
    },
    /// It said something else.
    #[error("{0}")]
    Answer(#[from] crate::MeshError),
}

fn call(program: &str, arguments: &[String], kill: &AtomicBool) -> Result<String, TaggedError> {
    // Pagers and colours are for people.
    let finished = run(program, arguments, Input::None, Output::Text, LIMIT, kill).map_err(|error| {
        TaggedError::Missing {
            program: program.to_owned(),
            error: error.to_string(),
        }
    })?;
    let failed = |said: &str| TaggedError::Failed {
        program: program.to_owned(),
        what: what_of(arguments),
        said: said.to_owned(),
    };
    match finished {
        Finished::Exit {
            status: 0, stdout, ..
        } => Ok(stdout),
        Finished::Exit { stderr, .. } => {
            let last = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
            let said: String = last
                .unwrap_or("no error message")
                .chars()
                .filter(|c| !c.is_control())
                .take(300)
                .collect();
            Err(failed(&said))
        }
        Finished::Slow => Err(failed("no response; aborted")),
        Finished::Killed => Err(failed("interrupted")),
    }
}

/// What a command is to do, without its options: the words after those that choose a region.
fn what_of(arguments: &[String]) -> String {
    let start = arguments.iter().position(|word| word == "ec2").unwrap_or(0);
    let words: Vec<&str> = arguments[start..]
        .iter()
        .map(String::as_str)
        .take_while(|word| !word.starts_with('-'))
        .collect();
    words.join(" ")
}

/// The regions of AWS that the account has.
///
/// # Errors
/// When they cannot be found out.
pub fn aws_regions(kill: &AtomicBool) -> Result<Vec<String>, TaggedError> {
    Ok(read_names(call("aws", &aws_list_regions(), kill)?.as_bytes())?)
}

impl Account {
    /// What is there with our tags.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub fn list(&self, kill: &AtomicBool) -> Result<Vec<Leftover>, TaggedError> {
        match self {
            Account::Aws { region } => {
                let tags = call("aws", &aws_list(region), kill)?;
                let instances = call("aws", &aws_list_instances(region), kill)?;
                Ok(read_aws(tags.as_bytes(), instances.as_bytes())?)
            }
            Account::Own { program } => {
                let said = call(&program.to_string_lossy(), &["list".to_owned()], kill)?;
                Ok(read_own(&said))
            }
        }
    }

    /// Removes these, and returns those that are still there with the reason.
    pub fn remove(&self, leftovers: &[Leftover], kill: &AtomicBool) -> Vec<(Leftover, String)> {
        match self {
            Account::Own { program } => leftovers
                .iter()
                .filter_map(|leftover| {
                    let arguments = ["delete".to_owned(), leftover.id.clone()];
                    let error = call(&program.to_string_lossy(), &arguments, kill).err()?;
                    Some((leftover.clone(), error.to_string()))
                })
                .collect(),
            Account::Aws { region } => {
                let mut left = leftovers.to_vec();
                let mut stuck = Vec::new();
                for attempt in 0..TRIES {
                    if attempt > 0 {
                        std::thread::sleep(PAUSE);
                    }
                    stuck = remove_once(region, &left, kill);
                    let ids: BTreeSet<&str> = stuck.iter().map(|(one, _)| one.id.as_str()).collect();
                    left.retain(|one| ids.contains(one.id.as_str()));
                    if left.is_empty() {
                        break;
                    }
                }
                stuck
            }
        }
    }
}

fn remove_once(region: &str, leftovers: &[Leftover], kill: &AtomicBool) -> Vec<(Leftover, String)> {
    let mut stuck = Vec::new();
    let has_tables = leftovers.iter().any(|leftover| leftover.kind == "route-table");
    let associations = has_tables
        .then(|| call("aws", &aws_list_route_tables(region), kill))
        .and_then(Result::ok)
        .and_then(|answer| read_associations(answer.as_bytes()).ok())
        // A table that cannot go without says so itself, and is tried again.
        .unwrap_or_default();
    for removal in aws_removals(region, leftovers, &associations) {
        let mut problem = removal.commands.is_empty().then(|| {
            format!(
                "Weir does not create a {}: remove it yourself",
                removal.leftover.kind
            )
        });
        for command in &removal.commands {
            match call("aws", command, kill) {
                Ok(_) => problem = None,
                Err(error) if is_gone(&error.to_string()) => problem = None,
                Err(error) => problem = Some(error.to_string()),
            }
        }
        stuck.extend(problem.map(|problem| (removal.leftover.clone(), problem)));
    }
    stuck
}
