//! The parameters (specification, section 3).

/// One column of the table of parameters.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// Degree of the ring.
    pub(crate) n: usize,
    /// Modulus.
    pub(crate) q: i64,
    /// Bits of a ciphertext coefficient.
    pub(crate) w: usize,
    /// Parameter of the noise.
    pub(crate) eta: i64,
}

/// The three columns.
pub(crate) const COLUMNS: [Parameters; 3] = [
    Parameters { n: 653, q: 4621, w: 11, eta: 3 },
    Parameters { n: 761, q: 4591, w: 10, eta: 2 },
    Parameters { n: 1277, q: 7879, w: 10, eta: 2 },
];

impl Parameters {
    /// Returns the column with the degree `n`.
    pub(crate) fn of_degree(n: usize) -> &'static Self {
        COLUMNS.iter().find(|p| p.n == n).unwrap()
    }

    /// Returns q2, the modulus of ciphertexts.
    pub(crate) fn q2(&self) -> i64 {
        1 << self.w
    }

    /// Returns L, the number of bytes of a message.
    pub(crate) fn message_bytes(&self) -> usize {
        self.n / 16
    }

    /// Returns H, the number of bytes of the coins of one polynomial.
    pub(crate) fn coin_bytes(&self) -> usize {
        (2 * self.eta as usize * self.n).div_ceil(8)
    }

    /// Returns B, the offset of the nibbles of `f`.
    pub(crate) fn nibble_offset(&self) -> i64 {
        2 * self.eta + 1
    }

    /// Returns F, the number of bytes of the packed `f`.
    pub(crate) fn packed_f_bytes(&self) -> usize {
        self.n.div_ceil(2)
    }

    /// Returns C, the number of bytes of a ciphertext.
    pub(crate) fn ciphertext_bytes(&self) -> usize {
        (self.w * self.n).div_ceil(8)
    }
}

#[test]
fn table() {
    use crate::encodings::Encoding::{MixedRadix, Packed13};
    use crate::keys::decapsulation_key_bytes;
    let row = |value: fn(&Parameters) -> usize| COLUMNS.each_ref().map(value);
    assert_eq!(row(|p| p.q2() as usize), [2048, 1024, 1024]);
    assert_eq!(row(Parameters::message_bytes), [40, 47, 79]);
    assert_eq!(row(|p| 16 * p.message_bytes()), [640, 752, 1264]);
    assert_eq!(row(|p| p.n - 16 * p.message_bytes()), [13, 9, 13]);
    assert_eq!(row(Parameters::coin_bytes), [490, 381, 639]);
    assert_eq!(row(|p| p.nibble_offset() as usize), [7, 5, 5]);
    assert_eq!(row(Parameters::packed_f_bytes), [327, 381, 639]);
    assert_eq!(row(Parameters::ciphertext_bytes), [898, 952, 1597]);
    assert_eq!(row(|p| Packed13.bytes(p)), [1062, 1237, 2076]);
    assert_eq!(row(|p| MixedRadix.bytes(p)), [994, 1158, 2067]);
    assert_eq!(row(|p| decapsulation_key_bytes(p, Packed13)), [1421, 1650, 2747]);
    assert_eq!(row(|p| decapsulation_key_bytes(p, MixedRadix)), [1353, 1571, 2738]);
    assert_eq!(row(|p| 8 * p.coin_bytes() - 2 * p.eta as usize * p.n), [2, 4, 4]);
    assert_eq!(row(|p| 8 * p.ciphertext_bytes() - p.w * p.n), [1, 6, 6]);
    assert_eq!(row(|p| 8 * Packed13.bytes(p) - 13 * p.n), [7, 3, 7]);
}
