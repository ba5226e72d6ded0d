//! Where indexes are stored beside their files: `FILE.weir-index` has the index of FILE. It must not know what is in it.

use crate::path::ObjectPath;

/// How the name of a stored index ends.
const ENDING: &str = ".weir-index";
/// Bytes of a stored index, at most.
pub const MOST_BYTES: u64 = 64 << 20;

/// Whether there is an index beside a media file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// There is.
    There,
    /// There is none.
    Absent,
    /// Nobody has looked.
    Unknown,
}

/// Where the index of a file is stored; nothing if the name would be too long.
pub fn index_path(path: &ObjectPath) -> Option<ObjectPath> {
    ObjectPath::new(&format!("{path}{ENDING}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_be_too_long_have_none() {
        let path = ObjectPath::new("a/film.mp4").expect("a path");
        assert_eq!(
            index_path(&path).expect("a path").as_str(),
            "a/film.mp4.weir-index"
        );
        let long = ObjectPath::new(&"a".repeat(250)).expect("a path");
        assert_eq!(index_path(&long), None);
    }
}
