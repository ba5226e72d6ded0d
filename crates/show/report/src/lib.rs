//! What a report draws: runs of a results store summed into one JSON document of bounded size, and the HTML file that
//! carries it. It knows stored records and their diagnosis; it must not know sockets, how a number was measured, or
//! how a page draws it.
//!
//! [`report_data`] makes the document that `docs/report-data.md` describes; [`write_page`] puts it into a page.

mod data;
mod document;
mod error;
mod page;
mod series;
mod watched;

pub use data::{Column, FORMAT, MeshData, ReportData, RunData, Series, VERSION, Values};
pub use document::report_data;
pub use error::ReportError;
pub use page::{DATA_ELEMENT, PAGE, write_page};
pub use series::limits;
pub use watched::{Watched, WatchedPath, WatchedQuery, watched};
