//! One version of an object: its length, and how its storage names it. It must not know which storage that is.

use std::time::SystemTime;

/// One version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Bytes.
    pub length: u64,
    /// What the storage calls this version, with its quotes.
    pub etag: Option<String>,
    /// When it was last written, to the second where the storage speaks HTTP.
    pub modified: Option<SystemTime>,
}

impl Meta {
    /// Whether both are the same version: by ETag where both have one, else by time and length.
    pub fn is_same_version(&self, other: &Meta) -> bool {
        let same_name = match (&self.etag, &other.etag) {
            (Some(own), Some(others)) => own == others,
            (None, None) => self.modified == other.modified,
            _ => false,
        };
        same_name && self.length == other.length
    }

    /// Whether a second read can detect another version.
    pub fn is_versioned(&self) -> bool {
        self.etag.is_some() || self.modified.is_some()
    }

    /// The ETag for `If-Match`, which takes strong ones only (RFC 9110, 13.1.1).
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| !etag.starts_with("W/"))
    }

    /// A text that differs between versions, for keys of caches.
    pub fn version(&self) -> String {
        match (&self.etag, self.modified) {
            (Some(etag), _) => format!("{etag}/{}", self.length),
            (None, Some(modified)) => {
                let since = modified
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .unwrap_or_default();
                format!("{}/{}", since.as_nanos(), self.length)
            }
            (None, None) => self.length.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn versions_are_told_apart() {
        let meta = |length, etag: Option<&str>, seconds: Option<u64>| Meta {
            length,
            etag: etag.map(str::to_owned),
            modified: seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
        };
        let one = meta(5, Some("\"a\""), Some(1));
        assert!(one.is_same_version(&meta(5, Some("\"a\""), Some(2))));
        for other in [
            meta(5, Some("\"b\""), Some(1)),
            meta(6, Some("\"a\""), Some(1)),
            meta(5, None, Some(1)),
        ] {
            assert!(!one.is_same_version(&other), "{other:?}");
            assert_ne!(one.version(), other.version());
        }
        let dated = meta(5, None, Some(1));
        assert!(dated.is_same_version(&dated) && !dated.is_same_version(&meta(5, None, Some(2))));
        assert!(dated.is_versioned() && !meta(5, None, None).is_versioned());
        assert_eq!(one.strong_etag(), Some("\"a\""));
        assert_eq!(meta(5, Some("W/\"a\""), None).strong_etag(), None);
    }
}
