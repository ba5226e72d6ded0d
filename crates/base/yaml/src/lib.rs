//! YAML as a tree of bounded size, as text or as the JSON that it stands for. It knows YAML's events; it must not know what a
//! document means.
//!
//! An alias is a copy, and copies count.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Number, Value};
use thiserror::Error;

/// Deepest nesting.
const MOST_DEEP: usize = 64;
/// Most scalars, lists and maps, copies by aliases included.
const MOST_NODES: usize = 500_000;

/// Most entries of one map.
const MOST_ENTRIES: usize = 20_000;

/// Maximum length of an error, characters.
const MOST_SAID: usize = 200;

/// Why a text is no document, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct YamlError(String);

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Text.
    Scalar {
        /// As it is written, without its quotes.
        text: String,
        /// Whether it has no quotes, so that it may be a number, a truth value or null.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    /// The entries of a map; none of anything else.
    pub fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The text of a scalar: `22` and `"22"` are the same; empty for null.
    pub fn text(&self) -> Option<&str> {
        match self {
            Node::Scalar { text, plain } if *plain && is_null(text) => Some(""),
            Node::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Null, or an empty scalar.
    pub fn is_empty(&self) -> bool {
        self.text().is_some_and(str::is_empty)
    }

    /// The JSON that it stands for, by the core schema of YAML 1.2.2 (chapter 10.3.2); what JSON has no number for, such as
    /// `.inf`, is text.
    pub fn json(&self) -> Value {
        match self {
            Node::Scalar { text, plain: false } => Value::String(text.clone()),
            Node::Scalar { text, plain: true } => plain(text),
            Node::List(items) => Value::Array(items.iter().map(Node::json).collect()),
            Node::Map(entries) => {
                let entries = entries.iter().map(|(key, node)| (key.clone(), node.json()));
                Value::Object(entries.collect())
            }
        }
    }

    fn size(&self) -> usize {
        match self {
            Node::Scalar { .. } => 1,
            Node::List(items) => 1 + items.iter().map(Node::size).sum::<usize>(),
            Node::Map(entries) => 1 + entries.iter().map(|(_, node)| node.size()).sum::<usize>(),
        }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// A scalar without quotes.
fn plain(text: &str) -> Value {
    match text {
        _ if is_null(text) => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let plain = digits.chars().all(|c| c.is_ascii_alphanumeric());
            return plain.then(|| u64::from_str_radix(digits, radix).ok().map(Number::from))?;
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_decimal = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.contains(|c: char| c.is_ascii_digit())
        && unsigned
            .chars()
            .all(|c| c.is_ascii_digit() || ".eE+-".contains(c));
    if !is_decimal {
        return None;
    }
    let whole = text.parse::<i64>().map(Number::from);
    let whole = whole.or_else(|_| text.parse::<u64>().map(Number::from)).ok();
    whole.or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

/// A list or map that is not closed yet.
struct Open {
    node: Node,
    key: Option<String>,
    anchor: usize,
}

/// The first document of `text`; a second one is an error. The caller bounds the length of the text.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn read(text: &str) -> Result<Node, YamlError> {
    let mut reader = Reader {
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError(in_a_line(&error.to_string())))?;
        let line = span.start.line();
        reader
            .take(event)
            .map_err(|problem| YamlError(format!("line {line}: {problem}")))?;
    }
    Ok(reader.root.unwrap_or(Node::Scalar {
        text: String::new(),
        plain: true,
    }))
}

/// The message of a parser may have characters of the text in it.
fn in_a_line(said: &str) -> String {
    said.chars()
        .take(MOST_SAID)
        .flat_map(char::escape_debug)
        .collect()
}

struct Reader {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

impl Reader {
    fn take(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Scalar(text, style, anchor, _) => {
                self.count(1)?;
                let scalar = Node::Scalar {
                    text: text.into_owned(),
                    plain: style == ScalarStyle::Plain,
                };
                self.finish(scalar, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(Node::List(Vec::new()), anchor),
            Event::MappingStart(anchor, _) => self.begin(Node::Map(Vec::new()), anchor),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.finish(open.node, open.anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => {
                let node = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or("an alias precedes its anchor")?;
                self.count(node.size())?;
                self.finish(node, 0)
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn count(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MOST_NODES {
            return Err(format!(
                "there are more than {MOST_NODES} values, aliases included"
            ));
        }
        Ok(())
    }

    fn begin(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        self.count(1)?;
        if self.open.len() == MOST_DEEP {
            return Err(format!("lists and maps are nested more than {MOST_DEEP} deep"));
        }
        self.open.push(Open {
            node,
            key: None,
            anchor,
        });
        Ok(())
    }

    /// Puts a node that is complete into the one around it.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), String> {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
            // The copy that waits for aliases is memory too.
            self.count(node.size())?;
        }
        let Some(around) = self.open.last_mut() else {
            if self.root.is_some() {
                return Err("it has a second document; only one is allowed".into());
            }
            self.root = Some(node);
            return Ok(());
        };
        match (&mut around.node, around.key.take()) {
            (Node::List(items), _) => items.push(node),
            (Node::Map(entries), Some(key)) => {
                if key == "<<" {
                    merge(entries, node)?;
                } else if let Some(old) = entries.iter_mut().find(|(name, _)| *name == key) {
                    old.1 = node;
                } else if entries.len() == MOST_ENTRIES {
                    return Err(format!("a map has more than {MOST_ENTRIES} entries"));
                } else {
                    entries.push((key, node));
                }
            }
            (Node::Map(_), None) => match node {
                Node::Scalar { text, .. } => around.key = Some(text),
                _ => return Err("a key is a list or a map".into()),
            },
            (Node::Scalar { .. }, _) => {}
        }
        Ok(())
    }
}

/// YAML 1.1's merge key: entries of another map that this one does not have.
fn merge(entries: &mut Vec<(String, Node)>, node: Node) -> Result<(), String> {
    let Node::Map(other) = node else {
        return Err("'<<' needs a map".into());
    };
    for (key, node) in other {
        if !entries.iter().any(|(name, _)| *name == key) {
            entries.push((key, node));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Examples 10.9 and 2.19 to 2.21 of YAML 1.2.2, and others.
    #[test]
    fn scalars_are_those_of_the_core_schema() {
        let text = "a: [null, ~, , true, False, 0, 0o7, 0x3A, -19, 0., -0.0, .5, +12e03, -2E+05, 685.230_15]\n\
                    b: ['null', \"0\", no, 1.2.3, 2026-01-01, 10s, .inf, 0xZZ, '']\nc: |\n  12\nd: {e: }\n";
        let text = text.replace(" , true", " \"\", true");
        let expected = json!({
            "a": [null, null, "", true, false, 0, 7, 58, -19, 0.0, -0.0, 0.5, 12000.0, -200_000.0, "685.230_15"],
            "b": ["null", "0", "no", "1.2.3", "2026-01-01", "10s", ".inf", "0xZZ", ""],
            "c": "12\n",
            "d": { "e": null },
        });
        assert_eq!(read(&text).expect("a document").json(), expected);
    }

    #[test]
    fn json_is_yaml_and_aliases_and_merges_are_copies() {
        let value = json!({ "a": [1, -2, 1.5, "1", true, null, { "b": "\u{e9}\n" }], "c": {} });
        assert_eq!(read(&value.to_string()).expect("a document").json(), value);
        let copies = "base: &b {x: 1, y: 2}\nother: {<<: *b, y: 3}\nsame: *b\n";
        let expected =
            json!({ "base": { "x": 1, "y": 2 }, "other": { "x": 1, "y": 3 }, "same": { "x": 1, "y": 2 } });
        assert_eq!(read(copies).expect("a document").json(), expected);
    }

    #[test]
    fn what_is_too_large_or_no_document_is_refused_in_a_line() {
        let said = |text: &str| read(text).expect_err(text).to_string();
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..9 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(said(&bomb).contains("aliases included"));
        for wrong in [
            "a: [",
            "a: 1\n--- \nb: 2",
            "? [a]\n: b",
            &"[".repeat(100_000),
            "a: \"\u{1b}",
        ] {
            let said = said(wrong);
            assert!(!said.is_empty() && !said.contains(char::is_control), "{said}");
        }
    }
}
