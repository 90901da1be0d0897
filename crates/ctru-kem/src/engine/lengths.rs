//! Checks of the lengths of a batch's slices.

use crate::batch::{EngineError, KeyRows, Seeds, check_length, count_rows};
use crate::hash::{KEY_PAIR_SEED_BYTES, SHARED_SECRET_BYTES};
use crate::parameters::Parameters;

/// Checks the lengths of a key generation. `encapsulation_keys` is `None` if only decapsulation
/// keys are wanted.
///
/// # Errors
/// [`EngineError`] if they do not fit together.
pub(super) fn check_generation(
    parameters: Parameters,
    seeds: Seeds<'_, KEY_PAIR_SEED_BYTES>,
    encapsulation_keys: Option<&[u8]>,
    decapsulation_keys: &[u8],
) -> Result<(), EngineError> {
    let sizes = parameters.sizes();
    let private = count_rows("decapsulation keys", sizes.decapsulation_key, decapsulation_keys)?;
    if let Some(keys) = encapsulation_keys {
        let public = count_rows("encapsulation keys", sizes.encapsulation_key, keys)?;
        check_length("decapsulation keys", public, private)?;
    }
    seeds.check(private)
}

/// Checks the lengths of a batch of encapsulations or decapsulations with keys of `key_bytes`.
/// Returns the number of operations.
///
/// # Errors
/// [`EngineError`] if the lengths do not fit together.
pub(super) fn check_operations(
    parameters: Parameters,
    key_bytes: usize,
    keys: KeyRows<'_>,
    ciphertexts: &[u8],
    shared_secrets: &[u8],
) -> Result<usize, EngineError> {
    let ciphertexts = count_rows("ciphertexts", parameters.sizes().ciphertext, ciphertexts)?;
    let secrets = count_rows("shared secrets", SHARED_SECRET_BYTES, shared_secrets)?;
    check_length("ciphertexts", secrets, ciphertexts)?;
    keys.check(parameters, secrets, |rows| count_rows("keys", key_bytes, rows))?;
    Ok(secrets)
}
