//! Keys of titles: which titles are protected, and by which key. They come from a file, or from a key server that is
//! asked once for all who wait and again after a minute. It must not know what is encrypted with them, nor who asks for
//! media.
//!
//! Whether a title is protected is known locally. So an unavailable key is an error, and never a reason to serve a
//! title unencrypted. Other sources of keys (CPIX, SPEKE) would be added beside the key server; keys that change within
//! a title would come from here as well.

mod key_server;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use weir_media::encryption::{ContentKey, KeyId, Scheme, hex_16};

use crate::cache::{Flights, MemoryCache};
use crate::outside::key_rules::{Rule, Rules};
use crate::outside::written_key::{Addresses, WrittenKey};
use crate::path::ObjectPath;
use key_server::KeyServer;

pub use crate::outside::key_error::{KeyError, KeysError};
pub use crate::outside::source_keys::SourceKeys;
pub use crate::outside::written_key::TitleKey;

/// How long a key of the key server is used before it is asked again.
const KEPT: Duration = Duration::from_secs(60);
/// Memory for keys of the key server: some ten thousand of them.
const MEMORY: u64 = 16 << 20;
/// Besides its boxes, bytes of a key.
const BYTES: u64 = 1000;

/// Where keys come from.
#[derive(Clone, Debug, Default)]
pub struct KeySettings {
    /// A file that says which titles are protected, in TOML, or in JSON if its name ends so.
    pub file: Option<PathBuf>,
    /// Address of a key server. What the file does not speak of is then protected.
    pub server: Option<String>,
    /// Players get keys and ClearKey licences from this origin: for tests and demonstrations.
    pub serve: bool,
}

type Found = Result<Arc<TitleKey>, KeyError>;
type WrittenResult = Result<Arc<WrittenKey>, KeyError>;

/// Which titles are protected, and their keys.
#[derive(Debug)]
pub struct Keys {
    rules: Rules,
    server: Option<Arc<KeyServer>>,
    addresses: Addresses,
    kept: MemoryCache<ObjectPath, (Arc<TitleKey>, Instant)>,
    asks: Flights<ObjectPath, WrittenResult>,
    kept_sources: MemoryCache<[u8; 16], (ContentKey, Instant)>,
    source_asks: Flights<[u8; 16], WrittenResult>,
    /// Of titles whose media are clear.
    no_sources: Arc<SourceKeys>,
}

impl Keys {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// When it cannot be read or says what makes no sense, and when the address of the key server is none.
    pub fn open(settings: &KeySettings) -> Result<Self, KeysError> {
        let server = settings.server.as_deref().map(KeyServer::new).transpose()?;
        let addresses = Addresses { own: settings.serve };
        let rules = Rules::open(settings.file.as_deref(), server.is_some(), addresses)?;
        Ok(Keys {
            rules,
            server: server.map(Arc::new),
            addresses,
            kept: MemoryCache::new(MEMORY),
            asks: Flights::default(),
            kept_sources: MemoryCache::new(MEMORY),
            source_asks: Flights::default(),
            no_sources: Arc::default(),
        })
    }

    /// Whether players get keys here.
    pub fn are_served(&self) -> bool {
        self.addresses.own
    }

    /// Whether a title or a stored file of that path is protected.
    pub fn protects(&self, path: &ObjectPath) -> bool {
        !matches!(self.rules.of(path), Rule::Clear)
    }

