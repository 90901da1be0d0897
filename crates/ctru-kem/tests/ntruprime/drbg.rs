//! The generator of the response files of the NIST call: AES-256 in counter mode, without a
//! derivation function (SP 800-90A, section 10.2.1).

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use ctru_kem::ntruprime::NoRandomness;

pub(crate) struct Drbg {
    cipher: Aes256,
    counter: u128,
}

impl Drbg {
    pub(crate) fn new(seed: &[u8; 48]) -> Self {
        let mut drbg = Self { cipher: Aes256::new(&[0; 32].into()), counter: 0 };
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
        let mut state = *data;
        for bytes in state.as_chunks_mut::<16>().0 {
            for (byte, &more) in bytes.iter_mut().zip(&self.block()) {
                *byte ^= more;
            }
        }
        let (key, counter) = state.split_at(32);
        self.cipher = Aes256::new(key.try_into().unwrap());
        self.counter = u128::from_be_bytes(counter.try_into().unwrap());
    }

    /// Fills a slice by one request.
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        for chunk in bytes.chunks_mut(16) {
            chunk.copy_from_slice(&self.block()[..chunk.len()]);
        }
        self.update(&[0; 48]);
        Ok(())
    }
}
