//! An answer's body as it is read: bytes at hand, and what storage gives, as it arrives. It must not know what it means, nor
//! who asked.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::StatusCode;
use weir_media::encryption::PayloadCipher;

use super::app::App;
use super::problem::Problem;
use crate::content::{Content, Encrypted, Part, Remade, Remake, Stored};
use crate::metrics::Kind;
use crate::storage::RangeRead;
use crate::titles::TitleError;

/// Bytes that are encrypted at once, on a thread that serves others too: some 60 µs of chaining.
const ENCRYPTED_AT_ONCE: usize = 64 << 10;

/// The longest payload of which something is made: a request takes twice its memory.
const LONGEST: u64 = 64 << 20;

/// A content that is being read.
pub struct Flow {
    app: Arc<App>,
    kind: Kind,
    parts: VecDeque<Part>,
    ready: VecDeque<Bytes>,
    under_way: Option<Picking>,
}

impl Flow {
    /// Begins to read what is stored first, so that what is wrong with it is known before anything is answered.
    pub async fn begin(app: Arc<App>, kind: Kind, content: Content) -> Result<Self, Problem> {
        let mut flow = Flow {
            app,
            kind,
            parts: content.into_parts().into(),
            ready: VecDeque::new(),
            under_way: None,
        };
        while flow.under_way.is_none() && flow.turn_to_next_part().await? {}
        Ok(flow)
    }

    /// The next bytes; nothing at the end.
    pub async fn next(&mut self) -> Option<Result<Bytes, Problem>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Some(Ok(bytes));
            }
            match self.go_on().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.parts.clear();
                    self.under_way = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Takes more from what is read, or turns to the next part; says whether there was anything.
    async fn go_on(&mut self) -> Result<bool, Problem> {
        let Some(picking) = self.under_way.as_mut() else {
            return self.turn_to_next_part().await;
        };
        if !picking.take(&mut self.ready).await? {
            self.under_way = None;
        }
        Ok(true)
    }

    async fn turn_to_next_part(&mut self) -> Result<bool, Problem> {
        match self.parts.pop_front() {
            None => return Ok(false),
            Some(Part::Bytes(bytes)) => self.ready.push_back(bytes),
            Some(Part::Stored(stored)) => self.under_way = open(&self.app, self.kind, stored).await?,
            Some(Part::Encrypted(part)) => {
                self.under_way = Some(begin_encrypted(self.app.clone(), self.kind, part).await?);
            }
            Some(Part::Remade(part)) => {
                self.under_way = Some(begin_remade(self.app.clone(), self.kind, part).await?);
            }
            Some(Part::Made(made)) => {
                let (piece, rest) = made.split();
                rest.into_iter()
                    .for_each(|rest| self.parts.push_front(Part::Made(rest)));
                for part in piece.into_parts().into_iter().rev() {
                    self.parts.push_front(part);
                }
            }
        }
        Ok(true)
    }
}

async fn open(app: &Arc<App>, kind: Kind, stored: Stored) -> Result<Option<Picking>, Problem> {
    let Stored { path, version, keep } = stored;
    let (Some(first), Some(last)) = (keep.first(), keep.last()) else {
        return Ok(None);
    };
    let range = first.start..last.end;
    let position = range.start;
    let source = if app.caches(kind, range.end - range.start) {
        Source::Whole(Some(app.cached(kind, &path, &version, range).await?))
    } else {
        app.metrics.bypassed(kind);
        Source::RangeRead(app.storage.read(kind, &path, range, Some(&version)).await?)
    };
    Ok(Some(Picking {
        source,
        position,
        keep: keep.into(),
    }))
}

/// Boxed, since a flow has another one in it here.
fn begin_encrypted(
    app: Arc<App>,
    kind: Kind,
    part: Encrypted,
) -> BoxFuture<'static, Result<Picking, Problem>> {
    Box::pin(async move {
        let encrypting = Encrypting {
            clear: Flow::begin(app, kind, part.clear).await?,
            arrived: Bytes::new(),
            cipher: Some(part.cipher),
        };
        Ok(Picking {
            source: Source::Encrypting(Box::new(encrypting)),
            position: 0,
            keep: std::iter::once(part.within).collect(),
        })
    })
}

/// Boxed for the same reason.
fn begin_remade(app: Arc<App>, kind: Kind, part: Remade) -> BoxFuture<'static, Result<Picking, Problem>> {
    Box::pin(async move {
        let made = remade(&app, kind, part.payload, part.how).await?;
        Ok(Picking {
            source: Source::Whole(Some(made)),
            position: 0,
            keep: std::iter::once(part.within).collect(),
        })
    })
}

