//! XML as a tree of elements, bounded in number and depth. It knows neither DASH nor any other vocabulary.

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use super::ManifestError;

/// Most elements of a document. Each takes some hundred bytes.
const MOST_ELEMENTS: usize = 200_000;
/// An MPD is eight deep.
const MOST_DEPTH: usize = 32;

/// An element, by local names: namespaces do not matter to those who read manifests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    pub content: String,
}

impl Element {
    /// Reads a document and gives its root.
    pub fn parse(text: &str) -> Result<Element, ManifestError> {
        let mut reader = Reader::from_str(text);
        let mut open: Vec<Element> = Vec::new();
        let mut left = MOST_ELEMENTS;
        loop {
            let event = reader.read_event().map_err(not_xml)?;
            let closed = match event {
                Event::Start(start) => {
                    count(&mut left, open.len())?;
                    open.push(element(&start)?);
                    None
                }
                Event::Empty(start) => {
                    count(&mut left, open.len())?;
                    Some(element(&start)?)
                }
                Event::End(_) => open.pop(),
                Event::Text(text) => {
                    add_text(&mut open, &text.decode().map_err(not_xml)?);
                    None
                }
                Event::CData(text) => {
                    add_text(&mut open, &text.decode().map_err(not_xml)?);
                    None
                }
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().ok().flatten();
                    let name = reference.decode().map_err(not_xml)?;
                    match (character, resolve_predefined_entity(&name)) {
                        (Some(character), _) => add_text(&mut open, character.encode_utf8(&mut [0; 4])),
                        (None, Some(text)) => add_text(&mut open, text),
                        (None, None) => return Err(not_xml("an undefined entity")),
                    }
                    None
                }
                Event::Eof => return Err(not_xml("it ends within its root element")),
                _ => None,
            };
            let Some(closed) = closed else { continue };
            match open.last_mut() {
                Some(parent) => parent.children.push(closed),
                None => return Ok(closed),
            }
        }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The same as text of its own.
    pub fn text(&self, name: &str) -> Option<String> {
        self.attribute(name).map(str::to_owned)
    }

    /// Children of that name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// An attribute that is a number without a sign.
    pub fn number(&self, name: &'static str) -> Result<Option<u64>, ManifestError> {
        let parse = |text: &str| text.trim().parse().map_err(|_| ManifestError::value(name, text));
        self.attribute(name).map(parse).transpose()
    }
}

fn count(left: &mut usize, depth: usize) -> Result<(), ManifestError> {
    if depth >= MOST_DEPTH {
        return Err(ManifestError::TooMany("nested elements"));
    }
    *left = left.checked_sub(1).ok_or(ManifestError::TooMany("elements"))?;
    Ok(())
}

fn not_xml(problem: impl ToString) -> ManifestError {
    ManifestError::NotXml(super::shortened(&problem.to_string()))
}

fn add_text(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.content.push_str(text);
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, ManifestError> {
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(not_xml)?;
        // Namespaces and what belongs to others (xlink) would hide attributes of the same local name.
        if attribute.key.prefix().is_some() {
            continue;
        }
        let value = attribute
            .normalized_value(quick_xml::XmlVersion::Implicit1_0)
            .map_err(not_xml)?;
        attributes.push((name(attribute.key.local_name().as_ref()), value.into_owned()));
    }
    Ok(Element {
        name: name(start.local_name().as_ref()),
        attributes,
        ..Element::default()
    })
}