    /// The key of a title; none if it is not protected. `media` are its media files.
    ///
    /// # Errors
    ///
    /// When it is protected and the key is unavailable, and when another rule than the title's protects one of its
    /// files, which would be served with the wrong key, or clear.
    pub async fn of_title<'f>(
        &self,
        title: &ObjectPath,
        media: impl Iterator<Item = &'f ObjectPath>,
    ) -> Result<Option<Arc<TitleKey>>, KeyError> {
        let rule = self.rules.of(title);
        for file in media {
            let of_file = self.rules.of(file);
            if !matches!(of_file, Rule::Clear) && of_file != rule {
                return Err(KeyError::OtherRule {
                    title: title.clone(),
                    file: file.clone(),
                });
            }
        }
        match rule {
            Rule::Clear => Ok(None),
            Rule::Key(number) => {
                let written = self.rules.written(number);
                self.made(written, title).map(|key| Some(Arc::new(key)))
            }
            Rule::Server(number) => {
                let known = number.map(|number| self.rules.written(number));
                self.asked_for(known, title).await.map(Some)
            }
        }
    }

    /// Keys that the media of a title are encrypted with already. What is made of them is encrypted anew, or clear where a
    /// rule says so.
    ///
    /// # Errors
    ///
    /// When no rule speaks of the title, and when a key is not known or not available.
    pub async fn of_sources(
        &self,
        title: &ObjectPath,
        key_ids: &[KeyId],
    ) -> Result<Arc<SourceKeys>, KeyError> {
        if key_ids.is_empty() {
            return Ok(self.no_sources.clone());
        }
        if !self.protects(title) && !self.rules.says_clear(title) {
            return Err(KeyError::NoRule { title: title.clone() });
        }
        let mut keys = SourceKeys::default();
        for key_id in key_ids {
            let key = match self.rules.sources().of(*key_id) {
                Some(key) => key.clone(),
                None => self.source_asked_for(title, *key_id).await?,
            };
            keys.insert(*key_id, key);
        }
        Ok(Arc::new(keys))
    }

    async fn source_asked_for(&self, title: &ObjectPath, key_id: KeyId) -> Result<ContentKey, KeyError> {
        if let Some((key, since)) = self.kept_sources.get(&key_id.0)
            && since.elapsed() < KEPT
        {
            return Ok(key);
        }
        let asked = title.clone();
        let Some(server) = self.server.clone() else {
            return Err(KeyError::NoSourceKey { title: asked, key_id });
        };
        let known = WrittenKey {
            scheme: Some(Scheme::Cenc.name().to_owned()),
            key_id: Some(key_id.hex()),
            ..WrittenKey::default()
        };
        let begin = || async move { server.ask(&known, &asked).await.map(Arc::new) };
        let (told, is_first) = self.source_asks.join(key_id.0, begin).await;
        let key = hex_16(told?.key.as_deref().unwrap_or_default()).map_err(|error| KeyError::Wrong {
            title: title.clone(),
            why: error.to_string(),
        })?;
        let key = ContentKey::new(key);
        if is_first {
            self.kept_sources
                .insert(key_id.0, (key.clone(), Instant::now()), BYTES);
        }
        Ok(key)
    }

    fn made(&self, written: &WrittenKey, title: &ObjectPath) -> Result<TitleKey, KeyError> {
        written
            .for_title(title, self.addresses)
            .map_err(|error| KeyError::Wrong {
                title: title.clone(),
                why: error.to_string(),
            })
    }

    async fn asked_for(&self, known: Option<&WrittenKey>, title: &ObjectPath) -> Found {
        if let Some((key, since)) = self.kept.get(title)
            && since.elapsed() < KEPT
        {
            return Ok(key);
        }
        let Some(server) = self.server.clone() else {
            return Err(KeyError::NoServer { title: title.clone() });
        };
        let (known, asked) = (known.cloned().unwrap_or_default(), title.clone());
        let begin = || async move { server.ask(&known, &asked).await.map(Arc::new) };
        let (found, is_first) = self.asks.join(title.clone(), begin).await;
        let told = found?;
        let key = Arc::new(self.made(&told, title)?);
        if is_first {
            let systems = key.protection.announcement.systems.iter();
            let boxes: u64 = systems.map(|pssh| pssh.bytes().len() as u64).sum();
            self.kept
                .insert(title.clone(), (key.clone(), Instant::now()), BYTES + boxes);
        }
        Ok(key)
    }
}
