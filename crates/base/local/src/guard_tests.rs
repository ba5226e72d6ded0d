//! Requests of the page, of other pages and of other hosts, by their headers.

use axum::http::HeaderName;

use super::*;

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn headers(given: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name: HeaderName = name.parse().expect("a name");
        headers.append(name, value.parse().expect("a value"));
    }
    headers
}

/// Status with which the guard answers; 200 where it lets through.
fn status(guard: &Guard, method: Method, path: &str, given: &[(&str, &str)]) -> u16 {
    let uri: Uri = path.parse().expect("an address");
    match guard.check(&method, &uri, &headers(given)) {
        Ok(()) => 200,
        Err(refusal) => refusal.status.as_u16(),
    }
}

const PAGE: Rules = Rules {
    guarded: "/api/",
    header: true,
    command: "weir ui",
};

const RUNS: &str = "/api/v1/runs";

#[test]
fn on_loopback_the_host_has_to_be_this_server() {
    let guard = Guard::new(address("127.0.0.1:4780"), None, PAGE);
    let get = |path: &str, host: &str| status(&guard, Method::GET, path, &[("host", host)]);
    for host in ["127.0.0.1:4780", "localhost:4780", "LocalHost:4780", "[::1]:4780"] {
        assert_eq!(get(RUNS, host), 200, "{host}");
        assert_eq!(get("/", host), 200, "{host}");
    }
    for host in [
        "evil.example:4780",
        "evil.example",
        "localhost",
        "localhost:80",
        "127.0.0.1",
        "127.0.0.1:47800",
        "localhost:4780.evil.example",
        "localhost:4780@evil.example",
        "10.0.0.1:4780",
        "",
    ] {
        assert_eq!(get(RUNS, host), 403, "{host}");
        assert_eq!(get("/", host), 403, "{host}");
    }
    assert_eq!(status(&guard, Method::GET, RUNS, &[]), 403);
    let twice = [("host", "localhost:4780"), ("host", "evil.example")];
    assert_eq!(status(&guard, Method::GET, RUNS, &twice), 403);
    assert_eq!(get("http://evil.example/api/v1/runs", "localhost:4780"), 403);
    assert_eq!(get("http://localhost:4780/api/v1/runs", "localhost:4780"), 200);
}

#[test]
fn other_addresses_of_loopback_and_the_port_of_http_have_their_names() {
    let own = Guard::new(address("127.0.0.2:4780"), None, PAGE);
    assert_eq!(
        status(&own, Method::GET, RUNS, &[("host", "127.0.0.2:4780")]),
        200
    );
    let http = Guard::new(address("[::1]:80"), None, PAGE);
    for host in ["localhost", "[::1]", "localhost:80"] {
        assert_eq!(status(&http, Method::GET, RUNS, &[("host", host)]), 200, "{host}");
    }
    assert_eq!(status(&http, Method::GET, RUNS, &[("host", "evil.example")]), 403);
}

#[test]
fn what_changes_something_comes_from_the_page_itself() {
    let guard = Guard::new(address("127.0.0.1:4780"), None, PAGE);
    let host = ("host", "localhost:4780");
    let change = |more: &[(&str, &str)]| {
        let given = [&[host][..], more].concat();
        let found = [Method::PATCH, Method::DELETE, Method::POST]
            .map(|method| status(&guard, method, "/api/v1/runs/1", &given));
        assert!(found.iter().all(|one| *one == found[0]));
        found[0]
    };
    let own = ("origin", "http://localhost:4780");
    assert_eq!(change(&[("x-weir", "1")]), 200);
    assert_eq!(change(&[("x-weir", "1"), own]), 200);
    assert_eq!(change(&[]), 403);
    assert_eq!(change(&[own]), 403);
    assert_eq!(change(&[("x-weir", "0")]), 403);
    for origin in [
        "http://evil.example",
        "https://localhost:4780",
        "http://localhost:4781",
        "http://127.0.0.1:4780",
        "null",
        "",
    ] {
        assert_eq!(change(&[("x-weir", "1"), ("origin", origin)]), 403, "{origin}");
        let read = [host, ("origin", origin)];
        assert_eq!(status(&guard, Method::GET, RUNS, &read), 403, "{origin}");
    }
}

#[test]
fn a_token_is_asked_for_everything_but_the_page() {
    let guard = Guard::new(address("0.0.0.0:4780"), Some(b"open sesame 1234"), PAGE);
    let host = ("host", "far.example:4780");
    let get = |authorization: &str| {
        status(
            &guard,
            Method::GET,
            RUNS,
            &[host, ("authorization", authorization)],
        )
    };
    assert_eq!(status(&guard, Method::GET, "/", &[host]), 200);
    assert_eq!(status(&guard, Method::GET, RUNS, &[host]), 401);
    assert_eq!(get("Bearer open sesame 1234"), 200);
    assert_eq!(get("bearer  open sesame 1234"), 200);
    for wrong in [
        "Bearer open sesame 123",
        "Bearer open sesame 12345",
        "Bearer",
        "Bearer ",
        "Basic open sesame 1234",
        "open sesame 1234",
        "",
    ] {
        assert_eq!(get(wrong), 401, "{wrong}");
    }
    let twice = [
        host,
        ("authorization", "Bearer open sesame 1234"),
        ("authorization", "Bearer x"),
    ];
    assert_eq!(status(&guard, Method::GET, RUNS, &twice), 401);
    let token = ("authorization", "Bearer open sesame 1234");
    for (origin, wanted) in [
        ("http://far.example:4780", 200),
        ("https://far.example:4780", 200),
        ("https://evil.example", 403),
    ] {
        let given = [host, token, ("x-weir", "1"), ("origin", origin)];
        assert_eq!(status(&guard, Method::DELETE, RUNS, &given), wanted, "{origin}");
    }
    assert_eq!(status(&guard, Method::DELETE, RUNS, &[host, token]), 403);
}

#[test]
fn without_the_header_other_pages_stay_out_by_their_origin() {
    let rules = Rules {
        guarded: "/",
        header: false,
        command: "weir testbed serve",
    };
    let guard = Guard::new(address("127.0.0.1:4790"), None, rules);
    let host = ("host", "127.0.0.1:4790");
    let post = |given: &[(&str, &str)]| status(&guard, Method::POST, "/workflows", given);
    assert_eq!(post(&[host]), 200);
    assert_eq!(post(&[host, ("origin", "http://127.0.0.1:4790")]), 200);
    assert_eq!(post(&[host, ("origin", "https://evil.example")]), 403);
    assert_eq!(post(&[host, ("origin", "null")]), 403);
    assert_eq!(post(&[("host", "evil.example:4790")]), 403);
}
