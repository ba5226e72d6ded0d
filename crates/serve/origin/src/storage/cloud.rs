//! Objects in S3, Google Cloud Storage and Azure Blob. Requests are made and signed by `object_store` and sent by the
//! transport of this crate, so that connections, time-outs and wrong answers are the same for every storage. It must not
//! know why it is asked.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use http::header::RANGE;
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Full};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    ClientOptions, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig,
};

use super::ask::{ByteStream, MOST_LISTED};
use super::fault::Fault;
use super::location::{Access, Bucket, Provider, S3Style};
use super::meta::Meta;
use super::transport::{Transport, discard};
use crate::path::ObjectPath;

/// A bucket, and a prefix below which the objects are.
#[derive(Debug)]
pub struct Cloud {
    store: Arc<dyn ObjectStore>,
    prefix: String,
}

impl Cloud {
    /// Objects in a bucket or container. Credentials come from the environment, as each provider's own
    /// tools name them.
    ///
    /// # Errors
    /// When settings are missing or contradict each other.
    pub fn new(bucket: &Bucket, access: &Access, transport: Transport) -> Result<Self, object_store::Error> {
        let wire = Wire { transport };
        let store: Arc<dyn ObjectStore> = match bucket.provider {
            Provider::S3 => Arc::new(s3(&bucket.name, access, wire)?),
            Provider::Google => Arc::new(
                GoogleCloudStorageBuilder::from_env()
                    .with_bucket_name(&bucket.name)
                    .with_retry(no_retries())
                    .with_http_connector(wire)
                    .build()?,
            ),
            Provider::Azure => Arc::new(
                MicrosoftAzureBuilder::from_env()
                    .with_container_name(&bucket.name)
                    .with_skip_signature(access.anonymous)
                    .with_retry(no_retries())
                    .with_http_connector(wire)
                    .build()?,
            ),
        };
        Ok(Cloud {
            store,
            prefix: bucket.prefix.clone(),
        })
    }

    /// What is known of an object.
    pub async fn head(&self, path: &ObjectPath) -> Result<Meta, Fault> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        Ok(meta(&self.get(path, options).await?.meta))
    }

    /// Begins to read a range, which must not be empty.
    pub async fn open(
        &self,
        path: &ObjectPath,
        range: Range<u64>,
        version: Option<&str>,
    ) -> Result<(Meta, Range<u64>, ByteStream), Fault> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: version.map(str::to_owned),
            ..GetOptions::default()
        };
        let result = self.get(path, options).await?;
        let (meta, given) = (meta(&result.meta), result.range.clone());
        let stream = result.into_stream().map_err(|error| fault(&error)).boxed();
        Ok((meta, given, stream))
    }

    /// Objects that lie in a folder.
    pub async fn list(&self, folder: &ObjectPath) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
        let listed = self
            .store
            .list_with_delimiter(Some(&self.location(folder)?))
            .await;
        let objects = listed.map_err(|error| fault(&error))?.objects;
        let named = objects.into_iter().filter_map(|object| {
            let path = folder.join(object.location.filename()?).ok()?;
            Some((path, meta(&object)))
        });
        let named: Vec<_> = named.take(MOST_LISTED).collect();
        if named.is_empty() {
            return Err(Fault::NotFound);
        }
        Ok(named)
    }

    /// All objects below the prefix.
    pub async fn list_all(&self, most: usize) -> Result<Vec<(ObjectPath, Meta)>, Fault> {
        let wrong = |error: object_store::path::Error| Fault::Wrong(error.to_string());
        let prefix = match self.prefix.as_str() {
            "" => None,
            prefix => Some(Path::parse(prefix).map_err(wrong)?),
        };
        let mut listed = self.store.list(prefix.as_ref());
        let mut named = Vec::new();
        while let Some(object) = listed.next().await {
            let object = object.map_err(|error| fault(&error))?;
            let whole = object.location.as_ref();
            let below = whole.strip_prefix(self.prefix.as_str());
            let path = below.and_then(|path| ObjectPath::new(path.trim_start_matches('/')).ok());
            named.extend(path.map(|path| (path, meta(&object))));
            if named.len() >= most {
                break;
            }
        }
        Ok(named)
    }

    /// Writes an object.
    pub async fn put(&self, path: &ObjectPath, body: Bytes) -> Result<(), Fault> {
        let put = self.store.put(&self.location(path)?, body.into()).await;
        put.map(drop).map_err(|error| fault(&error))
    }

    /// Whether the store answers at all: an object that is not there, or not for us, is an answer.
    pub async fn probe(&self) -> Result<(), Fault> {
        let options = GetOptions {
            head: true,
            ..GetOptions::default()
        };
        let asked = self
            .store
            .get_opts(&Path::from("weir-origin-probe"), options)
            .await;
        match asked.map_err(|error| fault(&error)) {
            Err(fault) if fault.is_passing() => Err(fault),
            _ => Ok(()),
        }
    }

    async fn get(&self, path: &ObjectPath, options: GetOptions) -> Result<GetResult, Fault> {
        self.store
            .get_opts(&self.location(path)?, options)
            .await
            .map_err(|error| fault(&error))
    }

    fn location(&self, path: &ObjectPath) -> Result<Path, Fault> {
        let whole = if self.prefix.is_empty() {
            path.as_str().to_owned()
        } else {
            format!("{}/{path}", self.prefix)
        };
        Path::parse(whole).map_err(|error| Fault::Wrong(error.to_string()))
    }
}

