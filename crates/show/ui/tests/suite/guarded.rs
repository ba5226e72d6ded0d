//! Who may not ask, over the wire; `guard_tests.rs` has more of it without.

use weir_ui::{Config, Limits, Server, UiError};

use crate::client::Ui;
use crate::sample::Sample;

const TOKEN: &str = "correct horse battery";

#[test]
fn a_server_with_a_token_answers_those_who_know_it() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start_with(&sample.path, Some(TOKEN), Limits::default());
    let paths = [
        "/api/v1/runs".to_owned(),
        format!("/api/v1/runs/{run}/data"),
        format!("/api/v1/runs/{run}/events"),
        format!("/api/v1/runs/{run}/report"),
        "/api/v1/openapi.json".to_owned(),
        "/api/v1/nothing".to_owned(),
    ];
    for path in &paths {
        for given in [
            None,
            Some("Bearer wrong"),
            Some("Basic correct"),
            Some("Bearer correct horse battery staple"),
        ] {
            let headers: Vec<(&str, &str)> =
                given.map(|given| ("Authorization", given)).into_iter().collect();
            let answer = ui.open("GET", path, &headers, b"");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            let error = answer.error(401);
            assert!(error.contains("token") && !error.contains("horse"), "{error}");
        }
        let known = format!("Bearer {TOKEN}");
        let answer = ui.open("GET", path, &[("Authorization", &known)], b"");
        let wanted = if path.ends_with("nothing") { 404 } else { 200 };
        assert_eq!(answer.status, wanted, "{path}");
    }
    let one = format!("/api/v1/runs/{run}");
    ui.change("PATCH", &one, r#"{"note": "x"}"#).error(401);
    ui.change("DELETE", &one, "").error(401);
    assert_eq!(sample.store.run(run).unwrap().note, "");
    // The page itself asks for the token, and so has to come without one.
    assert_eq!(ui.get("/").status, 200);
}

#[test]
fn other_names_other_pages_and_forms_are_refused() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    let port = ui.address.port();
    for path in ["/", "/api/v1/runs", "/nothing"] {
        for host in [
            "evil.example".to_owned(),
            format!("evil.example:{port}"),
            "localhost:1".to_owned(),
        ] {
            ui.open("GET", path, &[("Host", &host)], b"").error(403);
        }
    }
    let localhost = format!("localhost:{port}");
    let own = format!("http://{localhost}");
    let host = ("Host", localhost.as_str());
    assert_eq!(ui.open("GET", "/api/v1/runs", &[host], b"").status, 200);
    let one = format!("/api/v1/runs/{run}");
    let patch = |headers: &[(&str, &str)]| {
        let headers = [&[host], headers].concat();
        ui.open("PATCH", &one, &headers, br#"{"note": "x"}"#)
    };
    let error = patch(&[]).error(403);
    assert!(error.contains("X-Weir: 1"), "{error}");
    patch(&[("X-Weir", "yes")]).error(403);
    patch(&[("Origin", &own)]).error(403);
    for origin in ["http://evil.example", "null", "http://localhost"] {
        patch(&[("X-Weir", "1"), ("Origin", origin)]).error(403);
        ui.open("DELETE", &one, &[("X-Weir", "1"), ("Origin", origin)], b"")
            .error(403);
        ui.open("GET", "/api/v1/runs", &[("Origin", origin)], b"")
            .error(403);
    }
    ui.open("DELETE", &one, &[], b"").error(403);
    assert_eq!(sample.store.run(run).unwrap().note, "");
    patch(&[("X-Weir", "1"), ("Origin", &own)]).expect(200);
    assert_eq!(sample.store.run(run).unwrap().note, "x");
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let mut sample = Sample::new();
    let run = sample.rtt("far.example");
    let ui = Ui::start(&sample.path);
    for (path, status) in [
        ("/".to_owned(), 200),
        ("/api/v1/runs".to_owned(), 200),
        (format!("/api/v1/runs/{run}/data"), 200),
        (format!("/api/v1/runs/{run}/report"), 200),
        (format!("/api/v1/runs/{run}/events"), 200),
        ("/api/v1/openapi.json".to_owned(), 200),
        ("/nothing".to_owned(), 404),
        ("/api/v1/runs/0/data".to_owned(), 404),
        ("/api/v1/runs?limit=0".to_owned(), 400),
    ] {
        let answer = ui.get(&path).expect(status);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        assert!(answer.header("access-control-allow-origin").is_none());
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert_eq!(policy.contains("sandbox"), path != "/", "{path}: {policy}");
        assert!(!policy.contains("http"), "{path}: {policy}");
    }
    let refused = ui.open("GET", "/", &[("Host", "evil.example")], b"");
    assert_eq!(refused.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn others_reach_no_server_without_a_token() {
    let sample = Sample::new();
    let bind = |listen: &str, token: Option<&[u8]>| {
        Server::bind(Config {
            database: sample.path.clone(),
            listen: listen.parse().unwrap(),
            token: token.map(<[u8]>::to_vec),
            limits: Limits::default(),
        })
    };
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        for token in [None, Some(&b""[..])] {
            let error = bind(listen, token).unwrap_err();
            assert!(matches!(error, UiError::NoToken { .. }), "{listen}: {error}");
        }
    }
    assert!(bind("0.0.0.0:0", Some(TOKEN.as_bytes())).is_ok());
    let taken = bind("127.0.0.1:0", None).unwrap();
    let error = bind(&taken.address().to_string(), None).unwrap_err();
    assert!(matches!(error, UiError::Bind { .. }), "{error}");
}
