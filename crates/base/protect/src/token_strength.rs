//! Which tokens are refused as too weak. It must not know where tokens come from.
//!
//! A wrong token costs an attacker a connection per guess, but who poses as the agent gets one proof to test guesses
//! against as fast as computers hash. So a token needs as many random bits as such a search must not reach.

/// Minimum estimated entropy of a token, bits.
pub const LEAST_BITS: u32 = 72;
/// Minimum length of a token, bytes.
pub const LEAST_LENGTH: usize = 16;
/// Entropy of a word of a passphrase, bits: one of the 7,776 of a diceware list.
const WORD_BITS: f64 = 12.9;

/// A token that can be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeakToken {
    /// Shorter than [`LEAST_LENGTH`].
    #[error(
        "the token has {0} bytes, at least {LEAST_LENGTH} are needed; make one with 'openssl rand -hex 32'"
    )]
    Short(usize),
    /// Below [`LEAST_BITS`].
    #[error(
        "the token has about {0} random bits, at least {LEAST_BITS} are needed; make one with 'openssl rand -hex 32', \
         or take six random words"
    )]
    Guessable(u32),
}

/// Checks a token: it has at least 16 bytes and an estimated entropy of at least 72 bits.
///
/// The estimate for a token without blanks is its length times log2 of the number of different bytes in it; for one
/// with blanks, a passphrase, 12.9 bits for each different word, but no more than the first. It is an upper bound for
/// what was chosen at random, and no proof that it was.
///
/// # Errors
/// Why the token is refused, and what to do.
pub fn check_token(token: &[u8]) -> Result<(), WeakToken> {
    if token.len() < LEAST_LENGTH {
        return Err(WeakToken::Short(token.len()));
    }
    let mut seen = [false; 256];
    for byte in token {
        seen[usize::from(*byte)] = true;
    }
    let different = seen.iter().filter(|seen| **seen).count();
    let mut bits = token.len() as f64 * (different as f64).log2();
    if token.contains(&b' ') {
        let mut words: Vec<&[u8]> = token
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        words.sort_unstable();
        words.dedup();
        bits = bits.min(words.len() as f64 * WORD_BITS);
    }
    if bits < f64::from(LEAST_BITS) {
        return Err(WeakToken::Guessable(bits as u32));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_tokens_of_128_bits_are_accepted_in_every_usual_form() {
        for token in [
            // openssl rand -hex 16, -hex 32, -base64 16; a UUID; six words of a diceware list.
            "9f86d081884c7d659a2feaa0c55ad015",
            "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            "7Qv3mB0cJkq8sYd1ZfXo9w==",
            "6fa459ea-ee8a-3ca4-894e-db77e160355e",
            "unsaddle gravel tipping polish numbing cavalry",
        ] {
            assert_eq!(check_token(token.as_bytes()), Ok(()), "{token}");
        }
    }

    #[test]
    fn what_can_be_guessed_is_refused_with_what_to_do() {
        for (token, why) in [
            ("secret", "6 bytes"),
            ("123456789012345", "15 bytes"),
            ("aaaaaaaaaaaaaaaaaaaaaaaa", "about 0 random bits"),
            ("abababababababababab", "about 20 random bits"),
            ("correct horse battery staple", "about 51 random bits"),
            ("again again again again again again", "about 12 random bits"),
        ] {
            let text = check_token(token.as_bytes()).unwrap_err().to_string();
            assert!(
                text.contains(why) && text.contains("openssl rand"),
                "{token}: {text}"
            );
        }
    }
}
