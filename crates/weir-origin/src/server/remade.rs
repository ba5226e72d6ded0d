//! What is made of a payload when all of it is there: encrypted media segments, since what the headers in front tell follows
//! from the bytes, and subtitles of a part. It must not know how they are made.

use std::sync::Arc;

use bytes::Bytes;
use http::StatusCode;

use super::app::App;
use super::flow::Flow;
use super::problem::Problem;
use crate::content::{Content, Remake};
use crate::metrics::Kind;
use crate::titles::TitleError;

/// The longest payload of which something is made: a request takes twice its memory.
const LONGEST: u64 = 64 << 20;

/// Reads a payload and makes of it what is sent.
pub async fn remade(
    app: &Arc<App>,
    kind: Kind,
    payload: Content,
    how: Arc<dyn Remake>,
) -> Result<Bytes, Problem> {
    let length = payload.length();
    if length > LONGEST {
        let why = format!(
            "the payload has {length} bytes; {LONGEST} are the most that are encrypted or cut at once"
        );
        return Err(Problem::new(StatusCode::BAD_GATEWAY, "bad_media", why));
    }
    // It is not longer than that.
    let mut bytes = Vec::with_capacity(length as usize);
    let mut flow = Flow::begin(app.clone(), kind, payload).await?;
    while let Some(piece) = flow.next().await {
        bytes.extend_from_slice(&piece?);
    }
    let made = tokio::task::spawn_blocking(move || how.remake(bytes)).await;
    let made = made.map_err(|_| TitleError::Stopped)?;
    Ok(made.map_err(TitleError::from)?.into())
}
