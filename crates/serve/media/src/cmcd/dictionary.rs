//! Dictionaries of structured fields, RFC 9651, 4.2.2 (and so RFC 8941). Keys may have capitals, which the RFC does not
//! allow: the examples of CTA-5004 itself have some. It must not know which keys there are.

use std::borrow::Cow;

use super::{CmcdError, MAX_BYTES};

/// Most digits of an integer (RFC 9651, 4.2.4).
const INTEGER_DIGITS: usize = 15;
/// Most digits of a decimal before and after its point.
const DECIMAL_DIGITS: (usize, usize) = (12, 3);

/// A bare item. What no key of CMCD is made of is checked and not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bare<'a> {
    Integer(i64),
    Decimal,
    Text(Cow<'a, str>),
    Token(&'a str),
    Boolean(bool),
    Bytes,
    Date,
    DisplayString,
}

impl Bare<'_> {
    /// What it is, for messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Bare::Integer(_) => "an integer",
            Bare::Decimal => "a decimal",
            Bare::Text(_) => "a string",
            Bare::Token(_) => "a token",
            Bare::Boolean(_) => "a boolean",
            Bare::Bytes => "a byte sequence",
            Bare::Date => "a date",
            Bare::DisplayString => "a display string",
        }
    }
}

/// An item with the names of its parameters. Their values mean nothing in CMCD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) bare: Bare<'a>,
    pub(super) parameters: Vec<&'a str>,
}