/// Reads a payload and makes of it what is sent.
pub async fn remade(
    app: &Arc<App>,
    kind: Kind,
    payload: Content,
    how: Arc<dyn Remake>,
) -> Result<Bytes, Problem> {
    let length = payload.length();
    if length > LONGEST {
        let why =
            format!("the payload has {length} bytes; the maximum for encryption or clipping is {LONGEST}");
        return Err(Problem::new(StatusCode::BAD_GATEWAY, "bad_media", why));
    }
    let bytes = read_whole(app, kind, payload).await?;
    let made = tokio::task::spawn_blocking(move || how.remake(bytes)).await;
    let made = made.map_err(|_| TitleError::Stopped)?;
    Ok(made.map_err(TitleError::from)?.into())
}

/// All bytes of a content. Its length is allocated at once, so whoever asks bounds it.
pub async fn read_whole(app: &Arc<App>, kind: Kind, content: Content) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::with_capacity(content.length() as usize);
    let mut flow = Flow::begin(app.clone(), kind, content).await?;
    while let Some(piece) = flow.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

enum Source {
    RangeRead(RangeRead),
    Whole(Option<Bytes>),
    Encrypting(Box<Encrypting>),
}

/// A flow that is encrypted piece by piece.
struct Encrypting {
    clear: Flow,
    /// Not encrypted yet.
    arrived: Bytes,
    /// None after the end.
    cipher: Option<PayloadCipher>,
}

impl Encrypting {
    /// Boxed for the same reason.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, Problem>> {
        Box::pin(async move {
            if self.arrived.is_empty() {
                match self.clear.next().await.transpose()? {
                    Some(bytes) => self.arrived = bytes,
                    None => return Ok(self.cipher.take().map(|cipher| cipher.finish().into())),
                }
            }
            let length = self.arrived.len().min(ENCRYPTED_AT_ONCE);
            let piece = self.arrived.split_to(length);
            let encrypted = self.cipher.as_mut().map(|cipher| cipher.push(&piece));
            Ok(encrypted.map(Bytes::from))
        })
    }
}

/// A read of which some ranges are kept.
struct Picking {
    source: Source,
    /// Of the next byte, in the object.
    position: u64,
    keep: VecDeque<Range<u64>>,
}

impl Picking {
    /// Takes the next bytes of the read and adds what is kept of them; says whether there were any.
    async fn take(&mut self, ready: &mut VecDeque<Bytes>) -> Result<bool, Problem> {
        let piece = match &mut self.source {
            Source::RangeRead(reading) => reading.next().await.transpose()?,
            Source::Whole(bytes) => bytes.take(),
            // What stands behind the last byte that is wanted is not even read.
            Source::Encrypting(_) if self.keep.is_empty() => None,
            Source::Encrypting(encrypting) => encrypting.next().await?,
        };
        let Some(piece) = piece else { return Ok(false) };
        self.pick(&piece, ready);
        Ok(true)
    }

    fn pick(&mut self, piece: &Bytes, ready: &mut VecDeque<Bytes>) {
        let (from, to) = (self.position, self.position + piece.len() as u64);
        self.position = to;
        while let Some(range) = self.keep.front() {
            let (start, end) = (range.start.clamp(from, to), range.end.clamp(from, to));
            if start < end {
                ready.push_back(piece.slice((start - from) as usize..(end - from) as usize));
            }
            if range.end > to {
                return;
            }
            self.keep.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_the_kept_ranges_is_left_out() {
        let object: Vec<u8> = (0..100).collect();
        for piece_length in [1, 7, 30, 90] {
            let mut picking = Picking {
                source: Source::Whole(None),
                position: 10,
                keep: vec![10..20, 20..21, 40..45, 60..100].into(),
            };
            let mut ready = VecDeque::new();
            for piece in object[10..].chunks(piece_length) {
                picking.pick(&Bytes::copy_from_slice(piece), &mut ready);
            }
            let kept: Vec<u8> = ready.iter().flatten().copied().collect();
            let expected: Vec<u8> = (10..21).chain(40..45).chain(60..100).collect();
            assert_eq!(kept, expected, "pieces of {piece_length}");
            assert!(picking.keep.is_empty() && ready.iter().all(|bytes| !bytes.is_empty()));
        }
    }
}
