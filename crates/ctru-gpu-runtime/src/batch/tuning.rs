//! What was measured: every number by which a [plan](super::plan) chooses, in one table for each
//! kind of GPU.

use core::time::Duration;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Which rows move through the link between host and device.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Rows are made on the device.
    Making,
    /// The same, and `keys` is derived from them: a part of each row.
    MakingPairs,
    /// Keys come, and rows go.
    Sending,
    /// Keys and rows come.
    Receiving,
    /// Keys come, and stay on the device.
    Loading,
}

impl Traffic {
    /// Returns whether rows are made on the device.
    pub(super) fn makes(self) -> bool {
        matches!(self, Self::Making | Self::MakingPairs)
    }
}

/// The numbers by which plans choose on a kind of GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The GPUs on which the numbers were measured. A GPU's name begins with one of these names.
    pub measured_on: &'static [&'static str],

    // Kernels.
    /// The largest batch whose chunks are done by one kernel for whole operations. Record: 1024
    /// encapsulations in four chunks, copied by the host, are faster with it on an H200, and 4096
    /// are slower; mechanisms.md, "for 1,024 in several chunks".
    pub whole_batch: usize,
    /// The same for batches with one key that receive their rows: the kernel decodes the key for
    /// each operation. Record: mechanisms.md, "not for 1,024 with one private key".
    pub whole_batch_receiving_with_one_key: usize,
    /// The largest chunk that such a kernel does. Record: on an H200 it is faster for 512
    /// operations, and separate kernels are faster for 1024.
    pub whole_chunk: usize,
    /// The largest batch that takes loaded keys as rows, for kernels for whole operations. Record:
    /// h200/loaded.jsonl. For n = 761 on an H200, decoded keys are faster from 128 encapsulations
    /// or 512 decapsulations on; one number serves both.
    pub loaded_rows: usize,
    /// The largest batch of which two threads share the work of a hash. Record: mechanisms.md,
    /// "hashes by two threads".
    pub paired_batch: usize,
    /// The least chunk with one key whose products are taken by the key's matrix: if rows are sent,
    /// and if they are received. Record: mechanisms.md, "the matrix of one key".
    pub matrix_sending: usize,
    /// See [`matrix_sending`](Self::matrix_sending).
    pub matrix_receiving: usize,
    /// The largest degree of polynomials for which there is the matrix. Larger ones need twice as
    /// many threads and were not measured.
    pub matrix_degree: usize,
    /// The number of roots of a chunk's product tree, for batches up to a size; beyond the last
    /// size, the number of the last row. Record: mechanisms.md, "roots by size". 16 callers of 32
    /// key pairs take 1.7 times as long with 16 roots as with 8 (H200): their 256 roots do not fit
    /// on the GPU at the same time.
    pub roots: [(usize, usize); 2],
    /// The largest chunk whose roots are inverted by powers, for polynomials up to a degree; beyond
    /// it, the number of the last row. Record: mechanisms.md, "inversion by powers", and "inversion
    /// by division steps" for larger degrees.
    pub powers: [(usize, usize); 2],

    // Memory.
    /// The most bytes that kernels access in pinned memory, without a copy. Record: mechanisms.md,
    /// "zero-copy up to 64 KiB".
    pub zero_copy: usize,
    /// The same if one kernel does whole operations and touches each byte once, unless the memory
    /// of the caller is pinned. Record: mechanisms.md, "zero-copy up to 2 MiB".
    pub zero_copy_whole: usize,
    /// The most blocks that read the same bytes in pinned memory. Record: mechanisms.md, "a limit
    /// for blocks that read the same bytes".
    pub readers: usize,
    /// The batches whose inputs the host copies by streaming stores: the least and the largest.
    /// Record: mechanisms.md, "streaming stores for inputs".
    pub streamed_inputs: (usize, usize),
    /// The largest batch whose results the host copies by ordinary stores. Record: mechanisms.md,
    /// "streaming stores for results".
    pub temporal_results: usize,
    /// The share of derived rows that the device sends to pinned memory; the host copies the
    /// others. Record: mechanisms.md, "public keys sent by the device"; for several devices,
    /// experiments.md, "kept copies and chunks".
    pub sent: Sent,

    // Chunks.
    /// How batches are cut whose rows move by DMA.
    pub moved: [Cut; 5],
    /// How batches are cut of whose rows the host copies a part. Record for both: mechanisms.md,
    /// "other chunks if the host copies" and "larger chunks in large batches".
    pub copied: [Cut; 5],
    /// The least number of bytes of a large batch, whose chunks may be larger.
    pub large: usize,
    /// The share of a device's slots that a batch takes whose rows are on it.
    pub resident_slots: Share,

    // Callers.
    /// The most bytes of keys or of rows of a batch that is done together with those of other
    /// callers. Record: on an H200, both ways take the same time at about 64 KB.
    pub coalesced_bytes: usize,
    /// The most operations of a common launch, or 0 if each caller has launches of its own.
    pub coalesced_rows: usize,
    /// How many common launches may be under way on each device.
    pub under_way: usize,
    /// How long a caller that waits for others spins before it sleeps.
    pub spin: Duration,
    /// How many callers meet at a time, while others wait. `None` stands for the number of CPUs.
    pub callers: Option<usize>,
    /// How many arriving callers may pass those that sleep until one of these enters.
    pub passes: usize,
    /// The largest batch for which the host computes hashes while the device works, in multiples of
    /// the hashes that it computes together. Record: mechanisms.md, "rejections hashed on the
    /// host".
    pub hashes_on_host: usize,
}

