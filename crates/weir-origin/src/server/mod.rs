//! The HTTP server: connections, requests and their answers. It knows paths, ranges, conditions and limits; it must not
//! know where stored bytes come from, nor how media is packaged.

mod access_log;
mod activity;
mod answer;
mod app;
mod body;
pub(crate) mod conditions;
mod connections;
mod descriptors;
mod error;
mod flow;
mod licence;
mod pace;
mod pacer;
mod page;
mod problem;
pub(crate) mod range;
mod remade;
mod routes;
mod socket;
mod streams;
mod tls;
mod versions;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;
use weir_net::tcp;

use crate::configuration::Configuration;
use crate::keys::KeySettings;
use crate::metrics::Metrics;
use crate::pacing::Pacing;
use crate::storage::{Access, Patience, Place, Storage};
use access_log::AccessLog;
use app::App;
use tls::Tls;

pub use error::OriginError;
pub use tls::{TlsError, TlsFiles};

/// How often it is asked whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// Bounds on what clients may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections at once; others wait to be let in.
    pub connections: usize,
    /// Requests at once on a connection of HTTP/2.
    pub streams: u32,
    /// Bytes of a request's line and headers.
    pub head: usize,
    /// How long a client may take for the headers of its next request, the wait between two requests included.
    pub head_time: Duration,
    /// How long a client may take for the handshake of TLS.
    pub handshake_time: Duration,
    /// How long an answer may take, from the headers of the request to its last byte.
    pub request_time: Duration,
    /// How long a client may take nothing of an answer.
    pub stalled: Duration,
    /// How long answers that are on their way may take when the server ends.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 4096,
            streams: 100,
            head: 32 << 10,
            head_time: Duration::from_secs(20),
            handshake_time: Duration::from_secs(10),
            request_time: Duration::from_secs(600),
            stalled: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}

/// Where the access log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTo {
    /// Standard output.
    StandardOutput,
    /// Appended to a file.
    File(PathBuf),
}

/// What to serve, where, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where media lies: the first place is preferred, the others hold the same.
    pub places: Vec<Place>,
    /// What object stores are told besides.
    pub access: Access,
    /// How long storage is waited for.
    pub patience: Patience,
    /// Address and port; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Certificate and key, for HTTPS; none: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Threads that serve; none: as many as this host has cores.
    pub threads: Option<usize>,
    /// What is kept between requests.
    pub configuration: Configuration,
    /// Bytes of the cache in memory.
    pub memory_cache: u64,
    /// A folder for the cache on disk, and its bytes.
    pub disk_cache: Option<(PathBuf, u64)>,
    /// How long an object counts as unchanged, where it is kept, before storage is asked again.
    pub fresh: Duration,
    /// About how long segments are: from 2 to 10 seconds.
    pub segment: Duration,
    /// Stored files are served as they are, too.
    pub files: bool,
    /// Which titles are protected, and by which keys.
    pub keys: KeySettings,
    /// A page at `/` lists the titles and plays them.
    pub page: bool,
    /// Answers are sent as fast as players ask, within these bounds; none: as fast as the network carries them.
    pub pacing: Option<Pacing>,
    /// One line for each request.
    pub access_log: Option<LogTo>,
    /// Bounds on what clients may take.
    pub limits: Limits,
}

impl Config {
    /// One place, served on loopback, with what the command line takes where nothing is said.
    pub fn new(place: Place) -> Self {
        Config {
            places: vec![place],
            access: Access::default(),
            patience: Patience::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls: None,
            threads: None,
            configuration: Configuration::E,
            memory_cache: 512 << 20,
            disk_cache: None,
            fresh: Duration::from_secs(10),
            segment: Duration::from_secs(4),
            files: false,
            keys: KeySettings::default(),
            page: false,
            pacing: None,
            access_log: None,
            limits: Limits::default(),
        }
    }
}

/// A server that has its port, its storage and its caches.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    threads: Option<usize>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Opens storage, caches and log, and takes the port.
    ///
    /// # Errors
    /// When any of them cannot be had.
    pub fn bind(config: &Config) -> Result<Self, OriginError> {
        let metrics = Arc::<Metrics>::default();
        let storage = Storage::open(
            &config.places,
            &config.access,
            config.configuration.pools_connections(),
            config.patience.clone(),
            metrics.clone(),
        )?;
        descriptors::allow(config.limits.connections);
        let tls = config.tls.as_ref().map(Tls::open).transpose()?;
        let address = config.listen;
        let failed = |source| OriginError::Bind { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if config.pacing.is_some() {
            // What it is now, only to hear whether the kernel can.
            tcp::set_max_pacing_rate(&listener, tcp::UNPACED).map_err(OriginError::Pacing)?;
        }
        let log = config
            .access_log
            .as_ref()
            .map(|to| AccessLog::open(to, metrics.clone()));
        let app = App::new(config, storage, tls, log.transpose()?, metrics)?;
        Ok(Server {
            app: Arc::new(app),
            threads: config.threads,
            listener,
            address,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it counts.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.app.metrics.clone()
    }

    /// Serves until `stop` says so; answers that are on their way get the time of [`Limits::drain`].
    ///
    /// # Errors
    /// When the operating system gives no threads or descriptors.
    pub fn run(self, stop: impl Fn() -> bool + Send + 'static) -> Result<(), OriginError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            builder.worker_threads(threads);
        }
        let runtime = builder
            .enable_io()
            .enable_time()
            .thread_name("weir-origin")
            .build()?;
        let result = runtime.block_on(serve(&self.app, self.listener, stop));
        // A read of a disk that hangs must not keep the process.
        runtime.shutdown_background();
        self.app.finish_log();
        result
    }
}

async fn serve(
    app: &Arc<App>,
    listener: TcpListener,
    stop: impl Fn() -> bool + Send + 'static,
) -> Result<(), OriginError> {
    let (tell, stopping) = watch::channel(false);
    tokio::spawn(async move {
        while !stop() {
            sleep(STOP_INTERVAL).await;
        }
        // When nobody listens any more, it has ended by itself.
        let _ = tell.send(true);
    });
    if app.tls.is_some() {
        let hangups = signal(SignalKind::hangup())?;
        tokio::spawn(read_certificate_on(hangups, app.clone()));
    }
    let storage = app.storage.clone();
    tokio::spawn(async move { storage.watch().await });
    let listener = tokio::net::TcpListener::from_std(listener)?;
    connections::serve(listener, app, stopping).await;
    Ok(())
}

/// Reads the certificate again with each signal, as those who renew one send it.
async fn read_certificate_on(mut hangups: Signal, app: Arc<App>) {
    while hangups.recv().await.is_some() {
        match app.tls.as_ref().map(Tls::read_again) {
            Some(Err(error)) => tracing::warn!(%error, "the certificate from before stays"),
            _ => tracing::info!("the certificate was read again"),
        }
    }
}
