//! The files in `deploy/` name commands that the built binary understands; nothing builds images or starts clusters here.

use weir_rig::origin::stop;
use weir_rig::{LIMIT, Running, isolated, run, weir};

/// What a script of `tests/data` finds in files of the repository, line by line.
#[track_caller]
fn found(script: &str, files: &[&str]) -> Vec<String> {
    let folder = env!("CARGO_MANIFEST_DIR");
    let files = files.iter().map(|file| format!("{folder}/../../{file}"));
    let arguments: Vec<String> = [format!("{folder}/tests/data/{script}")]
        .into_iter()
        .chain(files)
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run("python3", &arguments).lines().map(str::to_owned).collect()
}

#[track_caller]
fn starts(arguments: &[String], more: &[&str]) {
    let words: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    let mut command = weir(&words);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        command.env(name, "key");
    }
    let mut process = Running::start(command);
    assert!(process.first_line(LIMIT).starts_with("http://"), "{arguments:?}");
    stop(process);
}

#[test]
fn containers_and_kubernetes_start_what_there_is() {
    isolated!();
    let container = found("check_containerfile.py", &[""]);
    assert_eq!(container[0], "origin");
    starts(&container, &["."]);

    let mut cluster = found("check_kubernetes.py", &["deploy/kubernetes.yaml"]);
    let cache = cluster
        .iter_mut()
        .find(|word| *word == "--disk-cache=/cache")
        .expect("a cache");
    *cache = format!("--disk-cache={}", weir_rig::path("cache"));
    assert!(cluster.contains(&"s3://films/2026".to_owned()), "{cluster:?}");
    cluster.insert(0, "origin".into());
    starts(&cluster, &["--listen", "127.0.0.1:0"]);
    #[cfg(feature = "locust")]
    locust_starts_its_workers();
}

/// Workers for the Locust that is tested.
#[cfg(feature = "locust")]
#[track_caller]
fn locust_starts_its_workers() {
    let files = ["deploy/locust-values.yaml", "deploy/locust-weir-workers.yaml"];
    let mut words = found("check_locust.py", &files);
    let version = words.pop().expect("a version");
    assert!(
        run(&weir_rig::locust::locust(), &["--version"]).contains(&version),
        "{version}"
    );
    for (there, here) in [
        ("--locust-master=locust:5557", "--locust-master=127.0.0.1:5557"),
        ("--db=/results/weir.db", "--db=weir.db"),
    ] {
        *words.iter_mut().find(|word| *word == there).expect(there) = here.into();
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // It tries to reach its master, which does not run, until a signal ends it.
    let worker = Running::start(weir(&words));
    weir_rig::wait_until("its database", LIMIT, || {
        std::path::Path::new("weir.db").exists().then_some(())
    });
    worker.signal("TERM");
    let summary = worker.wait(LIMIT).expect_code(0).json();
    assert_eq!(summary["run"]["outcome"], "interrupted");
    assert_eq!(summary["all"]["requests"], 0);
}
