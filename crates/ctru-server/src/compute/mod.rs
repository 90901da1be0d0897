//! Computes batches of jobs of one scheme: reads keys, calls the engine, writes answers.
//!
//! This runs on threads of the lanes, and for a few operations on a CPU on a thread of the
//! asynchronous runtime ([`CallSizes::at_once`](crate::CallSizes::at_once)). A job with a wrong key
//! gets its own fault, and does not disturb the others of its batch.

mod join;
mod keys;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::iter::repeat;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use ctru_kem::engine::{Context, EngineError, Expand};
use ctru_kem::{Parameters, SEED_BYTES, SHARED_SECRET_BYTES};
use zeroize::Zeroizing;

use crate::checked::{Checked, KeyBytes};
use crate::fault::Fault;
use crate::identity::Owner;
use crate::job::{Form, Job, Keys, Kind, Shared, Work};
use crate::loaded::{Loaded, Side};
use crate::proto::{
    DecapsulateResponse, EncapsulateResponse, GenerateKeysResponse, SealKeysResponse,
};
use crate::sealing::Birth;
use join::{Group, JobKeys, join};
use keys::{Purpose, Reader, check_private, check_public, invalid_private, invalid_public};

/// What jobs of one scheme are computed with.
pub(crate) struct Computer<'a> {
    pub(crate) engine: &'a Checked,
    /// The least number of operations for which a key gets a call of the engine of its own.
    pub(crate) own_call: usize,
    pub(crate) scheme: Parameters,
    pub(crate) shared: &'a Shared,
}

/// The jobs of a batch. A job is taken out when it is answered.
type Slots = Vec<Option<Job>>;

/// Jobs of a batch: the place and the number of operations of each, and its keys.
type JobsWithKeys = Vec<(usize, usize, JobKeys)>;

/// The keys that were opened, by their owner and what was sealed.
type Opened = HashMap<(Owner, Bytes), KeyBytes>;

fn refuse(slots: &mut Slots, index: usize, fault: Fault) {
    if let Some(job) = slots[index].take() {
        job.refuse(fault);
    }
}

/// Returns bytes that are wiped when the last of their users drops them.
fn secret(bytes: Vec<u8>) -> Bytes {
    Bytes::from_owner(Zeroizing::new(bytes))
}

/// Returns the rows `range` of `row` bytes each.
fn rows_of(rows: &[u8], row: usize, range: &Range<usize>) -> Vec<u8> {
    rows[range.start * row..range.end * row].to_vec()
}

