//! Objects on a plain HTTP or HTTPS server that knows range requests. It must not know why it is asked.

use std::ops::Range;

use bytes::Bytes;
use futures_util::StreamExt;
use http::header::{IF_MATCH, RANGE, USER_AGENT};
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use super::ask::ByteStream;
use super::fault::Fault;
use super::meta::Meta;
use super::transport::{Transport, discard};
use crate::path::ObjectPath;

/// As whom the origin asks.
pub const AGENT: &str = concat!("weir-origin/", env!("CARGO_PKG_VERSION"));

/// A server, and a path below which the objects are.
#[derive(Debug)]
pub struct Plain {
    transport: Transport,
    base: String,
}

impl Plain {
    /// Objects below `base`, an `http` or `https` address without a query.
    pub fn new(transport: Transport, base: &Uri) -> Self {
        let base = base.to_string().trim_end_matches('/').to_owned();
        Plain { transport, base }
    }

    /// What is known of an object.
    pub async fn head(&self, path: &ObjectPath) -> Result<Meta, Fault> {
        let response = self.ask(Method::HEAD, path, None, None).await?;
        Meta::of_whole(response.headers())
    }

    /// Begins to read a range, which must not be empty.
    pub async fn open(
        &self,
        path: &ObjectPath,
        range: Range<u64>,
        version: Option<&str>,
    ) -> Result<(Meta, Range<u64>, ByteStream), Fault> {
        let response = self.ask(Method::GET, path, Some(&range), version).await?;
        let (meta, given) = Meta::of_range(response.status(), response.headers(), &range)?;
        Ok((meta, given, stream(response.into_body())))
    }

    /// Whether the server answers at all.
    pub async fn probe(&self) -> Result<(), Fault> {
        let request = request(Method::HEAD, &format!("{}/", self.base), None, None)?;
        let response = self.transport.send(request).await?;
        match Fault::from_status(response.status()) {
            fault @ Fault::Unavailable(_) if !response.status().is_success() => Err(fault),
            _ => Ok(()),
        }
    }

    async fn ask(
        &self,
        method: Method,
        path: &ObjectPath,
        range: Option<&Range<u64>>,
        version: Option<&str>,
    ) -> Result<Response<Incoming>, Fault> {
        let address = format!("{}/{}", self.base, path.in_address());
        let response = self
            .transport
            .send(request(method, &address, range, version)?)
            .await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let fault = Fault::from_status(response.status());
        discard(response.into_body()).await;
        Err(fault)
    }
}

fn request(
    method: Method,
    address: &str,
    range: Option<&Range<u64>>,
    version: Option<&str>,
) -> Result<Request<Full<Bytes>>, Fault> {
    let mut request = Request::builder()
        .method(method)
        .uri(address)
        .header(USER_AGENT, AGENT);
    if let Some(range) = range {
        request = request.header(RANGE, range_header(range));
    }
    if let Some(version) = version {
        request = request.header(IF_MATCH, version);
    }
    request
        .body(Full::default())
        .map_err(|error| Fault::Wrong(format!("cannot build a request for {address}: {error}")))
}

/// `bytes=FIRST-LAST` of a range that is not empty.
pub fn range_header(range: &Range<u64>) -> String {
    format!("bytes={}-{}", range.start, range.end - 1)
}

/// The bytes of an answer as they arrive.
pub fn stream(body: Incoming) -> ByteStream {
    body.into_data_stream()
        .map(|piece| piece.map_err(|error| Fault::Broken(Fault::innermost(&error))))
        .boxed()
}
