//! Whole files that a user names, of a maximum size: it may be a device without an end. It must not know what is in them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The content of a file of at most `most` bytes.
///
/// # Errors
/// When it cannot be read, or is longer ([`io::ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let too_long = || {
        let length = match most >> 20 {
            0 => format!("longer than {} KiB", most >> 10),
            mebibytes => format!("longer than {mebibytes} MiB"),
        };
        io::Error::new(io::ErrorKind::FileTooLarge, length)
    };
    let file = File::open(path)?;
    if file.metadata()?.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    // Pipes and devices have no known length.
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_long());
    }
    Ok(bytes)
}

/// The same, of a file of text.
///
/// # Errors
/// Also when it is not UTF-8 ([`io::ErrorKind::InvalidData`]).
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The secret in a file: its content without surrounding white space. `what` names it, such as `token`.
///
/// # Errors
/// In a line, when the file cannot be read, is longer than 64 KiB or is empty.
pub fn read_secret(path: &Path, what: &str) -> Result<Vec<u8>, String> {
    const MOST: u64 = 64 << 10;
    let file = path.display();
    let content = read(path, MOST).map_err(|error| format!("cannot read the {what} file {file}: {error}"))?;
    match content.trim_ascii() {
        [] => Err(format!(
            "the {what} file {file} is empty; write a secret to it, such as the output of 'openssl rand -hex 32'"
        )),
        secret => Ok(secret.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_an_end_is_longer_and_what_is_no_text_is_refused() {
        let error = read(Path::new("/dev/zero"), 1 << 20).expect_err("endless");
        assert_eq!(error.to_string(), "longer than 1 MiB");
        let error = read(Path::new("/dev/zero"), 4 << 10).expect_err("endless");
        assert_eq!(error.to_string(), "longer than 4 KiB");
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), b"\xff").expect("written");
        assert_eq!(read(file.path(), 1).expect("one byte"), b"\xff");
        let error = read_text(file.path(), 1).expect_err("no text");
        assert_eq!(error.to_string(), "it is not UTF-8");
        assert_eq!(read_secret(file.path(), "token"), Ok(vec![0xff]));
        std::fs::write(file.path(), " \n").expect("written");
        let empty = read_secret(file.path(), "token").expect_err("white space");
        assert!(
            empty.ends_with(" is empty; write a secret to it, such as the output of 'openssl rand -hex 32'"),
            "{empty}"
        );
    }
}
