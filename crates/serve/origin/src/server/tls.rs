//! TLS: the certificate with its key, read again while the server runs, and the handshake within its time. It must not
//! know what is said inside.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::socket::Socket;
use crate::metrics::{Handshake, Metrics};

/// HTTP/2 as ALPN calls it (RFC 9113, 3.2).
const H2: &[u8] = b"h2";
/// HTTP/1.1 as ALPN calls it (RFC 7301, 6).
const HTTP_1_1: &[u8] = b"http/1.1";

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and behind it those that lead to its root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file that cannot be read, or has nothing of that kind.
    #[error("cannot read {what} from {file}: {source}; name a PEM file with {option}")]
    File {
        /// A certificate or a key.
        what: &'static str,
        /// As it was named.
        file: String,
        /// What is wrong with it.
        source: PemError,
        /// How it is named.
        option: &'static str,
    },
    /// They do not belong together, or are of no kind that serves.
    #[error(
        "cannot use the certificate {certificate} with the key {key}: {source}; name a certificate and its private key"
    )]
    Pair {
        /// As it was named.
        certificate: String,
        /// As it was named.
        key: String,
        /// What the TLS library says.
        source: rustls::Error,
    },
}

/// What connections are secured with.
#[derive(Debug)]
pub struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads certificate and key.
    pub fn open(files: &TlsFiles) -> Result<Self, TlsError> {
        Ok(Tls {
            current: RwLock::new(read(files)?),
            files: files.clone(),
        })
    }

    /// Reads certificate and key again for connections from now on; when they cannot be used, those from before stay.
    pub fn read_again(&self) -> Result<(), TlsError> {
        let read = read(&self.files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(())
    }

    /// The handshake, counted; nothing when it fails or takes longer than `limit`.
    pub async fn accept(
        &self,
        socket: Socket,
        limit: Duration,
        metrics: &Metrics,
    ) -> Option<TlsStream<Socket>> {
        let config = self
            .current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let (result, stream) = match timeout(limit, TlsAcceptor::from(config).accept(socket)).await {
            Ok(Ok(stream)) => (Handshake::Done, Some(stream)),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                (Handshake::Failed, None)
            }
            Err(_) => (Handshake::TimedOut, None),
        };
        metrics.shook_hands(result);
        stream
    }
}

/// Whether the client chose HTTP/2; what names no protocol speaks HTTP/1.1.
pub fn is_http2(stream: &TlsStream<Socket>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(H2)
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let certificate = files.certificate.display().to_string();
    let key = files.key.display().to_string();
    let failed = |what, file: &String, option| {
        let file = file.clone();
        move |source| TlsError::File {
            what,
            file,
            source,
            option,
        }
    };
    let no_certificate = || failed("a certificate", &certificate, "--tls-cert");
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(no_certificate())?;
    if chain.is_empty() {
        return Err(no_certificate()(PemError::NoItemsFound));
    }
    let secret =
        PrivateKeyDer::from_pem_file(&files.key).map_err(failed("a private key", &key, "--tls-key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret));
    let mut config = config.map_err(|source| TlsError::Pair {
        certificate,
        key,
        source,
    })?;
    config.alpn_protocols = vec![H2.to_vec(), HTTP_1_1.to_vec()];
    Ok(Arc::new(config))
}
