//! The last step of decapsulation: accepts or rejects each ciphertext without a branch.
//!
//! Source: CTRU-Prime paper, Algorithm 6.

use crate::kernels::{SEED_WORDS, warp};
use crate::simt::Simt;

/// The arrays of rejection secrets, of shared secrets, and of results.
pub type Secrets<S> =
    (<S as Simt>::Global<u64>, <S as Simt>::Global<u64>, <S as Simt>::Global<u64>);

/// Loads the secrets of an operation. Returns a function that writes the operation's result: its
/// rejection secret if the `difference` of any thread is not 0, else its shared secret. One warp
/// calls both functions. The work between the two calls need not wait for the loads.
#[inline(always)]
pub fn choice<S: Simt>(
    s: S,
    operation: u32,
    (rejection_secrets, shared_secrets, results): Secrets<S>,
) -> impl Fn(u32) {
    let word = (s.lane() < SEED_WORDS).then(|| {
        let i = SEED_WORDS * operation + s.lane();
        (i, s.load(rejection_secrets, i), s.load(shared_secrets, i))
    });
    move |difference| {
        let rejected = is_rejected(s, difference);
        if let Some((i, rejection, secret)) = word {
            let mask = u64::from(rejected).wrapping_neg();
            s.store(results, i, secret ^ (mask & (secret ^ rejection)));
        }
    }
}

/// Returns 0 if the `difference` of every thread of the warp is 0, else 1.
///
/// The number comes from a shuffle, so the compiler knows nothing about its value. If it knew that
/// the number is the result of a comparison, it could branch.
#[inline(always)]
pub(crate) fn is_rejected<S: Simt>(s: S, difference: u32) -> u32 {
    warp::reduce(s, is_not_zero(difference), |a, b| a | b)
}

/// Returns 0 if the number is 0, else 1.
#[inline(always)]
fn is_not_zero(number: u32) -> u32 {
    (number | number.wrapping_neg()) >> 31
}
