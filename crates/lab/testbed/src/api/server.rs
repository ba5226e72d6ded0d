//! The workflow API over HTTP, for whoever has the token. It must not know what a request means.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use tokio::sync::watch;
use weir_local::{Bounds, Guard, Refusal, Rules, read_body, serve};

use crate::api::{Answer, Asked, Workflows};
use crate::error::TestbedError;
use crate::function::MOST_BYTES;
use crate::state::Registry;

/// Interval at which it is asked whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);
const BOUNDS: Bounds = Bounds {
    connections: 16,
    body: MOST_BYTES as usize,
    request: Duration::from_secs(10),
    stalled: Duration::from_secs(30),
};
const RULES: Rules = Rules {
    guarded: "/",
    // Clients of the standard do not know it; documents in types that forms can send are refused instead.
    header: false,
    command: "weir testbed serve",
};

/// Where to serve.
pub struct ApiConfig {
    /// Address and port; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// What whoever asks has to know: a workflow starts programs as the user of the server, which other users of a host may not.
    pub token: Vec<u8>,
}

/// A server that has its port.
pub struct ApiServer {
    listener: TcpListener,
    address: SocketAddr,
    token: Vec<u8>,
}

/// What all requests share.
struct Shared {
    guard: Guard,
    workflows: Arc<Mutex<Workflows>>,
    registry: Registry,
}

impl ApiServer {
    /// Takes the port.
    ///
    /// # Errors
    /// When the port cannot be taken.
    pub fn bind(config: ApiConfig) -> Result<Self, TestbedError> {
        let address = config.listen;
        let failed = |error| {
            TestbedError::Failed(format!(
                "cannot listen on {address}: {error}; name another address and port with --listen"
            ))
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(ApiServer {
            address: listener.local_addr().map_err(failed)?,
            listener,
            token: config.token,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves on a thread of its own until `stop` says so.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(
        self,
        workflows: Arc<Mutex<Workflows>>,
        registry: Registry,
        stop: impl Fn() -> bool + Send + 'static,
    ) -> Result<JoinHandle<()>, TestbedError> {
        let failed = |error: std::io::Error| TestbedError::Failed(format!("cannot serve: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let shared = Arc::new(Shared {
            guard: Guard::new(self.address, Some(&self.token), RULES),
            workflows,
            registry,
        });
        let router = Router::new().fallback(answered).with_state(shared);
        let listener = self.listener;
        let thread = std::thread::Builder::new().name("workflow-api".to_owned());
        let run = move || {
            runtime.block_on(async move {
                let (tell, stopping) = watch::channel(false);
                tokio::spawn(async move {
                    while !stop() {
                        tokio::time::sleep(STOP_INTERVAL).await;
                    }
                    // When nobody listens any more, it has ended by itself.
                    let _ = tell.send(true);
                });
                match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => serve(listener, router, BOUNDS, stopping).await,
                    Err(error) => tracing::error!(%error, "cannot serve workflows"),
                }
            });
        };
        thread.spawn(run).map_err(failed)
    }
}

async fn answered(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    match answer(&shared, request).await {
        Ok(answer) => response(answer),
        Err(refusal) => {
            let mut response = response(Answer::error(refusal.status.as_u16(), refusal.message));
            if refusal.status == StatusCode::UNAUTHORIZED {
                let headers = response.headers_mut();
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            response
        }
    }
}

async fn answer(shared: &Shared, request: Request) -> Result<Answer, Refusal> {
    let (head, body) = request.into_parts();
    shared.guard.check(&head.method, &head.uri, &head.headers)?;
    let body = read_body(body, BOUNDS).await?;
    let content_type = head.headers.get(header::CONTENT_TYPE);
    let asked = Asked {
        method: head.method.as_str(),
        path: head.uri.path(),
        content_type: content_type.and_then(|given| given.to_str().ok()),
        body: &body,
    };
    let mut workflows = shared.workflows.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = workflows.answer(&asked, |id| shared.registry.get(id).ok().flatten());
    if let Some(name) = &answer.forget
        && let Err(error) = shared.registry.forget(name)
    {
        tracing::warn!(%error, name, "cannot remove what is left of a testbed");
    }
    Ok(answer)
}

fn response(answer: Answer) -> Response {
    let body = answer.body.map(|body| body.to_string());
    let has_body = body.is_some();
    let mut response = Response::new(body.map_or_else(Body::empty, Body::from));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if has_body {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in answer.headers {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}
