//! What a run says, all of it. It must not know how that was found out.

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::explained::Explained;
use crate::finding::{Finding, Recommendation};

/// What a run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The run.
    pub run: i64,
    /// Its kind.
    pub kind: String,
    /// The far host as the user named it.
    pub target: String,
    /// Whether the path carries the media, with which settings, and what is the worst about it.
    pub answer: Answer,
    /// What explains the lost packets, for each direction that lost some.
    pub explained: Vec<Explained>,
    /// Faults first, and before them loss that none explains.
    pub findings: Vec<Finding>,
    /// Settings, where flows were measured.
    pub recommendation: Option<Recommendation>,
}
