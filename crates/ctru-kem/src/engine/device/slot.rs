//! A slot does one chunk at a time: it brings the inputs, launches, and sends the results, in the
//! way that the plan says.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_runtime::batch::copy::{
    self, bytes_to_words, copy_parts, copy_rows_and_parts, words_to_bytes,
};
use ctru_gpu_runtime::batch::plan::{Arrays, Check, Chunk, Travel};
use ctru_gpu_runtime::batch::slots::Settle;
use ctru_gpu_runtime::batch::travel::{Rows, Source, Staging, Target, copy_back, in_place};
use ctru_gpu_runtime::batch::tuning::Tuning;
use ctru_gpu_runtime::{HostMemory, Queue, RuntimeError};

use super::buffers::{Array, Decoded, EXPANSION, SEED, Scratch, words};
use super::inversion::Tree;
use super::job::{Job, JobSeeds, Outputs};
use super::launches::Launches;
use super::powers::SharedMaps;
use super::scheme;
use super::set::{Kind, Operation, Set};

/// The memory and the queue of one chunk.
pub(super) struct Slot<Q: Queue> {
    set: &'static Set,
    pub(super) queue: Q,
    /// Encoded keys.
    pub(super) keys: Staging<u8, Q>,
    /// Ciphertexts. Key generation sends encapsulation keys from here.
    pub(super) texts: Staging<u8, Q>,
    /// Seeds, or on the host the input from which they are expanded.
    pub(super) seeds: Staging<u64, Q>,
    /// Shared secrets.
    pub(super) secrets: Staging<u64, Q>,
    /// One word for each key, which says what is wrong with it.
    pub(super) faults: Q::Pinned<u64>,
    pub(super) scratch: Scratch<Q>,
    /// The product tree of the secret polynomials of key generation.
    pub(super) tree: Tree<Q>,
}

/// A chunk that has been issued: what the host still copies to the caller.
pub(super) struct Issued<'a> {
    chunk: Chunk,
    rows: Option<&'a mut [u8]>,
    keys: Option<&'a mut [u8]>,
    secrets: Option<&'a mut [u8]>,
}

impl<Q: Queue> Settle for Slot<Q> {
    fn settle(&self) {
        self.queue.settle();
    }
}

impl<Q: Queue> Slot<Q> {
    /// Allocates a slot for chunks of `chunk` operations.
    pub(super) fn new(
        queue: Q,
        set: &'static Set,
        chunk: usize,
        tuning: &Tuning,
        maps: SharedMaps<Q>,
    ) -> Result<Self, RuntimeError> {
        // The device allocates first, because it reports missing memory at once. Pinning takes
        // seconds.
        let keys = queue.allocate(words(chunk * set.sizes.decapsulation_key))?;
        let texts = queue.allocate(words(chunk * set.sizes.ciphertext))?;
        let seeds = queue.allocate((chunk * 2 * SEED).max(EXPANSION))?;
        let secrets = queue.allocate(chunk * SEED)?;
        let decoded = Decoded::new(&queue, set, Kind::Decapsulation, chunk)?;
        let tree = Tree::new(&queue, set, chunk, tuning, maps)?;
        let scratch = Scratch::new(&queue, set, tuning, chunk, decoded)?;
        Ok(Self {
            keys: Staging::over(&queue, keys)?,
            texts: Staging::over(&queue, texts)?,
            seeds: Staging::over(&queue, seeds)?,
            secrets: Staging::over(&queue, secrets)?,
            faults: queue.pinned(chunk)?,
            scratch,
            tree,
            set,
            queue,
        })
    }

    /// Returns all memory of the device, for wiping.
    pub(super) fn device_memory(&self) -> impl Iterator<Item = &Q::Memory> {
        let Self { keys, texts, seeds, secrets, scratch, tree, .. } = self;
        let staged: [&Q::Memory; 4] = [&keys.device, &texts.device, &seeds.device, &secrets.device];
        staged.into_iter().chain(scratch.memory()).chain(tree.memory())
    }

