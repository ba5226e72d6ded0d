//! The built-in profiles: the files of `profiles/`, each of which names the source of its figures.

/// In the order in which they are listed.
const PROFILES: [(&str, &str); 8] = [
    ("aws", include_str!("../profiles/aws.toml")),
    ("google", include_str!("../profiles/google.toml")),
    ("azure", include_str!("../profiles/azure.toml")),
    ("oracle", include_str!("../profiles/oracle.toml")),
    ("home-10M", include_str!("../profiles/home-10M.toml")),
    ("home-40M", include_str!("../profiles/home-40M.toml")),
    ("lte", include_str!("../profiles/lte.toml")),
    ("wan-80ms", include_str!("../profiles/wan-80ms.toml")),
];

/// Every profile with its text, which users can save and change.
pub fn profiles() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROFILES.into_iter()
}

/// The text of the profile of this name.
pub fn named(name: &str) -> Option<&'static str> {
    profiles().find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// A profile's description in one line: the first line of its text, which is a comment.
pub fn headline(text: &str) -> &str {
    text.lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches('#')
        .trim()
}

#[cfg(test)]
mod tests;
