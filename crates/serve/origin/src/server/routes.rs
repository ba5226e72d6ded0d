//! What can be asked for, and which part of the origin finds it. It must not know how it is found, nor how it is sent.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::SystemTime;

use http::header::{RANGE, USER_AGENT};
use http::{HeaderName, Method, Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use serde_json::json;
use weir_media::presentation::Resource;

use super::access_log::{Line, LoggedCache, nanoseconds};
use super::activity::{Activity, UnderWay};
use super::answer::{self, Answer, Found, Keep, METHODS, Outgoing};
use super::app::App;
use super::body::{Account, Body};
use super::deliveries::Deliveries;
use super::flow::read_whole;
use super::licence;
use super::pace;
use super::pacer::Pacer;
use super::page;
use super::problem::Problem;
use super::socket::Socket;
use crate::content::{Content, Part, Stored};
use crate::keys::{KeyError, SourceKeys, TitleKey};
use crate::metrics::{Kind, Metrics, counted_for};
use crate::outside::address::split;
use crate::path::ObjectPath;

/// Seconds for which caches may keep a stored file. Its name says no version, so that a CDN has to ask in the end.
const FILE_KEPT: u32 = 3600;
/// The same for manifests, which change when tracks are added to a title.
const MANIFEST_KEPT: u32 = 60;
/// The same for segments.
const SEGMENT_KEPT: u32 = 86_400;
/// The cause of errors that come of an object that was replaced.
const CHANGED: &str = "storage_changed";

/// Who asks, as far as the answer may depend on it.
#[derive(Debug)]
pub struct Client {
    pub socket: Socket,
    pub activity: Activity,
    pub pacer: Pacer,
    pub deliveries: Deliveries,
}

/// Answers a request; what is wrong is an answer too. The future is copied for each request, so what waits for storage is boxed in
/// it.
pub async fn respond(
    app: Arc<App>,
    mut request: Request<Incoming>,
    client: Arc<Client>,
    under_way: UnderWay,
) -> Result<Response<Body>, Infallible> {
    let line = app.log.is_some().then(|| Box::new(line(&request, &client)));
    let mut account = Account::open(app.clone(), line, client.deliveries.clone(), under_way);
    let answered = match counted_for(account.reads(), answer(&app, &mut request)).await {
        Ok(answer) => answer,
        Err(problem) => answer::problem(&problem, request.method()),
    };
    let pace = pace::of(&app, &request, &answered);
    let Answer {
        kind,
        status,
        mut headers,
        bytes,
        cause,
    } = answered;
    if let Some(pace) = pace {
        app.metrics.paced(pace);
        pace::tell(pace, &mut headers);
        account.paced(|| pace::logged(pace, &client.pacer));
    }
    let rate = match bytes {
        Outgoing::Flow(..) => pace.and_then(|pace| pace.rate),
        Outgoing::Bytes(ref bytes) if !bytes.is_empty() => pace.and_then(|pace| pace.rate),
        Outgoing::Bytes(_) => None,
    };
    account.shares(client.pacer.begin(rate).await);
    account.answered(kind, status);
    if let Some(cause) = cause {
        account.failed(cause);
    }
    let mut response = Response::new(Body::new(bytes, account));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

async fn answer(app: &Arc<App>, request: &mut Request<Incoming>) -> Result<Answer, Problem> {
    let method = request.method();
    if *method == Method::OPTIONS {
        return Ok(answer::options(app.keys.are_served()));
    }
    if *method == Method::POST
        && app.keys.are_served()
        && let Some(title) = licence::asked_for(request.uri().path())
    {
        return licence::answer(app, &title, request).await;
    }
    if *method != Method::GET && *method != Method::HEAD {
        return Err(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            format!("method not allowed; use {METHODS}"),
        ));
    }
    if let Some(answered) = page::answer(app, request).await {
        return answered;
    }
    let found = find(app, request.uri()).await?;
    let of = found.of.clone();
    match (found.answer(app, method, request.headers()).await, of) {
        // What was kept of it is of a version that is gone: it is looked at anew, once.
        (Err(problem), Some(of)) if problem.cause == CHANGED => {
            app.changed(&of);
            let found = find(app, request.uri()).await?;
            found.answer(app, method, request.headers()).await
        }
        (answered, _) => answered,
    }
}

async fn find(app: &Arc<App>, uri: &Uri) -> Result<Found, Problem> {
    match uri.path() {
        "/healthz" => return health(app),
        "/" => {
            return Err(Problem::nothing(
                "no page here; start the origin with --page to serve one. Titles are at /TITLE/manifest.mpd and /TITLE/master.m3u8",
            ));
        }
        "/metrics" => {
            let text = app.metrics.text(&app.storage.health());
            return Ok(Found::own(Metrics::CONTENT_TYPE, text));
        }
        _ => {}
    }
    if app.keys.are_served()
        && let Some(title) = licence::key_asked_for(uri.path())
    {
        return licence::key(app, &title).await;
    }
    if let Some((title, resource)) = split(uri.path())? {
        let may_be_file = app.files && !app.keys.protects(&title);
        match part(app, uri, title, &resource).await {
            // It may be a stored file that is called as a part of a title would be.
            Err(problem) if may_be_file && problem.status == StatusCode::NOT_FOUND => {}
            found => return found,
        }
    }
    let path = ObjectPath::from_request(uri.path())?;
    if app.files {
        return Box::pin(file(app, path)).await;
    }
    Err(Problem::nothing(format!(
        "nothing at /{path}; titles are at /TITLE/manifest.mpd and /TITLE/master.m3u8, and stored files are served with --files only"
    )))
}

/// Whether media can be read: at least one storage answered when it was asked last.
fn health(app: &App) -> Result<Found, Problem> {
    let storages = app.storage.health();
    if storages.iter().all(|(_, up)| !up) {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "storage_unavailable",
            "no storage is reachable",
        ));
    }
    let told: Vec<_> = storages
        .iter()
        .map(|(name, up)| json!({ "name": name.as_ref(), "up": up }))
        .collect();
    let text = format!("{}\n", json!({ "status": "ok", "storage": told }));
    Ok(Found::own("application/json", text))
}