/// What a key has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Member<'a> {
    Item(Item<'a>),
    List(Vec<Item<'a>>),
}

/// The members of a dictionary, in order. A key that comes twice is there twice; the later one counts.
pub(super) fn members(text: &[u8]) -> Result<Vec<(&str, Member<'_>)>, CmcdError> {
    if text.len() > MAX_BYTES {
        return Err(CmcdError::TooLong(text.len()));
    }
    let mut reader = Reader { text, at: 0 };
    reader.skip(b" ");
    let mut members = Vec::new();
    while !reader.is_done() {
        let key = reader.key()?;
        let member = if reader.take(b'=') {
            reader.member()?
        } else {
            Member::Item(Item {
                bare: Bare::Boolean(true),
                parameters: reader.parameters()?,
            })
        };
        members.push((key, member));
        reader.skip(b" \t");
        if reader.is_done() {
            break;
        }
        if !reader.take(b',') {
            return Err(reader.wants("a comma"));
        }
        reader.skip(b" \t");
        if reader.is_done() {
            return Err(reader.wants("a key after the comma"));
        }
    }
    Ok(members)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn is_done(&self) -> bool {
        self.at == self.text.len()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip(&mut self, bytes: &[u8]) {
        self.take_while(|byte| bytes.contains(&byte));
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len());
        self.at += length;
        // Everything that is taken is ASCII.
        std::str::from_utf8(&rest[..length]).unwrap_or_default()
    }

    fn wants(&self, wanted: &'static str) -> CmcdError {
        CmcdError::Broken { at: self.at, wanted }
    }

    fn key(&mut self) -> Result<&'a str, CmcdError> {
        if !self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'*')
        {
            return Err(self.wants("a key"));
        }
        Ok(self.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.*".contains(&byte)))
    }

    fn member(&mut self) -> Result<Member<'a>, CmcdError> {
        if !self.take(b'(') {
            return Ok(Member::Item(self.item()?));
        }
        let mut items = Vec::new();
        loop {
            self.skip(b" ");
            if self.take(b')') {
                self.parameters()?;
                return Ok(Member::List(items));
            }
            items.push(self.item()?);
            if !matches!(self.peek(), Some(b' ' | b')')) {
                return Err(self.wants("a space or the end of the list"));
            }
        }
    }

    fn item(&mut self) -> Result<Item<'a>, CmcdError> {
        let bare = self.bare()?;
        Ok(Item {
            bare,
            parameters: self.parameters()?,
        })
    }

    fn parameters(&mut self) -> Result<Vec<&'a str>, CmcdError> {
        let mut names = Vec::new();
        while self.take(b';') {
            self.skip(b" ");
            names.push(self.key()?);
            if self.take(b'=') {
                self.bare()?;
            }
        }
        Ok(names)
    }

    fn bare(&mut self) -> Result<Bare<'a>, CmcdError> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'"') => self.string(),
            Some(b'*' | b'A'..=b'Z' | b'a'..=b'z') => Ok(Bare::Token(self.take_while(is_of_token))),
            Some(b':') => self.byte_sequence(),
            Some(b'?') => self.boolean(),
            Some(b'@') => self.date(),
            Some(b'%') => self.display_string(),
            _ => Err(self.wants("a value")),
        }
    }

    fn number(&mut self) -> Result<Bare<'a>, CmcdError> {
        let negative = self.take(b'-');
        let whole = self.take_while(|byte| byte.is_ascii_digit());
        if whole.is_empty() {
            return Err(self.wants("a digit"));
        }
        if self.take(b'.') {
            let part = self.take_while(|byte| byte.is_ascii_digit());
            if whole.len() > DECIMAL_DIGITS.0 || !(1..=DECIMAL_DIGITS.1).contains(&part.len()) {
                return Err(self.wants("a decimal of at most 12 and 1 to 3 digits"));
            }
            return Ok(Bare::Decimal);
        }
        if whole.len() > INTEGER_DIGITS {
            return Err(self.wants("an integer of at most 15 digits"));
        }
        // Fifteen digits fit.
        let value: i64 = whole.parse().unwrap_or_default();
        Ok(Bare::Integer(if negative { -value } else { value }))
    }

    fn string(&mut self) -> Result<Bare<'a>, CmcdError> {
        self.at += 1;
        let mut text = Cow::Borrowed("");
        loop {
            let plain = self.take_while(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
            if text.is_empty() {
                text = Cow::Borrowed(plain);
            } else {
                text.to_mut().push_str(plain);
            }
            if self.take(b'"') {
                return Ok(Bare::Text(text));
            }
            if !self.take(b'\\') {
                return Err(self.wants("the end of the string"));
            }
            match self.peek() {
                Some(escaped @ (b'"' | b'\\')) => text.to_mut().push(char::from(escaped)),
                _ => return Err(self.wants("a quote or backslash after a backslash")),
            }
            self.at += 1;
        }
    }

    fn byte_sequence(&mut self) -> Result<Bare<'a>, CmcdError> {
        self.at += 1;
        self.take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        if self.take(b':') {
            Ok(Bare::Bytes)
        } else {
            Err(self.wants("the end of the byte sequence"))
        }
    }

    fn boolean(&mut self) -> Result<Bare<'a>, CmcdError> {
        self.at += 1;
        match (self.take(b'1'), self.take(b'0')) {
            (false, false) => Err(self.wants("0 or 1")),
            // One of them was there; two digits are no boolean, and what follows is no separator then.
            (one, _) => Ok(Bare::Boolean(one)),
        }
    }

    fn date(&mut self) -> Result<Bare<'a>, CmcdError> {
        self.at += 1;
        match self.number()? {
            Bare::Integer(_) => Ok(Bare::Date),
            _ => Err(self.wants("whole seconds")),
        }
    }

    fn display_string(&mut self) -> Result<Bare<'a>, CmcdError> {
        self.at += 1;
        if !self.take(b'"') {
            return Err(self.wants("a quote"));
        }
        let mut bytes = Vec::new();
        loop {
            let plain = self.take_while(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'%');
            bytes.extend_from_slice(plain.as_bytes());
            if self.take(b'"') {
                let is_text = std::str::from_utf8(&bytes).is_ok();
                return if is_text {
                    Ok(Bare::DisplayString)
                } else {
                    Err(self.wants("UTF-8 in the display string"))
                };
            }
            if !self.take(b'%') {
                return Err(self.wants("the end of the display string"));
            }
            bytes.push(self.hex_digit()? << 4 | self.hex_digit()?);
        }
    }

    /// Lower case only (RFC 9651, 4.2.10).
    fn hex_digit(&mut self) -> Result<u8, CmcdError> {
        let digit = match self.peek() {
            Some(byte @ b'0'..=b'9') => byte - b'0',
            Some(byte @ b'a'..=b'f') => byte - b'a' + 10,
            _ => return Err(self.wants("a hexadecimal digit in lower case")),
        };
        self.at += 1;
        Ok(digit)
    }
}

/// RFC 9110, 5.6.2, with `:` and `/`.
fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
}
