//! Seeds and keys of batches, and checks of their number.

use core::any::Any;
use core::fmt;
use core::marker::PhantomData;
use std::boxed::Box;

use super::error::EngineError;
use crate::expand::{Expand, Purpose};
use crate::hash::Id;
use crate::parameters::Parameters;

/// The seeds of a batch, `N` bytes for each operation.
///
/// Seeds must be uniform and secret, and each must be used once.
#[derive(Copy, Clone)]
pub enum Seeds<'a, const N: usize> {
    /// One seed for each operation.
    Each(&'a [[u8; N]]),
    /// One master seed, from which the engine derives a seed for each operation. [`Expand`] says
    /// which operations get the same seed.
    Expand(Expand<'a>),
}

/// The keys of a batch of rows of bytes: one row or one loaded key for all operations, or one for
/// each.
pub type KeyRows<'a> = KeySource<'a, [u8]>;

/// The keys of a batch, whose rows are bytes of the host ([`KeyRows`]), or memory `R` of a device.
pub enum KeySource<'a, R: ?Sized> {
    /// Rows of bytes. The engine checks that each is a key.
    Unchecked(&'a R),
    /// Rows that are keys, because this library made or checked them.
    ///
    /// With other rows, a batch may panic, and its results have no meaning: with `h = 0`, everybody
    /// can read the shared secrets.
    Trusted(&'a R),
    /// Keys that the engine has loaded.
    Loaded(&'a LoadedKeys),
}

impl<R: ?Sized> Copy for KeySource<'_, R> {}
impl<R: ?Sized> Clone for KeySource<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The keys of a typed batch.
pub enum Keys<'a, K> {
    /// One key for all operations.
    One(&'a K),
    /// One key for each operation.
    Each(&'a [K]),
    /// Keys that the engine has loaded: one for all operations, or one for each.
    Loaded(&'a Loaded<K>),
}

/// Keys that an engine has decoded into its memory. Decapsulation keys are wiped when dropped.
/// If they are few, a device engine also keeps their bytes on the host, for small batches.
///
/// An engine takes keys that it, or a clone of it, has loaded. A device engine also takes those of
/// another engine on the same devices in the same order, if it cuts batches into chunks of the same
/// size or if there is a single key.
pub struct LoadedKeys {
    parameters: Parameters,
    count: usize,
    /// The decoded keys, whose type is the engine's.
    decoded: Box<dyn Any + Send + Sync>,
}

/// [`LoadedKeys`] of the type `K`.
pub struct Loaded<K>(LoadedKeys, PhantomData<K>);

/// Checks that the slice with the name `slice` has `expected` elements.
///
/// # Errors
/// [`EngineError::Length`] if it has another number of elements.
pub(crate) fn check_length(
    slice: &'static str,
    expected: usize,
    actual: usize,
) -> Result<(), EngineError> {
    if actual == expected { Ok(()) } else { Err(EngineError::Length { slice, expected, actual }) }
}

/// Returns the number of rows that the slice with the name `slice` has.
///
/// # Errors
/// [`EngineError::Rows`] if the last row is not complete.
pub(crate) fn count_rows(
    slice: &'static str,
    row_bytes: usize,
    bytes: &[u8],
) -> Result<usize, EngineError> {
    match bytes.len() {
        actual if !actual.is_multiple_of(row_bytes) => {
            Err(EngineError::Rows { slice, row_bytes, actual })
        }
        actual => Ok(actual / row_bytes),
    }
}

impl LoadedKeys {
    /// Returns `count` decoded keys.
    pub(crate) fn new<D: Any + Send + Sync>(
        parameters: Parameters,
        count: usize,
        decoded: D,
    ) -> Self {
        Self { parameters, count, decoded: Box::new(decoded) }
    }

    /// Returns the decoded keys.
    ///
    /// # Errors
    /// [`EngineError::ForeignKeys`] if they are not of the type `D`.
    pub(crate) fn decoded<D: Any>(&self) -> Result<&D, EngineError> {
        self.decoded.downcast_ref().ok_or(EngineError::ForeignKeys)
    }

    /// Returns the parameters of the keys.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// Returns the number of keys.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

impl<K> Loaded<K> {
    pub(crate) fn new(keys: LoadedKeys) -> Self {
        Self(keys, PhantomData)
    }

    /// Returns the keys without their type, for batches of rows.
    #[must_use]
    pub fn keys(&self) -> &LoadedKeys {
        &self.0
    }
}

impl<'a, R: ?Sized> KeySource<'a, R> {
    /// Returns the rows, if there are any.
    #[cfg(feature = "gpu")]
    pub(crate) fn rows(self) -> Option<&'a R> {
        match self {
            Self::Unchecked(rows) | Self::Trusted(rows) => Some(rows),
            Self::Loaded(_) => None,
        }
    }

    /// Checks that there is one key or one for each of `operations`. `count` returns the number of
    /// rows.
    ///
    /// # Errors
    /// That of `count`, [`EngineError::Length`], or [`EngineError::ForeignKeys`] if loaded keys
    /// have other parameters.
    pub(crate) fn check(
        self,
        parameters: Parameters,
        operations: usize,
        count: impl FnOnce(&R) -> Result<usize, EngineError>,
    ) -> Result<(), EngineError> {
        let (name, count) = match self {
            Self::Unchecked(rows) | Self::Trusted(rows) => ("keys", count(rows)?),
            Self::Loaded(keys) if keys.parameters != parameters => {
                return Err(EngineError::ForeignKeys);
            }
            Self::Loaded(keys) => ("loaded keys", keys.count),
        };
        if count == 1 { Ok(()) } else { check_length(name, operations, count) }
    }
}

impl<const N: usize> Seeds<'_, N> {
    /// Checks that there are seeds for `expected` operations.
    ///
    /// # Errors
    /// - [`EngineError::Length`] if the number of seeds differs.
    /// - [`EngineError::RowOverflow`] if the row of an operation does not fit 64 bits.
    pub(crate) fn check(&self, expected: usize) -> Result<(), EngineError> {
        match self {
            Self::Each(seeds) => check_length("seeds", expected, seeds.len()),
            Self::Expand(Expand { first, .. }) => {
                match first.checked_add(expected.saturating_sub(1) as u64) {
                    Some(_) => Ok(()),
                    None => Err(EngineError::RowOverflow { first: *first, count: expected }),
                }
            }
        }
    }

    /// Writes the seeds of operations `first..first + G` to `group`. `ids` has the `ID(pk)` of the
    /// operations' keys, or [`NO_ID`](crate::hash::NO_ID) for key generation.
    pub(crate) fn write_group<const G: usize>(
        &self,
        purpose: Purpose,
        first: usize,
        ids: [&Id; G],
        group: [&mut [u8; N]; G],
    ) {
        match self {
            Self::Each(seeds) => {
                for (seed, from) in group.into_iter().zip(&seeds[first..first + G]) {
                    seed.copy_from_slice(from);
                }
            }
            Self::Expand(expand) => expand.write_group(purpose, first, ids, group),
        }
    }
}

impl<const N: usize> fmt::Debug for Seeds<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(seeds) => write!(f, "Seeds::Each({} seeds)", seeds.len()),
            Self::Expand(expand) => write!(f, "Seeds::{expand:?}"),
        }
    }
}

impl<R: ?Sized> fmt::Debug for KeySource<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchecked(_) => f.write_str("KeySource::Unchecked(..)"),
            Self::Trusted(_) => f.write_str("KeySource::Trusted(..)"),
            Self::Loaded(keys) => write!(f, "KeySource::Loaded({keys:?})"),
        }
    }
}

impl<K> fmt::Debug for Keys<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(_) => f.write_str("Keys::One(..)"),
            Self::Each(keys) => write!(f, "Keys::Each({} keys)", keys.len()),
            Self::Loaded(keys) => write!(f, "Keys::Loaded({keys:?})"),
        }
    }
}

impl fmt::Debug for LoadedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LoadedKeys({} of {})", self.count, self.parameters)
    }
}

impl<K> fmt::Debug for Loaded<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<K> Copy for Keys<'_, K> {}
impl<K> Clone for Keys<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
