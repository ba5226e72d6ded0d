//! Certificate authorities that storage over TLS is checked by: the public ones, or those of a file. It must not know
//! who is checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Authorities in place of the public ones, which count if there are none of these.
pub type Authorities = Option<Arc<RootCertStore>>;

/// Why a file of authorities cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read CA certificates from {}: {why}; name a PEM file of certificates with --storage-ca",
    file.display()
)]
pub struct AuthoritiesError {
    file: PathBuf,
    why: String,
}

/// Those of a file in PEM.
///
/// # Errors
/// When it cannot be read, or a certificate in it, and when there are none.
pub fn read(file: &Path) -> Result<Arc<RootCertStore>, AuthoritiesError> {
    let failed = |why: String| AuthoritiesError {
        file: file.to_owned(),
        why,
    };
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?;
    let mut authorities = RootCertStore::empty();
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        let added = authorities.add(certificate);
        added.map_err(|error| failed(error.to_string()))?;
    }
    if authorities.is_empty() {
        return Err(failed("it contains no certificate".to_owned()));
    }
    Ok(Arc::new(authorities))
}
