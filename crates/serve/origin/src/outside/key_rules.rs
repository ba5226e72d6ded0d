//! The key file: rules for paths of titles, whether they are protected, and how. The first rule applies whose path is
//! the title or a folder above it. It must not know what is served.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::key_error::KeysError;
use super::source_keys::{SourceKeys, WrittenSource};
use super::written_key::{Addresses, WrittenKey};
use crate::path::ObjectPath;

/// Bytes of a key file.
const LONGEST_FILE: u64 = 64 << 20;
/// Characters that messages show of what a file says.
const LONGEST_TOLD: usize = 200;

/// What a path is under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Not protected.
    Clear,
    /// Protected by the key of that rule.
    Key(usize),
    /// Protected by a key of the key server, of which that rule may say something.
    Server(Option<usize>),
}

/// All rules.
#[derive(Debug)]
pub struct Rules {
    /// Each with what it does.
    rules: Vec<(Rule, WrittenKey)>,
    /// Rules by paths without an asterisk.
    exact: HashMap<String, usize>,
    /// The others in order.
    patterns: Vec<(Pattern, usize)>,
    /// What no rule speaks of.
    rest: Rule,
    /// Keys of media that come encrypted.
    sources: SourceKeys,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    #[serde(default)]
    title: Vec<WrittenRule>,
    #[serde(default)]
    source: Vec<WrittenSource>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    path: String,
    #[serde(default)]
    clear: bool,
    scheme: Option<String>,
    key_id: Option<String>,
    key: Option<String>,
    iv: Option<String>,
    #[serde(default)]
    pssh: Vec<String>,
    licence_url: Option<String>,
    key_url: Option<String>,
}

impl Rules {
    /// Reads a file; without one, everything is clear, or a matter of the key server.
    pub fn open(path: Option<&Path>, has_server: bool, addresses: Addresses) -> Result<Self, KeysError> {
        let Some(path) = path else {
            return Ok(Rules::none(has_server));
        };
        let text = read(path).map_err(|source| KeysError::File {
            path: path.to_owned(),
            source,
        })?;
        let is_json = path
            .extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("json"));
        Rules::parse(&text, is_json, has_server, addresses).map_err(|why| KeysError::Written {
            path: path.to_owned(),
            why,
        })
    }

    /// What counts where there is no file.
    fn none(has_server: bool) -> Self {
        Rules {
            rules: Vec::new(),
            exact: HashMap::new(),
            patterns: Vec::new(),
            rest: if has_server {
                Rule::Server(None)
            } else {
                Rule::Clear
            },
            sources: SourceKeys::default(),
        }
    }

    /// Reads the text of a file, in JSON or in TOML; else what is wrong with it, in one line.
    pub fn parse(text: &str, is_json: bool, has_server: bool, addresses: Addresses) -> Result<Self, String> {
        let written: WrittenFile = if is_json {
            serde_json::from_str(text).map_err(|error| in_a_line(&error.to_string()))?
        } else {
            parse_toml(text)?
        };
        let mut rules = Rules::none(has_server);
        rules.sources = SourceKeys::read(written.source)?;
        for rule in written.title {
            let name: String = rule.path.chars().take(LONGEST_TOLD).collect();
            let added = rules.add(rule, has_server, addresses);
            added.map_err(|why| format!("the title '{}': {why}", name.escape_debug()))?;
        }
        Ok(rules)
    }

    fn add(&mut self, written: WrittenRule, has_server: bool, addresses: Addresses) -> Result<(), String> {
        let pattern = Pattern::new(&written.path)?;
        let number = self.rules.len();
        let (clear, key) = (written.clear, written.key());
        let rule = if clear {
            if key.key.is_some() {
                return Err("it has both a key and 'clear'; keep one of them".to_owned());
            }
            Rule::Clear
        } else if key.key.is_some() {
            check(&key, addresses)?;
            Rule::Key(number)
        } else if has_server {
            Rule::Server(Some(number))
        } else {
            return Err(
                "'key' is missing; write it, or 'clear = true', or name a key server with --key-server"
                    .to_owned(),
            );
        };
        match pattern.exact() {
            Some(path) => {
                if self.exact.insert(path, number).is_some() {
                    return Err("it has two rules".to_owned());
                }
            }
            None => self.patterns.push((pattern, number)),
        }
        self.rules.push((rule, key));
        Ok(())
    }

    /// What this path is under.
    pub fn of(&self, path: &ObjectPath) -> Rule {
        let rule = self.written_for(path);
        rule.map_or(self.rest, |(rule, _)| *rule)
    }

    /// Whether a rule says that this path is clear, and not the lack of one.
    pub fn says_clear(&self, path: &ObjectPath) -> bool {
        matches!(self.written_for(path), Some((Rule::Clear, _)))
    }

    /// Keys of media that come encrypted.
    pub fn sources(&self) -> &SourceKeys {
        &self.sources
    }

    fn written_for(&self, path: &ObjectPath) -> Option<&(Rule, WrittenKey)> {
        if self.rules.is_empty() {
            return None;
        }
        let whole = path.as_str();
        let ends = whole.match_indices('/').map(|(end, _)| end);
        let folders = ends.chain([whole.len()]).filter_map(|end| whole.get(..end));
        let exact = folders.filter_map(|folder| self.exact.get(folder)).min();
        let by_pattern = self
            .patterns
            .iter()
            .find(|(pattern, _)| pattern.covers(whole))
            .map(|(_, number)| number);
        let number = exact.into_iter().chain(by_pattern).min();
        number.and_then(|number| self.rules.get(*number))
    }

    /// What is written in the rule of that number, which [`Rules::of`] has given.
    pub fn written(&self, number: usize) -> &WrittenKey {
        &self.rules[number].1
    }
}

