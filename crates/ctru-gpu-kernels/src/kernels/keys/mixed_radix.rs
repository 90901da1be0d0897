//! Kernels for keys whose polynomial `h` has NTRU Prime's mixed-radix encoding, see
//! [`ctru_math::codec::mixed_radix`].
//!
//! The pairs of a level are independent, so the threads share them. The values of even and of odd
//! levels lie in different areas of shared memory. Each level has code of its own, in which its
//! radices are constants.

use core::cell::Cell;
use core::marker::PhantomData;

use ctru_math::mixed_radix::{Level, Plan, combine, split};
use ctru_math::{NtruPrimeRing, Ring};

use super::{Encoding, key_kernels};
use crate::kernels::keys;
use crate::kernels::{unrolled, warp};
use crate::simt::Simt;

key_kernels!(MixedRadix);

/// The mixed-radix encoding.
pub(crate) enum MixedRadix {}

impl<R: Ring> Encoding<R> for MixedRadix {
    const BYTES: u32 = R::MIXED_RADIX.bytes() as u32;

    #[inline(always)]
    fn decode<S: Simt>(s: S) -> u32 {
        decode_list::<S, AllNumbers<R>>(s, Places::of_key::<S, R>(s))
    }

    #[inline(always)]
    fn encode<S: Simt>(s: S) {
        encode_list::<S, AllNumbers<R>>(s, Places::of_key::<S, R>(s));
    }
}

/// A list of `n` numbers and the plan of its encoding.
pub(crate) trait Numbers {
    const PLAN: Plan;
}

/// Numbers below `q`.
pub(crate) struct AllNumbers<R>(PhantomData<R>);

impl<R: NtruPrimeRing> Numbers for AllNumbers<R> {
    const PLAN: Plan = R::MIXED_RADIX;
}

/// Numbers of multiples of 3.
pub(crate) struct Thirds<R>(PhantomData<R>);

impl<R: NtruPrimeRing> Numbers for Thirds<R> {
    const PLAN: Plan = R::MIXED_RADIX_THIRDS;
}

/// Where an encoding lies in shared memory. The addresses are multiples of 4.
#[derive(Copy, Clone)]
pub(crate) struct Places {
    /// The string.
    pub(crate) string: u32,
    /// The list of the numbers, with 16 bits each.
    pub(crate) list: u32,
    /// A list of half the length.
    pub(crate) half_list: u32,
}

impl Places {
    /// Returns the places of this warp's key.
    #[inline(always)]
    fn of_key<S: Simt, R: Ring>(s: S) -> Self {
        Self {
            string: keys::string::<S, R>(s),
            list: keys::list::<S, R>(s),
            half_list: keys::half_list::<S, R>(s),
        }
    }

    /// Returns the address of the list of level `number`. Level 0 is the whole list.
    #[inline(always)]
    fn list(self, number: u32) -> u32 {
        if number.is_multiple_of(2) { self.list } else { self.half_list }
    }

    /// Returns the address of the bytes of pair `pair` of a level.
    #[inline(always)]
    fn pair(self, level: &Level, pair: u32) -> u32 {
        self.string + level.offset as u32 + level.pair_bytes as u32 * pair
    }
}

/// Decodes the string and writes the list, as [`Encoding::decode`] does. Each number is below its
/// radix.
#[inline(always)]
pub(crate) fn decode_list<S: Simt, N: Numbers>(s: S, places: Places) -> u32 {
    let plan = const { &N::PLAN };
    let depth = const { levels::<N>() };
    let excess = Cell::new(0);
    if s.lane() == 0 {
        let bytes = (plan.bytes() - plan.root_offset()) as u32;
        let address = places.string + plan.root_offset() as u32;
        let root = low_bytes(s, address, bytes, false);
        let (quotient, root) = plan.root().divide(root);
        excess.set(quotient);
        s.store_shared(places.list(depth), root as u16);
    }
    unrolled!(above < levels::<N>(), {
        s.sync_warp();
        let number = depth - 1 - above;
        let level = &plan.levels()[number as usize];
        let (next, values) = (places.list(number + 1), places.list(number));
        warp::for_each(s, pairs(level), |pair| {
            let value = u32::from(s.load_shared::<u16>(next + 2 * pair));
            let (bytes, radix) = pair_of(level, pair);
            let place = places.pair(level, pair);
            let joined = low_bytes(s, place, bytes, aligned(level)) | value << (8 * bytes);
            let ([even, odd], reduced) = split(level.radix, radix, joined);
            let both = u32::from(even) | u32::from(odd) << 16;
            let is_alone = is_alone(level, pair);
            excess.set(excess.get() | if is_alone { 0 } else { reduced });
            s.store_shared(values + 4 * pair, if is_alone { value } else { both });
        });
    });
    excess.get()
}

