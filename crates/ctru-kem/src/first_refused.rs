//! The first of many rows that is not a key.

use core::error::Error;
use std::sync::{Mutex, PoisonError};

use crate::error::InvalidRow;

/// The first row that is not a key, of those that threads have found so far.
pub(crate) struct FirstRefused<E: Error>(Mutex<Option<InvalidRow<E>>>);

impl<E: Error> FirstRefused<E> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes that `row` is not a key because of `error`.
    pub(crate) fn note(&self, row: usize, error: E) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|before| row < before.row) {
            *first = Some(InvalidRow { row, error });
        }
    }

    /// Returns the first row as an error.
    pub(crate) fn into_result(self) -> Result<(), InvalidRow<E>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
