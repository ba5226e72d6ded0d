//! `weir origin` with TLS, as a user starts it: curl asks, OpenSSL says which certificate it was shown.

use weir_rig::origin::{make_certificate, start, stop};
use weir_rig::{LIMIT, isolated, run, run_within, wait_until, weir};

/// The subject of the certificate that a server shows.
fn shown(address: &str) -> String {
    let script =
        format!("openssl s_client -connect {address} </dev/null 2>/dev/null | openssl x509 -noout -subject");
    run("sh", &["-c", &script]).trim().to_owned()
}

#[test]
fn a_certificate_is_read_again_on_a_signal() {
    isolated!();
    make_certificate("first");
    let (certificate, key) = (weir_rig::path("cert.pem"), weir_rig::path("key.pem"));
    let (process, url) = start(&[".", "--files", "--tls-cert", &certificate, "--tls-key", &key]);
    let address = url
        .trim_start_matches("https://")
        .trim_end_matches('/')
        .to_owned();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let answer = run(
        "curl",
        &["--silent", "--cacert", &certificate, &format!("{url}healthz")],
    );
    assert!(answer.contains("\"ok\""), "{answer}");
    assert_eq!(shown(&address), "subject=CN = first");
    make_certificate("second");
    assert_eq!(shown(&address), "subject=CN = first");
    process.signal("HUP");
    wait_until("the new certificate", LIMIT, || {
        (shown(&address) == "subject=CN = second").then_some(())
    });
    // One that cannot be used leaves the one before in place.
    std::fs::write(&certificate, "nothing").expect("a file");
    process.signal("HUP");
    wait_until("a warning", LIMIT, || {
        process
            .stderr()
            .contains("cannot reload the certificate; keeping the previous one")
            .then_some(())
    });
    assert_eq!(shown(&address), "subject=CN = second");
    stop(process);
}

#[test]
fn half_of_what_tls_takes_is_refused() {
    isolated!();
    let refused = |arguments: &[&str], code: i32, word: &str| {
        let done = run_within(LIMIT, weir(&[&["origin", "."], arguments].concat())).expect_code(code);
        assert!(done.stderr.contains(word), "{arguments:?}: {}", done.stderr);
    };
    refused(&["--tls-cert", "a.pem"], 2, "--tls-key");
    refused(
        &["--tls-cert", "a.pem", "--tls-key", "b.pem"],
        3,
        "with --tls-cert",
    );
}
