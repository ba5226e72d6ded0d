//! The file of `--segment-log`: one JSON line per segment of a player.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use weir_load::measure::Segment;

use super::Failure;

/// The file, and the first write error.
pub struct SegmentLog {
    path: PathBuf,
    file: RefCell<BufWriter<File>>,
    failed: RefCell<Option<io::Error>>,
}

impl SegmentLog {
    /// Creates the file, or truncates it.
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

    /// Appends lines. A failure does not stop the run; it is reported at the end.
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
                "the segment log {} is incomplete: {error}",
                self.path.display()
            ))),
        }
    }
}
