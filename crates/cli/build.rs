//! Names what `weir --version` prints beside the version: commit, target and profile. It must not fail where there is no
//! git: sources from an archive build as well.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=WEIR_COMMIT");
    let commit = env::var("WEIR_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
        .or_else(commit_of_checkout)
        .unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo:rustc-env=WEIR_COMMIT={commit}");
    println!(
        "cargo:rustc-env=WEIR_TARGET={}",
        env::var("TARGET").unwrap_or_default()
    );
    println!(
        "cargo:rustc-env=WEIR_PROFILE={}",
        profile().unwrap_or_else(|| "unknown profile".to_owned())
    );
}

/// Cargo's own PROFILE names only the root of a profile's inheritance; the folder of a build has its name.
fn profile() -> Option<String> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    // <profile>/build/<package>/out
    let name = out.ancestors().nth(3)?.file_name()?;
    Some(name.to_str()?.to_owned())
}

fn commit_of_checkout() -> Option<String> {
    let commit = git(&["rev-parse", "--short=9", "HEAD"])?;
    // The log of HEAD grows with each commit and checkout, also while its branch is in packed-refs only. Cargo runs this
    // again each time while a file named here is missing.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]).filter(|path| Path::new(path).exists()) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
