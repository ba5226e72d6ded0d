//! nginx of Debian with what a test wants of it.

use crate::LIMIT;
use std::net::TcpStream;
use std::process::Command;

use super::{Running, path, wait_until};

/// Starts it with these lines within `http`, in which `@` stands for the test's folder, and waits until it listens there.
#[track_caller]
pub fn nginx(http: &str, address: &str) -> Running {
    let text = format!(
        "user root; daemon off; master_process off; pid @nginx.pid; events {{}}\n\
         http {{ client_body_temp_path @a; proxy_temp_path @b; fastcgi_temp_path @c; uwsgi_temp_path @d;\n\
         scgi_temp_path @e; keepalive_requests 1000000;\n{http} }}"
    );
    let file = path("nginx.conf");
    std::fs::write(&file, text.replace('@', &path(""))).expect("a file");
    let mut command = Command::new("nginx");
    command.args(["-e", &path("nginx.error"), "-c", &file]);
    let mut nginx = Running::start(command);
    wait_until("nginx", LIMIT, || {
        assert!(nginx.is_running(), "{}", nginx.stderr());
        TcpStream::connect(address).ok()
    });
    nginx
}
