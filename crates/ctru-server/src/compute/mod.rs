//! Computes batches of jobs of one scheme: reads keys, calls the engine, writes answers.
//!
//! This runs on threads of the lanes, never on those of the asynchronous runtime. A job with a
//! wrong key gets its own fault, and does not disturb the others of its batch.

mod join;
mod keys;

use std::any::Any;
use std::iter::repeat;
use std::marker::PhantomData;
use std::slice;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use ctru_kem::engine::{self, Context, Engine, EngineError, Expand, Seeds};
use ctru_kem::{
    Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, SEED_BYTES, SharedSecret,
};
use zeroize::Zeroizing;

use crate::fault::Fault;
use crate::job::{Form, Job, Keys, Kind, Shared, Work};
use crate::loaded::{Loaded, Side};
use crate::proto::{
    DecapsulateResponse, EncapsulateResponse, GenerateKeysResponse, SealKeysResponse,
};
use crate::sealing::Birth;
use join::{Group, GroupKeys, Joiner};
use keys::{Purpose, Reader};

/// Computes batches of one scheme.
pub(crate) trait Compute: Send + Sync {
    /// Computes jobs of one kind, and answers all of them.
    fn run(&self, kind: Kind, jobs: Vec<Job>, shared: &Shared);

    /// Removes keys, seeds and secrets from memory that the engine keeps for its next batch.
    fn wipe(&self, shared: &Shared);
}

/// The engine of one parameter set.
pub(crate) struct Typed<P, E> {
    engine: E,
    /// The least number of operations for which a key gets a call of the engine of its own.
    own_call: usize,
    parameter_set: PhantomData<P>,
}

impl<P, E> Typed<P, E> {
    pub(crate) fn new(engine: E, own_call: usize) -> Self {
        Self { engine, own_call, parameter_set: PhantomData }
    }
}

/// The jobs of a batch. A job is taken out when it is answered.
type Slots = Vec<Option<Job>>;

fn refuse(slots: &mut Slots, index: usize, fault: Fault) {
    if let Some(job) = slots[index].take() {
        job.work.refuse(fault);
    }
}

/// Returns bytes that are wiped when the last of their users drops them.
fn secret(bytes: Vec<u8>) -> Bytes {
    Bytes::from_owner(Zeroizing::new(bytes))
}

/// Returns the bytes of values, one value after the other.
fn concat<T: AsRef<[u8]>>(values: &[T], size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len() * size);
    for value in values {
        bytes.extend_from_slice(value.as_ref());
    }
    bytes
}

impl<P, E> Compute for Typed<P, E>
where
    P: ParameterSet,
    E: Engine<
            P,
            EncapsulationKeys: Send + Sync + 'static,
            DecapsulationKeys: Send + Sync + 'static,
        >,
{
    fn run(&self, kind: Kind, jobs: Vec<Job>, shared: &Shared) {
        let slots: Slots = jobs.into_iter().map(Some).collect();
        match kind {
            Kind::Generate => self.generate(slots, shared),
            Kind::Seal => self.seal(slots, shared),
            Kind::Load => self.load(slots, shared),
            Kind::Encapsulate => self.encapsulate(slots, shared),
            Kind::Decapsulate => self.decapsulate(slots, shared),
        }
    }

    fn wipe(&self, shared: &Shared) {
        if let Err(error) = self.engine.wipe() {
            fault_of(&error, shared);
        }
    }
}