    /// Overwrites all memory of the slot with zeros, and waits until that is done. If some memory
    /// fails, the rest is wiped all the same. Returns the first error.
    pub(super) fn wipe(&mut self) -> Result<(), RuntimeError> {
        let Self { keys, texts, seeds, secrets, faults, .. } = self;
        let bytes = [keys, texts].map(|staging| staging.pinned.wipe());
        let words = [&mut seeds.pinned, &mut secrets.pinned, faults].map(HostMemory::wipe);
        let on_device = self.device_memory().map(|memory| self.queue.wipe(memory));
        let wiped = bytes.into_iter().chain(words).chain(on_device).fold(Ok(()), Result::and);
        wiped.and(self.queue.synchronise())
    }

    /// Issues a chunk of a job. Copies of the caller's memory belong to `scope`.
    /// [`finish`](Self::finish) waits for the results.
    pub(super) fn issue<'env>(
        &mut self,
        scope: &Q::Scope<'env>,
        job: &Job<'env, Q>,
        chunk: Chunk,
        outputs: Outputs<'env, Q>,
    ) -> Result<Issued<'env>, RuntimeError> {
        if let Some((_, after)) = job.on {
            self.queue.follow(after)?;
        }
        match job.operation {
            Operation::KeyPairs | Operation::PrivateKeys => {
                self.issue_generation(job, chunk, outputs)
            }
            _ => self.issue_operations(scope, job, chunk, outputs),
        }
    }

    fn issue_generation<'env>(
        &mut self,
        job: &Job<'env, Q>,
        chunk: Chunk,
        outputs: Outputs<'env, Q>,
    ) -> Result<Issued<'env>, RuntimeError> {
        let Self { set, queue, keys, texts, seeds, scratch, tree, .. } = self;
        let Chunk { range, travels, kernels, .. } = &chunk;
        let count = range.len();
        let (seeds, expand_to) = bring_seeds(set, queue, seeds, &scratch.expansion, job, &chunk)?;
        let bytes = |row: usize| range.start * row..range.end * row;
        let private_bytes = bytes(set.sizes.decapsulation_key);
        let private = keys.target_of(queue, &outputs.rows, &private_bytes, travels.rows)?;
        let public_bytes = bytes(set.sizes.encapsulation_key);
        let public = match &outputs.keys {
            Some(Target::Device(memory)) => {
                Some(in_place(queue, *memory, &public_bytes, &scratch.operands)?)
            }
            _ => None,
        };
        let mut launches = Launches::new(set, *kernels, scratch, Batch::each(count as u32));
        scheme::generate(&mut launches, (tree, queue), (&seeds, expand_to), &private);
        if let Some(public) = &public {
            scheme::encode(&mut launches, &scratch.products, public, count);
        }
        if let Travel::Derived(sent @ 1..) = travels.keys {
            scheme::encode(&mut launches, &scratch.products, &texts.device, sent);
        }
        let issued = queue.launch_all(&launches.list).and_then(|()| {
            if let (Some(public), Some(Target::Device(to))) = (&public, &outputs.keys) {
                copy_back(queue, public, *to, public_bytes)?;
            }
            match &outputs.rows {
                Some(Target::Device(to)) => copy_back(queue, &private, *to, private_bytes),
                _ => Ok(()),
            }
        });
        forget(queue, &private, issued)?;
        let (rows, keys) = (host(outputs.rows), host(outputs.keys));
        Ok(Issued { chunk, rows, keys, secrets: None })
    }

    /// Issues operations with keys, or their decoding alone.
    fn issue_operations<'env>(
        &mut self,
        scope: &Q::Scope<'env>,
        job: &Job<'env, Q>,
        chunk: Chunk,
        outputs: Outputs<'env, Q>,
    ) -> Result<Issued<'env>, RuntimeError> {
        let Self { set, queue, keys, texts, seeds, secrets, faults, scratch, .. } = self;
        let Chunk { range, travels, kernels, check, stores, .. } = &chunk;
        let Outputs { rows: to_rows, secrets: to_secrets, decoded, .. } = outputs;
        let kind = job.operation.kind();
        let bytes = |row: usize| range.start * row..range.end * row;
        // A small copy that is issued later may wait for keys of other slots, because the device
        // does the copies of all slots one after the other.
        let (seeds, expand_to) = bring_seeds(set, queue, seeds, &scratch.expansion, job, &chunk)?;
        let seeds = (&*seeds, expand_to);
        let row = set.key_bytes(kind);
        let (count, of_keys) =
            if job.keys.are_one() { (1, 0..row) } else { (range.len(), bytes(row)) };
        let bring = |from| keys.bring(queue, scope, (from, of_keys), travels.keys, stores.inputs);
        let encoded = job.rows.map(bring).transpose()?;
        let key = match (job.loaded, decoded.first_mut()) {
            (Some(loaded), _) => loaded.of(chunk.number, chunk.device),
            (None, Some(to)) => &*to.insert(Decoded::new(queue, set, kind, count)?),
            (None, None) => &scratch.decoded,
        };
        let text_bytes = bytes(set.sizes.ciphertext);
        let ciphertexts = match job.ciphertexts {
            None => texts.target_of(queue, &to_rows, &text_bytes, travels.rows)?,
            Some(from) => {
                let from = (from, text_bytes.clone());
                texts.bring(queue, scope, from, travels.rows, stores.inputs)?
            }
        };
        let operations = range.len() as u32;
        let batch = if count == 1 { Batch::shared(operations) } else { Batch::each(operations) };
        let mut launches = Launches::new(set, *kernels, scratch, batch);
        if let (Some(rows), false) = (&encoded, kernels.is_whole) {
            let checks = *check == Check::Decoding;
            let words = if checks { faults.on_device() } else { &*scratch.rejection_secrets };
            scheme::decode(&mut launches, kind, (&**rows, count), key, (checks, words));
        }
        let shared_secrets = match &to_secrets {
            Some(Target::Device(memory)) => {
                Rows::Caller(queue.slice::<u64>(*memory, bytes(8 * SEED))?)
            }
            _ => Rows::Slot(secrets.target(travels.results)),
        };
        let to = [&*ciphertexts, &*shared_secrets];
        match (job.operation, &encoded) {
            (Operation::Encapsulation, Some(rows)) if kernels.is_whole => {
                scheme::encapsulate_whole(&mut launches, rows, seeds, to);
            }
            (Operation::Encapsulation, _) => {
                scheme::encapsulate(&mut launches, key, seeds, to);
            }
            (Operation::Decapsulation, Some(rows)) if kernels.is_whole => {
                scheme::decapsulate_whole(&mut launches, rows, None, to);
            }
            (Operation::Decapsulation, _) => scheme::decapsulate(&mut launches, key, to),
            _ => {}
        }
        let issued = queue.launch_all(&launches.list);
        match &encoded {
            Some(rows) if kind == Kind::Decapsulation => forget(queue, rows, issued)?,
            _ => issued?,
        }
        if let Some(Target::Device(to)) = &to_rows {
            copy_back(queue, &ciphertexts, *to, text_bytes)?;
        }
        drop((ciphertexts, shared_secrets));
        let secrets_of_host = host(to_secrets);
        if secrets_of_host.is_some() {
            secrets.fetch(queue, travels.results, range.len() * SEED)?;
        }
        let rows = match to_rows {
            Some(to) => texts.send(queue, scope, to, travels.rows)?,
            None => None,
        };
        Ok(Issued { chunk, rows, keys: None, secrets: secrets_of_host })
    }

    /// Waits for all operations on the queue, and writes the results to the caller's memory. If it
    /// fails, it has written nothing, except for what the device wrote to pinned memory of the
    /// caller.
    pub(super) fn finish(
        &mut self,
        job: &Job<'_, Q>,
        issued: Issued<'_>,
    ) -> Result<(), RuntimeError> {
        let Issued { chunk, mut rows, keys, secrets } = issued;
        if let (Operation::KeyPairs | Operation::PrivateKeys, Some(private)) =
            (job.operation, &mut rows)
        {
            return self.receive_key_pairs(&chunk, keys.unwrap_or_default(), private);
        }
        let Self { queue, texts, secrets: shared_secrets, faults, .. } = self;
        // Each of these calls can fail, so all come before the first write.
        queue.synchronise()?;
        let (words, faults) = (shared_secrets.pinned.read()?, faults.read()?);
        if let Some(to) = rows {
            let bytes = &texts.pinned.read()?[..to.len()];
            copy::copy(chunk.stores.results, [(bytes, to)]);
        }
        if let Some(to) = secrets {
            words_to_bytes(words, to);
        }
        if chunk.check == Check::Decoding {
            let keys = if job.keys.are_one() { 0..1 } else { chunk.range };
            let first = faults[..keys.len()].iter().position(|&word| word != 0);
            first.into_iter().for_each(|row| job.faults.note(keys.start + row, faults[row]));
        }
        Ok(())
    }

    /// Waits for the key pairs and writes them to the caller's memory. `public` has one key for
    /// each private key, or it is empty. If the copies to pinned memory of the caller fail, their
    /// destinations get placeholders.
    fn receive_key_pairs(
        &mut self,
        chunk: &Chunk,
        public: &mut [u8],
        private: &mut [u8],
    ) -> Result<(), RuntimeError> {
        let Self { set, queue, keys, texts, .. } = self;
        let Arrays { keys: derived, rows: travel, .. } = chunk.travels;
        let (row, part) = (set.sizes.decapsulation_key, set.encapsulation_key.clone());
        if travel == Travel::Dma {
            let sent = if let Travel::Derived(sent) = derived { sent } else { 0 };
            let (sent_keys, copied_keys) = public.split_at_mut(sent * part.len());
            let received = queue.scope(|scope| {
                queue.download_to(scope, &keys.device, private)?;
                queue.download_to(scope, &texts.device, sent_keys)
            });
            if received.is_err() {
                (set.fill)(Kind::Decapsulation, private);
                (set.fill)(Kind::Encapsulation, sent_keys);
            }
            received?;
            copy_parts(chunk.stores.derived, &private[sent * row..], row, part, copied_keys);
            return Ok(());
        }
        keys.fetch(queue, travel, private.len())?;
        let from = &keys.pinned.read()?[..private.len()];
        copy_rows_and_parts(chunk.stores.results, from, row, part, private, public);
        Ok(())
    }
}

