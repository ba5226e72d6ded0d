//! AES-128 (FIPS 197) in the modes of segment encryption: counter mode, and cipher block chaining with a pattern and
//! without. It must not know what a sample is. The `aes` crate provides the cipher and uses AES instructions of the CPU
//! where they exist, detected at run time.

use aes::Aes128;
use aes::cipher::block_padding::Pkcs7;
use aes::cipher::{
    Block, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit, StreamCipher, StreamCipherSeek,
};
use cbc::{Decryptor, Encryptor};
use ctr::{Ctr64BE, CtrCore};

use super::content_key::ContentKey;

/// Bytes of a block.
pub(super) const BLOCK: usize = 16;

/// Blocks encrypted of each run of blocks by `cbcs` for video, and those left clear behind them (ISO/IEC 23001-7,
/// 10.4.2).
pub(super) const PATTERN: (u8, u8) = (1, 9);

/// The cipher with its key.
pub(super) struct Cipher {
    aes: Aes128,
}

impl Cipher {
    pub(super) fn new(key: &ContentKey) -> Self {
        Cipher {
            aes: Aes128::new(key.bytes().into()),
        }
    }

    /// Counter mode of one sample, whose protected bytes are given one piece after the other. The last eight bytes
    /// count blocks (ISO/IEC 23001-7, 9.3).
    pub(super) fn counter(&self, iv: [u8; 8]) -> impl FnMut(&mut [u8]) + use<> {
        let mut mode = self.counting(iv);
        move |bytes| mode.apply_keystream(bytes)
    }

    /// The same from any counter on, such as one that a source chose.
    pub(super) fn counter_from(&self, iv: [u8; BLOCK]) -> impl FnMut(&mut [u8]) + use<> {
        let mut mode = counting(self.aes.clone(), iv);
        move |bytes| mode.apply_keystream(bytes)
    }

    /// The same for bytes that follow `behind` other bytes of the sample.
    pub(super) fn count_from(&self, iv: [u8; 8], behind: u64, bytes: &mut [u8]) {
        let mut mode = self.counting(iv);
        mode.seek(behind);
        mode.apply_keystream(bytes);
    }

    fn counting(&self, iv: [u8; 8]) -> Ctr64BE<Aes128> {
        let mut counter = [0; BLOCK];
        counter[..8].copy_from_slice(&iv);
        counting(self.aes.clone(), counter)
    }

    fn chaining(&self, iv: &[u8; BLOCK]) -> Encryptor<Aes128> {
        Encryptor::inner_iv_init(self.aes.clone(), iv.into())
    }

    /// Chaining over those whole blocks of `bytes` that the pattern has; all others stay clear.
    pub(super) fn chain(&self, iv: &[u8; BLOCK], bytes: &mut [u8]) {
        let mut mode = self.chaining(iv);
        let (encrypted, left_clear) = PATTERN;
        let run = BLOCK * usize::from(encrypted + left_clear);
        for run in bytes.chunks_mut(run) {
            if let Some(block) = run.first_chunk_mut::<BLOCK>() {
                mode.encrypt_block(block.into());
            }
        }
    }
}

/// Chaining, undone.
impl Cipher {
    /// Decrypts those whole blocks of `bytes` that a pattern has: blocks encrypted, and blocks left clear behind them; all
    /// blocks if both are 0.
    pub(super) fn unchain(&self, iv: [u8; BLOCK], (encrypted, left_clear): (u8, u8), bytes: &mut [u8]) {
        let mut mode = Decryptor::<Aes128>::inner_iv_init(self.aes.clone(), &iv.into());
        let run = match usize::from(encrypted) + usize::from(left_clear) {
            0 => bytes.len().max(1),
            blocks => blocks * BLOCK,
        };
        let most = match (encrypted, left_clear) {
            (0, 0) => bytes.len(),
            _ => usize::from(encrypted) * BLOCK,
        };
        for run in bytes.chunks_mut(run) {
            let length = run.len().min(most);
            let (blocks, _) = Block::<Aes128>::slice_as_chunks_mut(&mut run[..length]);
            mode.decrypt_blocks(blocks);
        }
    }
}

