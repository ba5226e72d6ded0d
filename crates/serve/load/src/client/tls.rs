//! Whom to trust, and TLS sessions that are taken up again, by each viewer its own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, NamedGroup, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use thiserror::Error;

/// Whose certificates are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those of the public authorities.
    #[default]
    Public,
    /// Those signed by the certificates in this file, in PEM.
    File(PathBuf),
    /// Any.
    Anyone,
}

/// Certificates that cannot be used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The file cannot be read.
    #[error("cannot read certificates from {0}: {1}; name a PEM file")]
    File(String, String),
    /// The library refuses its own settings.
    #[error("cannot set up TLS: {0}")]
    Settings(String),
}

/// Settings that all connections share.
pub(super) fn config(trust: &Trust) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Settings(error.to_string()))?;
    let config = match trust {
        Trust::Public => {
            let mut roots = RootCertStore::empty();
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            builder.with_root_certificates(roots).with_no_client_auth()
        }
        Trust::File(path) => builder.with_root_certificates(roots(path)?).with_no_client_auth(),
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
            .with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// The same settings for one viewer: it takes up its own sessions again, and nobody else's, as devices do. `protocols`
/// are offered (ALPN), the first rather than the others.
pub(super) fn of_viewer(settings: &ClientConfig, protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut config = settings.clone();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config.resumption = Resumption::store(Arc::new(Sessions::default()));
    Arc::new(config)
}

/// Servers that a viewer keeps sessions of: as many as it keeps connections to.
const MOST_SERVERS: usize = 4;

/// The last session with each server. The library's own store keeps eight tickets of each, with the certificates.
#[derive(Debug, Default)]
struct Sessions(Mutex<Vec<(ServerName<'static>, Session)>>);

#[derive(Debug, Default)]
struct Session {
    group: Option<NamedGroup>,
    older: Option<Tls12ClientSessionValue>,
    ticket: Option<Tls13ClientSessionValue>,
}

impl Sessions {
    fn with<T>(&self, server: &ServerName<'_>, look: impl FnOnce(&mut Session) -> T) -> T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = match known.iter().position(|(name, _)| name == server) {
            Some(at) => at,
            None => {
                if known.len() >= MOST_SERVERS {
                    known.remove(0);
                }
                known.push((server.to_owned(), Session::default()));
                known.len() - 1
            }
        };
        look(&mut known[at].1)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.with(&server, |session| session.group = Some(group));
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.with(server, |session| session.group)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.with(&server, |session| session.older = Some(value));
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(server, |session| session.older.clone())
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.with(server, |session| session.older = None);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.with(&server, |session| session.ticket = Some(value));
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(server, |session| session.ticket.take())
    }
}

fn roots(path: &Path) -> Result<RootCertStore, TlsError> {
    let failed = |problem: String| TlsError::File(path.display().to_string(), problem);
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| failed(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(failed("it contains none".to_owned()));
    }
    Ok(roots)
}

/// Takes every certificate, but checks that the other end has its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
