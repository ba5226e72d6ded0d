//! The HTML file of a report: a page with the document inside. It must not know what the page or the document say.

use std::io::Write;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::ReportError;
use crate::data::ReportData;

/// The page, as it was built from `web/`.
pub const PAGE: &str = include_str!("../../../../web/dist/index.html");

/// The element of the page that takes the data; empty, and in the page once.
pub const DATA_ELEMENT: &str = r#"<script type="application/gzip;base64" id="weir-data"></script>"#;
const END: &str = "</script>";

/// Writes `page` with `data` in its element, compressed and in base64, as it comes: the file is never whole in memory.
///
/// The alphabet of base64 is letters, digits, `+`, `/` and `=`. It has no `<`, so that nothing in the data, whatever
/// a host is called or a note says, can close the element and become part of the page.
///
/// # Errors
/// When the page does not have the element exactly once, or `out` fails.
pub fn write_page(page: &str, data: &ReportData, mut out: impl Write) -> Result<(), ReportError> {
    let (before, after) = split(page)?;
    out.write_all(before.as_bytes())?;
    // The best compression takes five times as long and makes the file of a day 2 % smaller.
    let mut compressed = GzEncoder::new(EncoderWriter::new(&mut out, &STANDARD), Compression::default());
    serde_json::to_writer(&mut compressed, data).map_err(std::io::Error::from)?;
    compressed.finish()?.finish()?;
    out.write_all(after.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// What stands before the data and after it.
fn split(page: &str) -> Result<(&str, &str), ReportError> {
    let found = page.matches(DATA_ELEMENT).count();
    match page.find(DATA_ELEMENT) {
        Some(place) if found == 1 => Ok(page.split_at(place + DATA_ELEMENT.len() - END.len())),
        _ => Err(ReportError::Page { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_is_built_in_has_one_place_for_data() {
        let (before, after) = split(PAGE).expect("one place");
        assert!(before.ends_with(r#"id="weir-data">"#) && after.starts_with(END));
    }

    #[test]
    fn a_page_without_a_place_or_with_two_is_refused() {
        for (page, found) in [
            ("<html></html>".to_owned(), 0),
            (r#"<script id="weir-data"></script>"#.to_owned(), 0),
            (DATA_ELEMENT.repeat(2), 2),
        ] {
            let error = split(&page).expect_err("no place");
            assert!(
                error.to_string().contains(&format!("has {found} elements")),
                "{error}"
            );
        }
    }
}
