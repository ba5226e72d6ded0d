//! Takes connections, so many at once, and serves requests on each until it ends, with TLS or without, HTTP/1.1 or
//! HTTP/2. It must not know what is asked.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::activity::Activity;
use super::app::App;
use super::deliveries::Deliveries;
use super::pacer::Pacer;
use super::routes::{Client, respond};
use super::socket::Socket;
use super::streams::Streams;
use super::tls::{Tls, is_http2};

/// Until the next try when there is no descriptor for a connection.
const SCARCE: Duration = Duration::from_millis(200);
/// Until the next look at a beginning that may still become that of HTTP/2.
const UNDECIDED: Duration = Duration::from_millis(20);
/// How long a connection that has been ended waits for its client to end it too.
const LINGER: Duration = Duration::from_secs(5);
/// How the first line of HTTP/2 begins (RFC 9113, 3.4), and no request of HTTP/1.1.
const PREFACE: &[u8] = b"PRI ";
/// Bytes of an answer that wait in a stream of HTTP/2: as much as keeps a fast client busy, little enough for many slow
/// ones.
const STREAM_BUFFER: usize = 64 << 10;
/// Streams that a client has opened and reset before they were looked at: more is an attack (CVE-2023-44487).
const UNSEEN_RESETS: usize = 20;
/// Streams that were reset because a client broke the rules: more is an attack.
const WRONG_STREAMS: usize = 200;

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
                    tracing::warn!(%error, "cannot accept a connection");
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
    let socket = match Socket::new(stream, peer, app.limits.stalled, app.arena()) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::debug!(%error, "a connection ended before it was served");
            return;
        }
    };
    let _counted = Counted::new(app.clone());
    let opened = tokio::select! {
        opened = open(&app, &socket) => opened,
        // Nothing was asked yet.
        () = ended(&mut stopping) => None,
    };
    let Some((io, version)) = opened else { return };
    let pacer = Pacer::new(&app, &socket, matches!(version, Version::Http2));
    let deliveries = Deliveries::new(&app, &socket);
    let client = Arc::new(Client {
        pacer: pacer.clone(),
        socket: socket.clone(),
        deliveries: deliveries.clone(),
        activity: Activity::new(),
    });
    let served = async {
        match version {
            Version::Http1 => http1(app, io, client, stopping.clone()).await,
            Version::Http2 => http2(app, io, client, stopping.clone()).await,
        }
    };
    let result = tokio::select! {
        // In this order, see `Deliveries::watch`.
        biased;
        result = served => result,
        never = pacer.watch() => match never {},
        never = deliveries.watch() => match never {},
    };
    match result {
        Ok(End::Whole) => tokio::select! {
            () = linger(&socket, stopping) => {}
            never = deliveries.watch() => match never {},
        },
        Ok(End::CutOff) => {}
        Err(error) => tracing::debug!(%error, %peer, "a connection failed"),
    }
}

/// How a connection ended, if nothing went wrong with it.
enum End {
    /// All that was to be said has been given to the kernel.
    Whole,
    /// Its time was over.
    CutOff,
}

/// Waits for a client that has not taken everything yet (RFC 9112, 9.6). A socket that is closed before is nobody's:
/// the kernel resets it when the client says anything more, or when memory for sockets is short, and what lies in it is
/// lost.
async fn linger(socket: &Socket, mut stopping: watch::Receiver<bool>) {
    tokio::select! {
        () = socket.ended_by_client() => {}
        () = sleep(LINGER) => {}
        () = ended(&mut stopping) => {}
    }
}

trait ReadWrite: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ReadWrite for T {}

/// One type for connections with TLS and without, so that HTTP is compiled once.
type Io = TokioIo<Box<dyn ReadWrite>>;

enum Version {
    Http1,
    Http2,
}

