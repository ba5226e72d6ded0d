//! Headers of every answer: what a browser may do with it. It must not know what the answer is.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

/// For everything that is no page: nothing in it may run, wherever a browser shows it.
const NO_PAGE: &str =
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox";
/// For a page that brings no policy of its own.
const ANY_PAGE: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
                        connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const ALWAYS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Adds them; a policy that is there already stays.
pub fn protect(headers: &mut HeaderMap) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(NO_PAGE));
}

/// The policy of a page: the one that it states itself, as a header, which also keeps it out of the frames of others, which
/// a page cannot state.
pub fn page_policy(page: &str) -> HeaderValue {
    const STATED: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
    let stated = page
        .split_once(STATED)
        .and_then(|(_, rest)| Some(rest.split_once('"')?.0));
    stated
        .and_then(|policy| HeaderValue::try_from(format!("{policy}; frame-ancestors 'none'")).ok())
        .unwrap_or(HeaderValue::from_static(ANY_PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_of_a_page_is_what_it_says_itself_and_no_frames() {
        let page = "<head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:\">";
        assert_eq!(
            page_policy(page),
            "default-src 'none'; img-src data:; frame-ancestors 'none'"
        );
        assert_eq!(page_policy("<html></html>"), ANY_PAGE);
    }
}
