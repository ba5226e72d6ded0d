//! Media segments that are encrypted: read whole, since what the headers in front tell follows from the bytes, and then made.
//! It must not know how they are encrypted.

use std::sync::Arc;

use http::StatusCode;

use super::app::App;
use super::flow::Flow;
use super::problem::Problem;
use crate::content::{Content, Part};
use crate::metrics::Kind;
use crate::titles::{Sealing, TitleError};

/// The longest payload that is encrypted: a request takes twice its memory.
const LONGEST: u64 = 64 << 20;

/// Reads a payload and makes the encrypted segment of it.
pub async fn sealed(
    app: &Arc<App>,
    kind: Kind,
    payload: Content,
    sealing: Sealing,
) -> Result<Content, Problem> {
    let length = payload.length();
    if length > LONGEST {
        let why =
            format!("the segment has {length} bytes; {LONGEST} are the most that are encrypted at once");
        return Err(Problem::new(StatusCode::BAD_GATEWAY, "bad_media", why));
    }
    // It is not longer than that.
    let mut bytes = Vec::with_capacity(length as usize);
    let mut flow = Flow::begin(app.clone(), kind, payload).await?;
    while let Some(piece) = flow.next().await {
        bytes.extend_from_slice(&piece?);
    }
    let made = tokio::task::spawn_blocking(move || sealing.apply(bytes)).await;
    let made = made.map_err(|_| TitleError::Stopped)??;
    Ok(Content::new(vec![Part::Bytes(made.into())]))
}
