//! The plan of a batch: a pure function of a request and a machine. It decides everything that the
//! modules below do: chunks, their devices, how each array travels, and the kernels.

use core::fmt;
use core::ops::Range;

use super::copy::Stores;
use super::tuning::{Traffic, Tuning, row};

/// The number of operations per chunk is a multiple of this number, so that the blocks of kernels
/// are full.
pub const MULTIPLE: usize = 256;

/// Something for each of the arrays of an operation.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrays<T> {
    /// A few words for each operation, or a single row from which a kernel expands them.
    pub seeds: T,
    /// One key for all operations, or one for each.
    pub keys: T,
    /// The large rows of an operation.
    pub rows: T,
    /// A few words that each operation returns.
    pub results: T,
}

/// An operation, as plans see it.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its name, for printing.
    pub name: &'static str,
    /// Which rows move.
    pub traffic: Traffic,
    /// The degree of its polynomials.
    pub degree: usize,
    /// The bytes of each row of the arrays, or 0 if there is no such array.
    pub bytes: Arrays<usize>,
    /// The bytes per operation in which the device can send derived rows.
    pub room: usize,
    /// Whether there is a kernel for whole operations.
    pub has_whole: bool,
    /// Whether there are rows of the right length that are no keys.
    pub refuses_keys: bool,
    /// The operations of a block that expands seeds from a single row.
    pub expanded_by_block: usize,
}

/// Where an array lies before or after a batch.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In memory of the host that is not pinned.
    #[default]
    Pageable,
    /// In memory of the host that is pinned.
    Pinned,
    /// On a device.
    Device,
}

/// The keys of a batch.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// One row for all operations.
    One,
    /// One row for each operation.
    Each,
    /// A key that was loaded before.
    LoadedOne,
    /// A key for each operation, loaded before in chunks.
    LoadedEach,
}

/// A batch that somebody wants.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The operation.
    pub shape: &'a Shape,
    /// The number of operations.
    pub count: usize,
    /// The keys, if the operation takes any.
    pub keys: Keys,
    /// Whether loaded keys are there as rows, too.
    pub has_rows: bool,
    /// Whether somebody must check that rows are keys.
    pub are_unchecked: bool,
    /// Whether seeds are expanded from a single row.
    pub are_expanded: bool,
    /// Where the arrays lie. Either all rows are on a device or none are.
    pub places: Arrays<Place>,
    /// The device of the first chunk, modulo the number of devices. If the rows are on a device,
    /// all chunks go to it. Otherwise, a batch with keys that were loaded in chunks begins with
    /// device 0, which has the first of them.
    pub first: usize,
}

/// What runs batches.
#[derive(Copy, Clone, Debug)]
pub struct Machine {
    /// The numbers by which plans choose.
    pub tuning: &'static Tuning,
    /// The number of devices.
    pub devices: usize,
    /// The number of slots of each device.
    pub slots: usize,
    /// The largest number of operations for which a slot has memory.
    pub chunk: usize,
    /// The largest number of operations that are done together with those of other callers.
    pub coalesced: usize,
}

/// Who checks keys, and when.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Nobody.
    None,
    /// The host checks a single key before the batch.
    Before,
    /// The host checks while the device works.
    Beside,
    /// The device checks as it decodes.
    Decoding,
}

/// How an array travels between its place and the kernels.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Travel {
    /// It does not: there is none, or it was loaded before.
    #[default]
    Stays,
    /// Kernels access pinned memory of the slot. The host copies between it and the caller.
    ZeroCopy,
    /// The host copies between the caller and pinned memory of the slot, and the device between
    /// this and its own memory.
    Staged,
    /// The device copies between pinned memory of the caller and its own memory.
    Dma,
    /// Kernels access the array where it is, on the device.
    InPlace,
    /// The host copies it from the rows it is a part of, but for so many first ones, which the
    /// device sends.
    Derived(usize),
}

