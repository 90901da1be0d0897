//! Random bytes from a caller's generator, for operations that are compiled in this crate.

/// Fills a slice with random bytes.
pub type Source<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), NoRandomness>;

/// The generator behind a [`Source`] failed. It keeps its error.
#[derive(Debug)]
pub struct NoRandomness;
