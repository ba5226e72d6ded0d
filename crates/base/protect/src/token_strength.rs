//! Which tokens are refused as too weak, and what is made of a passphrase. It must not know where tokens come from.
//!
//! A wrong token costs an attacker a connection per guess, but who poses as the agent gets one proof to test guesses
//! against as fast as computers hash. So a token needs as many random bits as such a search must not reach, or, as a
//! passphrase that people can remember, fewer bits and a hash that is slow on any computer.

use argon2::{Algorithm, Argon2, Block, Params, Version};

/// Minimum estimated entropy of a token, bits.
pub const LEAST_BITS: u32 = 72;
/// Minimum estimated entropy of a passphrase, bits. A guess at one takes some 2^18 times as long.
pub const LEAST_PASSPHRASE_BITS: u32 = 60;
/// Minimum length of a token, bytes.
pub const LEAST_LENGTH: usize = 16;
/// Entropy of a word of a passphrase, bits: one of the 7,776 of a diceware list.
const WORD_BITS: f64 = 12.9;

/// Argon2id with the second recommended option of RFC 9106 section 4: 64 MiB, 3 passes, 4 lanes.
const MEMORY_KIB: u32 = 1 << 16;
const PASSES: u32 = 3;
const LANES: u32 = 4;
/// Both ends know nothing of each other when they make the secret, so that the salt is the same for all.
const SALT: &[u8] = b"weir passphrase 2";

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
         or take five random words with blanks between them"
    )]
    Guessable(u32),
    /// A passphrase below [`LEAST_PASSPHRASE_BITS`].
    #[error(
        "the passphrase has about {0} random bits, at least {LEAST_PASSPHRASE_BITS} are needed; take five random words, or \
         make a token with 'openssl rand -hex 32'"
    )]
    GuessablePassphrase(u32),
}

/// The secret that a token stands for: the token itself, or, of one with blanks, 32 bytes that Argon2id makes of it with 64
/// MiB of memory for the duration of the call, in some 0.2 s of a core.
///
/// A token has at least 16 bytes and an estimated entropy of at least 72 bits, a passphrase of at least 60. The estimate is
/// the length times log2 of the number of different bytes; for a passphrase 12.9 bits for each different word, but no more
/// than the first. It is an upper bound for what was chosen at random, and no proof that it was.
///
/// # Errors
/// Why the token is refused, and what to do.
pub fn secret_of_token(token: &[u8]) -> Result<Vec<u8>, WeakToken> {
    if token.len() < LEAST_LENGTH {
        return Err(WeakToken::Short(token.len()));
    }
    let bits = spread_bits(token);
    if !token.contains(&b' ') {
        return match bits < f64::from(LEAST_BITS) {
            true => Err(WeakToken::Guessable(bits as u32)),
            false => Ok(token.to_vec()),
        };
    }
    let bits = bits.min(different_words(token) as f64 * WORD_BITS);
    if bits < f64::from(LEAST_PASSPHRASE_BITS) {
        return Err(WeakToken::GuessablePassphrase(bits as u32));
    }
    Ok(slow_hash(token))
}

fn spread_bits(token: &[u8]) -> f64 {
    let mut seen = [false; 256];
    for byte in token {
        seen[usize::from(*byte)] = true;
    }
    let different = seen.iter().filter(|seen| **seen).count();
    token.len() as f64 * (different as f64).log2()
}

fn different_words(passphrase: &[u8]) -> usize {
    let mut words: Vec<&[u8]> = passphrase
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .collect();
    words.sort_unstable();
    words.dedup();
    words.len()
}

fn slow_hash(passphrase: &[u8]) -> Vec<u8> {
    let mut hash = vec![0; 32];
    let mut memory = vec![Block::default(); MEMORY_KIB as usize];
    // The parameters are within the limits of RFC 9106, and a passphrase that was read is shorter than 2^32 bytes.
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("valid parameters");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(passphrase, SALT, &mut hash, &mut memory)
        .expect("a passphrase of valid length");
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_tokens_of_128_bits_are_accepted_in_every_usual_form() {
        for token in [
            // openssl rand -hex 16, -hex 32, -base64 16; a UUID.
            "9f86d081884c7d659a2feaa0c55ad015",
            "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
            "7Qv3mB0cJkq8sYd1ZfXo9w==",
            "6fa459ea-ee8a-3ca4-894e-db77e160355e",
        ] {
            let secret = secret_of_token(token.as_bytes()).unwrap();
            assert_eq!(secret, token.as_bytes(), "{token}");
        }
    }

    /// As the reference implementation in C makes it:
    /// `echo -n "..." | argon2 "weir passphrase 2" -id -m 16 -t 3 -p 4 -l 32 -r`.
    #[test]
    fn five_words_of_a_list_become_a_secret_by_argon2id() {
        let secret = secret_of_token(b"unsaddle gravel tipping polish numbing").unwrap();
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "2ea16df7b3686d10a3bc77c3fae7acffd26f3b9b93c522b2a96ed52fccf69aef"
        );
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
            let text = secret_of_token(token.as_bytes()).unwrap_err().to_string();
            assert!(
                text.contains(why) && text.contains("openssl rand"),
                "{token}: {text}"
            );
        }
    }
}