impl WrittenRule {
    fn key(self) -> WrittenKey {
        WrittenKey {
            scheme: self.scheme,
            key_id: self.key_id,
            key: self.key,
            iv: self.iv,
            pssh: self.pssh,
            licence_url: self.licence_url,
            key_url: self.key_url,
        }
    }
}

/// That the key can be used, whatever the title.
fn check(key: &WrittenKey, addresses: Addresses) -> Result<(), String> {
    let any = ObjectPath::new("title").map_err(|error| error.to_string())?;
    let made = key.for_title(&any, addresses);
    made.map(|_| ()).map_err(|error| error.to_string())
}

/// Errors of the TOML parser quote the line, which may contain a key; only its number is reported.
fn parse_toml(text: &str) -> Result<WrittenFile, String> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        format!("line {line}: {}", in_a_line(error.message()))
    })
}

/// What a reader says, which may have names from the file in it.
fn in_a_line(said: &str) -> String {
    let line = said.chars().take(LONGEST_TOLD);
    line.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn read(path: &Path) -> std::io::Result<String> {
    // It may be no file with a length, but a pipe.
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(LONGEST_FILE + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_FILE {
        let why = "it is longer than 64 MiB";
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, why));
    }
    Ok(text)
}

/// The path of a title or folder, in which an asterisk stands for any characters of one part.
#[derive(Debug)]
struct Pattern {
    parts: Vec<String>,
}

impl Pattern {
    fn new(text: &str) -> Result<Self, String> {
        // Part by part it is what a path is, so that a rule that can never count is an error.
        ObjectPath::new(text).map_err(|error| format!("{error}; write it as in films/sita or films/*"))?;
        Ok(Pattern {
            parts: text.split('/').map(str::to_owned).collect(),
        })
    }

    fn exact(&self) -> Option<String> {
        let path = self.parts.join("/");
        (!path.contains('*')).then_some(path)
    }

    /// Whether it is this path, or a folder above it.
    fn covers(&self, path: &str) -> bool {
        let mut parts = path.split('/');
        self.parts
            .iter()
            .all(|pattern| parts.next().is_some_and(|part| fits(pattern, part)))
    }
}

