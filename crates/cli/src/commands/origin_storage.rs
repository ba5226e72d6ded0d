//! How the storage of media is reached: options that serving and indexing have alike.

use std::time::Duration;

use crate::args::{BucketStyle, StorageArgs};
use weir_origin::{Access, Patience, S3Style};

/// Options of object stores.
pub fn access(args: &StorageArgs) -> Access {
    Access {
        s3_endpoint: args.s3_endpoint.clone(),
        s3_style: match args.s3_style {
            BucketStyle::Path => S3Style::Path,
            BucketStyle::Virtual => S3Style::Virtual,
        },
        s3_region: args.s3_region.clone(),
        anonymous: args.anonymous,
        authorities: args.storage_ca.clone(),
    }
}

/// Timeouts and retries of the storage.
pub fn patience(args: &StorageArgs) -> Patience {
    let waits = Duration::from_nanos(args.storage_timeout.0);
    Patience {
        answer: waits,
        stall: waits,
        tries: args.storage_tries,
        ..Patience::default()
    }
}