fn s3(bucket: &str, access: &Access, wire: Wire) -> Result<impl ObjectStore + use<>, object_store::Error> {
    let is_virtual = access.s3_style == S3Style::Virtual;
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_virtual_hosted_style_request(is_virtual)
        .with_skip_signature(access.anonymous)
        .with_allow_http(true)
        .with_retry(no_retries())
        .with_http_connector(wire);
    if let Some(region) = &access.s3_region {
        builder = builder.with_region(region);
    }
    if let Some(endpoint) = &access.s3_endpoint {
        builder = builder.with_endpoint(if is_virtual {
            with_bucket(endpoint, bucket)
        } else {
            endpoint.trim_end_matches('/').to_owned()
        });
    }
    builder.build()
}

/// The address of a bucket that has a host name of its own below the endpoint's.
fn with_bucket(endpoint: &str, bucket: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    match endpoint.split_once("://") {
        Some((scheme, host)) => format!("{scheme}://{bucket}.{host}"),
        None => format!("{bucket}.{endpoint}"),
    }
}

/// Who reads decides what is tried again, and how often, for every storage alike.
fn no_retries() -> RetryConfig {
    RetryConfig {
        max_retries: 0,
        retry_timeout: Duration::ZERO,
        ..RetryConfig::default()
    }
}

fn meta(meta: &ObjectMeta) -> Meta {
    Meta {
        length: meta.size,
        etag: meta.e_tag.as_deref().map(in_quotes),
        modified: Some(meta.last_modified.into()),
    }
}

/// An ETag as headers have it (RFC 9110, 8.8.3): lists of Azure Blob, and of some that speak S3, leave the quotes away.
fn in_quotes(etag: &str) -> String {
    if etag.ends_with('"') {
        etag.to_owned()
    } else {
        format!("\"{etag}\"")
    }
}

fn fault(error: &object_store::Error) -> Fault {
    if let Some(fault) = Fault::in_chain(error) {
        return fault;
    }
    match error {
        object_store::Error::NotFound { .. } => Fault::NotFound,
        object_store::Error::PermissionDenied { .. } => Fault::Forbidden(403),
        object_store::Error::Unauthenticated { .. } => Fault::Forbidden(401),
        object_store::Error::Precondition { .. } => Fault::Changed,
        other => Fault::Wrong(Fault::innermost(other)),
    }
}

/// Sends what `object_store` asks for. What went wrong travels through it as a [`Fault`] in the chain of causes.
#[derive(Clone, Debug)]
struct Wire {
    transport: Transport,
}

impl HttpConnector for Wire {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for Wire {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let is_read = parts.method == Method::GET || parts.method == Method::HEAD;
        let asked = parts
            .headers
            .get(RANGE)
            .and_then(|range| bounded(range.to_str().ok()?));
        let body = body.collect().await?.to_bytes();
        let request = http::Request::from_parts(parts, Full::new(body));
        let response = self.transport.send(request).await.map_err(failed)?;
        let status = response.status();
        if let Some(asked) = asked.filter(|_| is_read && status.is_success()) {
            Meta::of_range(status, response.headers(), &asked).map_err(failed)?;
        }
        // What the store maps to errors of its own goes through; other refusals would become texts.
        if is_read && !status.is_success() && !is_known(status) {
            let fault = Fault::from_status(status);
            discard(response.into_body()).await;
            return Err(failed(fault));
        }
        let (parts, body) = response.into_parts();
        let body = body.map_err(|error| failed(Fault::Broken(Fault::innermost(&error))));
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

fn is_known(status: StatusCode) -> bool {
    matches!(status.as_u16(), 404 | 412)
}

fn failed(fault: Fault) -> HttpError {
    let kind = match fault {
        Fault::Unreachable(_) => HttpErrorKind::Connect,
        Fault::TimedOut(_) => HttpErrorKind::Timeout,
        Fault::Broken(_) => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Decode,
    };
    HttpError::new(kind, fault)
}

/// The range of `bytes=FIRST-LAST`.
fn bounded(header: &str) -> Option<Range<u64>> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then(|| first..last.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gets_a_host_name_below_the_endpoint() {
        assert_eq!(
            with_bucket("https://s3.example.net/", "films"),
            "https://films.s3.example.net"
        );
        assert_eq!(
            with_bucket("http://127.0.0.1:9000", "films"),
            "http://films.127.0.0.1:9000"
        );
    }

    #[test]
    fn an_etag_is_the_same_in_a_list_and_in_a_header() {
        for (given, expected) in [
            ("\"0x8DD\"", "\"0x8DD\""),
            ("W/\"0x8DD\"", "W/\"0x8DD\""),
            ("0x8DD", "\"0x8DD\""),
        ] {
            assert_eq!(in_quotes(given), expected);
        }
    }

    #[test]
    fn ranges_of_requests_are_read() {
        assert_eq!(bounded("bytes=0-0"), Some(0..1));
        assert_eq!(bounded("bytes=10-19"), Some(10..20));
        for other in [
            "bytes=10-",
            "bytes=-10",
            "bytes=20-10",
            "items=1-2",
            "bytes=0-1,4-5",
        ] {
            assert_eq!(bounded(other), None, "{other}");
        }
    }
}
