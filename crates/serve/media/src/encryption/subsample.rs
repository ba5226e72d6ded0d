//! Runs of clear and of protected bytes of a sample (ISO/IEC 23001-7, 9.5.2). It must not know codecs.

/// Bytes of a block of AES.
pub(super) const BLOCK: usize = 16;

/// Clear bytes that one entry can tell.
const MOST_CLEAR: usize = u16::MAX as usize;

/// Bytes that stay clear, and behind them bytes that are protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subsample {
    /// Clear bytes.
    pub clear: u16,
    /// Protected bytes. Of those `cenc` encrypts each, and `cbcs` whole blocks by its pattern.
    pub protected: u32,
}

/// Adds clear bytes and those protected behind them. No entry can tell more than 65,535 clear ones.
pub(super) fn push(subsamples: &mut Vec<Subsample>, mut clear: usize, protected: usize) {
    while clear > MOST_CLEAR {
        subsamples.push(Subsample {
            clear: u16::MAX,
            protected: 0,
        });
        clear -= MOST_CLEAR;
    }
    subsamples.push(Subsample {
        clear: clear as u16,
        // A sample has less than 4 GiB.
        protected: protected as u32,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clear_runs_take_several_entries() {
        let mut subsamples = Vec::new();
        push(&mut subsamples, 2 * MOST_CLEAR + 1, 32);
        let told: Vec<(u16, u32)> = subsamples
            .iter()
            .map(|subsample| (subsample.clear, subsample.protected))
            .collect();
        assert_eq!(told, [(u16::MAX, 0), (u16::MAX, 0), (1, 32)]);
        subsamples.clear();
        push(&mut subsamples, MOST_CLEAR, 0);
        assert_eq!(subsamples.len(), 1);
    }
}
