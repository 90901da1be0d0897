//! The service of `kem.proto`: checks requests, queues jobs, and waits for their answers.

mod methods;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use ctru_kem::{Parameters, SHARED_SECRET_BYTES, Sizes};
use tokio::sync::oneshot;

use crate::call::Caller;
use crate::engine::LaneEngine;
use crate::fault::Fault;
use crate::job::{Form, Job, Reply, Shared, Work};
use crate::lane::{self, Lane};
use crate::loaded::{self, Loaded, LoadedKeys, Place};
use crate::options::ServiceOptions;
use crate::proto::{
    DecapsulateRequest, DecapsulateResponse, DescribeResponse, EncapsulateRequest,
    EncapsulateResponse, GenerateKeysRequest, GenerateKeysResponse, LoadKeysRequest,
    LoadKeysResponse, SealKeysRequest, SealKeysResponse, describe_response, load_keys_request,
};
use crate::quota::Quotas;
use crate::scheme;
use crate::sealing;
use crate::stage::Stages;
use request::Private;

pub(crate) use request::Limits;

/// The service. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Service(Arc<State>);

#[derive(Debug)]
struct State {
    options: ServiceOptions,
    /// The name of the engine or of the devices.
    engine: String,
    server_id: String,
    limits: [Limits; Parameters::ALL.len()],
    shared: Arc<Shared>,
    loaded: LoadedKeys,
    quotas: Quotas,
    small: Lane,
    large: Lane,
    stages: Stages,
}

/// The engines of the two lanes. They can be the same.
#[derive(Clone)]
pub struct LaneEngines {
    /// For small calls.
    pub small: Arc<LaneEngine>,
    /// For streams and large calls.
    pub large: Arc<LaneEngine>,
    /// The name of the engine or of the devices, for `Describe`.
    pub name: String,
    /// Measures the device memory in use, in bytes.
    pub device_bytes: Option<DeviceBytes>,
}

/// Measures the device memory in use, in bytes.
pub type DeviceBytes = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

