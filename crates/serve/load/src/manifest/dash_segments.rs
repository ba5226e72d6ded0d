//! How DASH addresses segments (ISO/IEC 23009-1, 5.3.9): SegmentTemplate, SegmentList, SegmentBase, and what lower levels
//! inherit from higher ones.

use std::sync::Arc;

use url::Url;

use super::element::Element;
use super::{ManifestError, Media, Segment, Segments, UrlRange, UrlResolver, byte_range, to_ns};

/// A timeline may repeat without an end; the bound on segments ends it.
type Entry = (Option<u64>, u64, i64);

/// Address and range of a segment in a list.
type Listed = (Option<String>, Option<(u64, u64)>);

/// What a representation's addresses are made of, with what it has inherited.
#[derive(Clone, Debug, Default)]
pub(super) struct Addressing {
    form: Form,
    timescale: Option<u64>,
    duration: Option<u64>,
    start_number: Option<u64>,
    end_number: Option<u64>,
    offset: Option<u64>,
    timeline: Option<Vec<Entry>>,
    media: Option<String>,
    initialization: Option<String>,
    initialization_range: Option<(u64, u64)>,
    index_range: Option<(u64, u64)>,
    /// The segments of a SegmentList.
    listed: Vec<Listed>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Form {
    #[default]
    Plain,
    Template,
    List,
    Base,
}

/// What a representation puts into its addresses, and how long its period is.
pub(super) struct Numbers<'a> {
    pub id: &'a str,
    pub bandwidth: u64,
    pub length_ns: Option<u64>,
}

impl Addressing {
    /// With what this element says itself: a period, a set or a representation.
    pub fn within(&self, element: &Element) -> Result<Addressing, ManifestError> {
        let mut own = self.clone();
        let forms = [
            ("SegmentTemplate", Form::Template),
            ("SegmentList", Form::List),
            ("SegmentBase", Form::Base),
        ];
        let Some((said, form)) = forms
            .into_iter()
            .find_map(|(name, form)| Some((element.child(name)?, form)))
        else {
            return Ok(own);
        };
        own.form = form;
        fn replace<T>(place: &mut Option<T>, value: Option<T>) {
            if value.is_some() {
                *place = value;
            }
        }
        replace(&mut own.timescale, said.number("timescale")?);
        replace(&mut own.duration, said.number("duration")?);
        replace(&mut own.start_number, said.number("startNumber")?);
        replace(&mut own.end_number, said.number("endNumber")?);
        replace(&mut own.offset, said.number("presentationTimeOffset")?);
        replace(&mut own.media, said.text("media"));
        replace(&mut own.initialization, said.text("initialization"));
        replace(&mut own.index_range, range_of(said, "indexRange")?);
        let timeline = said.child("SegmentTimeline").map(timeline).transpose()?;
        replace(&mut own.timeline, timeline);
        if let Some(initialization) = said.child("Initialization") {
            replace(&mut own.initialization, initialization.text("sourceURL"));
            replace(&mut own.initialization_range, range_of(initialization, "range")?);
        }
        let mut listed = Vec::new();
        for segment in said.named("SegmentURL") {
            listed.push((segment.text("media"), range_of(segment, "mediaRange")?));
        }
        if !listed.is_empty() {
            own.listed = listed;
        }
        Ok(own)
    }

    /// The segments of a representation.
    pub fn media(
        &self,
        base: &Url,
        numbers: &Numbers<'_>,
        urls: &mut UrlResolver,
    ) -> Result<Media, ManifestError> {
        match self.form {
            Form::Plain => single(base, numbers.length_ns, urls),
            Form::Template => self.template(base, numbers, urls),
            Form::List => self.list(base, numbers, urls),
            Form::Base => self.indexed(base, numbers, urls),
        }
    }

    fn scale(&self) -> u64 {
        self.timescale.unwrap_or(1).max(1)
    }

