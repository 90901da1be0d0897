//! Derives one seed per operation of a batch from one master seed.
//!
//! A seed is the output of SHAKE256 for one input of 121 bytes, which is less than a block of 136
//! bytes. So it costs one permutation of Keccak. All fields have fixed widths:
//!
//! | bytes | field |
//! |---:|---|
//! | 11 | the text `ctru expand` |
//! | 1 | operation: 1 for key generation, 2 for encapsulation |
//! | 2 | `n`, little-endian |
//! | 1 | 1 for CTRU-Prime with mixed-radix keys, 2 with packed13 keys, 3 for NTRU Prime |
//! | 1 | number of bytes of the context |
//! | 32 | context, then zeros |
//! | 32 | master seed |
//! | 8 | row, little-endian |
//! | 33 | `ID(pk)` for encapsulation, zeros for key generation |
//!
//! `ID(pk)` is the first 33 bytes of the key. For NTRU Prime, it is the hash of the key with prefix
//! 4, which is part of the private key, and a zero.
//!
//! The fields before the row are the same for all operations of a batch.

use core::{array, fmt};

use crate::error::ContextTooLong;
use crate::hash::{self, Id, SEED_BYTES};

/// The name of the use of a master seed, such as a data set: 0 to 32 bytes.
///
/// The context is an input of every seed that [`Expand`] derives. It is not a secret.
///
/// ```
/// use ctru_kem::engine::Context;
///
/// const ORDERS: Context = Context::literal(b"orders 2026, first shipment");
/// assert!(Context::new(&[0; 33]).is_err());
/// ```
///
/// A literal with more than 32 bytes does not compile:
///
/// ```compile_fail,E0080
/// use ctru_kem::engine::Context;
///
/// let context = Context::literal(&[0; 33]);
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Context {
    length: u8,
    /// The context, then zeros.
    bytes: [u8; Self::MAX_BYTES],
}

impl Context {
    /// The largest number of bytes of a context.
    pub const MAX_BYTES: usize = 32;

    /// The empty context, for a master seed that serves one purpose only.
    pub const EMPTY: Self = Self { length: 0, bytes: [0; Self::MAX_BYTES] };

    /// Returns the context of these bytes.
    ///
    /// # Errors
    /// [`ContextTooLong`] if there are more than 32 bytes.
    pub const fn new(bytes: &[u8]) -> Result<Self, ContextTooLong> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(ContextTooLong { actual: bytes.len() });
        }
        let mut context = Self::EMPTY;
        context.bytes.split_at_mut(bytes.len()).0.copy_from_slice(bytes);
        context.length = bytes.len() as u8;
        Ok(context)
    }

    /// Returns the context of an array, whose length the compiler checks: at most 32 bytes.
    #[must_use]
    pub const fn literal<const N: usize>(bytes: &[u8; N]) -> Self {
        const { assert!(N <= Self::MAX_BYTES, "a context has at most 32 bytes") };
        match Self::new(bytes) {
            Ok(context) => context,
            Err(_) => unreachable!(),
        }
    }

    /// Returns the bytes of the context.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context(\"{}\")", self.as_bytes().escape_ascii())
    }
}

/// A master seed, from which the seeds of operations are derived.
///
/// The seed of operation `i` of a batch depends on the operation, the parameter set with its
/// encoding, the context, the master seed and the row `first + i`. For an encapsulation, it also
/// depends on `ID(pk)`, the first 33 bytes of the key, or the hash of a key of NTRU Prime. The
/// specification, section 11, has the formula.
///
/// So a job can be cut into batches at any row, and each batch can be repeated: the results are the
/// same. Two operations with the same values of all these inputs have the same secrets. Give each
/// job a context or a master seed of its own.
///
/// **Anybody can make a key of CTRU-Prime that begins with the 33 bytes of another key.** In
/// batches with the same context, master seed and row, such a key gets the seed of the other one,
/// so its owner learns the secret that was meant for the owner of the other. Where strangers choose
/// the keys, let no row serve two keys: give each batch a context, a master seed or rows of its
/// own.
#[derive(Copy, Clone)]
pub struct Expand<'a> {
    /// The master seed: 32 uniform, secret bytes. Whoever knows it can compute every derived seed.
    pub seed: &'a [u8; SEED_BYTES],
    /// The name of the use of the master seed.
    pub context: Context,
    /// The row of the first operation of the batch. The row of every operation fits 64 bits.
    pub first: u64,
}

impl fmt::Debug for Expand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expand")
            .field("seed", &format_args!(".."))
            .field("context", &self.context)
            .field("first", &self.first)
            .finish()
    }
}

/// The operation, the parameter set and the encoding for which seeds are derived, as bytes 11 to 14
/// of the input.
#[derive(Copy, Clone, Debug)]
pub struct Purpose([u8; 4]);

impl Purpose {
    /// Returns the purpose of seeds of an operation: 1 for key generation, 2 for encapsulation.
    /// `code` is the byte of the scheme and its encoding.
    pub(crate) const fn new(operation: u8, degree: usize, code: u8) -> Self {
        let [low, high] = (degree as u16).to_le_bytes();
        Self([operation, low, high, code])
    }
}

/// The bytes of the input before the context.
type Header = [u8; 16];

