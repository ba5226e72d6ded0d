//! Writes the table of fuzz targets, one for each file in `fuzz_targets`.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

const FOLDER: &str = "fuzz_targets";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let mut names = Vec::new();
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    let mut table = "&[".to_owned();
    for name in names {
        write!(table, "(\"{name}\", {FOLDER}::{name}::run),")?;
    }
    table.push(']');
    let folder = env::var("OUT_DIR")?;
    fs::write(Path::new(&folder).join("table_of_targets.rs"), table)?;
    Ok(())
}
