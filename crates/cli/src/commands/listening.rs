//! URL of a local server for a client on this host. It must not know what is served.

use std::net::SocketAddr;

/// Base URL, for a client on this host, of a server that listens on `address`.
pub fn url_on_this_host(scheme: &str, address: SocketAddr) -> String {
    let port = address.port();
    match address {
        _ if !address.ip().is_unspecified() => format!("{scheme}://{address}/"),
        SocketAddr::V4(_) => format!("{scheme}://127.0.0.1:{port}/"),
        SocketAddr::V6(_) => format!("{scheme}://[::1]:{port}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_where_it_listens_or_on_loopback() {
        for (address, found) in [
            ("127.0.0.1:4780", "http://127.0.0.1:4780/"),
            ("[::1]:4780", "http://[::1]:4780/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::]:80", "http://[::1]:80/"),
            ("10.1.2.3:80", "http://10.1.2.3:80/"),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(url_on_this_host("http", address), found);
            let secured = found.replacen("http", "https", 1);
            assert_eq!(url_on_this_host("https", address), secured);
        }
    }
}
