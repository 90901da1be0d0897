//! Tables of twiddle factors, for lengths that are known only at run time. The tables are not
//! secret.

use super::CyclicError;
use crate::ntt::roots::bit_reverse;
use crate::reduce::{ReduceSum, Reducer};
use ctru_math::kernel::modular::{inverse_mod, power};

/// Returns a root of unity of order `len` modulo the prime `modulus`.
fn root(modulus: u32, len: usize) -> Result<u64, CyclicError> {
    let order = u64::from(modulus) - 1;
    if !len.is_power_of_two() || len < 2 || !order.is_multiple_of(len as u64) {
        return Err(CyclicError::NoRoot { modulus, len });
    }
    // The root to the power len / 2 is -1, so the root has the order len.
    (2..u64::from(modulus))
        .map(|base| power(base, order / len as u64, modulus.into()))
        .find(|&root| power(root, len as u64 / 2, modulus.into()) == order)
        .ok_or(CyclicError::NoRoot { modulus, len })
}

/// Returns the factor that is congruent to `a`, for `a < MODULUS`.
fn factor<M: Reducer>(a: u64) -> M::Factor {
    let modulus = i64::from(M::MODULUS);
    let a = a as i64;
    M::factor(if a > modulus / 2 { a - modulus } else { a } as i32)
}

/// Fills in the factors of the forward layer that has `table.len()` blocks: entry `j` belongs to
/// block `j`. The layers before it use the first entries of the same table.
///
/// # Errors
/// Returns [`CyclicError::NoRoot`] if the number of blocks is not a power of two or if the field
/// has no transform of twice this length.
pub fn forward_layer<M: Reducer>(table: &mut [M::Factor]) -> Result<(), CyclicError> {
    let len = 2 * table.len();
    let (modulus, root) = (u64::from(M::MODULUS), root(M::MODULUS, len)?);
    let mut z = 1;
    for exponent in 0..table.len() {
        table[bit_reverse(exponent, len.ilog2() - 1)] = factor::<M>(z);
        z = z * root % modulus;
    }
    Ok(())
}

/// Fills in the factors of the inverse layer that merges blocks of length `factors.len()`: entry
/// `i` belongs to position `i`.
///
/// # Errors
/// Returns [`CyclicError::NoRoot`] if the length of the blocks is not a power of two or if the
/// field has no transform of twice this length.
pub fn inverse_layer<M: Reducer>(factors: &mut [M::Factor]) -> Result<(), CyclicError> {
    let len = 2 * factors.len();
    let (modulus, root) = (u64::from(M::MODULUS), root(M::MODULUS, len)?);
    let inverse = power(root, len as u64 - 1, modulus);
    let mut z = 1;
    for entry in factors {
        *entry = factor::<M>(z);
        z = z * inverse % modulus;
    }
    Ok(())
}

/// Fills in the factors of all inverse layers, for length `table.len()`: entry `half + i` belongs
/// to position `i` in the layer that merges blocks of length `half`. The last step multiplies by
/// entry 0.
pub(super) fn inverse<M: Reducer, P: ReduceSum>(
    table: &mut [M::Factor],
) -> Result<(), CyclicError> {
    let (len, modulus) = (table.len(), u64::from(M::MODULUS));
    inverse_layer::<M>(&mut table[len / 2..])?;
    for entry in (1..len / 2).rev() {
        table[entry] = table[2 * entry];
    }
    let scale = inverse_mod(len as u64, modulus) * u64::from(P::RADIX) % modulus;
    table[0] = factor::<M>(scale);
    Ok(())
}
