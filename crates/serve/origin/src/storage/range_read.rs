//! A read that is under way: its bytes in order, exactly those that were asked for, taken up again where the storage
//! broke off. It must not know what the bytes are.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::ask::{Answer, Ask, ByteStream};
use super::error::StorageError;
use super::fault::Fault;
use super::meta::Meta;
use super::{Storage, Tries};
use crate::metrics::Kind;
use crate::path::ObjectPath;

/// The bytes of a range of one version of an object. Nothing is read that nobody asks for: to stop asking stops the
/// read, to drop it ends it.
pub struct RangeRead {
    meta: Meta,
    left: Range<u64>,
    /// Nothing where there is nothing to read.
    source: Option<Source>,
}

struct Source {
    storage: Storage,
    kind: Kind,
    path: ObjectPath,
    endpoint: Arc<str>,
    stream: ByteStream,
    tries: Tries,
}

impl std::fmt::Debug for RangeRead {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RangeRead({:?})", self.left)
    }
}

impl RangeRead {
    pub(super) fn nothing(meta: Meta, range: Range<u64>) -> Self {
        RangeRead {
            meta,
            left: range.start..range.start,
            source: None,
        }
    }

    pub(super) fn new(storage: Storage, kind: Kind, path: ObjectPath, answer: Answer, tries: Tries) -> Self {
        let Answer {
            meta,
            range,
            stream,
            endpoint,
        } = answer;
        let source = stream.map(|stream| Source {
            storage,
            kind,
            path,
            endpoint,
            stream,
            tries,
        });
        RangeRead {
            meta,
            left: range,
            source,
        }
    }

    /// The version that is read.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Bytes that are still to come.
    pub fn left(&self) -> u64 {
        self.left.end - self.left.start
    }

    /// The next bytes; nothing when all have come. After an error there is nothing more.
    pub async fn next(&mut self) -> Option<Result<Bytes, StorageError>> {
        if self.left.is_empty() {
            self.source = None;
        }
        loop {
            let left = self.left();
            let source = self.source.as_mut()?;
            let fault = match source.piece(left).await {
                Ok(piece) => {
                    self.left.start += piece.len() as u64;
                    return Some(Ok(piece));
                }
                Err(fault) => fault,
            };
            if let Err(error) = self.take_up(fault).await {
                self.source = None;
                return Some(Err(error));
            }
        }
    }

    /// Requests the rest, if a retry may help and can detect another version.
    async fn take_up(&mut self, fault: Fault) -> Result<(), StorageError> {
        let Some(source) = self.source.as_mut() else {
            return Ok(());
        };
        source.tries.made += 1;
        let lost = source.tries.made >= source.tries.most;
        if !fault.is_passing() || lost || !self.meta.is_versioned() {
            return Err(StorageError::new(fault, &source.endpoint, &source.path));
        }
        tracing::debug!(endpoint = %source.endpoint, path = %source.path, %fault, "resuming a read");
        source.storage.pause(source.tries.made).await;
        let ask = Ask::Range(self.left.clone());
        let answer = source
            .storage
            .ask(
                source.kind,
                &source.path,
                &ask,
                Some(&self.meta),
                &mut source.tries,
            )
            .await?;
        source.endpoint = answer.endpoint;
        if let Some(stream) = answer.stream {
            source.stream = stream;
        }
        Ok(())
    }
}

impl Source {
    /// The next bytes, of which there must be some, and no more than `left`.
    async fn piece(&mut self, left: u64) -> Result<Bytes, Fault> {
        let stall = self.storage.shared.patience.stall;
        loop {
            let piece = timeout(stall, self.stream.next())
                .await
                .map_err(|_| Fault::TimedOut(stall))?
                .ok_or_else(|| Fault::Broken("the response ended early".to_owned()))??;
            self.storage
                .shared
                .metrics
                .received(self.kind, piece.len() as u64);
            if piece.len() as u64 > left {
                return Err(Fault::Wrong("more bytes than requested".to_owned()));
            }
            if !piece.is_empty() {
                return Ok(piece);
            }
        }
    }
}
