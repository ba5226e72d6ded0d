//! How a stream is protected, and what two ends with their own requirements choose. It must not know keys.

use std::fmt;
use std::str::FromStr;

/// Protection of a stream's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Protection {
    /// Headers are authenticated, payloads are neither encrypted nor authenticated.
    Off = 0,
    /// Payloads are authenticated by AES-128-GMAC (NIST SP 800-38D), not encrypted.
    Auth = 1,
    /// AES-128-GCM (NIST SP 800-38D, RFC 5116).
    Aes128Gcm = 2,
    /// AES-256-GCM (NIST SP 800-38D, RFC 5116).
    Aes256Gcm = 3,
    /// ChaCha20-Poly1305 (RFC 8439), where AES is slow.
    ChaCha20Poly1305 = 4,
}

/// No protection has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no protection is called '{0}'; use one of off, auth, aes-128-gcm, aes-256-gcm, chacha20-poly1305")]
pub struct UnknownProtection(pub String);

impl Protection {
    /// All protections, in the order of their numbers on the wire.
    pub const ALL: [Self; 5] = [
        Self::Off,
        Self::Auth,
        Self::Aes128Gcm,
        Self::Aes256Gcm,
        Self::ChaCha20Poly1305,
    ];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Auth => "auth",
            Self::Aes128Gcm => "aes-128-gcm",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }

    /// Its number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The protection with this number on the wire.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Whether payloads are encrypted.
    #[must_use]
    pub const fn encrypts(self) -> bool {
        matches!(self, Self::Aes128Gcm | Self::Aes256Gcm | Self::ChaCha20Poly1305)
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Protection {
    type Err = UnknownProtection;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|protection| protection.name() == text)
            .ok_or_else(|| UnknownProtection(text.to_owned()))
    }
}

/// The protections that a client accepts, and whether AES is slow at it: one byte on the wire.
///
/// Bits 0 to 4: the protections, by their number. Bit 7: AES is slow. Bits 5 and 6 are 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Offer(u8);

impl Offer {
    const SLOW_AES: u8 = 0x80;
    const PROTECTIONS: u8 = 0x1f;

    /// Accepts one protection only.
    #[must_use]
    pub const fn only(protection: Protection) -> Self {
        Self(1 << protection.number())
    }

    /// Accepts every protection that encrypts; says whether AES is fast here.
    #[must_use]
    pub fn encrypted(fast_aes: bool) -> Self {
        let ciphers = Protection::ALL
            .into_iter()
            .filter(|protection| protection.encrypts());
        let bits = ciphers.fold(0, |bits, cipher| bits | 1 << cipher.number());
        Self(if fast_aes { bits } else { bits | Self::SLOW_AES })
    }

    /// Whether this protection is accepted.
    #[must_use]
    pub const fn accepts(self, protection: Protection) -> bool {
        self.0 & 1 << protection.number() != 0
    }

    /// Whether AES is slow at the client.
    #[must_use]
    pub const fn is_aes_slow(self) -> bool {
        self.0 & Self::SLOW_AES != 0
    }

    /// The byte on the wire.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self.0
    }

    /// Reads the byte on the wire; none if it accepts nothing, or has unknown bits.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        if byte & Self::PROTECTIONS == 0 || byte & !(Self::PROTECTIONS | Self::SLOW_AES) != 0 {
            None
        } else {
            Some(Self(byte))
        }
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accepted = Protection::ALL.into_iter().filter(|it| self.accepts(*it));
        out.debug_set().entries(accepted).finish()
    }
}

/// What an end demands of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Demand {
    /// This protection and no other.
    Exactly(Protection),
    /// Any that encrypts: the one that is fast at both ends.
    Encrypted,
}

impl Demand {
    /// What the client sends; `fast_aes` is whether it has instructions for AES.
    #[must_use]
    pub fn offer(self, fast_aes: bool) -> Offer {
        match self {
            Self::Exactly(protection) => Offer::only(protection),
            Self::Encrypted => Offer::encrypted(fast_aes),
        }
    }

    /// What the agent chooses; `fast_aes` is whether it has instructions for AES.
    ///
    /// # Errors
    /// The protection on which it insists, if the client does not accept it.
    pub fn choose(self, offer: Offer, fast_aes: bool) -> Result<Protection, Protection> {
        let order = match self {
            Self::Exactly(protection) => {
                return Some(protection).filter(|it| offer.accepts(*it)).ok_or(protection);
            }
            Self::Encrypted if fast_aes && !offer.is_aes_slow() => [
                Protection::Aes128Gcm,
                Protection::ChaCha20Poly1305,
                Protection::Aes256Gcm,
            ],
            Self::Encrypted => [
                Protection::ChaCha20Poly1305,
                Protection::Aes128Gcm,
                Protection::Aes256Gcm,
            ],
        };
        order
            .into_iter()
            .find(|cipher| offer.accepts(*cipher))
            .ok_or(order[0])
    }
}

/// Whether this host has instructions for AES and for GHASH.
#[must_use]
pub fn has_fast_aes() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq")
    }
    #[cfg(target_arch = "aarch64")]
    {
        std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull")
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_come_back() {
        for protection in Protection::ALL {
            assert_eq!(protection.name().parse(), Ok(protection));
            assert_eq!(Protection::from_number(protection.number()), Some(protection));
        }
        assert_eq!(Protection::from_number(5), None);
        let unknown = "aes".parse::<Protection>().unwrap_err().to_string();
        assert!(
            unknown.contains("'aes'") && unknown.contains("aes-128-gcm"),
            "{unknown}"
        );
    }

    #[test]
    fn bytes_that_offer_nothing_or_the_unknown_are_refused() {
        for byte in 0..=u8::MAX {
            let offer = Offer::from_byte(byte);
            assert_eq!(offer.is_some(), byte & 0x1f != 0 && byte & 0x60 == 0, "{byte:#x}");
            assert!(offer.is_none_or(|offer| offer.to_byte() == byte));
        }
    }

    #[test]
    fn the_fast_cipher_of_both_is_chosen_and_a_requirement_is_never_lowered() {
        let [fast, slow] = [true, false].map(|fast| Demand::Encrypted.offer(fast));
        let any = Demand::Encrypted;
        assert_eq!(any.choose(fast, true), Ok(Protection::Aes128Gcm));
        assert_eq!(any.choose(slow, true), Ok(Protection::ChaCha20Poly1305));
        assert_eq!(any.choose(fast, false), Ok(Protection::ChaCha20Poly1305));
        for protection in Protection::ALL {
            let exactly = Demand::Exactly(protection);
            let encrypts = protection.encrypts();
            assert_eq!(
                exactly.choose(fast, true),
                if encrypts { Ok(protection) } else { Err(protection) }
            );
            assert_eq!(exactly.choose(exactly.offer(true), false), Ok(protection));
            let of_any = any.choose(exactly.offer(true), true);
            assert_eq!(
                of_any,
                if encrypts {
                    Ok(protection)
                } else {
                    Err(Protection::Aes128Gcm)
                }
            );
        }
    }
}