/// Encodes the list and writes the string, as [`Encoding::encode`] does. Nothing depends on the
/// list from `n` on.
#[inline(always)]
pub(crate) fn encode_list<S: Simt, N: Numbers>(s: S, places: Places) {
    let plan = const { &N::PLAN };
    let depth = const { levels::<N>() };
    unrolled!(number < levels::<N>(), {
        let level = &plan.levels()[number as usize];
        let (values, next) = (places.list(number), places.list(number + 1));
        warp::for_each(s, pairs(level), |pair| {
            let both = match is_alone(level, pair) {
                true => s.load_shared::<u16>(values + 4 * pair).into(),
                false => s.load_shared::<u32>(values + 4 * pair),
            };
            let joined = combine(level.radix.value, both as u16, (both >> 16) as u16);
            let (bytes, _) = pair_of(level, pair);
            let place = places.pair(level, pair);
            set_low_bytes(s, place, bytes, aligned(level), joined);
            s.store_shared(next + 2 * pair, (joined >> (8 * bytes)) as u16);
        });
        s.sync_warp();
    });
    if s.lane() == 0 {
        let bytes = (plan.bytes() - plan.root_offset()) as u32;
        let root = u32::from(s.load_shared::<u16>(places.list(depth)));
        let address = places.string + plan.root_offset() as u32;
        set_low_bytes(s, address, bytes, false, root);
    }
}

/// Returns the number of levels.
const fn levels<N: Numbers>() -> u32 {
    N::PLAN.levels().len() as u32
}

/// Returns the number of pairs of a level. A last value without a partner counts as a pair with 0,
/// which adds no byte to the string, and the lists have room for the 0. If one thread copied this
/// value by itself, the assembler would compute the address in a branch of other threads, and the
/// check of machine code could not follow it.
#[inline(always)]
fn pairs(level: &Level) -> u32 {
    level.count.div_ceil(2) as u32
}

/// Returns whether pair `pair` of a level is its last value without a partner.
#[inline(always)]
fn is_alone(level: &Level, pair: u32) -> bool {
    !level.count.is_multiple_of(2) && pair == level.regular_pairs() as u32
}

/// Returns the number of bytes, 0 to 2, that pair `pair` of a level contributes to the string, and
/// the radix of its second value. They differ for the last pair if it contains the last value.
#[inline(always)]
fn pair_of(level: &Level, pair: u32) -> (u32, u32) {
    if pair < level.regular_pairs() as u32 {
        (level.pair_bytes as u32, level.radix.value)
    } else {
        (level.last_pair_bytes as u32, level.last_radix.value)
    }
}

/// Returns `bytes <= 2` bytes of the string as a number. If `aligned`, the address is even.
#[inline(always)]
fn low_bytes<S: Simt>(s: S, address: u32, bytes: u32, aligned: bool) -> u32 {
    if aligned && bytes == 2 {
        return s.load_shared::<u16>(address).into();
    }
    let byte = |k: u32| match k < bytes {
        true => u32::from(s.load_shared::<u8>(address + k)) << (8 * k),
        false => 0,
    };
    byte(0) | byte(1)
}

/// Writes the low `bytes <= 2` bytes of a number to the string. If `aligned`, the address is even.
#[inline(always)]
fn set_low_bytes<S: Simt>(s: S, address: u32, bytes: u32, aligned: bool, number: u32) {
    if aligned && bytes == 2 {
        return s.store_shared(address, number as u16);
    }
    for k in 0..2 {
        if k < bytes {
            s.store_shared(address + k, (number >> (8 * k)) as u8);
        }
    }
}

/// Returns whether the bytes of a level's pairs begin at even addresses.
#[inline(always)]
fn aligned(level: &Level) -> bool {
    (level.offset | level.pair_bytes).is_multiple_of(2)
}
