//! Many keys, ciphertexts or shared secrets in one string of bytes, one row after the other, as
//! other programs store them. The typed slices that these functions return lie in the same memory.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ctru_math::array::Array;

use crate::bytes::{Transparent, values, values_mut};
use crate::error::{InvalidDecapsulationKey, InvalidEncapsulationKey, InvalidLength, InvalidRow};
use crate::first_refused::FirstRefused;
use crate::keys::{Ciphertext, DecapsulationKey, EncapsulationKey, SharedSecret};
use crate::params::ParameterSet;

/// The least number of rows that a thread checks. Starting a thread takes as long as checking about
/// fifty rows.
const ROWS_PER_THREAD: usize = 512;

/// Checks `count` rows on all CPU cores, and returns the first one that `check` refuses.
///
/// Cost: one call of `check` per row before that one, and some calls for rows after it. The order
/// of the calls depends only on their results. The function is not generic in the keys, so that it
/// is compiled once for each error.
fn check_each<E: core::error::Error + Clone + Send>(
    count: usize,
    check: &(dyn Fn(usize) -> Result<(), E> + Sync),
) -> Result<(), InvalidRow<E>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = count.div_ceil(threads).max(ROWS_PER_THREAD);
    // The lowest refused row so far. No thread checks the rows after it.
    let lowest = AtomicUsize::new(usize::MAX);
    let refused = FirstRefused::new();
    let check_part = |first: usize| {
        for row in first..count.min(first + part) {
            if row > lowest.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = check(row) {
                lowest.fetch_min(row, Ordering::Relaxed);
                return refused.note(row, error);
            }
        }
    };
    thread::scope(|scope| {
        for first in (part..count).step_by(part) {
            let check_part = &check_part;
            let work = move || check_part(first);
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                // The system starts no further thread, so this thread does the work.
                check_part(first);
            }
        }
        check_part(0);
    });
    refused.into_result()
}

/// Returns the error of a last row that is not complete.
fn incomplete<T: Transparent, E: core::error::Error + From<InvalidLength>>(
    bytes: &[u8],
    error: InvalidLength,
) -> InvalidRow<E> {
    InvalidRow { row: bytes.len() / T::Bytes::LEN, error: error.into() }
}

/// Implements the functions for rows of keys.
macro_rules! rows_of_keys {
    ($name:ident, $check:ident, $error:ty, $rows:literal) => {
        impl<P: ParameterSet> $name<P> {
            #[doc = concat!("Checks that bytes are ", $rows, " keys, one after the other.")]
            ///
            /// All CPU cores share the work. The function accepts exactly the keys that
            /// [`from_bytes`](Self::from_bytes) accepts.
            ///
            /// # Errors
            /// [`InvalidRow`] with the first row that is not a key, and the reason. If the last row
            /// is incomplete, the error names that row, and no other row is checked.
            pub fn check_rows(bytes: &[u8]) -> Result<(), InvalidRow<$error>> {
                Self::from_rows(bytes).map(|_| ())
            }

            #[doc = concat!("Checks that bytes are ", $rows, " keys, one after the other, and")]
            /// returns them as keys in the same memory.
            ///
            /// # Errors
            /// Those of [`check_rows`](Self::check_rows).
            pub fn from_rows(bytes: &[u8]) -> Result<&[Self], InvalidRow<$error>> {
                let keys: &[Self] =
                    values(bytes).map_err(|error| incomplete::<Self, _>(bytes, error))?;
                check_each(keys.len(), &|row| P::$check(keys[row].as_ref()))?;
                Ok(keys)
            }

            /// Overwrites bytes with [placeholders](Self::placeholder), and returns these as keys
            /// in the same memory, for an engine that fills them.
            ///
            /// # Errors
            /// [`InvalidLength`] if the last row is not complete. The bytes are then unchanged.
            pub fn placeholders_in(bytes: &mut [u8]) -> Result<&mut [Self], InvalidLength> {
                let keys = values_mut::<Self>(bytes)?;
                keys.fill(Self::placeholder());
                Ok(keys)
            }
        }
    };
}

rows_of_keys!(EncapsulationKey, check_encapsulation_key, InvalidEncapsulationKey, "encapsulation");
rows_of_keys!(DecapsulationKey, check_decapsulation_key, InvalidDecapsulationKey, "decapsulation");

/// Implements the functions for rows that need no check of their content.
macro_rules! rows_of_any_bytes {
    ($($parameter:ident)?, $name:ty, $rows:literal) => {
        impl$(<$parameter: ParameterSet>)? $name {
            #[doc = concat!("Returns the ", $rows, " that bytes are, one after the other, in the")]
            /// same memory.
            ///
            /// # Errors
            /// [`InvalidLength`] if the last row is not complete.
            pub fn from_rows(bytes: &[u8]) -> Result<&[Self], InvalidLength> {
                values(bytes)
            }

            #[doc = concat!("Returns the ", $rows, " that bytes are, one after the other, in the")]
            /// same memory, for an engine that fills them.
            ///
            /// # Errors
            /// [`InvalidLength`] if the last row is not complete.
            pub fn from_rows_mut(bytes: &mut [u8]) -> Result<&mut [Self], InvalidLength> {
                values_mut(bytes)
            }
        }
    };
}

rows_of_any_bytes!(P, Ciphertext<P>, "ciphertexts");
rows_of_any_bytes!(, SharedSecret, "shared secrets");