/// Chaining that goes on where it was.
#[derive(Clone)]
pub(super) struct Chain {
    /// The initialization vector, or the last block that was encrypted.
    last: [u8; BLOCK],
}

impl Chain {
    pub(super) fn new(iv: [u8; BLOCK]) -> Self {
        Chain { last: iv }
    }

    /// Encrypts the whole blocks of `bytes`; how many bytes these are.
    pub(super) fn encrypt(&mut self, cipher: &Cipher, bytes: &mut [u8]) -> usize {
        let (blocks, _) = Block::<Aes128>::slice_as_chunks_mut(bytes);
        cipher.chaining(&self.last).encrypt_blocks(blocks);
        if let Some(last) = blocks.last() {
            self.last = (*last).into();
        }
        bytes.len() / BLOCK * BLOCK
    }
}

/// Counter mode from this counter on, of which the last eight bytes count.
fn counting(aes: Aes128, counter: [u8; BLOCK]) -> Ctr64BE<Aes128> {
    Ctr64BE::from_core(CtrCore::inner_iv_init(aes, &counter.into()))
}

/// Encrypts a whole segment: chaining, and padding after PKCS #7 (RFC 8216, 4.3.2.4; RFC 5652, 6.3). The result is 1 to
/// 16 bytes longer.
pub fn encrypt_whole(key: &ContentKey, iv: &[u8; BLOCK], mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.len();
    bytes.resize(length / BLOCK * BLOCK + BLOCK, 0);
    let mode = Cipher::new(key).chaining(iv);
    // There is room for the padding, which is all that can be wrong.
    let encrypted = mode.encrypt_padded::<Pkcs7>(&mut bytes, length);
    debug_assert!(encrypted.is_ok());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text
            .bytes()
            .filter(u8::is_ascii_hexdigit)
            .map(|digit| (digit as char).to_digit(16).unwrap() as u8)
            .collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    fn block(text: &str) -> [u8; 16] {
        hex(text).try_into().unwrap()
    }

    /// Key and plain text of NIST SP 800-38A, appendix F.
    const KEY: &str = "2b7e151628aed2a6abf7158809cf4f3c";
    const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
                         30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";

    fn cipher() -> Cipher {
        Cipher::new(&ContentKey::new(block(KEY)))
    }

    #[test]
    fn chaining_gives_the_values_of_nist() {
        // F.2.1, CBC-AES128.Encrypt.
        let iv = block("000102030405060708090a0b0c0d0e0f");
        let expected = hex("7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
                            73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7");
        let mut bytes = hex(PLAIN);
        // What does not fill a block stays as it is.
        bytes.extend(b"clear");
        let done = Chain::new(iv).encrypt(&cipher(), &mut bytes);
        assert_eq!(done, 64);
        assert_eq!(bytes, [&expected[..], b"clear"].concat());
        let whole = encrypt_whole(&ContentKey::new(block(KEY)), &iv, hex(PLAIN));
        assert_eq!(whole[..64], expected[..]);
        // RFC 5652: a whole block of padding behind whole blocks.
        assert_eq!(whole.len(), 80);
    }

    #[test]
    fn counting_gives_the_values_of_nist() {
        // F.5.1, CTR-AES128.Encrypt: its counter begins at f8f9fafbfcfdfeff, which an initialization vector of eight
        // bytes cannot say, so the mode itself is asked.
        let counter = block("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let mut mode = counting(cipher().aes, counter);
        let mut bytes = hex(PLAIN);
        mode.apply_keystream(&mut bytes);
        let expected = hex("874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
                            5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee");
        assert_eq!(bytes, expected);
        // Ours begins at block 0, and goes on where it was.
        let mut whole = hex(PLAIN);
        cipher().counter([7; 8])(&mut whole);
        let mut pieces = hex(PLAIN);
        let mut count = cipher().counter([7; 8]);
        let (one, other) = pieces.split_at_mut(21);
        count(one);
        count(other);
        assert_eq!(pieces, whole);
        let mut zeros = [0; 16];
        cipher().counter([0; 8])(&mut zeros);
        // FIPS 197 under that key, of a block of zeros, as `openssl enc -aes-128-ecb` gives it.
        assert_eq!(zeros.to_vec(), hex("7df76b0c1ab899b33e42f047b91b546f"));
    }
}
