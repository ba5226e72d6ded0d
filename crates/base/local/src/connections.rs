//! Takes connections, so many at once, and lets each ask once. It must not know what is asked.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use crate::patient::Patient;

/// Bounds on what clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at once; others wait to be let in.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// How long a client may take for its request, headers and body each.
    pub request: Duration,
    /// How long a client may take nothing of an answer.
    pub stalled: Duration,
}

/// How long answers that are on their way may take when the server ends.
const ENDING: Duration = Duration::from_secs(2);
/// Until the next try when there is no descriptor for a connection.
const SCARCE: Duration = Duration::from_millis(200);
/// Bytes of a request's line and headers.
const HEAD: usize = 32 << 10;

/// Waits for the server's end.
pub async fn ended(stopping: &mut watch::Receiver<bool>) {
    // An error says that whoever would tell is gone, which is an end too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Serves until `stopping` says so.
pub async fn serve(listener: TcpListener, router: Router, bounds: Bounds, stopping: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(bounds.connections));
    let mut stopped = stopping.clone();
    loop {
        // A slot first: who finds none waits in the kernel's queue, at no cost for us.
        let next = async {
            let slot = slots.clone().acquire_owned().await.ok()?;
            match listener.accept().await {
                Ok((stream, _)) => Some((slot, stream)),
                Err(error) => {
                    tracing::warn!(%error, "cannot take a connection");
                    sleep(SCARCE).await;
                    None
                }
            }
        };
        tokio::select! {
            next = next => {
                if let Some((slot, stream)) = next {
                    let service = TowerToHyperService::new(router.clone());
                    tokio::spawn(connection(stream, service, bounds, stopping.clone(), slot));
                }
            }
            () = ended(&mut stopped) => break,
        }
    }
    drop(listener);
    let all = u32::try_from(bounds.connections).unwrap_or(u32::MAX);
    // Whoever takes longer than that is cut off.
    let _ = timeout(ENDING, slots.acquire_many(all)).await;
}

async fn connection(
    stream: TcpStream,
    service: TowerToHyperService<Router>,
    bounds: Bounds,
    mut stopping: watch::Receiver<bool>,
    _slot: OwnedSemaphorePermit,
) {
    let stream = TokioIo::new(Patient::new(stream, bounds.stalled));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.request)
        .max_buf_size(HEAD)
        // One request each: no idle connection keeps others out.
        .keep_alive(false)
        .serve_connection(stream, service);
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = ended(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection broke");
    }
}