/// [`Seeds`](super::launches::Seeds) of a caller or of a slot.
type BroughtSeeds<'a, M> = (Rows<'a, u64, M>, Option<&'a M>);

/// Makes the seeds of a chunk available to kernels. If a kernel derives them, makes its input
/// available, and also returns the memory to which it writes them.
fn bring_seeds<'a, 'env: 'a, Q: Queue>(
    set: &Set,
    queue: &Q,
    Staging { pinned, device }: &'a mut Staging<u64, Q>,
    expansion: &'a Array<u64, Q>,
    job: &Job<'env, Q>,
    chunk: &Chunk,
) -> Result<BroughtSeeds<'a, Q::Memory>, RuntimeError> {
    let (start, travel) = (chunk.range.start, chunk.travels.seeds);
    let row = set.shape(job.operation).bytes.seeds;
    let bytes = start * row..chunk.range.end * row;
    let device = &*device;
    let given = match job.seeds {
        JobSeeds::None => Rows::Slot(&**device),
        JobSeeds::Each(Source::Device(memory)) => Rows::Caller(queue.slice(memory, bytes)?),
        JobSeeds::Each(Source::Host(seeds)) => {
            let write = |words: &mut [u64]| bytes_to_words(&seeds[bytes.clone()], words);
            let len = bytes.len() / 8;
            Rows::Slot(Staging::<_, Q>::bring_words(pinned, device, queue, travel, len, write)?)
        }
        JobSeeds::Expand(expand) => {
            let purpose = set.purpose(job.operation);
            let write = |words: &mut [u64]| expand.write_words(purpose, start, words);
            let len = EXPANSION;
            Rows::Slot(Staging::<_, Q>::bring_words(pinned, expansion, queue, travel, len, write)?)
        }
    };
    let are_expanded = matches!(job.seeds, JobSeeds::Expand(_));
    Ok((given, are_expanded.then_some(&**device)))
}

/// Wipes rows of decapsulation keys if they are a copy, also if the launch of the kernels that read
/// them has failed. Returns the first error, that of the launch if there is one.
fn forget<Q: Queue>(
    queue: &Q,
    rows: &Rows<'_, u8, Q::Memory>,
    launched: Result<(), RuntimeError>,
) -> Result<(), RuntimeError> {
    let wiped = if rows.are_copied() { queue.wipe(rows) } else { Ok(()) };
    launched.and(wiped)
}

/// Returns the memory if it is that of the host.
pub(super) fn host<M>(to: Option<Target<'_, M>>) -> Option<&mut [u8]> {
    match to {
        Some(Target::Host(to)) => Some(to),
        _ => None,
    }
}
