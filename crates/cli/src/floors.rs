//! The crates lie on floors (`docs/architecture.md`): none uses one of a floor above, in its tests either.

use std::process::Command;

use serde_json::Value;

/// The folders of `crates`, from below to above.
const FLOORS: [&str; 7] = ["base", "measure", "carry", "serve", "lab", "show", "cli"];

/// Position of a package's floor: its manifest is `crates/FLOOR/.../Cargo.toml`.
fn floor(folder: &str) -> usize {
    let (_, below) = folder
        .rsplit_once("/crates/")
        .unwrap_or_else(|| panic!("{folder} is not in crates/"));
    let name = below.split('/').next();
    FLOORS
        .iter()
        .position(|floor| Some(*floor) == name)
        .unwrap_or_else(|| panic!("{folder} is on no floor"))
}

/// Dependencies that go up, as "from -> to". A dependency within the workspace has a path.
fn edges_up(metadata: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let from = floor(package["manifest_path"].as_str().unwrap());
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["path"].as_str().is_some_and(|path| floor(path) > from) {
                found.push(format!("{} -> {}", package["name"], dependency["name"]));
            }
        }
    }
    found
}

#[test]
fn no_crate_uses_one_of_a_floor_above() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let metadata: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(metadata["packages"].as_array().unwrap().len() > 20);
    assert_eq!(edges_up(&metadata), Vec::<String>::new());

    // One that goes up is found.
    let metadata = serde_json::json!({ "packages": [{
        "name": "low",
        "manifest_path": "/x/crates/base/low/Cargo.toml",
        "dependencies": [
            { "name": "beside", "path": "/x/crates/base/beside" },
            { "name": "high", "path": "/x/crates/show/high" },
            { "name": "serde", "path": null },
        ],
    }] });
    assert_eq!(edges_up(&metadata), [r#""low" -> "high""#]);
}
