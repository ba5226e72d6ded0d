//! The titles of an experiment.

use std::path::Path;

use crate::units::Rate;
use weir_load::experiment::{Experiment, Titles};
use weir_measure::Stop;

use super::super::super::Failure;
use super::super::super::demo_title::Made;
use super::super::super::long_title::{self, MANIFEST, name};

/// Generates missing titles; false if a stop was requested.
pub fn make(experiment: &Experiment, folder: &Path, quiet: bool, stop: &Stop) -> Result<bool, Failure> {
    let Titles::Made { duration, audio } = &experiment.titles else {
        return Ok(true);
    };
    let who = (!quiet).then_some("weir load experiment");
    for video in experiment.videos() {
        if long_title::make(folder, (video, *audio), *duration, who, stop)? == Made::Stopped {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Path of the manifest at the origin.
pub fn path(experiment: &Experiment, video: Rate) -> Option<String> {
    match &experiment.titles {
        // By its manifest, because a plain HTTP server does not list folders.
        Titles::Made { duration, audio } => {
            let title = name(video, *audio, *duration);
            Some(format!("{title}/{MANIFEST}/manifest.mpd"))
        }
        Titles::Given(titles) => titles
            .iter()
            .find(|title| title.video == video)
            .map(|title| title.path.clone()),
    }
}
