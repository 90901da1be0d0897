//! The sizes of chunks: into how many chunks a batch is cut.

use super::deal::MULTIPLE;

/// The least number of operations per chunk if a batch with loaded keys is cut to occupy more
/// slots. The chunks of these keys must not depend on the other memory of a batch.
const LEAST_LOADED: usize = 4096;

/// The least number of operations per chunk if the device moves bytes to or from pinned memory of
/// the caller, unless it generates both keys of each pair.
const LEAST_PINNED: usize = 2048;

/// The least number of bytes of a batch whose chunks may be larger.
const LARGE_BATCH: usize = 512 << 20;

/// The largest number of operations of a chunk of encapsulations or decapsulations, in a batch of
/// less than [`LARGE_BATCH`] bytes, unless the device moves few bytes for each. With larger chunks
/// there would be too few of them, and kernels and copies of the host would not overlap with
/// transfers.
const MOST: usize = 4096;

/// How the keys and ciphertexts of a batch travel between the caller's memory and the device, and
/// how many bytes they have per operation. The sizes of chunks depend on this.
#[derive(Copy, Clone)]
pub(super) enum TransferPattern {
    /// Encapsulation: all of them lie in pinned memory.
    Pinned(usize),
    /// Decapsulation: all of them lie in pinned memory.
    Received(usize),
    /// The host copies a part of the inputs or of the results.
    Copied(usize),
    /// Key pairs to pinned memory. In a large batch, the host copies a part of the encapsulation
    /// keys.
    KeyPairs(usize),
    /// Private keys to pinned memory.
    PrivateKeys(usize),
    /// Key pairs, or private keys, to memory that is not pinned.
    CopiedKeyPairs(usize),
    /// The keys are loaded in chunks.
    LoadedKeys,
}

/// The sizes between which chunks are cut.
struct Limits {
    /// If a batch is too small to fill all slots, it is cut into this many chunks, in sixteenths of
    /// the number of slots.
    sixteenths: usize,
    /// The least number of operations of such chunks.
    least: usize,
    /// The largest number of operations of a chunk.
    most: usize,
}

impl TransferPattern {
    /// Returns the number of operations per chunk of a batch of `count` operations on devices with
    /// `slots` slots in all: at most `most`.
    pub(super) fn chunk(self, count: usize, slots: usize, most: usize) -> usize {
        let limits = self.limits(count);
        let parts = (limits.sixteenths * slots).div_ceil(16);
        even_chunk(count, parts, limits.least, limits.most.min(most))
    }

    /// Returns the limits for a batch of `count` operations.
    ///
    /// Chunks in half of the slots are enough to hide most copies of the host. Chunks in a quarter
    /// to 3/8 of them are enough to hide most transfers. Copies and launches have fixed costs.
    /// Larger chunks keep the GPU busier, but there must be enough of them that copies of the host
    /// overlap with transfers. The numbers were chosen by measurements on H200s, and [`MOST`] in
    /// pinned memory on an H100.
    fn limits(self, count: usize) -> Limits {
        const MIB: usize = 1 << 20;
        // Returns `least`, or the bytes of `count` operations if they are more.
        let of = |least: usize, bytes: usize, count| least.max(bytes.saturating_mul(count));
        let most = |bytes| [of(8 * MIB, bytes, MOST), usize::MAX];
        // The least number of bytes of a chunk, and the most in batches that are not large and in
        // those that are.
        let (sixteenths, least, most, bytes) = match self {
            Self::Pinned(bytes) => (5, of(3 * MIB, bytes, LEAST_PINNED), most(bytes), bytes),
            Self::Received(bytes) => (6, of(2 * MIB, bytes, LEAST_PINNED), most(bytes), bytes),
            Self::Copied(bytes) => {
                let most = bytes.saturating_mul(MOST).min(8 * MIB);
                (8, MIB / 4, [most, most.saturating_mul(2)], bytes)
            }
            Self::KeyPairs(bytes) => (4, MIB, [of(8 * MIB, bytes, LEAST_PINNED), 32 * MIB], bytes),
            Self::PrivateKeys(bytes) => {
                let least = bytes.saturating_mul(LEAST_PINNED);
                (4, least, [least.max(8 * MIB), 32 * MIB], bytes)
            }
            Self::CopiedKeyPairs(bytes) => (8, MIB, [8 * MIB, 16 * MIB], bytes),
            Self::LoadedKeys => {
                return Limits { sixteenths: 8, least: LEAST_LOADED, most: usize::MAX };
            }
        };
        let is_large = count.saturating_mul(bytes) >= LARGE_BATCH;
        let power_of_two = |operations: usize| 1usize << operations.max(1).ilog2();
        Limits {
            sixteenths,
            least: (least / bytes).next_multiple_of(MULTIPLE),
            most: power_of_two(most[usize::from(is_large)] / bytes),
        }
    }
}

