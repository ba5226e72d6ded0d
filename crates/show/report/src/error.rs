//! Why there is no report, in words for the person who asked for it. It must not know how a report is made.

use weir_results::StoreError;

/// Why a report cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The store could not be read, or a run is not in it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page has no place for the data, or more than one.
    #[error(
        "the page has {found} elements for the data of a report where it should have one: build the page again (it is \
         web/dist/index.html), then Weir"
    )]
    Page {
        /// How often the element is in the page.
        found: usize,
    },
    /// The report's destination failed.
    #[error("cannot write the report: {0}; check the destination and its free space")]
    Write(#[from] std::io::Error),
}