async fn part(app: &Arc<App>, uri: &Uri, path: ObjectPath, resource: &Resource) -> Result<Found, Problem> {
    let title = app.titles.get(&path).await?;
    let query = uri.query().unwrap_or_default();
    let key = app.keys.of_title(&path, title.media_files()).await?;
    let sources = app.keys.of_sources(&path, title.source_keys()).await?;
    let is_segment = matches!(resource, Resource::MediaSegment(..));
    let name = versioned_name(resource, query, key.as_deref(), &sources);
    let etag = title.etag(&name);
    let kept = is_segment.then(|| app.short_segment(&etag)).flatten();
    let piece = match (kept, &key) {
        (Some(kept), _) => Some(kept),
        (None, None) => title.piece(resource, query, &sources)?,
        (None, Some(key)) => title.protected_piece(resource, query, key, &sources)?,
    };
    let mut piece =
        piece.ok_or_else(|| Problem::nothing(format!("the title /{path} has no {}", resource.path())))?;
    if is_segment && app.keeps(&piece) {
        let content = std::mem::take(&mut piece.content);
        let bytes = Box::pin(read_whole(app, piece.kind, content)).await?;
        app.keep(etag.clone(), &mut piece, bytes);
    }
    Ok(Found {
        kind: piece.kind,
        content_type: piece.content_type,
        etag: Some(etag),
        modified: title.modified(),
        keep: Keep::Seconds(match piece.kind {
            Kind::Manifest => MANIFEST_KEPT,
            _ => SEGMENT_KEPT,
        }),
        content: piece.content,
        remake: piece.remake,
        of: Some(path),
    })
}

/// Differs wherever the bytes of a part of a title do.
fn versioned_name(resource: &Resource, query: &str, key: Option<&TitleKey>, sources: &SourceKeys) -> String {
    let mut name = resource.path();
    let is_media = matches!(
        resource,
        Resource::InitSegment(..)
            | Resource::MediaSegment(..)
            | Resource::SyncSample(..)
            | Resource::SingleFile(..)
    );
    // Manifests are narrowed and the text of subtitles is cut as the query says.
    if !is_media {
        name.push('?');
        name.push_str(query);
    }
    // Another key makes other bytes.
    for tag in [key.map(|key| key.tag), sources.tag()].into_iter().flatten() {
        name.push_str(&format!("\n{tag:016x}"));
    }
    name
}

async fn file(app: &Arc<App>, path: ObjectPath) -> Result<Found, Problem> {
    if app.keys.protects(&path) {
        return Err(KeyError::StoredFile { file: path }.into());
    }
    let version = app.version(Kind::File, &path).await?;
    let (etag, modified) = (version.etag.clone(), version.modified);
    let parts = match version.length {
        0 => Vec::new(),
        length => vec![Part::Stored(Stored {
            path: path.clone(),
            version,
            keep: std::iter::once(0..length).collect(),
        })],
    };
    Ok(Found {
        kind: Kind::File,
        content_type: content_type(path.name()),
        etag,
        modified,
        keep: Keep::Seconds(FILE_KEPT),
        content: Content::new(parts),
        remake: None,
        of: Some(path),
    })
}

/// What a file is, by the end of its name.
fn content_type(name: &str) -> &'static str {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref() {
        Some("mp4" | "m4v" | "cmfv") => "video/mp4",
        Some("m4a" | "cmfa") => "audio/mp4",
        Some("m4s" | "cmft") => "video/iso.segment",
        Some("mpd") => "application/dash+xml",
        Some("m3u8") => "application/vnd.apple.mpegurl",
        Some("vtt") => "text/vtt; charset=utf-8",
        Some("json") => "application/json",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

fn line(request: &Request<Incoming>, client: &Client) -> Line {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let header = |name: HeaderName| {
        let value = request.headers().get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let path = request.uri().path_and_query().map_or("", |path| path.as_str());
    Line {
        time_ns: nanoseconds(since),
        client: client.socket.peer().ip().to_canonical(),
        http: if request.version() == Version::HTTP_2 {
            "2"
        } else {
            "1.1"
        },
        method: request.method().to_string(),
        path: path.to_owned(),
        status: 0,
        kind: Kind::Other.name(),
        bytes: 0,
        first_byte_ns: 0,
        total_ns: 0,
        delivered_ns: None,
        cache: LoggedCache::default(),
        storage_bytes: 0,
        cause: None,
        pace: None,
        range: header(RANGE),
        user_agent: header(USER_AGENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn future_bytes<A, B, C, D, F>(_: impl Fn(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn what_is_copied_for_each_request_is_short() {
        // With what is read from storage in it, it had 5,400 bytes.
        assert!(future_bytes(respond) < 2_500, "{}", future_bytes(respond));
    }
}
