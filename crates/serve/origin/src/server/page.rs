//! The page at `/`: files that are built in, and the list of titles that it offers. It must not know what players do with
//! them. Nothing that is stored has such an address, since names with a dot in front are refused.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, VARY};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

use super::answer::{Answer, Found, Keep};
use super::app::App;
use super::problem::Problem;

/// Where the page asks for the titles.
const TITLES: &str = "/.page/titles.json";
/// Seconds for which a browser need not ask again: with another version of Weir the same names hold something else.
const KEPT: u32 = 60;
/// Scripts are the origin's own alone, which also read MP4 in workers and hand it over as blobs; media, manifests and
/// licences may come from elsewhere, for a title may be anybody's.
const POLICY: &str = "default-src 'none'; script-src 'self' blob:; worker-src 'self' blob:; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; media-src * blob: data:; connect-src * data: blob:; base-uri 'none'; form-action 'none'";

/// A file of the page, compressed with gzip.
struct Built {
    path: &'static str,
    content_type: &'static str,
    zipped: &'static [u8],
}

macro_rules! built {
    ($path:literal, $file:literal, $content_type:literal) => {
        Built {
            path: $path,
            content_type: $content_type,
            zipped: include_bytes!(concat!("../../../../../web/dist/player/", $file, ".gz")),
        }
    };
}

const FILES: [Built; 7] = [
    built!("/", "index.html", "text/html; charset=utf-8"),
    built!("/.page/page.js", "page.js", "text/javascript; charset=utf-8"),
    built!("/.page/page.css", "page.css", "text/css; charset=utf-8"),
    built!("/.page/dash.js", "dash.js", "text/javascript; charset=utf-8"),
    built!("/.page/hls.js", "hls.js", "text/javascript; charset=utf-8"),
    built!("/.page/shaka.js", "shaka.js", "text/javascript; charset=utf-8"),
    built!("/.page/licences.txt", "licences.txt", "text/plain; charset=utf-8"),
];

/// The answer, if there is a page here and the request is for a part of it.
pub async fn answer<B>(app: &Arc<App>, request: &Request<B>) -> Option<Result<Answer, Problem>> {
    if !app.page {
        return None;
    }
    let path = request.uri().path();
    if path == TITLES {
        return Some(titles(app, request).await);
    }
    let file = FILES.iter().find(|file| file.path == path)?;
    Some(file.answer(app, request).await)
}

async fn titles<B>(app: &Arc<App>, request: &Request<B>) -> Result<Answer, Problem> {
    let titles = app.titles.all().await?;
    let titles: Vec<&str> = titles.iter().map(|title| title.as_str()).collect();
    let text = format!("{}\n", json!({ "titles": titles }));
    let found = Found::own("application/json", text);
    found.answer(app, request.method(), request.headers()).await
}

impl Built {
    async fn answer<B>(&self, app: &Arc<App>, request: &Request<B>) -> Result<Answer, Problem> {
        let zipped = takes_gzip(request.headers());
        let bytes = if zipped {
            Bytes::from_static(self.zipped)
        } else {
            self.plain()?
        };
        let found = Found {
            etag: Some(format!("\"{:016x}\"", xxh3_64(&bytes))),
            keep: Keep::Seconds(KEPT),
            ..Found::own(self.content_type, bytes)
        };
        let mut answer = found.answer(app, request.method(), request.headers()).await?;
        let headers = &mut answer.headers;
        if zipped {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        Ok(answer)
    }

    fn plain(&self) -> Result<Bytes, Problem> {
        let mut plain = Vec::new();
        let read = GzDecoder::new(self.zipped).read_to_end(&mut plain);
        read.map_err(|error| {
            let why = format!("the file {} of the page is damaged: {error}", self.path);
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "other", why)
        })?;
        Ok(plain.into())
    }
}

/// Whether the client takes gzip (RFC 9110, 12.5.3).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let codings = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    codings.into_iter().any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse::<f32>().is_ok_and(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_for_those_who_take_it() {
        let takes = |value: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(
                ACCEPT_ENCODING,
                HeaderValue::from_static(value),
            )]))
        };
        for value in ["gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.5", "gzip; q=1"] {
            assert!(takes(value), "{value}");
        }
        for value in ["", "identity", "br", "gzip;q=0", "gzip;q=0.0, br", "xgzip"] {
            assert!(!takes(value), "{value}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn every_file_of_the_page_can_be_unpacked() {
        for file in &FILES {
            assert!(!file.plain().expect(file.path).is_empty());
        }
    }
}