    fn template(
        &self,
        base: &Url,
        numbers: &Numbers<'_>,
        urls: &mut UrlResolver,
    ) -> Result<Media, ManifestError> {
        let media = self.media.as_deref();
        let media = media.ok_or(ManifestError::Missing("media template"))?;
        let first = self.start_number.unwrap_or(1);
        let fill = |text: &str, number: u64, time: u64| {
            fill(
                text,
                &[
                    ("RepresentationID", Value::Text(numbers.id)),
                    ("Number", Value::Number(number)),
                    ("Time", Value::Number(time)),
                    ("Bandwidth", Value::Number(numbers.bandwidth)),
                ],
            )
        };
        let mut segments = Segments::default();
        if let Some(initialization) = &self.initialization {
            let address = fill(initialization, first, 0)?;
            segments
                .inits
                .push(urls.place(base, &address, self.initialization_range)?);
        }
        let init = (!segments.inits.is_empty()).then_some(0);
        for (index, (time, ticks)) in self.times(numbers.length_ns)?.enumerate() {
            let number = first.saturating_add(index as u64);
            if self.end_number.is_some_and(|end| number > end) {
                break;
            }
            urls.count_segment()?;
            let address = fill(media, number, time)?;
            let place = urls.place(base, &address, None)?;
            segments.list.push(self.segment(place, time, ticks, init));
        }
        Ok(Media::Known(Arc::new(segments)))
    }

    fn list(
        &self,
        base: &Url,
        numbers: &Numbers<'_>,
        urls: &mut UrlResolver,
    ) -> Result<Media, ManifestError> {
        // What is listed is there, be it behind the end of the period. A list without durations is one segment.
        let times: Vec<(u64, u64)> = match &self.timeline {
            Some(timeline) => expand(timeline, None).take(self.listed.len()).collect(),
            None => Vec::new(),
        };
        let whole = u128::from(numbers.length_ns.unwrap_or(0)) * u128::from(self.scale()) / 1_000_000_000;
        let ticks = self.duration.unwrap_or(u64::try_from(whole).unwrap_or(u64::MAX));
        let even = |index: u64| {
            let offset = self.offset.unwrap_or(0);
            (offset.saturating_add(index.saturating_mul(ticks)), ticks)
        };
        let mut segments = Segments::default();
        if self.initialization.is_some() || self.initialization_range.is_some() {
            segments.inits.push(self.init(base, urls)?);
        }
        let init = (!segments.inits.is_empty()).then_some(0);
        for (index, (address, range)) in self.listed.iter().enumerate() {
            urls.count_segment()?;
            let place = urls.place(base, address.as_deref().unwrap_or(""), *range)?;
            let (time, ticks) = times.get(index).copied().unwrap_or_else(|| even(index as u64));
            segments.list.push(self.segment(place, time, ticks, init));
        }
        Ok(Media::Known(Arc::new(segments)))
    }

    fn indexed(
        &self,
        base: &Url,
        numbers: &Numbers<'_>,
        urls: &mut UrlResolver,
    ) -> Result<Media, ManifestError> {
        let Some(range) = self.index_range else {
            return single(base, numbers.length_ns, urls);
        };
        let ranged = self.initialization_range.is_some();
        Ok(Media::Indexed {
            index: urls.place_of(base, Some(range))?,
            init: ranged.then(|| self.init(base, urls)).transpose()?,
        })
    }

    /// The initialization segment, where no template has a place in its address.
    fn init(&self, base: &Url, urls: &mut UrlResolver) -> Result<UrlRange, ManifestError> {
        let address = self.initialization.as_deref().unwrap_or("");
        urls.place(base, address, self.initialization_range)
    }

    fn segment(&self, place: UrlRange, time: u64, ticks: u64, init: Option<u32>) -> Segment {
        let scale = self.scale();
        Segment {
            place,
            start_ns: to_ns(time.saturating_sub(self.offset.unwrap_or(0)), scale),
            duration_ns: to_ns(ticks, scale),
            init,
            key: None,
            starts_anew: false,
        }
    }

