//! Objects in storage: a folder, an object store or a plain server, or several of them that hold the same. It knows how
//! to read ranges of one version of an object, to ask again, and to turn to the next storage; it must not know what the
//! bytes are, nor what is kept of them.

mod ask;
mod at_hand;
mod authorities;
mod buffers;
mod cloud;
mod endpoint;
mod error;
mod fault;
mod folder;
mod hedge;
mod location;
mod meta;
mod plain;
mod range_read;
mod transport;

use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::{Either, join_all, select};
use tokio::time::{Instant, timeout};

use crate::metrics::{Kind, Metrics};
use crate::path::ObjectPath;
use ask::{Answer, Ask};
use endpoint::Endpoint;
use error::MOST_PLACES;
use fault::Fault;
use hedge::Hedge;

pub use authorities::AuthoritiesError;
pub use error::{OpenError, StorageError};
pub use location::{Access, Bucket, PlaceError, Provider, S3Style, StorageLocation};
pub use meta::Meta;
pub use plain::AGENT;
pub use range_read::RangeRead;
pub use transport::{Patience, Transport};

/// From one look at a storage that failed to the next.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

/// Storage that is read from. Clones share connections and counts.
#[derive(Clone, Debug)]
pub struct Storage {
    shared: Arc<Shared>,
    /// Where manifests and indexes are read instead.
    indexes: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    /// In order of preference.
    endpoints: Vec<Endpoint>,
    patience: Patience,
    /// Where slow reads are made a second time.
    hedge: Option<Mutex<Hedge>>,
    metrics: Arc<Metrics>,
}

/// A request to storage, whichever one is asked.
#[derive(Clone, Copy)]
struct Question<'a> {
    kind: Kind,
    path: &'a ObjectPath,
    ask: &'a Ask,
    version: Option<&'a Meta>,
}

/// An answer, or which storage failed and how.
type Answered<'a> = Result<Answer, (&'a Endpoint, Fault)>;

/// How many requests a read may still make.
#[derive(Clone, Copy, Debug)]
struct Tries {
    made: u32,
    most: u32,
    /// Storages that were asked in this round, a bit for each.
    asked: u64,
}

impl Storage {
    /// Storage at the first of `places`; the others hold the same, and are read while those before them fail.
    ///
    /// # Errors
    /// When there is no place or more than 64, a folder cannot be read, or what is known of an object store is not enough.
    pub fn open(
        places: &[StorageLocation],
        access: &Access,
        pooled: bool,
        patience: Patience,
        metrics: Arc<Metrics>,
    ) -> Result<Self, OpenError> {
        if !(1..=MOST_PLACES).contains(&places.len()) {
            return Err(OpenError::Places(places.len()));
        }
        let authorities = access.authorities.as_deref();
        let authorities = authorities.map(authorities::read).transpose()?;
        let open = |place| Endpoint::open(place, access, &authorities, pooled, &patience, &metrics);
        let endpoints = places.iter().map(open).collect::<Result<_, _>>()?;
        let shared = Shared {
            endpoints,
            hedge: patience.hedge.then(Mutex::default),
            patience,
            metrics,
        };
        Ok(Storage {
            shared: Arc::new(shared),
            indexes: None,
        })
    }

    /// Reads manifests and indexes from another storage that holds the same, such as a cache before this one.
    pub fn with_indexes(self, indexes: Storage) -> Self {
        Storage {
            indexes: Some(indexes.shared),
            ..self
        }
    }

    /// The storage that is read for this.
    fn of(&self, kind: Kind) -> Storage {
        let indexes = self.indexes.as_ref();
        let indexes = indexes.filter(|_| matches!(kind, Kind::Manifest | Kind::Index));
        Storage {
            shared: indexes.unwrap_or(&self.shared).clone(),
            indexes: None,
        }
    }

    /// What is known of an object, without its bytes.
    ///
    /// # Errors
    /// When it is not there, not for us, or the storage fails again and again.
    pub async fn head(&self, kind: Kind, path: &ObjectPath) -> Result<Meta, StorageError> {
        let storage = self.of(kind);
        let mut tries = storage.tries();
        let answer = storage.ask(kind, path, &Ask::Head, None, &mut tries).await?;
        Ok(answer.meta)
    }

    /// Begins to read a range. The bytes come as they arrive; a read that breaks off is taken up where it was, of the
    /// same version. To drop the reading ends it. Without `version`, whichever version is there is read, and the range
    /// may lie beyond its end in part.
    ///
    /// # Errors
    /// When the object is not there, not for us, of another version, or the storage fails again and again.
    pub async fn read(
        &self,
        kind: Kind,
        path: &ObjectPath,
        range: Range<u64>,
        version: Option<&Meta>,
    ) -> Result<RangeRead, StorageError> {
        if range.is_empty()
            && let Some(version) = version
        {
            return Ok(RangeRead::nothing(version.clone(), range));
        }
        let storage = self.of(kind);
        let mut tries = storage.tries();
        let ask = Ask::Range(range);
        let answer = storage.ask(kind, path, &ask, version, &mut tries).await?;
        Ok(RangeRead::new(storage, kind, path.clone(), answer, tries))
    }

