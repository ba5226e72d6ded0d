//! Attribute lists of HLS tags (RFC 8216, 4.2): `BANDWIDTH=1280000,URI="a,b.m3u8"`.

/// The attributes of a tag, in order. Quotes are taken off; what has no `=` ends the list.
pub(super) struct Attributes<'a>(&'a str);

impl<'a> Attributes<'a> {
    /// Of the text behind the colon of a tag.
    pub fn new(text: &'a str) -> Self {
        Attributes(text)
    }

    /// The value of the first attribute of that name.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        Attributes(self.0)
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.split_once('=')?;
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (value, rest) = quoted.split_once('"')?;
                (value, rest.strip_prefix(',').unwrap_or(""))
            }
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        self.0 = rest;
        Some((name.trim(), value.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_commas_belong_to_their_value() {
        let text = r#"BANDWIDTH=1280000,CODECS="mp4a.40.2,avc1.4d401e",RESOLUTION=640x360"#;
        let attributes = Attributes::new(text);
        assert_eq!(attributes.get("BANDWIDTH"), Some("1280000"));
        assert_eq!(attributes.get("CODECS"), Some("mp4a.40.2,avc1.4d401e"));
        assert_eq!(attributes.get("RESOLUTION"), Some("640x360"));
        assert_eq!(attributes.get("URI"), None);
        assert_eq!(Attributes::new(r#"URI="open"#).get("URI"), None);
        assert_eq!(Attributes::new("").count(), 0);
    }
}