/// The kernels of a chunk.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernels {
    /// One kernel does whole operations. Otherwise each step has one.
    pub is_whole: bool,
    /// Two threads share the work of a hash.
    pub are_paired: bool,
    /// Products are taken by the matrix of the one key.
    pub by_matrix: bool,
    /// The approximate number of roots of a product tree. With more roots there are fewer levels,
    /// one after the other, for which a small batch waits. The inversion of fewer roots leaves more
    /// of the GPU to other chunks.
    pub roots: usize,
    /// The roots are inverted by powers, which takes less time, instead of division steps, which
    /// occupy fewer multiprocessors.
    pub by_powers: bool,
}

/// A part of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number in the batch.
    pub number: usize,
    /// The number of its device.
    pub device: usize,
    /// Its operations.
    pub range: Range<usize>,
    /// Its kernels.
    pub kernels: Kernels,
    /// Who checks its keys.
    pub check: Check,
    /// How its arrays travel.
    pub travels: Arrays<Travel>,
    /// How the host copies.
    pub stores: CopiedBy,
}

/// The stores by which the host copies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CopiedBy {
    /// Inputs, to pinned memory of the slot.
    pub inputs: Stores,
    /// Results, from pinned memory of the slot.
    pub results: Stores,
    /// Derived rows, from pinned memory of the caller, to which devices write at the same time.
    pub derived: Stores,
}

/// What is done with a batch.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    request: Request<'a>,
    machine: Machine,
    /// The number of operations of each chunk, except the last one.
    pub chunk: usize,
    /// The largest number of chunks that are under way on each device.
    pub under_way: usize,
    /// The number of chunks that one thread has under way.
    pub together: usize,
    /// Whether the batch is done together with those of other callers.
    pub is_coalesced: bool,
    /// Who checks the keys.
    pub check: Check,
    /// Whether loaded keys are taken as rows: kernels for whole operations decode keys.
    pub takes_rows: bool,
}

impl Keys {
    /// Returns whether all operations have the same key.
    #[must_use]
    pub fn are_one(self) -> bool {
        matches!(self, Self::One | Self::LoadedOne)
    }

    fn are_loaded(self) -> bool {
        matches!(self, Self::LoadedOne | Self::LoadedEach)
    }

    /// Returns the same keys as rows.
    fn as_rows(self) -> Self {
        if self.are_one() { Self::One } else { Self::Each }
    }
}