impl Expand<'_> {
    /// Writes the seeds of operations `index..index + G` of the batch to `group`. `ids` has the
    /// `ID(pk)` of the operations' keys, or [`NO_ID`](hash::NO_ID) for key generation.
    ///
    /// The rows of the operations must fit 64 bits.
    pub(crate) fn write_group<const N: usize, const G: usize>(
        &self,
        purpose: Purpose,
        index: usize,
        ids: [&Id; G],
        group: [&mut [u8; N]; G],
    ) {
        let header = self.header(purpose);
        let rows: [[u8; 8]; G] = array::from_fn(|i| self.row(index + i));
        let input = |i: usize| {
            let [header, context, seed, row] = self.parts(&header, &rows[i]);
            [header, context, seed, row, ids[i].as_slice()]
        };
        hash::shake256(array::from_fn(input), group.map(|seed| seed.as_mut_slice()));
    }

    /// Writes the input of operation `index` without the ID to `words`, in little-endian order.
    ///
    /// # Panics
    /// If `words` does not have 11 elements.
    #[cfg(feature = "gpu")]
    pub(crate) fn write_words(&self, purpose: Purpose, index: usize, mut words: &mut [u64]) {
        let (header, row) = (self.header(purpose), self.row(index));
        for part in self.parts(&header, &row) {
            for bytes in part.as_chunks::<8>().0 {
                *words.split_off_first_mut().expect("room for the input") =
                    u64::from_le_bytes(*bytes);
            }
        }
        assert!(words.is_empty(), "the input has fewer words");
    }

    /// Returns the fields before the ID.
    fn parts<'a>(&'a self, header: &'a Header, row: &'a [u8; 8]) -> [&'a [u8]; 4] {
        [header, &self.context.bytes, self.seed, row]
    }

    fn header(&self, Purpose(purpose): Purpose) -> Header {
        let mut header = *b"ctru expand\0\0\0\0\0";
        header[11..15].copy_from_slice(&purpose);
        header[15] = self.context.length;
        header
    }

    /// Returns the row of operation `index`.
    fn row(&self, index: usize) -> [u8; 8] {
        (self.first + index as u64).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use core::array;
    use std::collections::HashSet;

    use ctru_math::{R653, R761};
    use ctru_tests::backends::on_every_backend;

    use super::{Context, Expand, Purpose};
    use crate::ctruprime::CtruPrime;
    use crate::encoding::{MixedRadix, Packed13};
    use crate::hash::Id;
    use crate::ntruprime::NtruPrime;
    use crate::scheme::Scheme;

    const BASE: Expand<'_> = Expand { seed: &[1; 32], context: Context::literal(b"a"), first: 0 };
    const PURPOSE: Purpose = <CtruPrime<R761, MixedRadix>>::ENCAPSULATION;

    fn derive(expand: Expand<'_>, purpose: Purpose, id: &Id) -> [u8; 32] {
        let mut seed = [0; 32];
        expand.write_group(purpose, 0, [id], [&mut seed]);
        seed
    }

    /// Changes one field of the input at a time. All seeds differ, and equal inputs give equal
    /// seeds.
    #[test]
    fn every_field_counts() {
        let mut seeds = HashSet::new();
        let mut check_new = |expand: Expand<'_>, purpose, id: &Id| {
            let seed = derive(expand, purpose, id);
            assert_eq!(derive(expand, purpose, id), seed);
            assert!(seeds.insert(seed), "{expand:?}, {purpose:?}");
        };
        let id = [7; 33];
        for purpose in [
            PURPOSE,
            <CtruPrime<R761, MixedRadix>>::KEY_GENERATION,
            <CtruPrime<R653, MixedRadix>>::ENCAPSULATION,
            <CtruPrime<R761, Packed13>>::ENCAPSULATION,
            <CtruPrime<R761, Packed13>>::KEY_GENERATION,
            <NtruPrime<R761>>::ENCAPSULATION,
        ] {
            check_new(BASE, purpose, &id);
        }
        let contexts: [&[u8]; 5] = [b"", b"\0", b"b", b"a\0", &[0; 32]];
        for context in contexts {
            check_new(Expand { context: Context::new(context).unwrap(), ..BASE }, PURPOSE, &id);
        }
        for bit in 0..64 {
            check_new(Expand { first: 1 << bit, ..BASE }, PURPOSE, &id);
        }
        for bit in 0..8 * 32 {
            let mut changed = *BASE.seed;
            changed[bit / 8] ^= 1 << (bit % 8);
            check_new(Expand { seed: &changed, ..BASE }, PURPOSE, &id);
            let mut changed = [0; 32];
            changed[bit / 8] ^= 1 << (bit % 8);
            check_new(Expand { context: Context::literal(&changed), ..BASE }, PURPOSE, &id);
        }
        for bit in 0..8 * 33 {
            let mut changed = id;
            changed[bit / 8] ^= 1 << (bit % 8);
            check_new(BASE, PURPOSE, &changed);
        }
    }

    /// Compares interleaved states on every backend with single states, where the row crosses 2^32.
    #[test]
    fn groups_are_single_operations() {
        let expand = Expand { first: (1 << 32) - 4, ..BASE };
        let ids: [Id; 11] = array::from_fn(|i| [i as u8; 33]);
        let mut expected = None;
        on_every_backend(|| {
            let mut group = [[0; 32]; 11];
            expand.write_group(PURPOSE, 0, ids.each_ref(), group.each_mut());
            let single = array::from_fn(|i| {
                let mut seed = [0; 32];
                expand.write_group(PURPOSE, i, [&ids[i]], [&mut seed]);
                seed
            });
            assert_eq!(group, single);
            assert_eq!(*expected.get_or_insert(group), group);
        });
    }
}
