//! The nearest of several words to a mistyped one. It must not know what the words name.

/// The candidate that takes the fewest edits, if these are few for its length; the first of several.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let (edits, best) = candidates
        .map(|candidate| (edits(&lower, &candidate.to_lowercase()), candidate))
        .min_by_key(|(edits, _)| *edits)?;
    (edits <= 1 + best.len() / 4).then_some(best)
}

/// Insertions, deletions, substitutions, and swaps of neighbours (optimal string alignment) between two words, of which
/// at most the first 64 characters count.
fn edits(one: &str, other: &str) -> usize {
    const MOST: usize = 64;
    let one: Vec<char> = one.chars().take(MOST).collect();
    let other: Vec<char> = other.chars().take(MOST).collect();
    let (mut before, mut last) = (Vec::new(), (0..=other.len()).collect::<Vec<usize>>());
    for i in 1..=one.len() {
        let mut row = vec![i; other.len() + 1];
        for j in 1..=other.len() {
            let changed = usize::from(one[i - 1] != other[j - 1]);
            row[j] = (last[j - 1] + changed).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] {
                let swapped: &[usize] = &before;
                row[j] = row[j].min(swapped[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let words = [
            "aws:us-east-1",
            "aws:us-east-2",
            "gcp:us-central1",
            "azure:westeurope",
        ];
        let find = |word| nearest(word, words.into_iter());
        assert_eq!(find("aws:us-esat-2"), Some("aws:us-east-2"));
        assert_eq!(find("gcp:us-central-1"), Some("gcp:us-central1"));
        assert_eq!(find("AZURE:WestEurop"), Some("azure:westeurope"));
        assert_eq!(find("my-cellar"), None);
        assert_eq!(nearest("x", std::iter::empty()), None);
    }

    #[test]
    fn edits_are_counted_as_by_hand() {
        // kitten -> sitten -> sittin -> sitting; a swap is one edit.
        for (one, other, count) in [
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
            ("", "abc", 3),
            ("same", "same", 0),
        ] {
            assert_eq!(edits(one, other), count, "{one} {other}");
        }
    }
}
