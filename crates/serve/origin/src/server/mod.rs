//! The HTTP server: connections, requests and their answers. It knows paths, ranges, conditions and limits; it must not
//! know where stored bytes come from, nor how media is packaged.

mod access_log;
mod activity;
mod answer;
mod app;
mod body;
mod config;
mod connections;
mod deliveries;
mod descriptors;
mod error;
mod flow;
mod licence;
mod pace;
mod pacer;
mod page;
mod problem;
mod routes;
mod socket;
mod streams;
mod tls;
mod versions;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::sleep;
use weir_net::tcp;

use crate::metrics::Metrics;
use crate::storage::{Storage, StorageLocation};
use access_log::AccessLog;
use app::App;
use tls::Tls;

pub use config::{Config, Limits, LogTo};
pub use error::OriginError;
pub use tls::{TlsError, TlsFiles};

/// How often it is asked whether to stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// What `weir origin --json` prints once it listens, for the program that has started it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listening {
    /// URL on this host.
    pub url: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The storage.
    pub place: String,
    /// Name of the configuration.
    pub configuration: String,
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
    /// When any of them is unavailable.
    pub fn bind(config: &Config) -> Result<Self, OriginError> {
        let metrics = Arc::<Metrics>::default();
        let open = |places: &[StorageLocation]| {
            let pooled = config.configuration.pools_connections();
            Storage::open(
                places,
                &config.access,
                pooled,
                config.patience.clone(),
                metrics.clone(),
            )
        };
        let mut storage = open(&config.places)?;
        if let Some(place) = &config.index_place {
            storage = storage.with_indexes(open(std::slice::from_ref(place))?);
        }
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
            Some(Err(error)) => {
                tracing::warn!(%error, "cannot reload the certificate; keeping the previous one")
            }
            _ => tracing::info!("certificate reloaded"),
        }
    }
}
