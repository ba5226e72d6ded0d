//! What is wrong with what the user gave, in one line that says what to do. It knows words, not where they came from.

/// Why a plan, a file or a name is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// No such cloud.
    #[error("unknown cloud '{name}'; use aws, gcp, azure or oracle")]
    UnknownCloud {
        /// What was asked for.
        name: String,
    },
    /// No such place.
    #[error("unknown place '{name}'{suggestion}; 'weir mesh regions' lists the known ones")]
    UnknownPlace {
        /// What was asked for.
        name: String,
        /// `: did you mean ...?`, or nothing.
        suggestion: String,
    },
    /// No price of what leaves a cloud or a region.
    #[error("no price of egress for '{name}'; {known}")]
    NoPrice {
        /// What was asked for.
        name: String,
        /// Clouds or regions that have one, as a clause.
        known: String,
    },
    /// A place without coordinates where a distance is needed.
    #[error("the coordinates of '{name}' are unknown: give its latitude and longitude in the hosts file")]
    NoCoordinates {
        /// The place.
        name: String,
    },
    /// A filter that cannot be read.
    #[error("'{text}' is not a {what}: {form}")]
    BadForm {
        /// What was given.
        text: String,
        /// What it should be.
        what: &'static str,
        /// The right form, with an example.
        form: &'static str,
    },
    /// Nothing is left to test.
    #[error("no pairs remain to test: {filter} removed the last {removed} of them; {advice}")]
    NothingLeft {
        /// The filter that removed the last pairs.
        filter: String,
        /// How many pairs there were before it.
        removed: usize,
        /// What to do.
        advice: &'static str,
    },
    /// Machines by name that cannot be launched together.
    #[error("{what}")]
    Fleet {
        /// Which, and why.
        what: String,
    },
    /// Too few places to begin with.
    #[error(
        "{places} place(s) are too few for a pair: name at least two, with --hosts, --cloud or --pair, or test between zones of one with --zones"
    )]
    TooFewPlaces {
        /// How many there are.
        places: usize,
    },
    /// A zone in which no host is.
    #[error("no host is in zone '{zone}' of {place}: {hosts}")]
    UnknownZone {
        /// What was asked for.
        zone: String,
        /// Its place.
        place: String,
        /// Which zones there are, in words.
        hosts: String,
    },
    /// A placement group in several zones.
    #[error(
        "a placement group has machines of one zone: remove --placement-group, or use --all-hosts instead of --zones"
    )]
    GroupOverZones,
    /// A plan above a limit of the user's.
    #[error("the plan would {what}, more than {limit}: {advice}")]
    OverLimit {
        /// What it would cost or send.
        what: String,
        /// The limit, as an option.
        limit: String,
        /// What to do.
        advice: &'static str,
    },
    /// A place in which no cloud makes machines.
    #[error(
        "cannot launch machines in '{place}', which is not in a cloud: use regions of 'weir mesh regions'"
    )]
    NoCloud {
        /// The place.
        place: String,
    },
    /// More machines than a launch can have.
    #[error("{machines} machines exceed the maximum of a launch ({most}): use fewer regions (--max-regions)")]
    TooManyMachines {
        /// What was asked for.
        machines: usize,
        /// The most.
        most: usize,
    },
    /// Something that a cloud does not have, or wants to know.
    #[error("{cloud} {problem}")]
    NotOffered {
        /// The cloud.
        cloud: &'static str,
        /// What it lacks, and what to do.
        problem: &'static str,
    },
    /// A file that cannot be read as what it should be.
    #[error("{file}: {problem}")]
    BadFile {
        /// The file's name.
        file: String,
        /// What is wrong, with the line where there is one, and what to do.
        problem: String,
    },
}

impl MeshError {
    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Self {
        MeshError::BadFile {
            file: file.to_owned(),
            problem: problem.into(),
        }
    }
}

/// What came from outside, as one short line: control characters escaped, long text cut.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let short: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        format!("{short}...")
    } else {
        short
    }
}
