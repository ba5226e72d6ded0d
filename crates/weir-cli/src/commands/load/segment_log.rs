//! The file of `--segment-log`: a line of JSON for each segment of a player.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use weir_load::measure::Segment;

use super::Failure;

/// The file, and what became of writing to it.
pub struct SegmentLog {
    path: PathBuf,
    file: RefCell<BufWriter<File>>,
    failed: RefCell<Option<io::Error>>,
}

impl SegmentLog {
    /// Makes the file, or empties it.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| {
            Failure::usage(format!(
                "cannot write the segment log {}: {error}",
                path.display()
            ))
        })?;
        Ok(SegmentLog {
            path: path.to_owned(),
            file: RefCell::new(BufWriter::new(file)),
            failed: RefCell::default(),
        })
    }

    /// Adds lines. The run goes on if that fails; the end of it tells.
    pub fn write(&self, segments: &[Segment]) {
        let mut failed = self.failed.borrow_mut();
        if failed.is_none() {
            *failed = self.lines(segments).err();
        }
    }

    fn lines(&self, segments: &[Segment]) -> io::Result<()> {
        let mut file = self.file.borrow_mut();
        for segment in segments {
            serde_json::to_writer(&mut *file, segment)?;
            file.write_all(b"\n")?;
        }
        file.flush()
    }

    /// The end of the run.
    pub fn finish(self) -> Result<(), Failure> {
        match self.failed.into_inner() {
            None => Ok(()),
            Some(error) => Err(Failure::environment(format!(
                "the segment log {} is not whole: {error}",
                self.path.display()
            ))),
        }
    }
}
