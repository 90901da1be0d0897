//! The generator of response files: AES-256 in counter mode, without a derivation function (SP
//! 800-90A, section 10.2.1).

use std::convert::Infallible;

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use rand_core::{TryCryptoRng, TryRng, utils};

/// A generator, which takes a new key after each request.
pub(super) struct Drbg {
    cipher: Aes256,
    counter: u128,
    /// The most bytes that are made by one request. Longer ones become several.
    request: usize,
}

impl Drbg {
    /// Returns the generator with this seed.
    pub(super) fn new(seed: &[u8; 48], request: usize) -> Self {
        let mut drbg = Self { cipher: Aes256::new(&[0; 32].into()), counter: 0, request };
        drbg.update(seed);
        drbg
    }

    fn block(&mut self) -> [u8; 16] {
        self.counter = self.counter.wrapping_add(1);
        let mut block = self.counter.to_be_bytes().into();
        self.cipher.encrypt_block(&mut block);
        block.into()
    }

    fn update(&mut self, data: &[u8; 48]) {
        let [mut low, mut high, mut counter] = [self.block(), self.block(), self.block()];
        let parts = [&mut low, &mut high, &mut counter];
        for (part, data) in parts.into_iter().zip(data.as_chunks::<16>().0) {
            for (byte, more) in part.iter_mut().zip(data) {
                *byte ^= more;
            }
        }
        let mut key = [0; 32];
        key[..16].copy_from_slice(&low);
        key[16..].copy_from_slice(&high);
        self.cipher = Aes256::new(&key.into());
        self.counter = u128::from_be_bytes(counter);
    }
}

impl TryRng for Drbg {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        utils::next_word_via_fill(self)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_word_via_fill(self)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        // The words of a polynomial are the requests that can be cut.
        let request = if bytes.len() > 4 * 256 { self.request } else { usize::MAX };
        for part in bytes.chunks_mut(request) {
            for block in part.chunks_mut(16) {
                block.copy_from_slice(&self.block()[..block.len()]);
            }
            self.update(&[0; 48]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Drbg {}