    /// Reads a range whole.
    ///
    /// # Errors
    /// As [`Storage::read`].
    pub async fn read_whole(
        &self,
        kind: Kind,
        path: &ObjectPath,
        range: Range<u64>,
        version: Option<&Meta>,
    ) -> Result<(Meta, Bytes), StorageError> {
        let mut reading = self.read(kind, path, range, version).await?;
        let meta = reading.meta().clone();
        // What is said to come is allocated only as far as it is usual; the rest as it comes.
        const USUAL: u64 = 16 << 20;
        let expected = reading.left().min(USUAL);
        let mut whole = BytesMut::with_capacity(expected as usize);
        while let Some(piece) = reading.next().await {
            whole.extend_from_slice(&piece?);
        }
        Ok((meta, whole.freeze()))
    }

    /// Objects that lie in a folder, without those in folders below, by name.
    ///
    /// # Errors
    /// When there is no such folder, the storage cannot list, does not list for us, or fails again and again.
    pub async fn list(
        &self,
        kind: Kind,
        folder: &ObjectPath,
    ) -> Result<Vec<(ObjectPath, Meta)>, StorageError> {
        let mut tries = self.tries();
        loop {
            let endpoint = self.endpoint(&mut tries);
            self.shared.metrics.reading(kind);
            let began = Instant::now();
            let listed = endpoint.list(folder).await;
            endpoint.judge(listed.as_ref().err());
            match listed {
                Ok(mut listed) => {
                    self.shared.metrics.storage_answered(began.elapsed());
                    listed.sort_by(|(one, _), (other, _)| one.cmp(other));
                    return Ok(listed);
                }
                Err(fault) => self.wait_or_give_up(fault, endpoint, folder, &mut tries).await?,
            }
        }
    }

    /// All objects, by name, or `most` of them.
    ///
    /// # Errors
    /// When the storage cannot list, does not list for us, or fails again and again.
    pub async fn list_all(&self, kind: Kind, most: usize) -> Result<Vec<(ObjectPath, Meta)>, StorageError> {
        let mut tries = self.tries();
        loop {
            let endpoint = self.endpoint(&mut tries);
            self.shared.metrics.reading(kind);
            let listed = endpoint.list_all(most).await;
            endpoint.judge(listed.as_ref().err());
            match listed {
                Ok(mut listed) => {
                    listed.sort_by(|(one, _), (other, _)| one.cmp(other));
                    return Ok(listed);
                }
                Err(fault) => {
                    let whole = ObjectPath::whole();
                    self.wait_or_give_up(fault, endpoint, &whole, &mut tries).await?;
                }
            }
        }
    }

    /// Writes an object in place of the one that is there, if there is one. Who reads it at the same time reads one or
    /// the other. Where several places hold the same, it is written to the first that takes it.
    ///
    /// # Errors
    /// When the storage takes nothing, takes nothing from us, or fails again and again.
    pub async fn put(&self, path: &ObjectPath, body: Bytes) -> Result<(), StorageError> {
        let mut tries = self.tries();
        loop {
            let endpoint = self.endpoint(&mut tries);
            let put = endpoint.put(path, body.clone()).await;
            endpoint.judge(put.as_ref().err());
            match put {
                Ok(()) => return Ok(()),
                Err(fault) => self.wait_or_give_up(fault, endpoint, path, &mut tries).await?,
            }
        }
    }