/// Gets as far as to know which HTTP is spoken; nothing when the client does not in its time.
async fn open(app: &App, socket: &Socket) -> Option<(Io, Version)> {
    let limits = &app.limits;
    let (io, is_http2): (Box<dyn ReadWrite>, bool) = match &app.tls {
        Some(tls) => secured(tls, app, socket).await?,
        None => {
            let begins = timeout(limits.head_time, begins_as_http2(socket)).await;
            (Box::new(socket.clone()), begins.ok()?.ok()?)
        }
    };
    let version = if is_http2 { Version::Http2 } else { Version::Http1 };
    Some((TokioIo::new(io), version))
}

async fn secured(tls: &Tls, app: &App, socket: &Socket) -> Option<(Box<dyn ReadWrite>, bool)> {
    let limit = app.limits.handshake_time;
    let stream = tls.accept(socket.clone(), limit, &app.metrics).await?;
    let is_http2 = is_http2(&stream);
    Some((Box::new(stream), is_http2))
}

/// Whether a client begins with HTTP/2 without having asked (prior knowledge, RFC 9113, 3.3).
async fn begins_as_http2(socket: &Socket) -> io::Result<bool> {
    let mut begin = [0; PREFACE.len()];
    loop {
        let known = socket.peek(&mut begin).await?;
        if known == PREFACE.len() || known == 0 || begin[..known] != PREFACE[..known] {
            return Ok(begin == PREFACE);
        }
        sleep(UNDECIDED).await;
    }
}

async fn http1(
    app: Arc<App>,
    io: Io,
    client: Arc<Client>,
    mut stopping: watch::Receiver<bool>,
) -> Result<End, hyper::Error> {
    let limits = app.limits.clone();
    let activity = client.activity.clone();
    let connection = http1::Builder::new()
        // Hyper would make a timer for each request; the wait for headers is that in which nothing is under way.
        .header_read_timeout(None)
        .max_buf_size(limits.head)
        .serve_connection(io, service_fn(|request| answer(&app, &client, request)));
    tokio::pin!(connection);
    tokio::select! {
        result = connection.as_mut() => return result.map(|()| End::Whole),
        () = activity.busy_for(limits.request_time) => return Ok(End::CutOff),
        () = activity.idle_for(limits.head_time) => return Ok(End::CutOff),
        () = ended(&mut stopping) => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        result = connection => result.map(|()| End::Whole),
        () = activity.busy_for(limits.request_time) => Ok(End::CutOff),
        () = activity.idle_for(limits.head_time) => Ok(End::CutOff),
    }
}

async fn http2(
    app: Arc<App>,
    io: Io,
    client: Arc<Client>,
    mut stopping: watch::Receiver<bool>,
) -> Result<End, hyper::Error> {
    let limits = app.limits.clone();
    app.metrics.began_http2();
    let streams = Streams {
        request_time: limits.request_time,
        stalled: limits.stalled,
    };
    let activity = client.activity.clone();
    let connection = http2::Builder::new(streams)
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(limits.head).unwrap_or(u32::MAX))
        .max_send_buf_size(STREAM_BUFFER)
        .max_pending_accept_reset_streams(UNSEEN_RESETS)
        .max_local_error_reset_streams(WRONG_STREAMS)
        .serve_connection(io, service_fn(|request| answer(&app, &client, request)));
    tokio::pin!(connection);
    // A client that has said nothing for as long as it may take for headers gets GOAWAY, as when the server ends; who
    // is slow to say hello, or sends headers that never end, is one of them.
    tokio::select! {
        result = connection.as_mut() => return result.map(|()| End::Whole),
        () = activity.idle_for(limits.head_time) => {}
        () = ended(&mut stopping) => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        result = connection => result.map(|()| End::Whole),
        // What is on its way may arrive; who then still says nothing does not want to hear either.
        () = activity.idle_for(limits.head_time + limits.stalled) => Ok(End::CutOff),
    }
}

/// Makes a request known to the limits of its connection before it is looked at.
fn answer(
    app: &Arc<App>,
    client: &Arc<Client>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<http::Response<super::body::Body>, Infallible>> + Send + use<> {
    respond(app.clone(), request, client.clone(), client.activity.begin())
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