/// A share in sixteenths.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Share(pub usize);

impl Share {
    /// Returns the share of a number, rounded up.
    #[must_use]
    pub fn of(self, number: usize) -> usize {
        (self.0 * number).div_ceil(16)
    }
}

/// Which derived rows the device sends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The largest batch of which the device sends all rows for which it has room. Such a batch has
    /// only a few chunks, so few threads of the host could copy.
    pub all: usize,
    /// The largest batch of which it sends the last sixteenth of the operations only. While the
    /// host copies rows of other chunks, the device makes later ones.
    pub last: usize,
    /// The share of each chunk in larger batches. Sending all would overload the link, and copying
    /// all the threads of the host.
    pub share: Share,
    /// The same with several devices, whose links together carry more than the host's memory takes.
    pub share_of_several: Share,
}

/// The sizes between which the chunks of a batch are cut.
///
/// Chunks in half of the slots are enough to hide most copies of the host, and chunks in a quarter
/// to 3/8 of them most transfers. Copies and launches have fixed costs. Larger chunks keep the GPU
/// busier, but there must be enough of them that copies of the host overlap with transfers.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// A batch that is too small to fill all slots has this many chunks.
    pub share: Share,
    /// The least bytes, and the least operations, of such chunks.
    pub least: (usize, usize),
    /// The largest chunks.
    pub most: Most,
    /// The largest chunks of a large batch.
    pub most_of_large: Most,
}

/// The largest chunk: as many operations as have these bytes, but not fewer than the first number
/// and not more than the second.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Most(pub usize, pub usize, pub usize);

impl Most {
    /// Returns the number of operations, a power of two, of `bytes` bytes each.
    pub(super) fn of(&self, bytes: usize) -> usize {
        let Self(most, least_operations, most_operations) = *self;
        let operations = (most / bytes).max(least_operations).min(most_operations);
        1 << operations.max(1).ilog2()
    }
}

/// How batches are cut whose rows are on the device, or whose keys are loaded. Their chunks must
/// not depend on other memory.
const LOADED: Cut =
    Cut { share: Share(8), least: (0, 4096), most: UNLIMITED, most_of_large: UNLIMITED };

const UNLIMITED: Most = Most(usize::MAX, 0, usize::MAX);

