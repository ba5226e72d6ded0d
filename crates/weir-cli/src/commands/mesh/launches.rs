//! What `weir mesh` knows of launches on this host, and where else to look for them: shared by launch, status and sweep.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_cli::args::TaggedArgs;
use weir_mesh::cloud::leftovers::Leftover;
use weir_mesh::launch::LaunchError;
use weir_mesh::place::{PlaceName, Places, cloud};
use weir_mesh::ssh::on_all;
use weir_mesh::state::{StateError, StateFolder};
use weir_mesh::tagged::{Account, aws_regions};

use super::super::Failure;

/// Regions that are asked at the same time.
const ASKED_AT_ONCE: usize = 8;

/// Now, Unix seconds.
pub fn now_unix_s() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The folder in which launches are written down.
pub fn state_folder(given: Option<&Path>) -> Result<StateFolder, Failure> {
    if let Some(given) = given {
        return Ok(StateFolder(std::path::absolute(given).map_err(|error| {
            Failure::usage(format!("{}: {error}", given.display()))
        })?));
    }
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let base = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    base.map(|base| StateFolder(base.join("weir/mesh")))
        .ok_or_else(|| {
            Failure::usage(
                "neither XDG_STATE_HOME nor HOME is set: say with --state where launches are written down",
            )
        })
}

/// The program that makes machines, with its whole path.
pub fn own_program(given: &Path) -> Result<PathBuf, Failure> {
    given
        .canonicalize()
        .ok()
        .filter(|path| path.is_file())
        .ok_or_else(|| Failure::usage(format!("there is no program {}", given.display())))
}

/// A place to look in, with its name for people.
pub struct Look {
    /// As it is called.
    pub name: String,
    /// Where.
    pub account: Account,
}

/// Where the arguments say to look.
pub fn looks(args: &TaggedArgs, kill: &AtomicBool) -> Result<Vec<Look>, Failure> {
    let mut looks = Vec::new();
    let aws = |region: String| Look {
        name: PlaceName::new("aws", &region).to_string(),
        account: Account::Aws { region },
    };
    for name in &args.cloud {
        only_aws(cloud(name)?)?;
        let regions = aws_regions(kill).map_err(|error| Failure::environment(error.to_string()))?;
        looks.extend(regions.into_iter().map(aws));
    }
    for text in &args.place {
        let place = Places::known().find(text)?;
        only_aws(&place.name.cloud)?;
        looks.push(aws(place.name.region.clone()));
    }
    if let Some(program) = &args.machines_by {
        let program = own_program(program)?;
        looks.push(Look {
            name: program.display().to_string(),
            account: Account::Own { program },
        });
    }
    Ok(looks)
}

fn only_aws(cloud: &str) -> Result<(), Failure> {
    if cloud == "aws" {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "Weir cannot look for tags in {cloud} yet: look there for the tag or label weir-run; what launches on this host \
         have left is swept without --cloud and --place"
    )))
}

/// What is found in these places, by their index, and the reasons where nothing could be found out.
pub fn find(looks: &[Look], kill: &AtomicBool) -> (Vec<(usize, Leftover)>, Vec<String>) {
    let numbers: Vec<usize> = (0..looks.len()).collect();
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for (look, result) in on_all(&numbers, ASKED_AT_ONCE, |look| looks[look].account.list(kill)) {
        match result {
            Ok(leftovers) => found.extend(leftovers.into_iter().map(|leftover| (look, leftover))),
            Err(error) => failed.push(format!("{}: {error}", looks[look].name)),
        }
    }
    found.sort();
    (found, failed)
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Failure::environment(error.to_string())
    }
}

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Asked(_) => Failure::usage(error.to_string()),
            _ => Failure::environment(error.to_string()),
        }
    }
}
