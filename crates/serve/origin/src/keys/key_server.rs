//! Asking a key server over HTTP. Where the title alone is known, it is asked for the title; where the key identifier
//! is known, for a ClearKey licence (W3C Encrypted Media Extensions, 9.1). It must not know what keys are for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use weir_media::encryption::{KeyId, hex_16};

use crate::outside::key_error::{KeyError, KeysError, wrong};
use crate::outside::licence::{LicenceRequest, base64url, key_of_answer, key_of_licence};
use crate::outside::written_key::{WrittenKey, put_in};
use crate::path::ObjectPath;
use crate::storage::{AGENT, Patience, Transport};

/// How long the key server may take for all of its answer.
const WAIT: Duration = Duration::from_secs(5);
/// Bytes of an answer.
const LONGEST_ANSWER: usize = 256 << 10;

/// A key server.
#[derive(Debug)]
pub struct KeyServer {
    transport: Transport,
    /// With `{title}` in it, or to be followed by a query.
    address: String,
}

impl KeyServer {
    /// A server at this address.
    pub fn new(address: &str) -> Result<Self, KeysError> {
        let wrong = || KeysError::Server(address.chars().take(200).collect());
        let example = ObjectPath::new("title").map_err(|_| wrong())?;
        let uri: Uri = put_in(address, &example, None).parse().map_err(|_| wrong())?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.authority().is_none() {
            return Err(wrong());
        }
        let patience = Patience {
            answer: WAIT,
            ..Patience::default()
        };
        // Its connections do not count as those to storage.
        let transport = Transport::new(true, &patience, None, Arc::default()).map_err(|_| wrong())?;
        Ok(KeyServer {
            transport,
            address: address.to_owned(),
        })
    }

    /// The key of a title, of which some is known: what the server says counts where both say it, but for addresses.
    pub async fn ask(&self, known: &WrittenKey, title: &ObjectPath) -> Result<WrittenKey, KeyError> {
        let wrong = |why: String| wrong(title, why);
        let key_id = known.key_id.as_deref().map(hex_16).transpose();
        let key_id = key_id.map_err(|error| wrong(format!("'key_id': {error}")))?;
        let Some(key_id) = key_id.map(KeyId) else {
            let answer = self.send(Method::GET, None, title).await?;
            return key_of_answer(&answer, known, title);
        };
        let request = LicenceRequest {
            kids: vec![base64url(&key_id.0)],
            kind: "temporary".to_owned(),
        };
        let body = serde_json::to_vec(&request).map_err(|error| wrong(error.to_string()))?;
        let answer = self.send(Method::POST, Some((body, key_id)), title).await?;
        key_of_licence(&answer, known, key_id, title)
    }

    async fn send(
        &self,
        method: Method,
        body: Option<(Vec<u8>, KeyId)>,
        title: &ObjectPath,
    ) -> Result<Bytes, KeyError> {
        let unavailable = |why: String| KeyError::Unavailable {
            title: title.clone(),
            why,
        };
        let wrong = |why: String| wrong(title, why);
        let key_id = body.as_ref().map(|(_, key_id)| *key_id);
        let mut address = put_in(&self.address, title, key_id);
        if !self.address.contains("{title}") && key_id.is_none() {
            let joint = if address.contains('?') { '&' } else { '?' };
            address.push_str(&put_in(&format!("{joint}title={{title}}"), title, None));
        }
        let mut request = Request::builder()
            .method(method)
            .uri(address)
            .header(USER_AGENT, AGENT)
            .header(ACCEPT, "application/json");
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(|(body, _)| body).unwrap_or_default();
        let request = request
            .body(Full::from(body))
            .map_err(|error| wrong(error.to_string()))?;
        let answer = async {
            let response = self.transport.send(request).await;
            let response = response.map_err(|fault| unavailable(format!("the key server: {fault}")))?;
            let status = response.status();
            if status != StatusCode::OK {
                let why = format!("the key server responded with {status}");
                let is_passing = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
                return Err(if is_passing { unavailable(why) } else { wrong(why) });
            }
            let body = Limited::new(response.into_body(), LONGEST_ANSWER).collect().await;
            let body = body
                .map_err(|error| unavailable(format!("the key server's response was truncated: {error}")))?;
            Ok(body.to_bytes())
        };
        let answer = tokio::time::timeout(WAIT, answer).await;
        answer.unwrap_or_else(|_| {
            let why = format!("no complete response from the key server within {WAIT:?}");
            Err(unavailable(why))
        })
    }
}