/// Returns the number of operations per chunk for a batch of `count` operations: at most `most`.
///
/// If the batch cannot fill `parts` chunks of `most` operations, it is divided evenly into at most
/// `parts` chunks of at least `least` operations.
fn even_chunk(count: usize, parts: usize, least: usize, most: usize) -> usize {
    count.div_ceil(parts).next_multiple_of(MULTIPLE).max(least).clamp(1, most)
}

/// Returns the largest number of operations of a chunk that fills its blocks, if memory for `most`
/// operations is there.
pub(super) const fn full_chunk(most: usize) -> usize {
    if most < MULTIPLE { most } else { most - most % MULTIPLE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_even_but_not_too_small() {
        const LEAST: usize = 4096;
        assert_eq!(even_chunk(0, 8, LEAST, 8192), LEAST);
        assert_eq!(even_chunk(1, 8, LEAST, 8192), LEAST);
        assert_eq!(even_chunk(8 * LEAST, 8, LEAST, 8192), LEAST);
        assert_eq!(even_chunk(8 * LEAST + 1, 8, LEAST, 8192), LEAST + MULTIPLE);
        assert_eq!(even_chunk(8 * LEAST + 1, 8, LEAST, 4100), 4100);
        assert_eq!(even_chunk(1 << 20, 8, LEAST, 8192), 8192);
        assert_eq!(even_chunk(1 << 20, 8, LEAST, 3), 3);
        assert_eq!(even_chunk(5, 1, LEAST, 3), 3);
    }

    #[test]
    fn chunks_that_the_host_copies_are_smaller_and_more() {
        let of = |pattern: TransferPattern, count| {
            let Limits { sixteenths, least, most } = pattern.limits(count);
            (sixteenths, least, most)
        };
        assert_eq!(of(TransferPattern::Copied(2110), 1), (8, 256, 2048));
        assert_eq!(of(TransferPattern::Copied(2110), 1 << 20), (8, 256, 4096));
        assert_eq!(of(TransferPattern::Copied(952), 1), (8, 512, MOST));
        assert_eq!(of(TransferPattern::Copied(952), 1 << 20), (8, 512, 2 * MOST));
        assert_eq!(of(TransferPattern::Copied(1600), 1), (8, 256, MOST));
        assert_eq!(of(TransferPattern::KeyPairs(3000), 1), (4, 512, 2048));
        assert_eq!(of(TransferPattern::KeyPairs(3000), 1 << 20), (4, 512, 8192));
        assert_eq!(of(TransferPattern::PrivateKeys(1571), 1), (4, LEAST_PINNED, 4096));
        assert_eq!(of(TransferPattern::PrivateKeys(1571), 1 << 20), (4, LEAST_PINNED, 16384));
        assert_eq!(of(TransferPattern::KeyPairs(1000), 1), (4, 1280, 8192));
        assert_eq!(of(TransferPattern::CopiedKeyPairs(3000), 1), (8, 512, 2048));
        assert_eq!(of(TransferPattern::CopiedKeyPairs(3000), 1 << 20), (8, 512, 4096));
        assert_eq!(of(TransferPattern::Pinned(2142), 1).1, LEAST_PINNED);
        assert_eq!(of(TransferPattern::Pinned(952), 1).1, 3328);
        assert_eq!(of(TransferPattern::Received(952), 1), (6, 2304, 8192));
        assert_eq!(of(TransferPattern::Pinned(2142), 1 << 17).2, MOST);
        assert!(of(TransferPattern::Pinned(2142), 1 << 20).2 > 8192);
        assert_eq!(of(TransferPattern::LoadedKeys, 1).1, LEAST_LOADED);
        assert_eq!(
            (
                of(TransferPattern::Copied(usize::MAX), 1).1,
                of(TransferPattern::Copied(usize::MAX), 1).2
            ),
            (0, 1)
        );
        assert_eq!(of(TransferPattern::Pinned(usize::MAX), 1).2, 1);
    }

    #[test]
    fn small_batches_fill_a_part_of_the_slots() {
        // Chunks for half of eight slots, of the least number of operations and of more.
        let chunk = |count| TransferPattern::Copied(2000).chunk(count, 8, 512);
        assert_eq!([1024, 1025, 1 << 20].map(chunk), [256, 512, 512]);
    }

    #[test]
    fn chunks_that_memory_makes_smaller_fill_their_blocks() {
        assert_eq!([0, 1, 255, 256, 511, 7481].map(full_chunk), [0, 1, 255, 256, 256, 7424]);
    }
}