    /// Looks after storages that failed, until it is dropped: one that answers again is read from again.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            // At the same time: one that hangs must not keep another from being found.
            join_all(self.endpoints().map(Endpoint::probe_if_down)).await;
        }
    }

    /// Whether all media lie on this host.
    pub fn is_local(&self) -> bool {
        self.shared.endpoints.iter().all(Endpoint::is_local)
    }

    /// Names of the storages, and whether each answered when it was asked last.
    pub fn health(&self) -> Vec<(Arc<str>, bool)> {
        let told = |endpoint: &Endpoint| (endpoint.name().clone(), endpoint.is_up());
        self.endpoints().map(told).collect()
    }

    fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        let all = [Some(&self.shared), self.indexes.as_ref()];
        all.into_iter().flatten().flat_map(|shared| &shared.endpoints)
    }

    fn tries(&self) -> Tries {
        Tries {
            made: 0,
            most: self.shared.patience.tries,
            asked: 0,
        }
    }

    /// Asks until there is an answer, an error that stays, or no try left.
    async fn ask(
        &self,
        kind: Kind,
        path: &ObjectPath,
        ask: &Ask,
        version: Option<&Meta>,
        tries: &mut Tries,
    ) -> Result<Answer, StorageError> {
        let question = Question {
            kind,
            path,
            ask,
            version,
        };
        loop {
            let (endpoint, fault) = match self.ask_or_hedge(&question, tries).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            self.wait_or_give_up(fault, endpoint, path, tries).await?;
        }
    }

    /// Asks once; where that is asked for and the answer is slow to begin, a second time while the first goes on.
    async fn ask_or_hedge(&self, question: &Question<'_>, tries: &mut Tries) -> Answered<'_> {
        let endpoint = self.endpoint(tries);
        let began = Instant::now();
        let mut first = pin!(self.ask_once(endpoint, question));
        let Some(hedge) = self.hedge().filter(|_| matches!(question.ask, Ask::Range(_))) else {
            return first.await;
        };
        let slow_after = lock(hedge).begin();
        let in_time = match slow_after {
            Some(slow_after) => timeout(slow_after, first.as_mut()).await.ok(),
            None => Some(first.as_mut().await),
        };
        let answered = match in_time {
            Some(answered) => answered,
            None if lock(hedge).may() => self.ask_twice(first, question, tries).await,
            None => first.await,
        };
        if answered.is_ok() {
            lock(hedge).learn(began.elapsed());
        }
        answered
    }

    /// Takes whichever answer begins first, that of a read that is under way or of another like it; the other one is
    /// dropped.
    async fn ask_twice<'a>(
        &'a self,
        first: Pin<&mut impl Future<Output = Answered<'a>>>,
        question: &Question<'_>,
        tries: &mut Tries,
    ) -> Answered<'a> {
        self.shared.metrics.hedged();
        let second = pin!(self.ask_once(self.endpoint(tries), question));
        let (answered, is_second) = match select(first, second).await {
            Either::Left((Err(_), second)) => (second.await, true),
            Either::Left((answered, _)) => (answered, false),
            Either::Right((Err(_), first)) => (first.await, false),
            Either::Right((answered, _)) => (answered, true),
        };
        if is_second && answered.is_ok() {
            self.shared.metrics.hedge_won();
        }
        answered
    }

    fn hedge(&self) -> Option<&Mutex<Hedge>> {
        self.shared.hedge.as_ref()
    }

    /// After a fault: waits for the next try, or says why there is none.
    async fn wait_or_give_up(
        &self,
        fault: Fault,
        endpoint: &Endpoint,
        path: &ObjectPath,
        tries: &mut Tries,
    ) -> Result<(), StorageError> {
        tries.made += 1;
        if !fault.is_passing() || tries.made >= tries.most {
            return Err(StorageError::new(fault, endpoint.name(), path));
        }
        tracing::debug!(endpoint = %endpoint.name(), %path, %fault, "retrying the storage");
        self.pause(tries.made).await;
        Ok(())
    }

    async fn ask_once<'a>(&self, endpoint: &'a Endpoint, question: &Question<'_>) -> Answered<'a> {
        let Question {
            kind,
            path,
            ask,
            version,
        } = *question;
        let metrics = &self.shared.metrics;
        metrics.reading(kind);
        let began = Instant::now();
        let answer = endpoint.ask(path, ask, version).await;
        endpoint.judge(answer.as_ref().err());
        let answer = answer.map_err(|fault| match fault {
            // Where a version was known, its length was too.
            Fault::BeyondEnd if version.is_some() => (endpoint, Fault::Changed),
            other => (endpoint, other),
        })?;
        metrics.storage_answered(began.elapsed());
        match version {
            Some(version) if !version.is_same_version(&answer.meta) => Err((endpoint, Fault::Changed)),
            _ => Ok(answer),
        }
    }

    /// The storage for a try: of those that were not asked in this round yet, the first that answered lately, else the
    /// first. When all were asked, another round begins.
    fn endpoint(&self, tries: &mut Tries) -> &Endpoint {
        let all = &self.shared.endpoints;
        if tries.asked.count_ones() as usize >= all.len() {
            tries.asked = 0;
        }
        let asked = tries.asked;
        let mut left = (0..all.len()).filter(|place| asked & (1 << place) == 0);
        let first = left.clone().next().unwrap_or(0);
        let place = left.find(|place| all[*place].is_up()).unwrap_or(first);
        tries.asked |= 1 << place;
        &all[place]
    }

    /// Waits before a retry, unless another storage is next. Half of the wait is random, so that requests that failed
    /// together are not retried together.
    async fn pause(&self, made: u32) {
        self.shared.metrics.retried();
        let storages = self.shared.endpoints.len() as u32;
        if !made.is_multiple_of(storages) {
            return;
        }
        let doublings = (made / storages - 1).min(6);
        let pause = self.shared.patience.pause * (1 << doublings);
        tokio::time::sleep(pause / 2 + (pause / 2).mul_f64(by_chance())).await;
    }
}

fn lock(hedge: &Mutex<Hedge>) -> MutexGuard<'_, Hedge> {
    hedge.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number from 0 to 1, from the seed that the standard library gives its maps.
fn by_chance() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let number = std::hash::RandomState::new().build_hasher().finish();
    (number >> 11) as f64 / (1u64 << 53) as f64
}
