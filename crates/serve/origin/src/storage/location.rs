//! Where media lies, as a person writes it on a command line. It must not know how it is read.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use http::Uri;

/// A folder, a bucket with a prefix, or a path on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageLocation {
    /// A folder of this host.
    Folder(PathBuf),
    /// A server that knows range requests.
    Http(Uri),
    /// A bucket of an object store.
    Bucket(Bucket),
}

/// Who keeps a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// S3 and what speaks its protocol: `s3://BUCKET/PREFIX`.
    S3,
    /// Google Cloud Storage: `gs://BUCKET/PREFIX`.
    Google,
    /// Azure Blob Storage: `az://CONTAINER/PREFIX`.
    Azure,
}

impl Provider {
    fn scheme(self) -> &'static str {
        match self {
            Provider::S3 => "s3",
            Provider::Google => "gs",
            Provider::Azure => "az",
        }
    }
}

/// A bucket or container, and a prefix of names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Who keeps it.
    pub provider: Provider,
    /// Its name.
    pub name: String,
    /// Without slashes at its ends; may be empty.
    pub prefix: String,
}

/// Why a text names no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// Another scheme than those that are known.
    #[error(
        "'{0}' is not a storage; name a folder, or write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or https://HOST/PATH"
    )]
    Scheme(String),
    /// A scheme and nothing behind it.
    #[error("'{0}' lacks the bucket or host; write it after the slashes, as in s3://films/2026")]
    Nowhere(String),
    /// An address with a query, a fragment or a password.
    #[error(
        "'{0}' is not the URL of a folder on a server; write it as https://HOST/PATH, without a query, a fragment or a password"
    )]
    Address(String),
}

/// How a bucket of S3 is addressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum S3Style {
    /// `https://ENDPOINT/BUCKET/KEY`.
    #[default]
    Path,
    /// `https://BUCKET.ENDPOINT/KEY`.
    Virtual,
}

/// Options of object stores besides the place. Credentials come from the environment variables of each provider's
/// own tools (`AWS_ACCESS_KEY_ID` and others, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_ACCOUNT_NAME` and
/// others).
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// An address for S3 in place of Amazon's.
    pub s3_endpoint: Option<String>,
    /// How buckets of S3 are addressed.
    pub s3_style: S3Style,
    /// The region of S3; `AWS_REGION` if not given.
    pub s3_region: Option<String>,
    /// Requests to S3 and Azure are not signed: what is read is public.
    pub anonymous: bool,
    /// A file in PEM with the certificate authorities that servers over TLS are checked by, in place of the public
    /// ones.
    pub authorities: Option<PathBuf>,
}

impl FromStr for StorageLocation {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(StorageLocation::Folder(text.into()));
        };
        match scheme {
            "http" | "https" => address(text).map(StorageLocation::Http),
            "s3" => bucket(Provider::S3, text, rest),
            "gs" => bucket(Provider::Google, text, rest),
            "az" => bucket(Provider::Azure, text, rest),
            _ => Err(PlaceError::Scheme(text.to_owned())),
        }
    }
}

fn address(text: &str) -> Result<Uri, PlaceError> {
    let wrong = || PlaceError::Address(text.to_owned());
    if text.ends_with("://") {
        return Err(PlaceError::Nowhere(text.to_owned()));
    }
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let authority = uri.authority().ok_or_else(wrong)?;
    if uri.query().is_some() || text.contains('#') || authority.as_str().contains('@') {
        return Err(wrong());
    }
    Ok(uri)
}

fn bucket(provider: Provider, text: &str, rest: &str) -> Result<StorageLocation, PlaceError> {
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(PlaceError::Nowhere(text.to_owned()));
    }
    Ok(StorageLocation::Bucket(Bucket {
        provider,
        name: name.to_owned(),
        prefix: prefix.trim_matches('/').to_owned(),
    }))
}

impl fmt::Display for StorageLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageLocation::Folder(folder) => write!(out, "{}", folder.display()),
            StorageLocation::Http(uri) => write!(out, "{uri}"),
            StorageLocation::Bucket(bucket) => {
                let slash = if bucket.prefix.is_empty() { "" } else { "/" };
                let scheme = bucket.provider.scheme();
                write!(out, "{scheme}://{}{slash}{}", bucket.name, bucket.prefix)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_written() {
        for (text, written) in [
            ("media", "media"),
            ("/srv/media", "/srv/media"),
            ("s3://films", "s3://films"),
            ("s3://films/2026/", "s3://films/2026"),
            ("gs://films/a/b", "gs://films/a/b"),
            ("az://films", "az://films"),
            ("https://media.example.net/vod", "https://media.example.net/vod"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ] {
            let place: StorageLocation = text.parse().expect(text);
            assert_eq!(place.to_string(), written);
        }
        assert_eq!("media".parse(), Ok(StorageLocation::Folder("media".into())));
    }

    #[test]
    fn what_is_no_place_is_refused_with_the_right_form() {
        for (text, word) in [
            ("ftp://host/a", "s3://BUCKET/PREFIX"),
            ("s3://", "s3://films/2026"),
            ("s3:///a", "s3://films/2026"),
            ("https://", "after the slashes"),
            ("https://host/a?b=c", "without a query"),
            ("https://host/a#b", "without a query"),
            ("https://user:secret@host/a", "password"),
            ("http://a b/", "https://HOST/PATH"),
        ] {
            let error = text.parse::<StorageLocation>().expect_err(text);
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}
