//! Many clients that read slowly, of `weir origin` before remote storage, which is a second `weir origin`: memory stays within
//! bounds, whatever they speak.

use std::process::Command;

use weir_rig::origin::make_certificate;
use weir_rig::origin::{start, stop};
use weir_rig::{LIMIT, count, isolated, run_within};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/slow_clients.py");
const CLIENTS: u64 = 2000;
/// What the origin may take for all of them.
const MOST: u64 = 500 << 20;

#[test]
fn two_thousand_slow_clients_fit_into_memory() {
    isolated!(heavy);
    weir_rig::see_own_processes();
    // So that the kernel's buffers, which all namespaces share a limit for, do not fill up with it.
    for name in ["tcp_rmem", "tcp_wmem"] {
        std::fs::write(format!("/proc/sys/net/ipv4/{name}"), "4096 16384 65536").expect("a setting");
    }
    let root = weir_rig::path("media");
    std::fs::create_dir_all(&root).expect("a folder");
    // More than all buffers on the way hold.
    std::fs::write(format!("{root}/film.mp4"), vec![7; 16 << 20]).expect("a file");
    make_certificate("slow");
    let (certificate, key) = (weir_rig::path("cert.pem"), weir_rig::path("key.pem"));
    let tls = format!("--tls-cert {certificate} --tls-key {key}");
    let (storage, place) = start(&format!("{root} --files"));
    for speak in ["--http1.1", "--http2"] {
        let (origin, url) = start(&format!("{place} --files {tls}"));
        let mut python = Command::new("python3");
        python
            .args([SCRIPT, &format!("{url}film.mp4"), &CLIENTS.to_string(), "5"])
            .args([&origin.id().to_string(), speak]);
        let told = run_within(LIMIT, python).expect_code(0).json();
        println!("{url} {speak}: {told}");
        assert_eq!(count(&told["clients"]), CLIENTS);
        assert!(count(&told["most_bytes"]) <= MOST, "{told}");
        stop(origin);
    }
    stop(storage);
}