impl fmt::Debug for LaneEngines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneEngines").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Service {
    /// Starts the lanes.
    ///
    /// `stages` are those of the server.
    ///
    /// # Errors
    /// If the system does not start the threads or provides no randomness.
    pub(crate) fn start(
        options: ServiceOptions,
        engines: LaneEngines,
        shared: Arc<Shared>,
        stages: Stages,
    ) -> io::Result<Self> {
        let small = lane::Options {
            name: "small",
            threads: engines.small.calls().threads,
            max_batch: options.max_batch,
            max_delay: options.max_queue_delay,
            capacity: options.max_queue(engines.small.calls()),
        };
        let large = lane::Options {
            name: "large",
            threads: engines.large.calls().threads,
            max_batch: options.max_stream_batch(engines.large.calls()),
            max_delay: Duration::ZERO,
            capacity: options.max_queue(engines.large.calls()),
        };
        let mut server_id = [0; 16];
        getrandom::fill(&mut server_id)?;
        let limits = Limits::of_all(options.max_message);
        let largest = limits.iter().map(Limits::operations).max().unwrap_or(0);
        let named = options.client_rates.iter().cloned().collect();
        let quotas = Quotas::new(options.rate, named, largest);
        let loaded = LoadedKeys::new(loaded::Limits {
            keys: options.max_loaded_keys,
            keys_per_client: options.max_loaded_keys_per_client,
            idle: options.loaded_keys_idle,
        });
        let small = Lane::start(small, engines.small, Arc::clone(&shared))?;
        let large = Lane::start(large, engines.large, Arc::clone(&shared))?;
        Ok(Self(Arc::new(State {
            engine: engines.name,
            server_id: const_hex::encode(server_id),
            limits,
            shared,
            loaded,
            quotas,
            small,
            large,
            stages,
            options,
        })))
    }

    /// Forgets loaded keys that nobody has used for a long time, and brings the gauges up to date.
    pub(crate) fn tidy(&self) {
        let Self(state) = self;
        let metrics = &state.shared.metrics;
        state.forget(state.loaded.expired(Instant::now()));
        metrics.loaded_keys.set(state.loaded.count() as i64);
        metrics.most_used_key.set(state.shared.decapsulations.most() as f64);
        metrics.set_waiting("small", state.small.waiting());
        metrics.set_waiting("large", state.large.waiting());
    }

    /// Wipes the engines of both lanes, which can be the same: those that are due, or with `all`
    /// each engine that was used. May wait for the device.
    pub(crate) fn wipe(&self, all: bool) {
        let Self(state) = self;
        for lane in [&state.small, &state.large] {
            lane.engine().wipe(all, &state.shared);
        }
    }

    /// Forgets all loaded keys.
    pub(crate) fn forget_keys(&self) {
        self.0.loaded.clear();
    }

    /// Refuses further calls, ends the threads of the lanes, and wipes the engines. Waits at most
    /// `limit` for each of the two, because a device that is lost may not let them go.
    pub(crate) async fn end(&self, limit: Duration) {
        let lanes = [&self.0.small, &self.0.large];
        for lane in lanes {
            lane.close();
        }
        let ended = async {
            while !lanes.iter().all(|lane| lane.has_ended()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        if tokio::time::timeout(limit, ended).await.is_err() {
            tracing::warn!("a thread of a lane still computes");
        }
        // Also if a thread still computes: the engine holds secrets of earlier calls.
        let service = self.clone();
        let wiped = tokio::task::spawn_blocking(move || service.wipe(true));
        if tokio::time::timeout(limit, wiped).await.is_err() {
            tracing::warn!("an engine is still being wiped");
        }
    }
}

/// A job that is ready to be queued.
struct Prepared<T> {
    job: Job,
    answer: oneshot::Receiver<Result<T, Fault>>,
    /// The memory of the answer in bytes.
    answer_bytes: usize,
}

impl State {
    /// Drops loaded keys on a thread that may wait for the device. Copies that the engine has
    /// elsewhere are wiped within a second.
    fn forget(self: &Arc<Self>, keys: Vec<Loaded>) {
        if keys.is_empty() {
            return;
        }
        let state = Arc::clone(self);
        drop(tokio::task::spawn_blocking(move || {
            drop(keys);
            for lane in [&state.small, &state.large] {
                lane.engine().unloaded();
            }
        }));
    }

    fn limits(&self, scheme: Parameters) -> Limits {
        self.limits[scheme.index()]
    }

    fn private(&self) -> Private<'_> {
        Private { sealer: &self.shared.sealer, plain: self.options.allow_plain_keys }
    }

    /// Sets memory aside for the answer, spends the client's quota, and makes a job.
    ///
    /// # Errors
    /// [`Fault::MemoryFull`], [`Fault::NoQuota`] or [`Fault::QuotaSpent`].
    fn prepare<T>(
        &self,
        caller: &Caller,
        scheme: Parameters,
        count: usize,
        work: impl FnOnce(Reply<T>) -> Work,
    ) -> Result<Prepared<T>, Fault> {
        let Caller { peer, deadline, claim, held } = caller;
        let (reply, answer) = oneshot::channel();
        let work = work(reply);
        let answer_bytes = count * work.kind().answer_bytes(scheme);
        held.grow(answer_bytes)?;
        self.quotas.spend(peer, count, Instant::now())?;
        let (owner, share, deadline) = (peer.owner, peer.share, *deadline);
        let (claim, held, is_message) = (claim.clone(), Arc::clone(held), false);
        let job = Job { scheme, count, owner, share, deadline, claim, held, is_message, work };
        Ok(Prepared { job, answer, answer_bytes })
    }

    /// Submits a job of a unary call to a lane, and waits for its answer.
    ///
    /// # Errors
    /// [`Fault::QueueFull`], or the fault of the job.
    async fn compute<T>(&self, caller: &Caller, prepared: Prepared<T>) -> Result<T, Fault> {
        let Prepared { job, answer, .. } = prepared;
        let count = job.count;
        let lane = if count <= self.options.max_batch { &self.small } else { &self.large };
        lane.submit(job);
        let answer = answer.await.unwrap_or(Err(Fault::Internal));
        if matches!(answer, Err(Fault::QueueFull)) {
            self.quotas.give_back(&caller.peer, count);
        }
        answer
    }

    /// Checks a request to encapsulate, and makes a job.
    ///
    /// # Errors
    /// The fault of the request.
    fn encapsulate(
        &self,
        caller: &Caller,
        request: EncapsulateRequest,
    ) -> Result<Prepared<EncapsulateResponse>, Fault> {
        let EncapsulateRequest { scheme, key, count } = request;
        let scheme = scheme::read(scheme)?;
        let find = |name: &str| self.loaded.get(caller.peer.owner, name, Instant::now());
        let (keys, count) =
            request::encapsulation(scheme, self.limits(scheme), key, count as usize, find)?;
        self.prepare(caller, scheme, count, |reply| Work::Encapsulate { keys, reply })
    }

    /// Checks a request to decapsulate, and makes a job.
    ///
    /// # Errors
    /// The fault of the request.
    fn decapsulate(
        &self,
        caller: &Caller,
        request: DecapsulateRequest,
    ) -> Result<Prepared<DecapsulateResponse>, Fault> {
        let DecapsulateRequest { scheme, key, ciphertexts } = request;
        let scheme = scheme::read(scheme)?;
        let find = |name: &str| self.loaded.get(caller.peer.owner, name, Instant::now());
        let (keys, count) =
            request::decapsulation(scheme, self.private(), key, &ciphertexts, find)?;
        let work = |reply| Work::Decapsulate { keys, ciphertexts, reply };
        self.prepare(caller, scheme, count, work)
    }

    async fn generate(
        &self,
        caller: &Caller,
        request: GenerateKeysRequest,
    ) -> Result<GenerateKeysResponse, Fault> {
        let GenerateKeysRequest { scheme, count, plain } = request;
        let scheme = scheme::read(scheme)?;
        let form = self.private().allow(if plain { Form::Plain } else { Form::Sealed })?;
        let count = count as usize;
        self.limits(scheme).check_keys("count", count)?;
        let work = |reply| Work::Generate { form, reply };
        self.compute(caller, self.prepare(caller, scheme, count, work)?).await
    }

    async fn seal(
        &self,
        caller: &Caller,
        request: SealKeysRequest,
    ) -> Result<SealKeysResponse, Fault> {
        let SealKeysRequest { scheme, private_keys: keys } = request;
        let scheme = scheme::read(scheme)?;
        self.private().allow(Form::Sealed)?;
        let (form, count) = self.private().forms(scheme, &keys)?;
        self.limits(scheme).check_keys("private_keys", count)?;
        let work = |reply| Work::Seal { form, keys, reply };
        self.compute(caller, self.prepare(caller, scheme, count, work)?).await
    }

    /// Loads keys. They stay if the answer reaches the client before the place is dropped.
    async fn load(
        &self,
        caller: &Caller,
        request: LoadKeysRequest,
    ) -> Result<(LoadKeysResponse, Place), Fault> {
        let LoadKeysRequest { scheme, keys } = request;
        let scheme = scheme::read(scheme)?;
        let (form, count, keys, field) = match keys {
            None => return Err(Fault::invalid("keys", None, "there are no keys")),
            Some(load_keys_request::Keys::PublicKeys(keys)) => {
                let count = request::items("public_keys", &keys, scheme.sizes().encapsulation_key)?;
                (Form::Public, count, keys, "public_keys")
            }
            Some(load_keys_request::Keys::PrivateKeys(keys)) => {
                let (form, count) = self.private().forms(scheme, &keys)?;
                (form, count, keys, "private_keys")
            }
        };
        if count == 0 {
            return Err(Fault::invalid(field, None, "there are no keys"));
        }
        self.limits(scheme).check_keys(field, count)?;
        let place = self.loaded.place(&caller.peer, count, Instant::now())?;
        let work = |reply| Work::Load { form, keys, reply };
        let loaded = self.compute(caller, self.prepare(caller, scheme, count, work)?).await?;
        let answer = LoadKeysResponse {
            name: place.fill(loaded, Instant::now()),
            expires_in_seconds: u32::try_from(self.loaded.idle().as_secs()).unwrap_or(u32::MAX),
            server_id: self.server_id.clone(),
        };
        Ok((answer, place))
    }

    fn describe(&self) -> DescribeResponse {
        let sizes = |scheme: Parameters| {
            let Sizes { encapsulation_key, decapsulation_key, ciphertext } = scheme.sizes();
            let limits = self.limits(scheme);
            describe_response::Sizes {
                scheme: Some(scheme.into()),
                public_key: encapsulation_key as u32,
                private_key: decapsulation_key as u32,
                sealed_private_key: (decapsulation_key + sealing::OVERHEAD) as u32,
                ciphertext: ciphertext as u32,
                shared_secret: SHARED_SECRET_BYTES as u32,
                max_keys: limits.keys as u32,
                max_encapsulations: limits.encapsulations as u32,
                max_decapsulations: limits.decapsulations as u32,
            }
        };
        DescribeResponse {
            schemes: Parameters::ALL.iter().copied().map(sizes).collect(),
            engine: self.engine.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            max_message_bytes: self.options.max_message as u32,
            plain_private_keys: self.options.allow_plain_keys,
            server_id: self.server_id.clone(),
        }
    }
}
