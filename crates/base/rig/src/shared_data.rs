//! Real data that are not in the repository, in the folder that `WEIR_SHARED_DATA` names, else in `../shared/data` beside
//! the checkout. It must not know what is in them.

use std::io::Write;
use std::path::{Path, PathBuf};

const VARIABLE: &str = "WEIR_SHARED_DATA";

/// A folder of the data, or none where there are no data: then `against` is not compared with, which is printed on
/// standard error past the capture of a test's output.
pub fn shared_data(folder: &str, against: &str) -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let found = named.clone().unwrap_or(beside).join(folder);
    if found.is_dir() {
        return Some(found);
    }
    let missing = found.display();
    assert!(named.is_none(), "{VARIABLE} is set, but {missing} is no folder");
    let text = format!(
        "\n*** NOT CHECKED against {against}: {missing} is not there; name the folder of the data in {VARIABLE} ***\n"
    );
    std::io::stderr()
        .write_all(text.as_bytes())
        .expect("standard error");
    None
}
