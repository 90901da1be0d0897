//! The reasons why a call is refused, and their status codes.

use std::time::Duration;

use ctru_kem::engine::EngineError;
#[cfg(feature = "cuda")]
use ctru_kem::engine::RuntimeError;
use thiserror::Error;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// The reason why a call is refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Fault {
    /// A field has a wrong value.
    #[error("{}: {reason}", place(field, *item))]
    Invalid {
        /// The field of the request.
        field: &'static str,
        /// The first bad item, from 0, if the field has several.
        item: Option<usize>,
        /// What is wrong.
        reason: String,
    },
    /// A sealed key belongs to another client.
    #[error("{}: the private key was sealed for another client", place(field, *item))]
    OtherOwner {
        /// The field of the request.
        field: &'static str,
        /// The first such key, from 0, if the field has several.
        item: Option<usize>,
    },
    /// A sealed key is too old.
    #[error(
        "{}: the private key is older than {}, the greatest age that this server allows",
        place(field, *item),
        humantime::format_duration(*most)
    )]
    KeyTooOld {
        /// The field of the request.
        field: &'static str,
        /// The first such key, from 0, if the field has several.
        item: Option<usize>,
        /// The greatest age.
        most: Duration,
    },
    /// The server has no sealing key.
    #[error("this server has no sealing key")]
    NoSealingKey,
    /// A plain private key was sent or asked for.
    #[error("this server neither accepts nor gives plain private keys")]
    PlainKeys,
    /// The quota of the client is zero.
    #[error("the quota of this client is zero")]
    NoQuota,
    /// The name of loaded keys is unknown.
    #[error("this client has no loaded keys of this name on this server")]
    NotLoaded,
    /// There is no room for more calls.
    #[error("the queue of this server is full")]
    QueueFull,
    /// There is no room for more loaded keys.
    #[error("this server has no room for more loaded keys of this client")]
    KeysFull,
    /// The messages of all calls take too much memory.
    #[error("the messages of the calls in progress take all memory that this server gives them")]
    MemoryFull,
    /// The client has used up its quota.
    #[error("the quota of this client is spent")]
    QuotaSpent,
    /// A private key has done all decapsulations that it may do.
    #[error("the limit of decapsulations of a private key is spent")]
    KeySpent,
    /// The request did not arrive in time.
    #[error(
        "the request did not arrive within the {} that this server waits",
        humantime::format_duration(*limit)
    )]
    Slow {
        /// How long the server waits.
        limit: Duration,
    },
    /// The deadline has passed.
    #[error("the deadline passed before the work began")]
    Expired,
    /// The server is going down.
    #[error("this server is going down")]
    Leaving,
    /// The device does not compute any more.
    #[error("this server has lost its device")]
    Lost,
    /// The device has too little memory for the keys or the batch.
    #[cfg(feature = "cuda")]
    #[error("the device has too little memory")]
    DeviceMemory,
    /// Something that should not happen. The log has more.
    #[error("the server failed; its log says why")]
    Internal,
}

/// Returns a field with the number of an item, such as `public_keys[3]`.
fn place(field: &str, item: Option<usize>) -> String {
    match item {
        Some(item) => format!("{field}[{item}]"),
        None => field.to_owned(),
    }
}

impl Fault {
    /// Returns the fault of a field, or of an item of a field.
    pub(crate) fn invalid(
        field: &'static str,
        item: impl Into<Option<usize>>,
        reason: impl Into<String>,
    ) -> Self {
        Self::Invalid { field, item: item.into(), reason: reason.into() }
    }

    /// Returns the fault that an error of an engine means, and logs the error.
    pub(crate) fn of_engine(error: &EngineError) -> Self {
        tracing::error!(%error, "the engine failed");
        match error {
            EngineError::Length { .. }
            | EngineError::Rows { .. }
            | EngineError::RowOverflow { .. }
            | EngineError::ForeignKeys => Self::Internal,
            #[cfg(feature = "cuda")]
            EngineError::Options { .. } => Self::DeviceMemory,
            #[cfg(feature = "cuda")]
            EngineError::Device {
                error: RuntimeError::OutOfMemory { .. } | RuntimeError::OutOfHostMemory { .. },
                ..
            } => Self::DeviceMemory,
            _ => Self::Lost,
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidArgument,
            Self::OtherOwner { .. } | Self::PlainKeys | Self::NoQuota => Code::PermissionDenied,
            Self::NoSealingKey | Self::KeyTooOld { .. } => Code::FailedPrecondition,
            Self::NotLoaded => Code::NotFound,
            Self::QueueFull
            | Self::KeysFull
            | Self::MemoryFull
            | Self::QuotaSpent
            | Self::KeySpent => Code::ResourceExhausted,
            #[cfg(feature = "cuda")]
            Self::DeviceMemory => Code::ResourceExhausted,
            Self::Slow { .. } | Self::Expired => Code::DeadlineExceeded,
            Self::Leaving | Self::Lost => Code::Unavailable,
            Self::Internal => Code::Internal,
        }
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        let (code, message) = (fault.code(), fault.to_string());
        match fault {
            Fault::Invalid { field, item, reason } => {
                let described = match item {
                    Some(item) => format!("item {item}: {reason}"),
                    None => reason,
                };
                let details =
                    ErrorDetails::with_bad_request_violation(place(field, item), described);
                Self::with_error_details(code, message, details)
            }
            _ => Self::new(code, message),
        }
    }
}