    /// Times and durations of segments, in the timescale. The caller bounds how many it takes.
    fn times(
        &self,
        length_ns: Option<u64>,
    ) -> Result<Box<dyn Iterator<Item = (u64, u64)> + '_>, ManifestError> {
        let scale = self.scale();
        let end = length_ns.map(|length| {
            let ticks = u128::from(length) * u128::from(scale) / 1_000_000_000;
            self.offset
                .unwrap_or(0)
                .saturating_add(u64::try_from(ticks).unwrap_or(u64::MAX))
        });
        if let Some(timeline) = &self.timeline {
            return Ok(Box::new(expand(timeline, end)));
        }
        let duration = self.duration.filter(|duration| *duration > 0);
        let duration = duration.ok_or(ManifestError::Missing("SegmentTimeline or segment duration"))?;
        let length = length_ns.ok_or(ManifestError::Missing("duration"))?;
        // ISO/IEC 23009-1, 5.3.9.5.3: as many as begin within the period; what is left of a clock tick is no segment.
        let count = (u128::from(length) * u128::from(scale)).div_ceil(u128::from(duration) * 1_000_000_000);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let offset = self.offset.unwrap_or(0);
        Ok(Box::new((0..count).map(move |index| {
            (offset.saturating_add(index.saturating_mul(duration)), duration)
        })))
    }
}

fn range_of(element: &Element, name: &'static str) -> Result<Option<(u64, u64)>, ManifestError> {
    let range = element.attribute(name).map(|text| byte_range(name, text));
    range.transpose()
}

/// The segments of a file that is one segment.
fn single(base: &Url, length_ns: Option<u64>, urls: &mut UrlResolver) -> Result<Media, ManifestError> {
    urls.count_segment()?;
    let mut segments = Segments::default();
    segments.list.push(Segment {
        place: urls.place_of(base, None)?,
        start_ns: 0,
        duration_ns: length_ns.unwrap_or(0),
        init: None,
        key: None,
        starts_anew: false,
    });
    Ok(Media::Known(Arc::new(segments)))
}

fn timeline(element: &Element) -> Result<Vec<Entry>, ManifestError> {
    let entry = |s: &Element| {
        let duration = s.number("d")?.filter(|duration| *duration > 0);
        let duration = duration.ok_or(ManifestError::Missing("duration of a timeline's entry"))?;
        let repeat = s.attribute("r").unwrap_or("0");
        let repeat = repeat
            .trim()
            .parse::<i64>()
            .map_err(|_| ManifestError::value("r", repeat))?;
        Ok((s.number("t")?, duration, repeat))
    };
    element.named("S").map(entry).collect()
}

/// The segments of a timeline. A negative repeat goes on until the next entry's time, or the end of the period.
fn expand(entries: &[Entry], end: Option<u64>) -> impl Iterator<Item = (u64, u64)> + '_ {
    let mut now = 0_u64;
    entries
        .iter()
        .enumerate()
        .flat_map(move |(index, &(time, duration, repeat))| {
            let start = time.unwrap_or(now);
            let count = match u64::try_from(repeat) {
                Ok(repeat) => repeat.saturating_add(1),
                Err(_) => {
                    let next = entries.get(index + 1).and_then(|next| next.0).or(end);
                    next.map_or(1, |next| next.saturating_sub(start).div_ceil(duration))
                }
            };
            now = start.saturating_add(duration.saturating_mul(count));
            (0..count).map(move |step| (start.saturating_add(step.saturating_mul(duration)), duration))
        })
}

enum Value<'a> {
    Text(&'a str),
    Number(u64),
}

/// Puts values into a template (ISO/IEC 23009-1, 5.3.9.4.4): `$Number$`, `$Time%05d$`, `$$`.
fn fill(template: &str, values: &[(&str, Value<'_>)]) -> Result<String, ManifestError> {
    const MOST_DIGITS: usize = 32;
    let wrong = || ManifestError::value("a template", template);
    let mut filled = String::with_capacity(template.len() + 16);
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once('$') {
        filled.push_str(before);
        let (name, behind) = behind.split_once('$').ok_or_else(wrong)?;
        rest = behind;
        if name.is_empty() {
            filled.push('$');
            continue;
        }
        let (name, width) = match name.split_once("%0") {
            Some((name, width)) => {
                let width = width.strip_suffix('d').ok_or_else(wrong)?;
                (name, width.parse::<usize>().map_err(|_| wrong())?)
            }
            None => (name, 1),
        };
        if width > MOST_DIGITS {
            return Err(wrong());
        }
        let value = values.iter().find(|(known, _)| *known == name);
        match value.map(|(_, value)| value) {
            Some(Value::Text(text)) => filled.push_str(text),
            Some(Value::Number(number)) => filled.push_str(&format!("{number:0width$}")),
            None => return Err(wrong()),
        }
    }
    filled.push_str(rest);
    Ok(filled)
}
