//! Random bytes from a caller's generator, for operations that are compiled in this crate.

use rand_core::TryCryptoRng;

/// Fills a slice with random bytes.
pub type Source<'a> = &'a mut dyn FnMut(&mut [u8]) -> Result<(), NoRandomness>;

/// The generator behind a [`Source`] failed. It keeps its error.
#[derive(Debug)]
pub struct NoRandomness;

/// Runs an operation that takes its random bytes from `rng`.
///
/// # Errors
/// The error of the generator.
pub(crate) fn with_source<G: TryCryptoRng + ?Sized>(
    rng: &mut G,
    operation: impl FnOnce(Source<'_>) -> Result<(), NoRandomness>,
) -> Result<(), G::Error> {
    let mut error = None;
    let done = operation(&mut |bytes| {
        rng.try_fill_bytes(bytes).map_err(|reason| {
            error = Some(reason);
            NoRandomness
        })
    });
    match error {
        Some(error) => Err(error),
        None => {
            done.expect("nothing but the generator fails");
            Ok(())
        }
    }
}
