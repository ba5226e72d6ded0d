//! Files as one archive: a compressed tar file without times and owners, so that the same files make the same bytes.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl File {
    pub(crate) fn text(name: &str, text: String) -> Self {
        File {
            name: name.to_owned(),
            bytes: text.into_bytes(),
        }
    }

    /// SHA-256 of the content, hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        let digest = Sha256::digest(&self.bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Files in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    folder: String,
    files: Vec<File>,
}

impl Archive {
    /// These files, and one with the digest of each, as `sha256sum --check` reads it.
    pub(crate) fn new(folder: String, mut files: Vec<File>) -> Self {
        let line = |file: &File| format!("{}  {}\n", file.sha256(), file.name);
        let sums = files.iter().map(line).collect();
        files.push(File::text("SHA256SUMS", sums));
        Archive { folder, files }
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// Writes it as a gzip-compressed tar file.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let packed = GzBuilder::new().mtime(0).write(out, Compression::default());
        let mut archive = tar::Builder::new(packed);
        for file in &self.files {
            let mut header = tar::Header::new_ustar();
            header.set_size(file.bytes.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            let name = format!("{}/{}", self.folder, file.name);
            archive.append_data(&mut header, name, &file.bytes[..])?;
        }
        archive.into_inner()?.finish()?.flush()
    }
}
