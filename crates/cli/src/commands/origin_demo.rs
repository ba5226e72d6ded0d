//! `weir origin demo`: generates a title, serves it, and prints its URLs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::args::{DemoArgs, GlobalOptions};
use serde_json::json;
use tempfile::TempDir;
use weir_measure::Stop;
use weir_origin::{Config, Server, StorageLocation};

use super::Failure;
use super::demo_title::{Made, make_title};
use super::output::{print, say};

/// Name of the title.
const TITLE: &str = "demo";

/// Generates the title and serves it until interrupted.
pub fn run(args: &DemoArgs, global: &GlobalOptions, stop: Stop) -> Result<(), Failure> {
    let root = Root::of(args)?;
    // The port first, so that a port in use is reported before the title is generated.
    let server = Server::bind(&Config {
        listen: args.listen,
        page: true,
        ..Config::new(StorageLocation::Folder(root.path().to_owned()))
    })?;
    if !global.quiet {
        say(&format!(
            "weir origin demo: generating a title with ffmpeg in {}",
            root.path().display()
        ));
    }
    let made = make_title(&root.path().join(TITLE), args.duration, || stop.is_set())?;
    if made == Made::Stopped {
        return Ok(());
    }
    announce(server.address(), &root, global)?;
    server.run(move || stop.is_set())?;
    Ok(())
}

/// The folder that is served.
enum Root {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Root {
    fn of(args: &DemoArgs) -> Result<Self, Failure> {
        let Some(folder) = &args.folder else {
            let made = tempfile::Builder::new().prefix("weir-demo-").tempdir();
            return made.map(Root::Temporary).map_err(|error| {
                Failure::environment(format!(
                    "cannot create a temporary folder: {error}; name one with --folder"
                ))
            });
        };
        let title = folder.join(TITLE);
        if title.exists() {
            return Err(Failure::usage(format!(
                "{} exists; serve it with 'weir origin {} --page', or name another folder",
                title.display(),
                folder.display()
            )));
        }
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::environment(format!("cannot create the folder {}: {error}", folder.display()))
        })?;
        Ok(Root::Kept(folder.clone()))
    }

    fn path(&self) -> &Path {
        match self {
            Root::Temporary(folder) => folder.path(),
            Root::Kept(folder) => folder,
        }
    }
}

fn announce(address: SocketAddr, root: &Root, global: &GlobalOptions) -> Result<(), Failure> {
    let page = super::url_on_this_host("http", address);
    let (dash, hls) = (
        format!("{page}{TITLE}/manifest.mpd"),
        format!("{page}{TITLE}/master.m3u8"),
    );
    if global.json {
        let folder = root.path().display().to_string();
        let line = json!({ "url": page, "dash": dash, "hls": hls, "address": address, "folder": folder });
        return print(&format!("{line}\n"));
    }
    print(&format!("page  {page}\nDASH  {dash}\nHLS   {hls}\n"))?;
    if !global.quiet {
        let end = match root {
            Root::Temporary(_) => "Ctrl-C stops it and removes the title",
            Root::Kept(_) => "Ctrl-C stops it",
        };
        say(&format!("weir origin demo: {end}"));
    }
    Ok(())
}
