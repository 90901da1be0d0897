//! Kernels for keys whose polynomial `h` has NTRU Prime's mixed-radix encoding, see
//! [`ctru_math::codec::mixed_radix`].
//!
//! The pairs of a level are independent, so the threads share them. The values of even and of odd
//! levels lie in different areas of shared memory.

use core::cell::Cell;

use ctru_math::Ring;
use ctru_math::kernel::mixed_radix::{Level, Plan, combine, split};

use super::{Encoding, key_kernels};
use crate::kernels::keys;
use crate::kernels::warp;
use crate::simt::Simt;

key_kernels!(MixedRadix);

/// The mixed-radix encoding.
pub(crate) enum MixedRadix {}

impl<R: Ring> Encoding<R> for MixedRadix {
    const BYTES: u32 = Plan::of::<R>().bytes() as u32;

    #[inline(always)]
    fn decode<S: Simt>(s: S) -> u32 {
        let plan = const { &Plan::of::<R>() };
        let depth = plan.levels().len() as u32;
        let excess = Cell::new(0);
        if s.lane() == 0 {
            let bytes = (plan.bytes() - plan.root_offset()) as u32;
            let root = low_bytes::<S, R>(s, plan.root_offset() as u32, bytes);
            let (quotient, root) = plan.root().divide(root);
            excess.set(quotient);
            s.store_shared(list::<S, R>(s, depth), root as u16);
        }
        for number in (0..depth).rev() {
            s.sync_warp();
            let level = s.constant(plan.levels(), number);
            let (next, values) = (list::<S, R>(s, number + 1), list::<S, R>(s, number));
            warp::for_each(s, level.count.div_ceil(2) as u32, |pair| {
                let value = s.load_shared::<u16>(next + 2 * pair);
                match Pair::new(&level, pair) {
                    Some(Pair { offset, bytes, odd_radix }) => {
                        let joined =
                            low_bytes::<S, R>(s, offset, bytes) | u32::from(value) << (8 * bytes);
                        let ([even, odd], reduced) = split(level.radix, odd_radix, joined);
                        excess.set(excess.get() | reduced);
                        s.store_shared(values + 4 * pair, u32::from(even) | u32::from(odd) << 16);
                    }
                    None => s.store_shared(values + 4 * pair, value),
                }
            });
        }
        excess.get()
    }

    #[inline(always)]
    fn encode<S: Simt>(s: S) {
        let plan = const { &Plan::of::<R>() };
        let depth = plan.levels().len() as u32;
        for number in 0..depth {
            let level = s.constant(plan.levels(), number);
            let (values, next) = (list::<S, R>(s, number), list::<S, R>(s, number + 1));
            warp::for_each(s, level.count.div_ceil(2) as u32, |pair| {
                match Pair::new(&level, pair) {
                    Some(Pair { offset, bytes, .. }) => {
                        let both = s.load_shared::<u32>(values + 4 * pair);
                        let joined = combine(level.radix.value, both as u16, (both >> 16) as u16);
                        set_low_bytes::<S, R>(s, offset, bytes, joined);
                        s.store_shared(next + 2 * pair, (joined >> (8 * bytes)) as u16);
                    }
                    None => {
                        s.store_shared(next + 2 * pair, s.load_shared::<u16>(values + 4 * pair));
                    }
                }
            });
            s.sync_warp();
        }
        if s.lane() == 0 {
            let bytes = (plan.bytes() - plan.root_offset()) as u32;
            let root = u32::from(s.load_shared::<u16>(list::<S, R>(s, depth)));
            set_low_bytes::<S, R>(s, plan.root_offset() as u32, bytes, root);
        }
    }
}

/// Returns the address of the list of level `number`. Level 0 is the list of coefficients.
#[inline(always)]
fn list<S: Simt, R: Ring>(s: S, number: u32) -> u32 {
    if number.is_multiple_of(2) { keys::list::<S, R>(s) } else { keys::half_list::<S, R>(s) }
}

/// The parameters of a pair. They differ for the last pair of a level.
struct Pair {
    /// Offset of its bytes in the string.
    offset: u32,
    /// Number of bytes that it contributes to the string, 0 to 2.
    bytes: u32,
    /// Radix of its second value.
    odd_radix: u32,
}

impl Pair {
    /// Returns pair `pair` of a level, or `None` if this pair consists of the last value alone.
    #[inline(always)]
    fn new(level: &Level, pair: u32) -> Option<Self> {
        let offset = level.offset as u32 + level.pair_bytes as u32 * pair;
        if pair < level.regular_pairs() as u32 {
            Some(Self { offset, bytes: level.pair_bytes as u32, odd_radix: level.radix.value })
        } else if level.count.is_multiple_of(2) {
            Some(Self {
                offset,
                bytes: level.last_pair_bytes as u32,
                odd_radix: level.last_radix.value,
            })
        } else {
            None
        }
    }
}

/// Returns `bytes <= 2` bytes of the string as a number.
#[inline(always)]
fn low_bytes<S: Simt, R: Ring>(s: S, offset: u32, bytes: u32) -> u32 {
    let byte = |k: u32| match k < bytes {
        true => u32::from(s.load_shared::<u8>(keys::string::<S, R>(s) + offset + k)) << (8 * k),
        false => 0,
    };
    byte(0) | byte(1)
}

/// Writes the low `bytes <= 2` bytes of a number to the string.
#[inline(always)]
fn set_low_bytes<S: Simt, R: Ring>(s: S, offset: u32, bytes: u32, number: u32) {
    for k in 0..2 {
        if k < bytes {
            s.store_shared(keys::string::<S, R>(s) + offset + k, (number >> (8 * k)) as u8);
        }
    }
}
