//! What is kept between requests, by name: the five ways to stand before remote storage that Unified Streaming compared
//! ("load testing video streaming at scale", part two). It must not know how anything is kept.

use std::fmt;
use std::str::FromStr;

/// One of five ways to read from storage.
///
/// | name | connections | index and manifests | media |
/// | --- | --- | --- | --- |
/// | A | one for each read | read for each request | direct |
/// | B | one for each read | cached | direct |
/// | C | pooled | read for each request | direct |
/// | D | pooled | cached | cached |
/// | E | pooled | cached | direct |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Configuration {
    /// A connection for each read, nothing cached.
    A,
    /// A connection for each read; index and manifests cached.
    B,
    /// Pooled connections, nothing cached.
    C,
    /// Pooled connections, everything cached.
    D,
    /// Pooled connections; index and manifests cached, media read from storage for each request.
    #[default]
    E,
}

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown configuration '{0}'; use A, B, C, D or E")]
pub struct UnknownConfiguration(String);

impl Configuration {
    /// All of them, in order.
    pub const ALL: [Configuration; 5] = [
        Configuration::A,
        Configuration::B,
        Configuration::C,
        Configuration::D,
        Configuration::E,
    ];

    /// Connections to the storage are used again.
    pub fn pools_connections(self) -> bool {
        matches!(self, Configuration::C | Configuration::D | Configuration::E)
    }

    /// Indexes and manifests are kept between requests.
    pub fn caches_indexes(self) -> bool {
        matches!(self, Configuration::B | Configuration::D | Configuration::E)
    }

    /// Media is kept between requests.
    pub fn caches_media(self) -> bool {
        self == Configuration::D
    }

    /// Its letter.
    pub fn name(self) -> &'static str {
        match self {
            Configuration::A => "A",
            Configuration::B => "B",
            Configuration::C => "C",
            Configuration::D => "D",
            Configuration::E => "E",
        }
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Configuration {
    type Err = UnknownConfiguration;

    fn from_str(name: &str) -> Result<Self, UnknownConfiguration> {
        Configuration::ALL
            .into_iter()
            .find(|configuration| configuration.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownConfiguration(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_what_the_table_says() {
        let told = |name: &str| {
            let configuration: Configuration = name.parse().expect(name);
            (
                configuration.pools_connections(),
                configuration.caches_indexes(),
                configuration.caches_media(),
            )
        };
        assert_eq!(told("A"), (false, false, false));
        assert_eq!(told("b"), (false, true, false));
        assert_eq!(told("C"), (true, false, false));
        assert_eq!(told("D"), (true, true, true));
        assert_eq!(told("e"), (true, true, false));
        assert_eq!(Configuration::default(), Configuration::E);
        let error = "F".parse::<Configuration>().expect_err("no configuration");
        assert_eq!(
            error.to_string(),
            "unknown configuration 'F'; use A, B, C, D or E"
        );
    }
}
