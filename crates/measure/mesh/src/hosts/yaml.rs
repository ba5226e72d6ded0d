//! YAML as a tree of bounded size. It knows YAML's events, not what a document means.
//!
//! Everything is text here: `ansible_port: 22` and `"22"` are the same. An alias is a copy, and copies count.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

/// Deepest nesting.
const MOST_DEEP: usize = 64;
/// Most scalars, lists and maps, copies by aliases included.
const MOST_NODES: usize = 500_000;

/// Most entries of one map.
const MOST_ENTRIES: usize = 20_000;

/// A node of the tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// Text; empty for null.
    Scalar(String),
    /// A list.
    List(Vec<Node>),
    /// A map in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value of a key of a map.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, node)| node)
    }

    /// The entries of a map; none of anything else.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The text of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Node::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Null, or an empty scalar.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Node::Scalar(text) if text.is_empty())
    }

    fn size(&self) -> usize {
        match self {
            Node::Scalar(_) => 1,
            Node::List(items) => 1 + items.iter().map(Node::size).sum::<usize>(),
            Node::Map(entries) => 1 + entries.iter().map(|(_, node)| node.size()).sum::<usize>(),
        }
    }
}

/// A list or map that is not closed yet.
struct Open {
    node: Node,
    key: Option<String>,
    anchor: usize,
}

/// The first document of `text`; a second one is an error.
pub(super) fn read(text: &str) -> Result<Node, String> {
    let mut reader = Reader {
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        root: None,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| crate::fault::shown(&error.to_string()))?;
        reader
            .take(event)
            .map_err(|problem| format!("line {}: {problem}", span.start.line()))?;
    }
    Ok(reader.root.unwrap_or(Node::Scalar(String::new())))
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
            Event::Scalar(text, _, anchor, _) => {
                self.count(1)?;
                let text = match &*text {
                    "~" | "null" | "Null" | "NULL" => String::new(),
                    text => text.to_owned(),
                };
                self.finish(Node::Scalar(text), anchor)
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
                Node::Scalar(key) => around.key = Some(key),
                _ => return Err("a key is a list or a map".into()),
            },
            (Node::Scalar(_), _) => {}
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
