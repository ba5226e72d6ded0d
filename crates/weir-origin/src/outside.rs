//! What reads bytes that others wrote, without sockets and files around it: requests, key servers' answers, key files, and what
//! is stored. It is here for the fuzz targets, and no part of what this crate offers; it must not hold code of its own.

pub use crate::cache::{body as kept_body, head as kept_head};
pub use crate::keys::{
    Addresses, LicenceRequest, Rule, Rules, TitleKey, WrittenKey, from_base64url, key_of_answer,
    key_of_licence,
};
pub use crate::server::conditions::{Current, Verdict, judge, range};
pub use crate::server::range::{Wanted, wanted};
pub use crate::titles::beside::{from_bytes as index_from_bytes, to_bytes as index_to_bytes};
pub use crate::titles::narrow::narrowed;
pub use crate::titles::split;