impl Request<'_> {
    fn is_on_device(&self) -> bool {
        self.places.rows == Place::Device
    }

    /// Returns whether `keys` has a row for each operation that moves.
    fn moves_keys(&self) -> bool {
        match self.shape.traffic {
            Traffic::Making => false,
            Traffic::MakingPairs => true,
            Traffic::Sending | Traffic::Receiving => self.keys == Keys::Each,
            Traffic::Loading => true,
        }
    }

    /// Returns the bytes per operation that move.
    fn bytes(&self) -> usize {
        let Arrays { keys, rows, .. } = self.shape.bytes;
        (rows + if self.moves_keys() { keys } else { 0 }).max(1)
    }

    /// Returns whether the host copies a part of what moves.
    fn is_copied(&self) -> bool {
        let Arrays { keys, rows, .. } = self.places;
        rows == Place::Pageable || self.moves_keys() && keys == Place::Pageable
    }

    fn check(&self, tuning: &Tuning) -> Check {
        match self.keys {
            _ if !self.shape.refuses_keys => Check::None,
            _ if self.shape.traffic == Traffic::Loading => Check::Decoding,
            _ if !self.are_unchecked || self.shape.traffic.makes() => Check::None,
            Keys::One if !self.is_on_device() => Check::Before,
            Keys::Each if !self.is_on_device() && self.count <= tuning.whole_batch => Check::Beside,
            Keys::One | Keys::Each => Check::Decoding,
            Keys::LoadedOne | Keys::LoadedEach => Check::None,
        }
    }

    /// Returns whether the chunks must be those of other batches: those in which keys are loaded.
    fn has_fixed_chunks(&self) -> bool {
        let is_loaded = self.keys == Keys::LoadedEach || self.shape.traffic == Traffic::Loading;
        is_loaded || self.is_on_device()
    }

    /// Returns the number of operations per chunk.
    fn chunk(&self, machine: &Machine) -> usize {
        let Machine { tuning, devices, slots, chunk: most, .. } = *machine;
        let (traffic, is_copied) = match self.has_fixed_chunks() {
            true => (Traffic::Loading, false),
            false => (self.shape.traffic, self.is_copied()),
        };
        let (bytes, cut) = (self.bytes(), tuning.cut(traffic, is_copied));
        let is_large = self.count.saturating_mul(bytes) >= tuning.large;
        let most = most.min(if is_large { &cut.most_of_large } else { &cut.most }.of(bytes));
        let least = (cut.least.0 / bytes).max(cut.least.1).next_multiple_of(MULTIPLE);
        even_chunk(self.count, cut.share.of(devices * slots), least, most)
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
#[must_use]
pub const fn full_chunk(most: usize) -> usize {
    if most < MULTIPLE { most } else { most - most % MULTIPLE }
}

/// Decides how a machine does a batch.
#[must_use]
pub fn plan<'a>(request: Request<'a>, machine: &Machine) -> Plan<'a> {
    let Machine { tuning, slots, coalesced, .. } = *machine;
    let (shape, count) = (request.shape, request.count);
    let takes_rows = request.has_rows
        && request.keys.are_loaded()
        && !request.is_on_device()
        && count <= tuning.loaded_rows;
    let keys = if takes_rows { request.keys.as_rows() } else { request.keys };
    let is_fixed = keys == Keys::LoadedEach && !request.is_on_device();
    let first = if is_fixed { 0 } else { request.first };
    let request = Request { keys, first, ..request };
    let check = request.check(tuning);
    let largest_row = shape.bytes.keys.max(shape.bytes.rows);
    let is_coalesced = shape.has_whole
        && matches!(request.keys, Keys::One | Keys::Each)
        && check != Check::Decoding
        && !request.is_on_device()
        && (1..=coalesced).contains(&count)
        && count * largest_row <= tuning.coalesced_bytes;
    let is_on_device = request.is_on_device();
    let under_way = if is_on_device { tuning.resident_slots.of(slots) } else { slots };
    // If the host copies no rows, one thread issues all chunks of a device. Threads that wake up
    // and issue at the same time begin later, and disturb each other in the driver.
    let host_copies = request.is_copied() || shape.traffic.makes();
    let is_alone = is_on_device || !host_copies && shape.traffic != Traffic::Loading;
    let together = if is_alone { under_way } else { 1 };
    let chunk = request.chunk(machine);
    let machine = *machine;
    Plan { request, machine, chunk, under_way, together, is_coalesced, check, takes_rows }
}