/// H100 and H200.
const HOPPER: Tuning = {
    let sending = Cut {
        share: Share(5),
        least: (3 * MIB, 2048),
        most: Most(8 * MIB, 4096, usize::MAX),
        most_of_large: UNLIMITED,
    };
    let making = Cut {
        share: Share(4),
        least: (0, 2048),
        most: Most(8 * MIB, 2048, usize::MAX),
        most_of_large: Most(32 * MIB, 0, usize::MAX),
    };
    let copied = Cut {
        share: Share(8),
        least: (256 * KIB, 0),
        most: Most(8 * MIB, 0, 4096),
        most_of_large: Most(16 * MIB, 0, 8192),
    };
    let made = Cut { least: (MIB, 0), ..copied };
    Tuning {
        measured_on: &["NVIDIA H100", "NVIDIA H200"],
        whole_batch: 1024,
        whole_batch_receiving_with_one_key: 512,
        whole_chunk: 512,
        loaded_rows: 64,
        paired_batch: 32768,
        matrix_sending: 8192,
        matrix_receiving: 4096,
        matrix_degree: 1024,
        roots: [(4096, 8), (usize::MAX, 2)],
        powers: [(761, 8192), (usize::MAX, 2048)],
        zero_copy: 64 * KIB,
        zero_copy_whole: 2 * MIB,
        readers: 16,
        streamed_inputs: (1024, 16384),
        temporal_results: 65536,
        sent: Sent { all: 8192, last: 65536, share: Share(4), share_of_several: Share(12) },
        moved: [
            making,
            Cut { least: (MIB, 0), ..making },
            sending,
            Cut { share: Share(6), least: (2 * MIB, 2048), ..sending },
            LOADED,
        ],
        copied: [made, made, copied, copied, LOADED],
        large: 512 * MIB,
        resident_slots: Share(8),
        coalesced_bytes: 64 * KIB,
        coalesced_rows: 128,
        under_way: 8,
        spin: Duration::from_micros(200),
        callers: None,
        passes: 16,
        hashes_on_host: 2,
    }
};

/// All tables. The first one serves GPUs that nobody has measured.
static ALL: [Tuning; 1] = [HOPPER];

/// As the first table, but roots are inverted by division steps. For tests, because inversion by
/// powers takes the emulator seconds.
pub static BY_STEPS: Tuning = Tuning { powers: [(usize::MAX, 0); 2], ..HOPPER };

/// As [`BY_STEPS`], but every batch takes the kernels of large ones, and five key pairs have a
/// product tree of two levels. For tests, because large batches take minutes on the emulator.
pub static AS_LARGE: Tuning = Tuning {
    whole_batch: 0,
    whole_batch_receiving_with_one_key: 0,
    whole_chunk: 0,
    loaded_rows: 0,
    matrix_sending: 1,
    matrix_receiving: 1,
    matrix_degree: usize::MAX,
    paired_batch: 0,
    roots: [(usize::MAX, 1); 2],
    powers: [(usize::MAX, 0); 2],
    ..HOPPER
};

impl Tuning {
    /// Returns the table of the GPU with this name.
    #[must_use]
    pub fn of(gpu: &str) -> &'static Self {
        let is_measured = |table: &&Self| table.measured_on.iter().any(|on| gpu.starts_with(on));
        ALL.iter().find(is_measured).unwrap_or(&ALL[0])
    }

    /// Returns how a batch is cut.
    #[must_use]
    pub fn cut(&self, traffic: Traffic, is_copied: bool) -> &Cut {
        let cuts = if is_copied { &self.copied } else { &self.moved };
        &cuts[traffic as usize]
    }

    /// Returns the largest number of roots of a tree, and the smallest.
    #[must_use]
    pub fn most_and_least_roots(&self) -> (usize, usize) {
        let roots = self.roots.map(|(_, roots)| roots);
        (roots.into_iter().fold(0, usize::max), roots.into_iter().fold(usize::MAX, usize::min))
    }
}

/// Returns the number of the first row up to whose size `size` is.
pub(super) fn row<const N: usize>(rows: &[(usize, usize); N], size: usize) -> usize {
    let row = rows.iter().find(|&&(most, _)| size <= most).or(rows.last());
    row.map_or(0, |&(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_gpus_have_the_first_table() {
        for gpu in ["NVIDIA H100 80GB HBM3", "NVIDIA H200", "another"] {
            assert_eq!(Tuning::of(gpu), &ALL[0]);
        }
    }

    #[test]
    fn rows_are_found_by_size() {
        let roots = |size| row(&HOPPER.roots, size);
        assert_eq!([0, 1, 4096, 4097, usize::MAX].map(roots), [8, 8, 8, 2, 2]);
        assert_eq!(HOPPER.most_and_least_roots(), (8, 2));
    }
}
