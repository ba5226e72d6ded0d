//! How variants compare: for every figure the spread over the repeats, and the difference to the first variant with its
//! interval. It must not know what was measured.

use serde::Serialize;
use weir_stats::{median, median_difference};

use super::figures::Figures;
use super::scenario::{Case, FigureWanted, Way};

/// Probability that intervals leave out.
const LEFT_OUT: f64 = 0.05;
/// Fewer repeats than this say nothing about how far they scatter.
const LEAST_FOR_INTERVAL: usize = 3;

/// Values of one figure over repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Of each trial, in the order in which they were made.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// Of these; none of none.
    pub fn of(values: Vec<f64>) -> Option<Spread> {
        if values.is_empty() {
            return None;
        }
        Some(Spread {
            median: median(values.clone()),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            values,
        })
    }
}

/// Values of one figure with a variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantSpread {
    /// The variant.
    pub variant: String,
    /// Its values.
    #[serde(flatten)]
    pub spread: Spread,
}

/// How a variant differs from the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The variant.
    pub variant: String,
    /// Its median minus the first's.
    pub difference: f64,
    /// That, as a share of the first's median; none if that is zero.
    pub relative: Option<f64>,
    /// 95 % bootstrap interval of the difference; none with fewer than three repeats of each.
    pub interval: Option<(f64, f64)>,
    /// Whether the interval lies wholly on the side that was expected; none without an expectation or an interval.
    pub as_expected: Option<bool>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureRow {
    /// Its name.
    pub figure: String,
    /// With the neighbours alone on the line; none for figures of the stream.
    pub alone: Option<Spread>,
    /// Of each variant that was measured.
    pub variants: Vec<VariantSpread>,
    /// Of each but the first.
    pub changes: Vec<Change>,
    /// The way that was expected.
    pub expected: Option<&'static str>,
    /// By how much the paper saw it move, percent.
    pub paper_percent: Option<f64>,
}

/// Trials of a case with one congestion control.
#[derive(Clone, Debug, Default)]
pub struct CaseResult {
    /// Of the neighbours alone.
    pub alone: Vec<Figures>,
    /// Of each variant by name, in the scenario's order.
    pub variants: Vec<(String, Vec<Figures>)>,
}

/// A case compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Its name.
    pub case: String,
    /// With which congestion control.
    pub congestion: &'static str,
    /// Every figure that the scenario names.
    pub figures: Vec<FigureRow>,
}

/// Compares the trials of a case.
pub fn compare(case: &Case, congestion: &'static str, result: &CaseResult) -> Comparison {
    Comparison {
        case: case.name.clone(),
        congestion,
        figures: case.figures.iter().map(|wanted| row(wanted, result)).collect(),
    }
}

fn row(wanted: &FigureWanted, result: &CaseResult) -> FigureRow {
    let spread = |trials: &[Figures]| {
        let values = trials
            .iter()
            .filter_map(|figures| figures.get(&wanted.of).copied());
        Spread::of(values.collect())
    };
    let variants: Vec<VariantSpread> = result
        .variants
        .iter()
        .filter_map(|(name, trials)| {
            Some(VariantSpread {
                variant: name.clone(),
                spread: spread(trials)?,
            })
        })
        .collect();
    let first = result.variants.first().map(|(name, _)| name);
    let changes = match variants.first().filter(|found| Some(&found.variant) == first) {
        Some(first) => variants[1..]
            .iter()
            .filter_map(|this| change(&this.variant, &first.spread, &this.spread, wanted.expect))
            .collect(),
        None => Vec::new(),
    };
    let of_stream = wanted.of.starts_with("media.");
    FigureRow {
        figure: wanted.of.clone(),
        alone: spread(&result.alone).filter(|_| !of_stream),
        variants,
        changes,
        expected: wanted.expect.map(|way| match way {
            Way::Lower => "lower",
            Way::Higher => "higher",
        }),
        paper_percent: wanted.paper_percent,
    }
}

fn change(name: &str, first: &Spread, this: &Spread, expect: Option<Way>) -> Option<Change> {
    let found = median_difference(&first.values, &this.values, LEFT_OUT)?;
    let enough = first.values.len().min(this.values.len()) >= LEAST_FOR_INTERVAL;
    let interval = enough.then_some((found.low, found.high));
    Some(Change {
        variant: name.to_owned(),
        difference: found.difference,
        relative: (first.median != 0.0).then(|| found.difference / first.median),
        interval,
        as_expected: expect.zip(interval).map(|(way, (low, high))| match way {
            Way::Lower => high < 0.0,
            Way::Higher => low > 0.0,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(of: &str, expect: Option<Way>) -> FigureWanted {
        FigureWanted {
            of: of.to_owned(),
            expect,
            paper_percent: Some(-51.0),
        }
    }

    fn trials(name: &str, values: &[f64]) -> Vec<Figures> {
        values
            .iter()
            .map(|value| Figures::from([(name.to_owned(), *value)]))
            .collect()
    }

    #[test]
    fn variants_are_compared_with_the_first() {
        let case = Case {
            name: "call".to_owned(),
            neighbours: Vec::new(),
            figures: vec![wanted("voip.owd.p95", Some(Way::Lower)), wanted("voip.mos", None)],
        };
        let result = CaseResult {
            alone: trials("voip.owd.p95", &[10.0]),
            variants: vec![
                (
                    "unpaced".to_owned(),
                    trials("voip.owd.p95", &[48.3, 47.1, 50.2, 46.0, 49.5]),
                ),
                (
                    "paced".to_owned(),
                    trials("voip.owd.p95", &[12.5, 12.1, 13.0, 11.8, 12.9]),
                ),
            ],
        };
        let compared = compare(&case, "reno", &result);
        let row = &compared.figures[0];
        assert_eq!(row.alone.as_ref().map(|alone| alone.median), Some(10.0));
        let change = &row.changes[0];
        assert_eq!(
            (change.variant.as_str(), change.as_expected),
            ("paced", Some(true))
        );
        let (low, high) = change.interval.expect("five repeats");
        assert!(
            (low + 37.7).abs() < 1e-9 && (high + 33.5).abs() < 1e-9,
            "{low} {high}"
        );
        assert!((change.relative.expect("not zero") + 35.8 / 48.3).abs() < 1e-9);
        // What nobody told has a row, so that its lack is seen.
        assert_eq!(
            (&compared.figures[1].variants, &compared.figures[1].changes),
            (&vec![], &vec![])
        );
    }

    #[test]
    fn too_few_repeats_have_no_interval_and_an_interval_over_zero_is_no_proof() {
        let result = |first: &[f64], second: &[f64]| CaseResult {
            alone: Vec::new(),
            variants: vec![
                ("a".to_owned(), trials("x.y", first)),
                ("b".to_owned(), trials("x.y", second)),
            ],
        };
        let row = row(&wanted("x.y", Some(Way::Higher)), &result(&[1.0], &[2.0]));
        assert_eq!(
            (row.changes[0].interval, row.changes[0].as_expected),
            (None, None)
        );
        let row = super::row(
            &wanted("x.y", Some(Way::Higher)),
            &result(&[1.0, 2.0, 9.0], &[2.0, 3.0, 8.0]),
        );
        assert_eq!(row.changes[0].as_expected, Some(false));
        // The first variant was never measured: there is nothing to compare with.
        let row = super::row(&wanted("x.y", None), &result(&[], &[2.0]));
        assert_eq!((row.variants.len(), row.changes.len()), (1, 0));
    }
}
