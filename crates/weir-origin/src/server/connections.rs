//! Takes connections, so many at once, and serves requests on each until it ends. It must not know what is asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::app::App;
use super::routes::respond;

/// Until the next try when there is no descriptor for a connection.
const SCARCE: Duration = Duration::from_millis(200);

/// Serves until `stopping` says so, then lets answers finish that are on their way.
pub async fn serve(listener: TcpListener, app: &Arc<App>, stopping: watch::Receiver<bool>) {
    let slots = Arc::new(Semaphore::new(app.limits.connections));
    let mut stopped = stopping.clone();
    loop {
        // A slot first: who finds none waits in the kernel's queue, at no cost for us.
        let next = async {
            let slot = slots.clone().acquire_owned().await.ok()?;
            match listener.accept().await {
                Ok((stream, peer)) => Some((slot, stream, peer)),
                Err(error) => {
                    tracing::warn!(%error, "cannot take a connection");
                    sleep(SCARCE).await;
                    None
                }
            }
        };
        tokio::select! {
            next = next => {
                if let Some((slot, stream, peer)) = next {
                    tokio::spawn(connection(app.clone(), stream, peer, stopping.clone(), slot));
                }
            }
            () = ended(&mut stopped) => break,
        }
    }
    drop(listener);
    let all = u32::try_from(app.limits.connections).unwrap_or(u32::MAX);
    // Whoever takes longer than that is cut off.
    let _ = timeout(app.limits.drain, slots.acquire_many(all)).await;
}

async fn connection(
    app: Arc<App>,
    stream: TcpStream,
    peer: SocketAddr,
    mut stopping: watch::Receiver<bool>,
    _slot: OwnedSemaphorePermit,
) {
    if let Err(error) = prepare(&stream, app.limits.stalled) {
        tracing::debug!(%error, "a connection ended before it was served");
        return;
    }
    let _counted = Counted::new(app.clone());
    let limits = app.limits.clone();
    let service = service_fn(move |request| {
        let app = app.clone();
        async move { Ok::<_, Infallible>(respond(app, request, peer).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = ended(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, %peer, "a connection broke");
    }
}

/// Small answers leave at once; a client that takes nothing of what was sent is given up by the kernel after a time.
fn prepare(stream: &TcpStream, stalled: Duration) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_user_timeout(Some(stalled))
}

/// Waits for the server's end.
async fn ended(stopping: &mut watch::Receiver<bool>) {
    // An error says that whoever would tell is gone, which is an end too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// A connection in the counts.
struct Counted(Arc<App>);

impl Counted {
    fn new(app: Arc<App>) -> Self {
        app.metrics.connected();
        Counted(app)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics.disconnected();
    }
}