/// Whether a part is as a pattern says, without trying any place twice.
fn fits(pattern: &str, part: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = part.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else {
        return rest.is_empty();
    };
    for piece in pieces {
        let Some((_, behind)) = rest.split_once(piece) else {
            return false;
        };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "scheme = 'cenc'\nkey_id = '00000000000000000000000000000001'\nkey = '000102030405060708090a0b0c0d0e0f'\n";

    fn open(text: &str, has_server: bool) -> Result<Rules, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("keys.toml");
        std::fs::write(&file, text).expect("a file");
        let addresses = Addresses { own: false };
        Rules::open(Some(&file), has_server, addresses).map_err(|error| error.to_string())
    }

    fn of(rules: &Rules, path: &str) -> Rule {
        rules.of(&ObjectPath::new(path).expect("a path"))
    }

    #[test]
    fn the_first_rule_of_a_path_or_a_folder_above_it_counts() {
        let text = format!(
            "[[title]]\npath = 'films/free'\nclear = true\n[[title]]\npath = 'films/*'\n{KEY}[[title]]\npath = 'a'\n{KEY}\
             [[title]]\npath = 'a/b'\nclear = true\n[[title]]\npath = 'x/*-p*/c'\n{KEY}"
        );
        let rules = open(&text, false).unwrap();
        for (path, rule) in [
            ("films", Rule::Clear),
            ("films/free", Rule::Clear),
            ("films/free/high.mp4", Rule::Clear),
            ("films/freed", Rule::Key(1)),
            ("films/one/high.mp4", Rule::Key(1)),
            ("a", Rule::Key(2)),
            ("a/b/c", Rule::Key(2)),
            ("ab", Rule::Clear),
            ("x/one-p2/c", Rule::Key(4)),
            ("x/one-p2/c/d", Rule::Key(4)),
            ("x/one/c", Rule::Clear),
            ("x/one-p2", Rule::Clear),
        ] {
            assert_eq!(of(&rules, path), rule, "{path}");
        }
    }

    #[test]
    fn with_a_key_server_nothing_is_clear_that_is_not_said_to_be() {
        let rules = open(
            "[[title]]\npath = 'free'\nclear = true\n[[title]]\npath = 'a'\nkey_id = '00'",
            true,
        )
        .unwrap();
        assert_eq!(of(&rules, "free/x"), Rule::Clear);
        assert_eq!(of(&rules, "a"), Rule::Server(Some(1)));
        assert_eq!(of(&rules, "other"), Rule::Server(None));
    }

    #[test]
    fn asterisks_stand_for_characters_of_one_part() {
        for (pattern, part, does) in [
            ("*", "", true),
            ("*", "abc", true),
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "a", false),
            ("a*a", "a", false),
            ("*b*b*", "abab", true),
            ("*b*b*", "ab", false),
            ("ab", "abc", false),
            ("*.mp4", "x.mp4", true),
            ("*.mp4", "x.mp4.vtt", false),
        ] {
            assert_eq!(fits(pattern, part), does, "{pattern} {part}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told_without_the_key() {
        let secret = "000102030405060708090a0b0c0d0e0f";
        for (text, has_server, told) in [
            ("[[title]]\npath = 'a'".to_owned(), false, "'key' is missing"),
            (
                format!("[[title]]\npath = 'a'\nclear = true\n{KEY}"),
                false,
                "'clear'",
            ),
            (
                format!("[[title]]\npath = '../a'\n{KEY}"),
                false,
                "begins with a dot",
            ),
            (
                format!("[[title]]\npath = 'a'\n{KEY}[[title]]\npath = 'a'\n{KEY}"),
                false,
                "two rules",
            ),
            (
                format!("[[title]]\npath = 'a'\nkey = '{secret}'"),
                false,
                "'scheme' is missing",
            ),
            (
                format!("[[title]]\npath = 'a'\n{}", KEY.replace("cenc", "aes-128")),
                false,
                "key_url",
            ),
            (
                format!("[[title]]\npath = 'a'\n{}", KEY.replace("0e0f", "0e")),
                false,
                "32 hexadecimal",
            ),
            (
                format!("[[title]]\npath = 'a'\nkeys = '{secret}'"),
                false,
                "line 3",
            ),
            (format!("[[title]]\nkey = {secret}x"), false, "line 2"),
            (
                format!("[[title]]\npath = 'a'\npssh = ['AAAA']\n{KEY}"),
                false,
                "'pssh'",
            ),
            (
                format!("[[title]]\npath = 'a'\nlicence_url = 'a b'\n{KEY}"),
                false,
                "'licence_url'",
            ),
        ] {
            let error = open(&text, has_server).expect_err(&text);
            assert!(error.contains(told), "{error}");
            assert!(!error.contains("0102030405"), "{error}");
        }
    }
}
