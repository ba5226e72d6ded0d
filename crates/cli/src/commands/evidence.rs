//! `weir evidence`: what was measured on a watched path, as one archive for the support of a provider.

use std::io::BufWriter;
use std::path::PathBuf;

use serde_json::json;
use weir_evidence::{EvidenceError, Request, collect};
use weir_net::clock;
use weir_results::Store;

use super::output::print;
use super::progress::Waiting;
use super::{Failure, new_file};
use crate::args::{EvidenceArgs, GlobalOptions};
use crate::units::format_bytes;

/// Reads the store, writes the archive and says where it is.
pub fn run(args: &EvidenceArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let (near, far) = args.pair.clone();
    let until_ns = args.until.map_or_else(clock::unix_ns, |until| until.0);
    let since_ns = args
        .since
        .before(until_ns)
        .ok_or_else(|| Failure::usage("--since is not before --until"))?;
    let name = format!("evidence-{near}-{far}.tar.gz").replace([':', '/'], "_");
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(name));
    let store = Store::open_read_only(&global.db)?;
    new_file::check(&path, store.path(), args.force)?;
    let waiting = Waiting::new("reading the store and writing the archive", global.quiet);
    let archive = collect(
        &store,
        &Request {
            near,
            far,
            since_ns,
            until_ns,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    )?;
    let bytes = new_file::write(&path, args.force, |file| {
        let written = archive.write(BufWriter::new(file));
        written.map_err(|error| new_file::failed(&path, &error))
    })?;
    drop(waiting);
    if global.json {
        let files = archive.files().iter();
        let files: Vec<_> = files
            .map(|file| json!({ "name": file.name, "bytes": file.bytes.len(), "sha256": file.sha256() }))
            .collect();
        let object = json!({ "path": path.display().to_string(), "bytes": bytes, "files": files });
        return print(&format!("{object}\n"));
    }
    print(&format!(
        "{}, {}: open index.html in it\n",
        path.display(),
        format_bytes(bytes)
    ))
}

impl From<EvidenceError> for Failure {
    fn from(error: EvidenceError) -> Self {
        match error {
            EvidenceError::Store(error) => error.into(),
            EvidenceError::NoPath { .. } | EvidenceError::Nothing { .. } => Failure::usage(error.to_string()),
            EvidenceError::Table(_) => Failure::environment(error.to_string()),
        }
    }
}
