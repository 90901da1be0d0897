//! Jobs: the requests of callers to the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bytes::Bytes;
use ctru_kem::{Parameters, SHARED_SECRET_BYTES, Sizes};
use tokio::sync::{oneshot, watch};

use crate::decapsulations::Decapsulations;
use crate::fault::Fault;
use crate::identity::{Owner, Share};
use crate::loaded::Loaded;
use crate::metrics::Metrics;
use crate::proto::{
    DecapsulateResponse, EncapsulateResponse, GenerateKeysResponse, SealKeysResponse,
};
use crate::room::Held;
use crate::sealing::{self, Sealer};

/// The form of keys in a message.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Public,
    Plain,
    Sealed,
}

/// The keys of a batch, as they came.
#[derive(Clone)]
pub(crate) enum Keys {
    /// One key for all operations.
    One(Form, Bytes),
    /// One key for each operation.
    Each(Form, Bytes),
    /// Keys on the engine.
    Loaded(Loaded),
}

/// Where the answer of a job goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Fault>>;

/// The right to decide about a job, which can be taken once: by a thread that begins the work, or
/// by the caller whose deadline has passed. So no thread begins the work of a call that has ended
/// with `DEADLINE_EXCEEDED`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim(Arc<AtomicBool>);

impl Claim {
    /// Returns whether nobody has taken the right before, and takes it.
    pub(crate) fn take(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// A call of one client, or one message of a stream.
pub(crate) struct Job {
    pub(crate) scheme: Parameters,
    /// The number of operations.
    pub(crate) count: usize,
    pub(crate) owner: Owner,
    pub(crate) share: Share,
    /// When the caller stops waiting.
    pub(crate) deadline: Option<Instant>,
    pub(crate) claim: Claim,
    /// The memory of the call. It counts as long as the job is queued, even if the caller goes.
    pub(crate) held: Arc<Held>,
    /// Whether it is a message of a stream, which no queue refuses.
    pub(crate) is_message: bool,
    pub(crate) work: Work,
}

/// The work of a job. Jobs of the same kind and scheme are computed together.
pub(crate) enum Work {
    Generate { form: Form, reply: Reply<GenerateKeysResponse> },
    Seal { form: Form, keys: Bytes, reply: Reply<SealKeysResponse> },
    Load { form: Form, keys: Bytes, reply: Reply<Loaded> },
    Encapsulate { keys: Keys, reply: Reply<EncapsulateResponse> },
    Decapsulate { keys: Keys, ciphertexts: Bytes, reply: Reply<DecapsulateResponse> },
}

/// The kind of a job's work.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Generate,
    Seal,
    Load,
    Encapsulate,
    Decapsulate,
}

impl Work {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Generate { .. } => Kind::Generate,
            Self::Seal { .. } => Kind::Seal,
            Self::Load { .. } => Kind::Load,
            Self::Encapsulate { .. } => Kind::Encapsulate,
            Self::Decapsulate { .. } => Kind::Decapsulate,
        }
    }

    fn is_abandoned(&self) -> bool {
        match self {
            Self::Generate { reply, .. } => reply.is_closed(),
            Self::Seal { reply, .. } => reply.is_closed(),
            Self::Load { reply, .. } => reply.is_closed(),
            Self::Encapsulate { reply, .. } => reply.is_closed(),
            Self::Decapsulate { reply, .. } => reply.is_closed(),
        }
    }
}

impl Job {
    /// Releases what the job takes and returns its work. A caller that has the answer finds room
    /// for its next call.
    pub(crate) fn release(self) -> Work {
        self.work
    }

    /// Answers with a fault.
    pub(crate) fn refuse(self, fault: Fault) {
        // The caller may have gone, so the result of sending does not matter.
        match self.release() {
            Work::Generate { reply, .. } => drop(reply.send(Err(fault))),
            Work::Seal { reply, .. } => drop(reply.send(Err(fault))),
            Work::Load { reply, .. } => drop(reply.send(Err(fault))),
            Work::Encapsulate { reply, .. } => drop(reply.send(Err(fault))),
            Work::Decapsulate { reply, .. } => drop(reply.send(Err(fault))),
        }
    }

    /// Returns whether nobody waits for the answer at the time `now`.
    pub(crate) fn is_dead(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now) || self.work.is_abandoned()
    }
}

impl Kind {
    /// Returns the bytes of the answer to one operation, at most.
    pub(crate) fn answer_bytes(self, scheme: Parameters) -> usize {
        let Sizes { encapsulation_key, decapsulation_key, ciphertext } = scheme.sizes();
        let sealed = decapsulation_key + sealing::OVERHEAD;
        match self {
            Self::Generate => encapsulation_key + sealed,
            Self::Seal => sealed,
            Self::Load => 0,
            Self::Encapsulate => ciphertext + SHARED_SECRET_BYTES,
            Self::Decapsulate => SHARED_SECRET_BYTES,
        }
    }

    /// Returns the name in metrics and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::Seal => "seal",
            Self::Load => "load",
            Self::Encapsulate => "encapsulate",
            Self::Decapsulate => "decapsulate",
        }
    }
}

/// The state that all computations of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) sealer: Sealer,
    pub(crate) decapsulations: Decapsulations,
    pub(crate) metrics: Metrics,
    /// Whether the engine computes no more.
    loss: watch::Sender<bool>,
}

impl Shared {
    pub(crate) fn new(sealer: Sealer, decapsulations: Decapsulations, metrics: Metrics) -> Self {
        Self { sealer, decapsulations, metrics, loss: watch::Sender::new(false) }
    }

    /// Notes that the engine does not compute any more.
    pub(crate) fn lose(&self) {
        self.loss.send_replace(true);
    }

    /// Returns whether the engine is lost.
    pub(crate) fn is_lost(&self) -> bool {
        *self.loss.borrow()
    }

    /// Returns a receiver that becomes `true` when the engine is lost.
    pub(crate) fn loss(&self) -> watch::Receiver<bool> {
        self.loss.subscribe()
    }
}