impl<'a> Plan<'a> {
    /// Returns the operation.
    #[must_use]
    pub fn shape(&self) -> &'a Shape {
        self.request.shape
    }

    /// Returns the number of operations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.request.count
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.request.count.div_ceil(self.chunk)
    }

    /// Returns whether there are no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.count == 0
    }

    /// Returns the operations of each chunk.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (count, chunk) = (self.request.count, self.chunk);
        (0..count).step_by(chunk).map(move |start| start..count.min(start + chunk))
    }

    /// Returns the chunks. They have equal size, except for the last one.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> {
        self.ranges().enumerate().map(|(number, range)| self.chunk(number, range))
    }

    /// Returns the number of the device of a chunk.
    #[must_use]
    pub fn device(&self, chunk: usize) -> usize {
        let chunk = if self.request.is_on_device() { 0 } else { chunk };
        self.request.first.wrapping_add(chunk) % self.machine.devices
    }

    fn chunk(&self, number: usize, range: Range<usize>) -> Chunk {
        let Self { request, machine: Machine { tuning, devices, .. }, .. } = self;
        let streaming_if = Stores::streaming_if;
        let (least, most) = tuning.streamed_inputs;
        let kernels = self.kernels(range.len());
        Chunk {
            number,
            device: self.device(number),
            travels: self.travels(&range, kernels.is_whole),
            kernels,
            check: self.check,
            stores: CopiedBy {
                inputs: streaming_if((least..=most).contains(&request.count)),
                results: streaming_if(request.count > tuning.temporal_results),
                derived: streaming_if(*devices > 1),
            },
            range,
        }
    }

    /// Returns the kernels of a chunk of `len` operations.
    fn kernels(&self, len: usize) -> Kernels {
        let Self { request, machine: Machine { tuning, .. }, check, .. } = self;
        let (shape, is_one) = (request.shape, request.keys.are_one());
        let is_receiving = shape.traffic == Traffic::Receiving;
        let largest_batch = match is_one && request.count > 1 && is_receiving {
            true => tuning.whole_batch_receiving_with_one_key,
            false => tuning.whole_batch,
        };
        let least = if is_receiving { tuning.matrix_receiving } else { tuning.matrix_sending };
        Kernels {
            is_whole: shape.has_whole
                && !request.keys.are_loaded()
                && !request.is_on_device()
                && *check != Check::Decoding
                && request.count <= largest_batch
                && len <= tuning.whole_chunk,
            are_paired: request.count <= tuning.paired_batch,
            by_matrix: is_one && len >= least && shape.degree <= tuning.matrix_degree,
            roots: row(&tuning.roots, request.count),
            by_powers: len <= row(&tuning.powers, shape.degree),
        }
    }

    /// Returns how words travel that the host converts.
    fn words(&self, bytes: usize) -> Travel {
        if bytes <= self.machine.tuning.zero_copy { Travel::ZeroCopy } else { Travel::Staged }
    }

    fn travels(&self, range: &Range<usize>, is_whole: bool) -> Arrays<Travel> {
        let Self { request, machine: Machine { tuning, .. }, .. } = self;
        let Request { shape, keys, places, .. } = request;
        let (len, bytes) = (range.len(), shape.bytes);
        let are_few = |readers: usize| readers <= tuning.readers;
        let seeds = match bytes.seeds {
            0 => Travel::Stays,
            _ if request.are_expanded => {
                let by_block = if is_whole { 1 } else { shape.expanded_by_block };
                if are_few(len.div_ceil(by_block)) { Travel::ZeroCopy } else { Travel::Staged }
            }
            _ if places.seeds == Place::Device => Travel::InPlace,
            bytes => self.words(bytes * len),
        };
        let results = match (bytes.results, places.results) {
            (0, _) => Travel::Stays,
            (_, Place::Device) => Travel::InPlace,
            (bytes, _) => self.words(bytes * len),
        };
        // Whether few bytes travel without a copy, if kernels access each once.
        let is_few = |place: Place, bytes: usize, is_touched_once: bool| {
            let once = is_whole && is_touched_once && place == Place::Pageable;
            bytes <= if once { tuning.zero_copy_whole } else { tuning.zero_copy }
        };
        let row_travel = |place: Place, is_few: bool| match place {
            Place::Device => Travel::InPlace,
            _ if is_few => Travel::ZeroCopy,
            Place::Pinned => Travel::Dma,
            Place::Pageable => Travel::Staged,
        };
        let is_sending = shape.traffic == Traffic::Sending;
        let rows_are_few = match shape.traffic {
            // Separate kernels read rows several times.
            Traffic::Receiving => is_whole && is_few(places.rows, bytes.rows * len, false),
            _ => is_few(places.rows, bytes.rows * len, is_sending),
        };
        let rows = row_travel(places.rows, rows_are_few);
        let keys = match shape.traffic {
            Traffic::Making => Travel::Stays,
            Traffic::MakingPairs if rows == Travel::InPlace => Travel::InPlace,
            Traffic::MakingPairs if rows == Travel::Dma && places.keys == Place::Pinned => {
                Travel::Derived(self.sent(range))
            }
            Traffic::MakingPairs => Travel::Derived(0),
            _ if keys.are_loaded() => Travel::Stays,
            _ => {
                let rows = if *keys == Keys::One { 1 } else { len };
                let readers = if is_whole { len / rows } else { 1 };
                let is_few = is_few(places.keys, bytes.keys * rows, is_sending);
                row_travel(places.keys, is_few && are_few(readers))
            }
        };
        Arrays { seeds, keys, rows, results }
    }

    /// Returns how many derived rows of a chunk the device sends.
    fn sent(&self, range: &Range<usize>) -> usize {
        let Self { request, machine: Machine { tuning, devices, chunk, .. }, .. } = self;
        let (sent, count, len) = (&tuning.sent, request.count, range.len());
        let rows = if count <= sent.all {
            len
        } else if count <= sent.last {
            range.end.saturating_sub(count - count / 16).min(len)
        } else {
            let share = if *devices > 1 { sent.share_of_several } else { sent.share };
            share.0 * len / 16
        };
        rows.min(chunk * request.shape.room / request.shape.bytes.keys)
    }
}

impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, machine, .. } = self;
        let Machine { devices, slots, chunk, .. } = machine;
        let Shape { name, traffic, .. } = request.shape;
        write!(f, "{} {name}", request.count)?;
        if !traffic.makes() {
            f.write_str(if request.keys.are_one() { " with one key" } else { " with a key each" })?;
        }
        writeln!(f, "\nGPUs: {devices}, with {slots} slots of {chunk} operations each")?;
        if self.is_coalesced {
            return writeln!(f, "done together with batches of other callers, by one kernel");
        }
        let Self { chunk, under_way, together, .. } = self;
        writeln!(f, "chunks: {} of {chunk}, at most {under_way} under way", self.len())?;
        writeln!(f, "threads: each has {together} chunks under way")?;
        // Chunks that differ in their operations only are printed once.
        let mut last = None;
        for Chunk { number, kernels, travels, stores, .. } in self.chunks() {
            if last.replace((kernels, travels, stores)) != Some((kernels, travels, stores)) {
                let Arrays { seeds, keys, rows, results } = travels;
                writeln!(f, "from chunk {number} on:\n  {kernels}")?;
                writeln!(f, "  seeds {seeds}, keys {keys}, rows {rows}, results {results}")?;
                let [inputs, results] =
                    [stores.inputs, stores.results].map(|stores| match stores {
                        Stores::Temporal => "ordinary",
                        Stores::Streaming => "streaming",
                    });
                writeln!(f, "  stores of the host: {inputs} for inputs, {results} for results")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Travel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stays => "stay",
            Self::ZeroCopy => "zero-copy",
            Self::Staged => "staged",
            Self::Dma => "by DMA",
            Self::InPlace => "in place",
            Self::Derived(0) => "copied by the host",
            Self::Derived(sent) => return write!(f, "copied by the host, but {sent} by DMA"),
        })
    }
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole {
            return f.write_str("one kernel for whole operations");
        }
        f.write_str("a kernel for each step")?;
        f.write_str(if self.are_paired { ", two threads a hash" } else { ", one thread a hash" })?;
        if self.by_matrix { f.write_str(", products by the matrix of the key") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::super::tuning::AS_LARGE;
    use super::*;

    /// Returns the shapes of a scheme with this degree, with rows of about the size of those of
    /// CTRU-Prime.
    fn shapes(degree: usize) -> Vec<Shape> {
        let (public, private, sent) = (degree * 3 / 2 + 16, degree * 2 + 49, degree * 5 / 4 + 1);
        let shape = |name, traffic, [seeds, keys, rows, results]: [usize; 4]| Shape {
            name,
            traffic,
            degree,
            bytes: Arrays { seeds, keys, rows, results },
            room: sent,
            has_whole: matches!(traffic, Traffic::Sending | Traffic::Receiving),
            refuses_keys: true,
            expanded_by_block: 128,
        };
        vec![
            shape("private keys", Traffic::Making, [64, 0, private, 0]),
            shape("key pairs", Traffic::MakingPairs, [64, public, private, 0]),
            shape("encapsulations", Traffic::Sending, [32, public, sent, 32]),
            shape("decapsulations", Traffic::Receiving, [0, private, sent, 32]),
            shape("keys to load", Traffic::Loading, [0, private, 0, 0]),
        ]
    }

    fn machine(devices: usize) -> Machine {
        let tuning = Tuning::of("NVIDIA H100");
        Machine { tuning, devices, slots: 16, chunk: 8192, coalesced: 128 }
    }

    const PLACES: [Place; 3] = [Place::Pageable, Place::Pinned, Place::Device];
    const KEYS: [Keys; 4] = [Keys::One, Keys::Each, Keys::LoadedOne, Keys::LoadedEach];
    const COUNTS: [usize; 18] = [
        0,
        1,
        2,
        31,
        32,
        129,
        256,
        512,
        513,
        1000,
        1024,
        1025,
        4096,
        8193,
        16384,
        65537,
        262_144,
        1 << 20,
    ];

    /// Calls `check` with every request on one and four devices, and its plan.
    fn for_each_plan(mut check: impl FnMut(&Request<'_>, &Machine, &Plan<'_>)) {
        for shape in [653, 761, 1277].into_iter().flat_map(shapes) {
            for (devices, tuning) in [(1, Tuning::of("")), (4, Tuning::of("")), (1, &AS_LARGE)] {
                let machine = Machine { tuning, ..machine(devices) };
                for count in COUNTS {
                    for keys in KEYS {
                        for rows in PLACES {
                            for other in PLACES {
                                if (rows == Place::Device) != (other == Place::Device) {
                                    continue;
                                }
                                let places =
                                    Arrays { seeds: other, keys: other, rows, results: other };
                                let request = Request {
                                    shape: &shape,
                                    count,
                                    keys,
                                    has_rows: count % 4 < 2,
                                    are_unchecked: count % 2 == 1,
                                    are_expanded: count % 3 == 1 && shape.bytes.seeds != 0,
                                    places,
                                    first: 1 % devices,
                                };
                                check(&request, &machine, &plan(request.clone(), &machine));
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn chunks_cover_each_batch_once_and_fit_into_slots() {
        for_each_plan(|request, machine, plan| {
            let mut end = 0;
            for (number, chunk) in plan.chunks().enumerate() {
                assert_eq!((chunk.number, chunk.range.start), (number, end));
                end = chunk.range.end;
                assert!((1..=machine.chunk).contains(&chunk.range.len()));
                let is_last = end == request.count;
                assert!(is_last || chunk.range.len() == plan.chunk);
                assert!(chunk.device < machine.devices);
                let is_fixed = request.keys == Keys::LoadedEach && !plan.takes_rows;
                let first = if is_fixed { 0 } else { request.first };
                let on = if request.is_on_device() { request.first } else { first + number };
                assert_eq!(chunk.device, on % machine.devices);
                // Derived rows are sent from memory of the slot.
                if let Travel::Derived(sent) = chunk.travels.keys {
                    let Shape { bytes, room, .. } = request.shape;
                    assert!(sent <= chunk.range.len() && sent * bytes.keys <= machine.chunk * room);
                }
            }
            assert_eq!(end, request.count);
            assert!(plan.chunks().count() == plan.len() && plan.is_empty() == (end == 0));
            let most = if request.is_on_device() { machine.slots / 2 } else { machine.slots };
            assert!(plan.under_way == most && (1..=most).contains(&plan.together));
        });
    }

    /// Checks that rows on the device stay there, that rows in pinned memory are not copied by the
    /// host unless they are few, and that no kernel reads many bytes through the link.
    #[test]
    fn nothing_is_copied_that_need_not_be() {
        for_each_plan(|request, machine, plan| {
            let tuning = machine.tuning;
            for chunk in plan.chunks() {
                let (bytes, len) = (request.shape.bytes, chunk.range.len());
                let of_keys = if request.keys.are_one() { 1 } else { len };
                for (travel, place, bytes) in [
                    (chunk.travels.keys, request.places.keys, bytes.keys * of_keys),
                    (chunk.travels.rows, request.places.rows, bytes.rows * len),
                    (chunk.travels.results, request.places.results, bytes.results * len),
                ] {
                    let is_few = bytes <= tuning.zero_copy;
                    match (travel, place) {
                        (Travel::Stays, _) => {}
                        (travel, Place::Device) => assert_eq!(travel, Travel::InPlace),
                        (Travel::ZeroCopy, _) => {
                            let most = if chunk.kernels.is_whole || plan.is_coalesced {
                                tuning.zero_copy_whole
                            } else {
                                tuning.zero_copy
                            };
                            assert!(bytes <= most);
                        }
                        (Travel::Dma, place) => assert_eq!(place, Place::Pinned),
                        (Travel::Staged, Place::Pinned) => {
                            // Words are converted, rows of callers who meet are put together, and
                            // kernels that read few bytes more than once have a copy.
                            let are_words = bytes == request.shape.bytes.results * len;
                            assert!(are_words || plan.is_coalesced || is_few);
                        }
                        (Travel::Staged | Travel::Derived(_), _) => {}
                        (Travel::InPlace, _) => panic!("rows of the host are not in place"),
                    }
                }
                let loads = request.keys.are_loaded() && request.shape.has_whole;
                assert!(!loads || plan.takes_rows || chunk.travels.keys == Travel::Stays);
            }
        });
    }

    #[test]
    fn kernels_are_those_of_the_size() {
        for_each_plan(|request, machine, plan| {
            let tuning = machine.tuning;
            for chunk in plan.chunks() {
                let Kernels { is_whole, by_matrix, roots, .. } = chunk.kernels;
                let has_rows = !request.keys.are_loaded() || plan.takes_rows;
                let is_host = !request.is_on_device() && has_rows;
                assert!(!is_whole || is_host && request.count <= tuning.whole_batch);
                assert!(!by_matrix || request.keys.are_one());
                assert!([1, 2, 8].contains(&roots));
            }
            let is_small = request.has_rows && request.count <= tuning.loaded_rows;
            let is_loaded = request.keys.are_loaded() && !request.is_on_device();
            assert_eq!(plan.takes_rows, is_small && is_loaded);
            // What callers do together has a kernel, and nobody checks keys on the device.
            if plan.is_coalesced {
                assert!(request.shape.has_whole && plan.check != Check::Decoding);
                assert!(plan.len() == 1 && request.count <= machine.coalesced);
            }
        });
    }

    /// Returns the plan of a batch of 761 on one H100.
    fn of_761(
        name: &str,
        count: usize,
        keys: Keys,
        place: Place,
        see: impl FnOnce(&Plan<'_>, Vec<Chunk>),
    ) {
        let shapes = shapes(761);
        let shape = shapes.iter().find(|shape| shape.name == name).unwrap();
        let places = Arrays { seeds: place, keys: place, rows: place, results: Place::Pageable };
        let (are_unchecked, are_expanded) = (false, shape.bytes.seeds != 0);
        let (has_rows, first) = (false, 0);
        let request =
            Request { shape, count, keys, has_rows, are_unchecked, are_expanded, places, first };
        let plan = plan(request, &machine(1));
        see(&plan, plan.chunks().collect());
    }

    /// Checks the sizes that were measured best.
    #[test]
    fn chunks_are_those_that_were_measured() {
        use Place::{Device, Pageable, Pinned};
        for (name, keys, place, sizes) in [
            ("key pairs", Keys::Each, Pinned, [512, 1024, 2048, 8192]),
            ("key pairs", Keys::Each, Pageable, [512, 512, 2048, 4096]),
            ("private keys", Keys::Each, Pinned, [2048, 2048, 4096, 8192]),
            ("private keys", Keys::Each, Pageable, [768, 768, 4096, 8192]),
            ("encapsulations", Keys::Each, Pinned, [2048, 2048, 4096, 8192]),
            ("encapsulations", Keys::Each, Pageable, [256, 512, 2048, 4096]),
            ("encapsulations", Keys::One, Pinned, [3328, 3328, 8192, 8192]),
            ("encapsulations", Keys::One, Pageable, [512, 512, 4096, 8192]),
            ("decapsulations", Keys::Each, Pinned, [2048, 2048, 4096, 8192]),
            ("decapsulations", Keys::Each, Pageable, [256, 512, 2048, 4096]),
            ("decapsulations", Keys::One, Pinned, [2304, 2304, 8192, 8192]),
            ("encapsulations", Keys::LoadedEach, Pinned, [4096, 4096, 8192, 8192]),
            ("encapsulations", Keys::Each, Device, [4096, 4096, 8192, 8192]),
        ] {
            for (count, size) in [1024, 4096, 65536, 1 << 20].into_iter().zip(sizes) {
                of_761(name, count, keys, place, |plan, _| {
                    assert_eq!(plan.chunk, size, "{count} {name} {keys:?} {place:?}");
                });
            }
        }
    }

    #[test]
    fn one_thread_issues_if_the_host_copies_nothing() {
        for (place, together) in [(Place::Pageable, 1), (Place::Pinned, 16), (Place::Device, 8)] {
            for name in ["encapsulations", "decapsulations"] {
                for keys in [Keys::One, Keys::Each, Keys::LoadedEach] {
                    of_761(name, 65536, keys, place, |plan, _| assert_eq!(plan.together, together));
                }
            }
        }
    }

    #[test]
    fn derived_rows_are_sent_by_the_size_of_the_batch() {
        let sent = |count| {
            let mut sent = Vec::new();
            of_761("key pairs", count, Keys::Each, Place::Pinned, |_, chunks| {
                sent.extend(chunks.iter().map(|chunk| match chunk.travels.keys {
                    Travel::Derived(sent) => (chunk.range.len(), sent),
                    _ => panic!("keys are derived"),
                }));
            });
            sent
        };
        assert!(sent(8192).into_iter().all(|(len, sent)| sent == len));
        let middle = sent(16384);
        assert_eq!(middle.iter().map(|&(_, sent)| sent).sum::<usize>(), 1024);
        assert!(middle[0].1 == 0 && middle[middle.len() - 1].1 > 0);
        assert!(sent(1 << 17).into_iter().all(|(len, sent)| 4 * sent == len));
    }

    #[test]
    fn few_bytes_need_no_copy() {
        let see = |name, count, keys, place| {
            let mut seen = None;
            of_761(name, count, keys, place, |_, chunks| seen = Some(chunks[0].clone()));
            let Chunk { kernels, travels, .. } = seen.unwrap();
            (kernels.is_whole, travels.keys, travels.rows)
        };
        use Travel::{Dma, Staged, ZeroCopy};
        let (each, one) = (Keys::Each, Keys::One);
        let (pageable, pinned) = (Place::Pageable, Place::Pinned);
        assert_eq!(see("encapsulations", 256, each, pageable), (true, ZeroCopy, ZeroCopy));
        assert_eq!(see("encapsulations", 256, each, pinned), (true, Dma, Dma));
        assert_eq!(see("encapsulations", 256, one, pageable), (true, Staged, ZeroCopy));
        assert_eq!(see("decapsulations", 256, each, pageable), (true, Staged, Staged));
        assert_eq!(see("decapsulations", 32, each, pageable), (true, ZeroCopy, ZeroCopy));
        assert_eq!(see("decapsulations", 4096, one, pageable), (false, ZeroCopy, Staged));
    }

    #[test]
    fn even_chunks_are_not_too_small() {
        const LEAST: usize = 4096;
        assert_eq!(even_chunk(0, 8, LEAST, 8192), LEAST);
        assert_eq!(even_chunk(8 * LEAST, 8, LEAST, 8192), LEAST);
        assert_eq!(even_chunk(8 * LEAST + 1, 8, LEAST, 8192), LEAST + MULTIPLE);
        assert_eq!(even_chunk(8 * LEAST + 1, 8, LEAST, 4100), 4100);
        assert_eq!(even_chunk(1 << 20, 8, LEAST, 3), 3);
        assert_eq!([0, 1, 255, 256, 511, 7481].map(full_chunk), [0, 1, 255, 256, 256, 7424]);
    }

    #[test]
    fn plans_can_be_printed() {
        of_761("encapsulations", 4096, Keys::Each, Place::Pageable, |plan, _| {
            let text = std::format!("{plan}");
            assert!(text.contains("4096 encapsulations") && text.contains("chunks: 8 of 512"));
        });
    }
}
