//! The first of many rows that is not a key.

use core::error::Error;
use std::sync::{Mutex, PoisonError};

use crate::error::InvalidRow;

/// The first row that is not a key, of those that threads have found so far, and why.
pub(crate) struct FirstRefused<E>(Mutex<Option<(usize, E)>>);

impl<E: Clone> FirstRefused<E> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes that `row` is not a key because of `error`.
    pub(crate) fn note(&self, row: usize, error: E) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|&(before, _)| row < before) {
            *first = Some((row, error));
        }
    }

    /// Returns the first row and the reason.
    pub(crate) fn first(&self) -> Option<(usize, E)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the first row as an error.
    pub(crate) fn into_result(self) -> Result<(), InvalidRow<E>>
    where
        E: Error,
    {
        self.first().map_or(Ok(()), |(row, error)| Err(InvalidRow { row, error }))
    }
}
