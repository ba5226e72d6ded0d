//! What reads bytes that others wrote: requests, key servers' answers, key files, and what is stored. It must not know sockets,
//! clocks or runtimes, so that the fuzz targets need none; it is public for them, and no part of what this crate offers.

pub(crate) mod address;
pub(crate) mod cache_entry;
pub(crate) mod conditions;
pub(crate) mod key_error;
pub(crate) mod key_rules;
pub(crate) mod licence;
pub(crate) mod query;
pub(crate) mod range;
pub(crate) mod source_keys;
pub(crate) mod stored_index;
pub(crate) mod version;
pub(crate) mod written_key;

pub use address::split;
pub use cache_entry::{body as kept_body, head as kept_head};
pub use conditions::{Current, Verdict, judge, range};
pub use key_error::{KeyError, KeysError};
pub use key_rules::{Rule, Rules};
pub use licence::{LicenceRequest, base64url, from_base64url, key_of_answer, key_of_licence};
pub use query::narrowed;
pub use range::{Wanted, wanted};
pub use source_keys::SourceKeys;
pub use stored_index::{from_bytes as index_from_bytes, to_bytes as index_to_bytes};
pub use written_key::{Addresses, TitleKey, WrittenKey};