impl<P, E> Typed<P, E>
where
    P: ParameterSet,
    E: Engine<
            P,
            EncapsulationKeys: Send + Sync + 'static,
            DecapsulationKeys: Send + Sync + 'static,
        >,
{
    /// Calls the engine for `count` operations with a fresh master seed. Measures the time.
    ///
    /// # Errors
    /// The fault of the engine, or [`Fault::Internal`] if the system provides no randomness.
    fn call(
        &self,
        kind: Kind,
        count: usize,
        shared: &Shared,
        call: impl FnOnce(Expand<'_>) -> Result<(), EngineError>,
    ) -> Result<(), Fault> {
        if count == 0 {
            return Ok(());
        }
        let mut seed = Zeroizing::new([0; SEED_BYTES]);
        getrandom::fill(&mut *seed).map_err(|_| Fault::Internal)?;
        let start = Instant::now();
        let result = call(Expand { seed: &seed, context: Context::EMPTY, first: 0 });
        shared.metrics.engine_call(kind.name(), count, start.elapsed());
        result.map_err(|error| fault_of(&error, shared))
    }

    fn generate(&self, mut slots: Slots, shared: &Shared) {
        let counts: Vec<usize> = slots.iter().flatten().map(|job| job.count).collect();
        let total = counts.iter().sum();
        let mut public = vec![EncapsulationKey::<P>::placeholder(); total];
        let mut private = vec![DecapsulationKey::<P>::placeholder(); total];
        let done = self.call(Kind::Generate, total, shared, |seeds| {
            self.engine.generate(Seeds::Expand(seeds), &mut public, &mut private)
        });
        let (mut public, mut private) = (&public[..], &private[..]);
        for (slot, count) in slots.iter_mut().zip(counts) {
            let Some(Job { scheme, owner, work: Work::Generate { form, reply }, .. }) = slot.take()
            else {
                continue;
            };
            let (own_public, own_private);
            (own_public, public) = public.split_at(count);
            (own_private, private) = private.split_at(count);
            let answer = done.clone().and_then(|()| {
                let public_keys = concat(own_public, P::ENCAPSULATION_KEY_BYTES).into();
                let private_keys = match form {
                    Form::Sealed => {
                        let births = repeat(Birth::now());
                        Reader::<P>::new(scheme, owner, shared).seal(own_private, births)?
                    }
                    _ => secret(concat(own_private, P::DECAPSULATION_KEY_BYTES)),
                };
                Ok(GenerateKeysResponse { public_keys, private_keys })
            });
            drop(reply.send(answer));
        }
    }

    fn seal(&self, slots: Slots, shared: &Shared) {
        for Job { scheme, owner, work, .. } in slots.into_iter().flatten() {
            let Work::Seal { form, keys, reply } = work else { continue };
            let reader = Reader::<P>::new(scheme, owner, shared);
            let answer = reader.private_keys(form, Purpose::Seal, &keys).and_then(|read| {
                let private_keys = match Reader::<P>::births(form, &keys) {
                    Some(births) => reader.seal(&read, births)?,
                    None => reader.seal(&read, repeat(Birth::now()))?,
                };
                Ok(SealKeysResponse { private_keys })
            });
            drop(reply.send(answer));
        }
    }

    fn load(&self, slots: Slots, shared: &Shared) {
        for Job { scheme, owner, work, .. } in slots.into_iter().flatten() {
            let Work::Load { form, keys, reply } = work else { continue };
            let reader = Reader::<P>::new(scheme, owner, shared);
            let loaded = match form {
                Form::Public => reader.public_keys(&keys).and_then(|keys| {
                    let loaded = self.engine.load_encapsulation_keys(&keys);
                    let loaded = loaded.map_err(|error| fault_of(&error, shared))?;
                    let (count, keys) = (keys.len(), Side::Public(Arc::new(loaded)));
                    Ok(Loaded { scheme, count, hashes: None, birth: None, keys })
                }),
                _ => reader.private_keys(form, Purpose::Use, &keys).and_then(|read| {
                    let (count, hashes) = (read.len(), reader.hashes(&read));
                    let birth = Reader::<P>::births(form, &keys).and_then(Iterator::min);
                    let loaded = self.engine.load_decapsulation_keys(&read);
                    let loaded = loaded.map_err(|error| fault_of(&error, shared))?;
                    let keys = Side::Private(Arc::new(loaded));
                    Ok(Loaded { scheme, count, hashes, birth, keys })
                }),
            };
            drop(reply.send(loaded));
        }
    }

    fn encapsulate(&self, mut slots: Slots, shared: &Shared) {
        let mut joiner = Joiner::new(self.own_call);
        for index in 0..slots.len() {
            let Some(Job { scheme, owner, count, work, .. }) = &slots[index] else { continue };
            let Work::Encapsulate { keys, .. } = work else { continue };
            let reader = Reader::<P>::new(*scheme, *owner, shared);
            let added = match keys {
                Keys::One(_, bytes) => {
                    let name = (Default::default(), bytes.clone());
                    let group = joiner.named(name, || reader.public_key(bytes));
                    group.map(|group| joiner.add_to(group, index, *count))
                }
                Keys::Each(_, bytes) => {
                    reader.public_keys(bytes).map(|keys| joiner.add_each(index, keys))
                }
                Keys::Loaded(Loaded { keys, count: loaded, .. }) => match keys {
                    Side::Public(keys) => downcast::<E::EncapsulationKeys>(keys)
                        .map(|keys| joiner.add_loaded(index, *count, keys, *loaded == 1)),
                    Side::Private(_) => Err(Fault::Internal),
                },
            };
            if let Err(fault) = added {
                refuse(&mut slots, index, fault);
            }
        }
        for Group { keys, members } in joiner.finish() {
            let total = members.iter().map(|(_, count)| count).sum();
            let mut ciphertexts = vec![Ciphertext::<P>::default(); total];
            let mut secrets = vec![SharedSecret::default(); total];
            let keys = match &keys {
                GroupKeys::One(key) => engine::Keys::One(&**key),
                GroupKeys::Each(keys) => engine::Keys::Each(keys),
                GroupKeys::Loaded(keys) => engine::Keys::Loaded(&**keys),
            };
            let done = self.call(Kind::Encapsulate, total, shared, |seeds| {
                let seeds = Seeds::Expand(seeds);
                self.engine.encapsulate(keys, seeds, &mut ciphertexts, &mut secrets)
            });
            let (mut ciphertexts, mut secrets) = (&ciphertexts[..], &secrets[..]);
            for (index, count) in members {
                let (own_ciphertexts, own_secrets);
                (own_ciphertexts, ciphertexts) = ciphertexts.split_at(count);
                (own_secrets, secrets) = secrets.split_at(count);
                let Some(Job { work: Work::Encapsulate { reply, .. }, .. }) = slots[index].take()
                else {
                    continue;
                };
                let answer = done.clone().map(|()| EncapsulateResponse {
                    ciphertexts: concat(own_ciphertexts, P::CIPHERTEXT_BYTES).into(),
                    shared_secrets: secret(concat(own_secrets, size_of::<SharedSecret>())),
                });
                drop(reply.send(answer));
            }
        }
    }

    fn decapsulate(&self, mut slots: Slots, shared: &Shared) {
        let mut joiner = Joiner::new(self.own_call);
        for index in 0..slots.len() {
            let Some(Job { scheme, owner, count, work, .. }) = &slots[index] else { continue };
            let Work::Decapsulate { keys, .. } = work else { continue };
            let reader = Reader::<P>::new(*scheme, *owner, shared);
            let added = match keys {
                // The time to compare names depends on them, so plain keys are no names.
                Keys::One(Form::Plain, bytes) => {
                    reader.private_key(Form::Plain, bytes).and_then(|key| {
                        reader.spend(slice::from_ref(&key), *count)?;
                        joiner.add_one(index, *count, key);
                        Ok(())
                    })
                }
                Keys::One(form, bytes) => {
                    let name = (*owner, bytes.clone());
                    let group = joiner.named(name, || reader.private_key(*form, bytes));
                    group.and_then(|group| {
                        let key = joiner.key(group).map_or(&[][..], slice::from_ref);
                        reader.spend(key, *count)?;
                        joiner.add_to(group, index, *count);
                        Ok(())
                    })
                }
                Keys::Each(form, bytes) => {
                    let read = reader.private_keys(*form, Purpose::Use, bytes);
                    read.and_then(|keys| {
                        reader.spend(&keys, 1)?;
                        joiner.add_each(index, keys);
                        Ok(())
                    })
                }
                Keys::Loaded(Loaded { keys, count: loaded, hashes, birth, .. }) => match keys {
                    Side::Private(keys) => {
                        downcast::<E::DecapsulationKeys>(keys).and_then(|keys| {
                            // They may have grown too old since they were loaded.
                            let old = |birth| shared.sealer.check_age(birth, "loaded", None);
                            birth.map_or(Ok(()), old)?;
                            let each = if *loaded == 1 { *count } else { 1 };
                            reader.spend_hashed(hashes.as_deref(), each)?;
                            joiner.add_loaded(index, *count, keys, *loaded == 1);
                            Ok(())
                        })
                    }
                    Side::Public(_) => Err(Fault::Internal),
                },
            };
            if let Err(fault) = added {
                refuse(&mut slots, index, fault);
            }
        }
        for Group { keys, members } in joiner.finish() {
            let total = members.iter().map(|(_, count)| count).sum();
            let mut ciphertexts = Vec::with_capacity(total);
            for &(index, _) in &members {
                let Some(Job { work: Work::Decapsulate { ciphertexts: bytes, .. }, .. }) =
                    &slots[index]
                else {
                    continue;
                };
                let chunks = bytes.chunks_exact(P::CIPHERTEXT_BYTES);
                ciphertexts.extend(chunks.filter_map(|bytes| Ciphertext::from_bytes(bytes).ok()));
            }
            let mut secrets = vec![SharedSecret::default(); total];
            let keys = match &keys {
                GroupKeys::One(key) => engine::Keys::One(&**key),
                GroupKeys::Each(keys) => engine::Keys::Each(keys),
                GroupKeys::Loaded(keys) => engine::Keys::Loaded(&**keys),
            };
            let done = self.call(Kind::Decapsulate, total, shared, |_| {
                self.engine.decapsulate(keys, &ciphertexts, &mut secrets)
            });
            let mut secrets = &secrets[..];
            for (index, count) in members {
                let own_secrets;
                (own_secrets, secrets) = secrets.split_at(count);
                let Some(Job { work: Work::Decapsulate { reply, .. }, .. }) = slots[index].take()
                else {
                    continue;
                };
                let answer = done.clone().map(|()| DecapsulateResponse {
                    shared_secrets: secret(concat(own_secrets, size_of::<SharedSecret>())),
                });
                drop(reply.send(answer));
            }
        }
    }
}

/// Returns the fault of an error of the engine. Notes it if the engine is lost.
fn fault_of(error: &EngineError, shared: &Shared) -> Fault {
    let fault = Fault::of_engine(error);
    if fault == Fault::Lost {
        shared.lose();
    }
    fault
}

/// Returns loaded keys as the type of the engine.
///
/// # Errors
/// [`Fault::Internal`] if they have another type.
fn downcast<L: Any + Send + Sync>(keys: &Arc<dyn Any + Send + Sync>) -> Result<Arc<L>, Fault> {
    Arc::clone(keys).downcast().map_err(|_| Fault::Internal)
}
