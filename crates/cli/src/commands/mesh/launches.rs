//! Launch records on this host, and places to look for tags: shared by launch, status and sweep.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::args::TaggedArgs;
use weir_mesh::cloud::leftovers::Leftover;
use weir_mesh::launch::LaunchError;
use weir_mesh::place::{PlaceName, Places, cloud};
use weir_mesh::ssh::on_all;
use weir_mesh::state::StateFolder;
use weir_mesh::tagged::{Account, aws_regions};

use super::super::Failure;

/// Number of regions that are queried concurrently.
const ASKED_AT_ONCE: usize = 8;

/// The folder of the launch records.
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
                "cannot find the launch records: neither XDG_STATE_HOME nor HOME is set; name their folder with --state",
            )
        })
}

/// The program that provides machines, with its absolute path.
pub fn own_program(given: &Path) -> Result<PathBuf, Failure> {
    given
        .canonicalize()
        .ok()
        .filter(|path| path.is_file())
        .ok_or_else(|| Failure::usage(format!("no program {}", given.display())))
}

/// A place to look in, with its display name.
pub struct Look {
    /// Display name.
    pub name: String,
    /// The place.
    pub account: Account,
}

/// The places to look in, from the arguments.
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
        "looking for tags in {cloud} is not supported; search there for the tag or label weir-run. Leftovers of launches from \
        this host are removed without --cloud and --place"
    )))
}

/// Tagged resources found in these places, by index, and the errors of places that could not be queried.
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

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Asked(_) => Failure::usage(error.to_string()),
            _ => Failure::environment(error.to_string()),
        }
    }
}

/// 256 random bits, as text.
pub fn random_hex() -> Result<String, Failure> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::environment(format!("cannot generate a token: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