impl Computer<'_> {
    /// Computes jobs of one kind, and answers all of them.
    pub(crate) fn run(&self, kind: Kind, jobs: Vec<Job>) {
        match kind {
            Kind::Generate => self.generate(jobs),
            Kind::Seal => self.seal(jobs),
            Kind::Load => self.load(jobs),
            Kind::Encapsulate => self.encapsulate(jobs.into_iter().map(Some).collect()),
            Kind::Decapsulate => self.decapsulate(jobs.into_iter().map(Some).collect()),
        }
    }

    fn reader(&self, owner: Owner) -> Reader<'_> {
        Reader::new(self.scheme, owner, self.shared)
    }

    /// Calls the engine for `count` operations with a fresh master seed. Measures the time.
    ///
    /// # Errors
    /// The error of the engine, or [`EngineError::Wrong`] if the system provides no randomness.
    fn call(
        &self,
        kind: Kind,
        count: usize,
        call: impl FnOnce(Expand<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if count == 0 {
            return Ok(());
        }
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        let filled = getrandom::fill(&mut *seed);
        filled.map_err(|_| EngineError::Wrong("there is no randomness"))?;
        let start = Instant::now();
        let result = call(Expand { seed: &seed, context: Context::EMPTY, first: 0 });
        let done = if result.is_ok() { count } else { 0 };
        self.shared.metrics.engine_call(kind.name(), count, done, start.elapsed());
        result
    }

    /// Returns the fault of an error of the engine. Notes it if the engine is lost.
    fn fault(&self, error: &EngineError) -> Fault {
        let fault = Fault::of_engine(error);
        if fault == Fault::Lost {
            self.shared.lose();
        }
        fault
    }

    fn generate(&self, jobs: Vec<Job>) {
        let total = jobs.iter().map(|job| job.count).sum();
        let sizes = self.scheme.sizes();
        let mut public = vec![0; total * sizes.encapsulation_key];
        let mut private = Zeroizing::new(vec![0; total * sizes.decapsulation_key]);
        let done = self.call(Kind::Generate, total, |seeds| {
            self.engine.generate(self.scheme, seeds, &mut public, &mut private)
        });
        let done = done.map_err(|error| self.fault(&error));
        let mut end = 0;
        for Job { owner, count, work, held, .. } in jobs {
            let Work::Generate { form, reply } = work else { continue };
            let own = end..end + count;
            end = own.end;
            let answer = done.clone().and_then(|()| {
                let public_keys = rows_of(&public, sizes.encapsulation_key, &own).into();
                let private_keys = secret(rows_of(&private, sizes.decapsulation_key, &own));
                let private_keys = match form {
                    Form::Sealed => self.reader(owner).seal(&private_keys, repeat(Birth::now()))?,
                    _ => private_keys,
                };
                Ok(GenerateKeysResponse { public_keys, private_keys })
            });
            drop(held);
            drop(reply.send(answer));
        }
    }

    fn seal(&self, jobs: Vec<Job>) {
        for Job { owner, work, held, .. } in jobs {
            let Work::Seal { form, keys, reply } = work else { continue };
            let reader = self.reader(owner);
            let answer = reader.private(form, Purpose::Seal, false, &keys).and_then(|rows| {
                let private_keys = match reader.births(form, &keys) {
                    Some(births) => reader.seal(&rows.bytes, births)?,
                    None => reader.seal(&rows.bytes, repeat(Birth::now()))?,
                };
                Ok(SealKeysResponse { private_keys })
            });
            drop(held);
            drop(reply.send(answer));
        }
    }

    fn load(&self, jobs: Vec<Job>) {
        let &Self { engine, scheme, .. } = self;
        let fault = |error| match error {
            EngineError::EncapsulationKey { row, error } => invalid_public(false, row, &error),
            EngineError::DecapsulationKey { row, error } => invalid_private(false, row, &error),
            error => self.fault(&error),
        };
        for Job { owner, work, held, .. } in jobs {
            let Work::Load { form, keys, reply } = work else { continue };
            let loaded = if form == Form::Public {
                let count = keys.len() / scheme.sizes().encapsulation_key;
                engine.load_public(scheme, &keys).map_err(fault).map(|loaded| {
                    let keys = Side::Public(Arc::new(loaded));
                    Loaded { scheme, count, hashes: None, birth: None, keys }
                })
            } else {
                let reader = self.reader(owner);
                reader.private(form, Purpose::Use, false, &keys).and_then(
                    |KeyBytes { bytes, .. }| {
                        let count = bytes.len() / scheme.sizes().decapsulation_key;
                        let hashes = reader.hashes(&bytes);
                        let birth = reader.births(form, &keys).and_then(Iterator::min);
                        let loaded = engine.load_private(scheme, &bytes).map_err(fault)?;
                        let keys = Side::Private(Arc::new(loaded));
                        Ok(Loaded { scheme, count, hashes, birth, keys })
                    },
                )
            };
            drop(held);
            drop(reply.send(loaded));
        }
    }

    fn encapsulate(&self, mut slots: Slots) {
        let keys = |job: &Job| {
            let Work::Encapsulate { keys, .. } = &job.work else { return Err(Fault::Internal) };
            let rows = |bytes: &Bytes| KeyBytes { bytes: bytes.clone(), are_keys: false };
            Ok(match keys {
                Keys::One(_, bytes) => {
                    if job.count == 0 {
                        // The engine does not see the key.
                        check_public(self.scheme, true, bytes)?;
                    }
                    let name = Some((Owner::default(), bytes.clone()));
                    JobKeys::One { rows: rows(bytes), name }
                }
                Keys::Each(_, bytes) => JobKeys::Each(rows(bytes)),
                Keys::Loaded(Loaded { keys: Side::Public(keys), .. }) => {
                    JobKeys::Loaded(Arc::clone(keys))
                }
                Keys::Loaded(_) => return Err(Fault::Internal),
            })
        };
        let jobs = with_keys(&mut slots, keys);
        let ciphertext = self.scheme.sizes().ciphertext;
        let compute = |_: &Slots, group: &Group| {
            let total = group.count();
            let mut ciphertexts = vec![0; total * ciphertext];
            let mut secrets = Zeroizing::new(vec![0; total * SHARED_SECRET_BYTES]);
            self.call(Kind::Encapsulate, total, |seeds| {
                let keys = &group.keys;
                self.engine.encapsulate(self.scheme, keys, seeds, &mut ciphertexts, &mut secrets)
            })?;
            Ok((ciphertexts, secrets))
        };
        type Results = (Vec<u8>, Zeroizing<Vec<u8>>);
        let answer = |work, own: &Range<usize>, done: Result<&Results, Fault>| {
            let Work::Encapsulate { reply, .. } = work else { return };
            drop(reply.send(done.map(|(ciphertexts, secrets)| EncapsulateResponse {
                ciphertexts: rows_of(ciphertexts, ciphertext, own).into(),
                shared_secrets: secret(rows_of(secrets, SHARED_SECRET_BYTES, own)),
            })));
        };
        self.operate(slots, jobs, check_public, compute, answer);
    }

    fn decapsulate(&self, mut slots: Slots) {
        let mut opened = Opened::new();
        let jobs = with_keys(&mut slots, |job| self.private_keys(job, &mut opened));
        let ciphertext = self.scheme.sizes().ciphertext;
        let compute = |slots: &Slots, group: &Group| {
            let total = group.count();
            let mut ciphertexts = Vec::with_capacity(total * ciphertext);
            for &(index, _) in &group.members {
                if let Some(Job { work: Work::Decapsulate { ciphertexts: own, .. }, .. }) =
                    &slots[index]
                {
                    ciphertexts.extend_from_slice(own);
                }
            }
            let mut secrets = Zeroizing::new(vec![0; total * SHARED_SECRET_BYTES]);
            self.call(Kind::Decapsulate, total, |_| {
                self.engine.decapsulate(self.scheme, &group.keys, &ciphertexts, &mut secrets)
            })?;
            Ok(secrets)
        };
        let answer = |work, own: &Range<usize>, done: Result<&Zeroizing<Vec<u8>>, Fault>| {
            let Work::Decapsulate { reply, .. } = work else { return };
            drop(reply.send(done.map(|secrets| DecapsulateResponse {
                shared_secrets: secret(rows_of(secrets, SHARED_SECRET_BYTES, own)),
            })));
        };
        self.operate(slots, jobs, check_private, compute, answer);
    }

    /// Returns the private keys of a job, and counts its decapsulations.
    ///
    /// # Errors
    /// The fault of a key that does not open, is refused, is too old or would exceed its limit.
    fn private_keys(&self, job: &Job, opened: &mut Opened) -> Result<JobKeys, Fault> {
        let Job { owner, count, work: Work::Decapsulate { keys, .. }, .. } = job else {
            return Err(Fault::Internal);
        };
        let reader = self.reader(*owner);
        Ok(match keys {
            Keys::One(form, bytes) => {
                let read = || reader.private(*form, Purpose::Use, true, bytes);
                // The time to compare names depends on them, so plain keys are no names.
                let name = (*form == Form::Sealed).then(|| (*owner, bytes.clone()));
                let rows = match name.clone().map(|name| opened.entry(name)) {
                    None => read()?,
                    Some(Entry::Occupied(rows)) => rows.get().clone(),
                    Some(Entry::Vacant(place)) => place.insert(read()?).clone(),
                };
                if *count == 0 && !rows.are_keys {
                    // The engine does not see the key.
                    check_private(self.scheme, true, &rows.bytes)?;
                }
                reader.spend(reader.hashes(&rows.bytes).as_deref(), *count)?;
                JobKeys::One { rows, name }
            }
            Keys::Each(form, bytes) => {
                let rows = reader.private(*form, Purpose::Use, false, bytes)?;
                reader.spend(reader.hashes(&rows.bytes).as_deref(), 1)?;
                JobKeys::Each(rows)
            }
            Keys::Loaded(Loaded { keys: Side::Private(keys), hashes, birth, .. }) => {
                // They may have grown too old since they were loaded.
                let old = |birth| self.shared.sealer.check_age(birth, "loaded", None);
                birth.map_or(Ok(()), old)?;
                reader.spend(hashes.as_deref(), if keys.is_single() { *count } else { 1 })?;
                JobKeys::Loaded(Arc::clone(keys))
            }
            Keys::Loaded(_) => return Err(Fault::Internal),
        })
    }

    /// Computes jobs, and answers all of them. `compute` calls the engine for some of them, and
    /// `answer` answers a job with the results of its operations. If the engine refuses a key,
    /// `check` finds the jobs with wrong keys, and the others are computed again.
    fn operate<R>(
        &self,
        mut slots: Slots,
        mut jobs: JobsWithKeys,
        check: fn(Parameters, bool, &[u8]) -> Result<(), Fault>,
        compute: impl Fn(&Slots, &Group) -> Result<R, EngineError>,
        answer: impl Fn(Work, &Range<usize>, Result<&R, Fault>),
    ) {
        while !jobs.is_empty() {
            let mut refused = Vec::new();
            for group in join(self.own_call, &jobs) {
                let done = match compute(&slots, &group) {
                    Err(
                        EngineError::EncapsulationKey { .. } | EngineError::DecapsulationKey { .. },
                    ) => {
                        refused.extend(group.members.iter().map(|&(index, _)| index));
                        continue;
                    }
                    done => done.map_err(|error| self.fault(&error)),
                };
                let mut end = 0;
                for &(index, count) in &group.members {
                    let own = end..end + count;
                    end = own.end;
                    if let Some(job) = slots[index].take() {
                        answer(job.release(), &own, done.as_ref().map_err(Clone::clone));
                    }
                }
            }
            jobs.retain_mut(|(index, _, keys)| {
                if !refused.contains(index) {
                    return false;
                }
                let (is_single, rows) = match keys {
                    JobKeys::One { rows, .. } => (true, rows),
                    JobKeys::Each(rows) => (false, rows),
                    JobKeys::Loaded(_) => return false,
                };
                match check(self.scheme, is_single, &rows.bytes) {
                    Ok(()) => rows.are_keys = true,
                    Err(fault) => {
                        refuse(&mut slots, *index, fault);
                        return false;
                    }
                }
                true
            });
        }
    }
}

/// Returns the jobs with their keys. Refuses those for which `keys` returns a fault.
fn with_keys(
    slots: &mut Slots,
    mut keys: impl FnMut(&Job) -> Result<JobKeys, Fault>,
) -> JobsWithKeys {
    let mut jobs = Vec::new();
    for index in 0..slots.len() {
        let Some(job) = &slots[index] else { continue };
        match keys(job) {
            Ok(keys) => jobs.push((index, job.count, keys)),
            Err(fault) => refuse(slots, index, fault),
        }
    }
    jobs
}
