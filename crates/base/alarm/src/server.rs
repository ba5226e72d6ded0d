//! Serves a page of metrics, on a thread of its own. It must not know what is on the page.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE as CONTENT_TYPE_HEADER, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

use crate::openmetrics::{CLASSIC_CONTENT_TYPE, CONTENT_TYPE, classic};

/// Connections at a time; others wait in the kernel's queue.
const CONNECTIONS: usize = 16;
/// Time limit of a connection, with its one request and the response.
const LIMIT: Duration = Duration::from_secs(10);
/// Maximum length of a request's line and headers.
const HEAD: usize = 16 << 10;
/// Pause when there is no descriptor for a connection.
const SCARCE: Duration = Duration::from_millis(200);

/// Answers `GET /metrics` with the page shown last. Ends when it is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    page: Arc<Mutex<Bytes>>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens at an address; port 0 takes a free port. The page is empty until the first [`show`](Self::show).
    ///
    /// # Errors
    /// When the address cannot be listened at, or the thread cannot be started.
    pub fn start(address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let page = Arc::<Mutex<Bytes>>::default();
        let (stop, stopped) = oneshot::channel();
        let served = page.clone();
        let thread = std::thread::Builder::new()
            .name("metrics".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener, served) => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(MetricsServer {
            page,
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with this page from now on.
    pub fn show(&self, page: String) {
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Bytes::from(page);
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked serves nobody either.
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, page: Arc<Mutex<Bytes>>) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "cannot serve metrics"),
    };
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let page = page.clone();
                tokio::spawn(async move {
                    // Whoever takes longer is cut off.
                    let _ = timeout(LIMIT, connection(stream, page)).await;
                    drop(slot);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "cannot take a connection");
                sleep(SCARCE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, page: Arc<Mutex<Bytes>>) {
    let service = service_fn(move |request| {
        let answer = answer(&request, &page);
        async { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(LIMIT)
        .max_buf_size(HEAD)
        // One request each: no idle connection keeps others out.
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection for metrics broke");
    }
}

fn answer(request: &Request<Incoming>, page: &Mutex<Bytes>) -> Response<Full<Bytes>> {
    let plain = |status: StatusCode, text: &'static str| {
        let mut response = Response::new(Full::from(text));
        *response.status_mut() = status;
        response
    };
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "metrics are at /metrics\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        response
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    let page = page.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (page, kind) = if wants_classic(request) {
        let older = classic(&String::from_utf8_lossy(&page));
        (Bytes::from(older), CLASSIC_CONTENT_TYPE)
    } else {
        (page, CONTENT_TYPE)
    };
    let mut response = Response::new(Full::new(page));
    response
        .headers_mut()
        .insert(CONTENT_TYPE_HEADER, HeaderValue::from_static(kind));
    response
}

/// Whether a client names plain text and not OpenMetrics.
fn wants_classic(request: &Request<Incoming>) -> bool {
    let accepted = request
        .headers()
        .get(ACCEPT)
        .and_then(|kinds| kinds.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/plain") && !kinds.contains("openmetrics"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn the_latest_page_is_served_and_nothing_else() {
        let server = MetricsServer::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let ask = |request: &str| ask(server.address(), request);
        for page in ["# EOF\n", "weir_up 1\n# EOF\n"] {
            server.show(page.to_owned());
            let answer = ask("GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(
                answer.contains(&format!("content-type: {CONTENT_TYPE}\r\n")),
                "{answer}"
            );
            assert!(answer.ends_with(&format!("\r\n\r\n{page}")), "{answer}");
        }
        let older = ask("GET /metrics HTTP/1.1\r\nhost: x\r\naccept: text/plain\r\n\r\n");
        assert!(
            older.contains(CLASSIC_CONTENT_TYPE) && older.ends_with("\r\n\r\nweir_up 1\n"),
            "{older}"
        );
        let head = ask("HEAD /metrics HTTP/1.1\r\nhost: x\r\n\r\n");
        assert!(head.contains(" 200 ") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(ask("GET / HTTP/1.1\r\nhost: x\r\n\r\n").contains(" 404 "));
        assert!(ask("POST /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n").contains(" 405 "));
        assert!(ask("nonsense\r\n\r\n").contains(" 400 "));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(2 * HEAD));
        assert!(!ask(&long).contains(" 200 "));
    }

    #[test]
    fn idle_clients_keep_nobody_from_the_end() {
        let server = MetricsServer::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address();
        let idle: Vec<_> = (0..2 * CONNECTIONS)
            .map(|_| std::net::TcpStream::connect(address).unwrap())
            .collect();
        drop(server);
        // Its port may be another test's by now; the connections to it are its own.
        for mut client in idle {
            client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let end = client.read(&mut [0]);
            let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
            assert!(end.as_ref().map_or_else(is_reset, |read| *read == 0), "{end:?}");
        }
    }
}
