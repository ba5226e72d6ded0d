//! Who may ask for what. It must not know what is asked.
//!
//! On loopback the danger is not another host but another page in the same browser. It can make the browser ask this
//! server, under a name of its own that it lets point to 127.0.0.1 (DNS rebinding): then `Host` is that name. Or it can
//! send a form or a request from where it is (CSRF): then `Origin` is that page, and a header that no form can set, and no
//! foreign script without leave, is missing.
//!
//! Bound elsewhere, whoever asks has to know the token, which no foreign page does.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// The header that a request has to have to change something, where [`Rules::header`] says so.
pub const HEADER: &str = "x-weir";

/// What differs between servers.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Beginning of the paths that are guarded; what is elsewhere anybody may see.
    pub guarded: &'static str,
    /// Whether a request that changes something needs [`HEADER`]. Without it, the server must refuse bodies of the types that a
    /// form can send.
    pub header: bool,
    /// The command that printed the address, for errors.
    pub command: &'static str,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// 401 or 403.
    pub status: StatusCode,
    /// In a line.
    pub message: String,
}

/// The rules of one server.
pub struct Guard {
    rules: Rules,
    /// Names of this server in `Host`; any will do where others are to reach it.
    hosts: Option<Vec<String>>,
    token: Option<Secret>,
}

impl Guard {
    /// Rules for a server on `address`.
    pub fn new(address: SocketAddr, token: Option<&[u8]>, rules: Rules) -> Self {
        Guard {
            rules,
            hosts: is_loopback(address).then(|| names(address)),
            token: token.map(Secret::new),
        }
    }

    /// Whether the request may go on.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let refuse = |why: &str| Refusal {
            status: StatusCode::FORBIDDEN,
            message: why.to_owned(),
        };
        let host = self.host(uri, headers).ok_or_else(|| {
            refuse(&format!(
                "the Host of this request is not this server; use the address that '{}' printed",
                self.rules.command
            ))
        })?;
        if !uri.path().starts_with(self.rules.guarded) {
            return Ok(());
        }
        if let Some(token) = &self.token
            && !bearer(headers).is_some_and(|given| token.is(given))
        {
            return Err(Refusal {
                status: StatusCode::UNAUTHORIZED,
                message: "this server asks for its token, as 'Authorization: Bearer TOKEN'".to_owned(),
            });
        }
        if let Some(origin) = headers.get(header::ORIGIN)
            && !self.is_own(origin.as_bytes(), host)
        {
            return Err(refuse("this request comes from another page"));
        }
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        if self.rules.header && changes && headers.get(HEADER).is_none_or(|value| value != "1") {
            return Err(refuse(
                "a request that changes something needs the header 'X-Weir: 1'",
            ));
        }
        Ok(())
    }

    /// The `Host`, if there is exactly one and it may be that.
    fn host<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Option<&'a str> {
        let mut given = headers.get_all(header::HOST).iter();
        let host = given.next()?.to_str().ok()?;
        if given.next().is_some() {
            return None;
        }
        let known = |name: &str| match &self.hosts {
            Some(hosts) => hosts.iter().any(|host| host.eq_ignore_ascii_case(name)),
            None => true,
        };
        // A request may also carry its whole address, which stands above the header.
        let whole = uri.authority().is_none_or(|authority| known(authority.as_str()));
        (whole && known(host)).then_some(host)
    }

    fn is_own(&self, origin: &[u8], host: &str) -> bool {
        let Ok(origin) = std::str::from_utf8(origin) else {
            return false;
        };
        let is = |scheme| {
            origin
                .strip_prefix(scheme)
                .is_some_and(|origin| origin.eq_ignore_ascii_case(host))
        };
        // Where others are to reach it, somebody who speaks TLS may stand before it.
        is("http://") || (self.hosts.is_none() && is("https://"))
    }
}

/// Whether only this host's users reach an address.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// What a browser may call a server on loopback.
fn names(address: SocketAddr) -> Vec<String> {
    let own = match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    };
    let names = ["localhost", "127.0.0.1", "[::1]", &own].map(str::to_owned);
    let with_port = names.iter().map(|name| format!("{name}:{}", address.port()));
    if address.port() == 80 {
        return with_port.chain(names.iter().cloned()).collect();
    }
    with_port.collect()
}

/// What follows `Bearer` in the only `Authorization`.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let value = given.next()?.as_bytes();
    if given.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}

/// A token to compare with, as its tag under a key that anybody may know: two tags are compared in a time that depends
/// on neither, and of a tag nothing can be learned of the token.
pub struct Secret(Hmac<Sha256>);

impl Secret {
    /// The secret.
    pub fn new(token: &[u8]) -> Self {
        Secret(tag(token))
    }

    /// Whether it was given.
    pub fn is(&self, given: &[u8]) -> bool {
        let wanted = self.0.clone().finalize().into_bytes();
        tag(given).verify_slice(&wanted).is_ok()
    }
}

fn tag(token: &[u8]) -> Hmac<Sha256> {
    let mut tag = <Hmac<Sha256> as Mac>::new(&Default::default());
    tag.update(token);
    tag
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
