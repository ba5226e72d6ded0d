//! Requests to storage over HTTP and HTTPS: connections, used again or not, and how long they may take. It must not know
//! what is asked for.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::builderstates::WantsSchemes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tower_service::Service;

use super::authorities::Authorities;
use super::fault::Fault;
use crate::metrics::Metrics;

/// Connections that are kept for use again, for each host.
const KEPT: usize = 256;
/// Bytes of an answer that are read ahead of whoever takes them, and of its headers.
const BUFFER: usize = 64 << 10;
/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(30);

/// How long storage is waited for, and how often it is asked again.
#[derive(Clone, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// From a request to the beginning of its answer.
    pub answer: Duration,
    /// For more bytes of an answer.
    pub stall: Duration,
    /// Requests for one read, the first one included.
    pub tries: u32,
    /// Before the second request; it doubles with each one.
    pub pause: Duration,
    /// Whether a range whose first byte is slow to come is read a second time.
    pub hedge: bool,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            connect: Duration::from_secs(3),
            answer: Duration::from_secs(10),
            stall: Duration::from_secs(10),
            tries: 4,
            pause: Duration::from_millis(100),
            hedge: false,
        }
    }
}

/// A client of HTTP servers.
#[derive(Clone)]
pub struct Transport {
    client: Client<Counted, Full<Bytes>>,
    answer: Duration,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Transport")
    }
}

impl Transport {
    /// A client that uses its connections again, or opens one for each request.
    ///
    /// # Errors
    /// When the TLS library refuses its own settings.
    pub fn new(
        pooled: bool,
        patience: &Patience,
        authorities: Authorities,
        metrics: Arc<Metrics>,
    ) -> Result<Self, Fault> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(patience.connect));
        let connector = secured(authorities)
            .map_err(|error| Fault::Unreachable(error.to_string()))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(if pooled { KEPT } else { 0 })
            .http1_max_buf_size(BUFFER)
            .build(Counted { connector, metrics });
        Ok(Transport {
            client,
            answer: patience.answer,
        })
    }

    /// Asks, and waits for the headers of the answer.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Fault> {
        let answer = tokio::time::timeout(self.answer, self.client.request(request)).await;
        match answer {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => Err(Fault::Unreachable(Fault::innermost(&error))),
            Ok(Err(error)) => Err(Fault::Broken(Fault::innermost(&error))),
            Err(_) => Err(Fault::TimedOut(self.answer)),
        }
    }
}

fn secured(authorities: Authorities) -> Result<HttpsConnectorBuilder<WantsSchemes>, rustls::Error> {
    let provider = rustls::crypto::ring::default_provider();
    let Some(authorities) = authorities else {
        return HttpsConnectorBuilder::new().with_provider_and_webpki_roots(provider);
    };
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new().with_tls_config(config))
}

/// Takes the rest of an answer that says only what is wrong, so that its connection can be used again.
pub async fn discard(body: Incoming) {
    const LONGEST: usize = 64 << 10;
    let limited = http_body_util::Limited::new(body, LONGEST);
    // Who sends more, or slowly, loses the connection instead.
    let _ = tokio::time::timeout(Duration::from_secs(1), limited.collect()).await;
}

/// Counts the connections that are opened.
#[derive(Clone)]
struct Counted {
    connector: HttpsConnector<HttpConnector>,
    metrics: Arc<Metrics>,
}

impl Service<Uri> for Counted {
    type Response = <HttpsConnector<HttpConnector> as Service<Uri>>::Response;
    type Error = <HttpsConnector<HttpConnector> as Service<Uri>>::Error;
    type Future = <HttpsConnector<HttpConnector> as Service<Uri>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.connector.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        self.metrics.storage_connected();
        self.connector.call(to)
    }
}
