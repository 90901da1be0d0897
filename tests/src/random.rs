//! A generator whose bytes come from a function.

use std::convert::Infallible;

use rand_core::{CryptoRng, TryCryptoRng, TryRng};

/// A generator that fills slices by calling a function.
#[derive(Debug)]
pub struct Generator<F>(pub F);

impl<E, F> TryRng for Generator<F>
where
    E: std::error::Error,
    F: FnMut(&mut [u8]) -> Result<(), E>,
{
    type Error = E;

    fn try_next_u32(&mut self) -> Result<u32, E> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, E> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), E> {
        self.0(bytes)
    }
}

impl<E, F> TryCryptoRng for Generator<F>
where
    E: std::error::Error,
    F: FnMut(&mut [u8]) -> Result<(), E>,
{
}

/// There are no bytes left.
#[derive(Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// The number of bytes that were asked for.
    pub asked: usize,
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no bytes left when asked for {}", self.asked)
    }
}

impl std::error::Error for Exhausted {}

/// Returns a generator of these bytes, which fails after the last one.
pub fn finite(mut bytes: &[u8]) -> impl TryCryptoRng<Error = Exhausted> {
    Generator(move |filled: &mut [u8]| {
        let (first, rest) =
            bytes.split_at_checked(filled.len()).ok_or(Exhausted { asked: filled.len() })?;
        filled.copy_from_slice(first);
        bytes = rest;
        Ok(())
    })
}

/// Returns a generator of these bytes, which panics after the last one.
pub fn infallible(bytes: &[u8]) -> impl CryptoRng {
    let mut finite = finite(bytes);
    Generator(move |filled: &mut [u8]| -> Result<(), Infallible> {
        finite.try_fill_bytes(filled).unwrap();
        Ok(())
    })
}
