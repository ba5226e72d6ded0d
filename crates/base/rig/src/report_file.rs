//! The document inside a report, by a reader that shares nothing with Weir.

use std::process::Command;

use serde_json::Value;

use crate::{LIMIT, run_within};

/// Prints the document that lies in the report named by its argument.
const UNPACK: &str = "import base64, gzip, re, sys\n\
                      page = open(sys.argv[1]).read()\n\
                      found = re.findall(r'id=\"weir-data\"[^>]*>([^<]*)</script>', page)\n\
                      assert len(found) == 1, found\n\
                      sys.stdout.buffer.write(gzip.decompress(base64.b64decode(found[0], validate=True)))";

/// The document of a report.
#[track_caller]
pub fn unpacked(file: &str) -> Value {
    let mut python = Command::new("python3");
    python.args(["-c", UNPACK, file]);
    run_within(LIMIT, python).expect_code(0).json()
}
