//! Inversion modulo 3 by division steps on bits. [`ctru_math::invert`] describes the steps and
//! names their source, and [`ctru_math::ternary`] has them for the CPU.
//!
//! A polynomial is two strings of bits: which coefficients are not 0, and the signs, where the sign
//! of a 0 means nothing. One or more neighbouring threads hold an element's strings in registers, a
//! part of neighbouring coefficients each. With one thread, no step needs another thread. With
//! several, the first one sends the bits that decide the step, and neighbours exchange the bits
//! that a shift moves from one part to the next.

use ctru_math::Ring;

use crate::descriptor::{Batch, Shape};
use crate::kernels::{low_bits, row, unrolled, warp};
use crate::simt::{Simt, WARP};

/// Words of neighbouring coefficients: which are not 0, and which of these are negative.
type Trits = [u32; 2];

/// Number of words that are computed or left out together.
const TOGETHER: u32 = 4;
/// Most groups of words of a thread.
const GROUPS: u32 = 6;
/// Most words of a thread.
const MOST: u32 = TOGETHER * GROUPS;
/// A thread's words of a polynomial.
type Part = [Trits; MOST as usize];

/// The threads that share an element, and their words.
#[derive(Copy, Clone)]
pub(super) struct Layout {
    /// Number of threads: 1, or a power of two up to the number of threads of a warp.
    sharing: u32,
    /// Number of words of each thread.
    words: u32,
}

impl Layout {
    pub(super) const fn new<R: Ring>(sharing: u32) -> Self {
        let words = (R::N as u32 + 1).div_ceil(32 * sharing);
        assert!(words <= MOST && WARP.is_multiple_of(sharing));
        Self { sharing, words }
    }

    /// Returns as few threads as have registers for an element: they execute the fewest
    /// instructions.
    const fn of_many<R: Ring>() -> Self {
        Self::new::<R>(if R::N < 32 * MOST as usize { 1 } else { 2 })
    }

    /// Returns the number of elements of a warp.
    const fn elements(self) -> u32 {
        WARP / self.sharing
    }

    /// Returns the number of words of an element.
    const fn all_words(self) -> u32 {
        self.sharing * self.words
    }

    /// Returns the bytes of shared memory of a warp.
    pub(super) const fn shared_bytes(self) -> u32 {
        8 * PITCH * self.all_words()
    }
}

/// Number of warps per block.
const WARPS: u32 = 2;

/// Returns the block shape: two warps of elements, whose strings shared memory holds.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    let layout = Layout::of_many::<R>();
    Shape::new(WARPS * WARP, WARPS * layout.elements(), WARPS * layout.shared_bytes())
}

/// Inverts elements modulo 3. The result for an element without an inverse means nothing.
///
/// Cost: `2 n - 1` steps of about 14 instructions for 32 coefficients.
/// Threads: one thread per element, or two for `n = 1277`.
/// Shared memory: the strings of the elements.
/// Arrays: `elements` and `inverses`, signed bytes in `-1..=1`; `invertible`, 1 for an element with
/// an inverse, or else 0.
/// Source: [`ctru_math::invert`].
#[inline(always)]
pub fn invert<S: Simt, R: Ring>(
    s: S,
    elements: S::Global<u8>,
    inverses: S::Global<u8>,
    invertible: S::Global<u64>,
    batch: Batch,
) {
    let layout = const { Layout::of_many::<R>() };
    let warp = warp::number(s);
    let first = layout.elements() * (WARPS * s.block() + warp);
    let count = batch.operations().saturating_sub(first).min(layout.elements());
    if count > 0 {
        let room = layout.shared_bytes() * warp;
        let rows = Rows { s, layout, room, first, count };
        rows.load::<R>(elements);
        let has_inverse = rows.invert::<R>();
        rows.store::<R>(inverses);
        let element = s.lane() / layout.sharing;
        if element < count && s.lane().is_multiple_of(layout.sharing) {
            s.store(invertible, first + element, has_inverse);
        }
    }
}

/// The elements of a warp: `count` rows from row `first` on, whose strings are in shared memory
/// from byte `room` on.
#[derive(Copy, Clone)]
pub(super) struct Rows<S> {
    pub(super) s: S,
    pub(super) layout: Layout,
    pub(super) room: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

/// Number of pairs of words from one word of an element to its next one in shared memory. The
/// number is odd, so that the words of an element lie in different banks.
const PITCH: u32 = WARP + 1;

impl<S: Simt> Rows<S> {
    /// Returns the address of word `word` of an element.
    #[inline(always)]
    fn address(self, element: u32, word: u32) -> u32 {
        self.room + 8 * (PITCH * word + element)
    }

    /// Returns word `word` of an element, or 0 for other words. Negative numbers are such words.
    #[inline(always)]
    fn word(self, element: u32, word: u32) -> Trits {
        if word >= self.layout.all_words() {
            return [0; 2];
        }
        let pair = self.s.load_shared::<u64>(self.address(element, word));
        [pair as u32, (pair >> 32) as u32]
    }

    #[inline(always)]
    fn set_word(self, element: u32, word: u32, [nonzero, negative]: Trits) {
        let pair = u64::from(negative) << 32 | u64::from(nonzero);
        self.s.store_shared(self.address(element, word), pair);
    }

    /// Calls `work(element, i)` for each element of the warp and each `i < count`.
    #[inline(always)]
    fn each(self, count: u32, work: impl Fn(u32, u32)) {
        for element in 0..self.count {
            warp::for_each(self.s, count, |i| work(element, i));
        }
    }

    /// Loads the elements: coefficient `n - i` becomes bit `i` of the strings.
    #[inline(always)]
    pub(super) fn load<R: Ring>(self, memory: S::Global<u8>) {
        let groups = row::<R>() / 8;
        self.each(self.layout.all_words(), |element, word| {
            // The lowest coefficient of the word, which may be negative.
            let lowest = (R::N as u32 - 31).wrapping_sub(32 * word);
            let first = (lowest as i32 >> 3) as u32;
            let mut strings = [0_u64; 2];
            for k in 0..5 {
                let group = first.wrapping_add(k);
                if group < groups {
                    let inside = low_bits((R::N as u32 - 8 * group).min(8));
                    let row = groups * (self.first + element);
                    let coefficients = self.s.load(self.s.cast::<u8, u64>(memory), row + group);
                    for (i, string) in strings.iter_mut().enumerate() {
                        let bits = gather(coefficients >> i) & inside;
                        *string |= u64::from(bits) << (8 * k);
                    }
                }
            }
            let word_of = |string: u64| ((string >> (lowest % 8)) as u32).reverse_bits();
            self.set_word(element, word, strings.map(word_of));
        });
        self.s.sync_warp();
    }

    /// Stores the elements: bit `i` of the strings becomes coefficient `n - 1 - i`.
    #[inline(always)]
    pub(super) fn store<R: Ring>(self, memory: S::Global<u8>) {
        self.s.sync_warp();
        let groups = row::<R>() / 8;
        self.each(groups, |element, group| {
            // The bit of the last coefficient of the group, which may be negative.
            let lowest = (R::N as u32 - 8).wrapping_sub(8 * group);
            let word = (lowest as i32 >> 5) as u32;
            let [low, high] = [0, 1].map(|k| self.word(element, word.wrapping_add(k)));
            let [nonzero, negative] = [0, 1].map(|i| {
                let string = u64::from(high[i]) << 32 | u64::from(low[i]);
                scatter(((string >> (lowest % 32)) as u8).reverse_bits())
            });
            let row = groups * (self.first + element);
            let coefficients = nonzero | ((nonzero & negative) * 0xfe);
            self.s.store(self.s.cast::<u8, u64>(memory), row + group, coefficients);
        });
    }

    /// Replaces the element of this thread, as [`load`](Self::load) leaves it, by its inverse, as
    /// [`store`](Self::store) expects it. Returns 1 if it has an inverse, or else 0.
    #[inline(always)]
    pub(super) fn invert<R: Ring>(self) -> u64 {
        let Self { s, layout, count, .. } = self;
        let n = R::N as u32;
        let (element, place) = (s.lane() / layout.sharing, s.lane() % layout.sharing);
        // f = 1 - x^(n-1) - x^n; g = x^n a(1/x), which the first step divides by x.
        let one = |word, i: u32| if word == i / 32 { 1 << (i % 32) } else { 0_u32 };
        let mut own = Held::default();
        upwards(layout.words, u32::MAX, |k| {
            let word = layout.words * place + k as u32;
            let highest = one(word, n - 1) | one(word, n);
            own.f[k] = [one(word, 0) | highest, highest];
            own.g[k] = if element < count { self.word(element, word) } else { [0; 2] };
            own.r[k] = [one(word, 0), 0];
        });
        let (steps, mut delta) = (2 * n - 1, 1);
        for number in 0..steps {
            own.step(s, layout, &mut delta, [steps - number, number + 2]);
        }
        let [_, negative] = own.f[0];
        let factor = ones(s.shuffle(negative, s.lane() - place));
        upwards(layout.words, u32::MAX, |k| {
            let [nonzero, negative] = own.v[k];
            if element < count {
                let word = layout.words * place + k as u32;
                self.set_word(element, word, [nonzero, negative ^ factor]);
            }
        });
        u64::from(delta == 0)
    }
}

/// Calls `work(k)` for each word `k < words` of a thread, in ascending order, but not for groups of
/// words with no coefficient below `coefficients`.
#[inline(always)]
fn upwards(words: u32, coefficients: u32, mut work: impl FnMut(usize)) {
    unrolled!(group < GROUPS, {
        if TOGETHER * group < words && 32 * TOGETHER * group < coefficients {
            for k in 0..TOGETHER {
                in_part(words, TOGETHER * group + k, &mut work);
            }
        }
    });
}

/// Does the same in descending order.
#[inline(always)]
fn downwards(words: u32, coefficients: u32, mut work: impl FnMut(usize)) {
    unrolled!(above < GROUPS, {
        let group = (GROUPS - 1).saturating_sub(above);
        if TOGETHER * group < words && 32 * TOGETHER * group < coefficients {
            for k in (0..TOGETHER).rev() {
                in_part(words, TOGETHER * group + k, &mut work);
            }
        }
    });
}

#[inline(always)]
fn in_part(words: u32, k: u32, work: &mut impl FnMut(usize)) {
    if k < words {
        work(k as usize);
    }
}

/// Returns a word whose bits are all bit 0 of `bits`.
#[inline(always)]
fn ones(bits: u32) -> u32 {
    (bits & 1).wrapping_neg()
}

/// A thread's words of the four polynomials.
#[derive(Default)]
struct Held {
    f: Part,
    g: Part,
    v: Part,
    r: Part,
}

impl Held {
    /// Divides `g` by `x`, multiplies `v` by `x`, and does a division step. Of `f` and `g`, only
    /// the first `live` coefficients can reach the result. Of `v` and `r`, only the first `grown`
    /// ones can be other than 0.
    #[inline(always)]
    fn step<S: Simt>(&mut self, s: S, layout: Layout, delta: &mut i32, [live, grown]: [u32; 2]) {
        let Self { f, g, v, r } = self;
        let last = layout.words as usize - 1;
        let Received { first: [f0, g0], g_above, v_below } =
            Received::of(s, layout, f[0], g[0], v[last]);
        let changes = g0[0] & 1 != 0;
        let swaps = changes & (*delta > 0);
        *delta = if swaps { 1 - *delta } else { 1 + *delta };
        let step = Step { swaps, changes, same: !ones(f0[1] ^ g0[1]) };
        upwards(layout.words, live, |k| {
            let above = if k < last { g[k + 1] } else { g_above };
            let shifted = [0, 1].map(|i| g[k][i] >> 1 | above[i] << 31);
            (f[k], g[k]) = step.apply(f[k], shifted);
        });
        downwards(layout.words, grown, |k| {
            let below = if k > 0 { v[k - 1] } else { v_below };
            let shifted = [0, 1].map(|i| v[k][i] << 1 | below[i] >> 31);
            (v[k], r[k]) = step.apply(shifted, r[k]);
        });
    }
}

/// What a thread needs of other threads for a step.
struct Received {
    /// Words of `f` and of `g / x` whose lowest bits are those of the constant coefficients.
    first: [Trits; 2],
    /// Words of `g` after the thread's last ones, of which the lowest bits are used.
    g_above: Trits,
    /// Words of `v` before the thread's first ones, of which the highest bits are used.
    v_below: Trits,
}

impl Received {
    /// Exchanges the bits of the threads' first words of `f` and `g`, and last words of `v`.
    #[inline(always)]
    fn of<S: Simt>(s: S, layout: Layout, f: Trits, g: Trits, v: Trits) -> Self {
        let first = [f, g.map(|word| word >> 1)];
        if layout.sharing == 1 {
            return Self { first, g_above: [0; 2], v_below: [0; 2] };
        }
        let (lane, place) = (s.lane(), s.lane() % layout.sharing);
        // The bits 0 and 1 are those of the lowest coefficient of `g`.
        let lowest = g[0] & 3 | (g[1] & 3) << 2 | (f[1] & 1) << 4;
        let first = s.shuffle(lowest, lane - place);
        let above = s.shuffle(lowest, (lane + 1) % WARP);
        let highest = v[0] >> 31 | (v[1] >> 31) << 1;
        let below = s.shuffle(highest, lane.wrapping_sub(1) % WARP);
        let above = if place + 1 < layout.sharing { above } else { 0 };
        let below = if place > 0 { below } else { 0 };
        Self {
            first: [[1, first >> 4], [first >> 1, first >> 3]],
            g_above: [above, above >> 2],
            v_below: [below << 31, below >> 1 << 31],
        }
    }
}

/// What is the same for all words in a division step.
struct Step {
    /// Whether `f` becomes `g`.
    swaps: bool,
    /// Whether `g(0)` is not 0.
    changes: bool,
    /// All ones if the signs of `f(0)` and `g(0)` are the same, or else 0.
    same: u32,
}

impl Step {
    /// Returns `(f, g - g(0) f(0) f)`, or `(g, g - g(0) f(0) f)` if the step swaps. A swap takes
    /// the negative of what the definition has if `f(0) = g(0)`, which does not matter, as in the
    /// inversion modulo `q`.
    ///
    /// Cost: seven instructions with three operands.
    #[inline(always)]
    fn apply(&self, f: Trits, g: Trits) -> (Trits, Trits) {
        // The term that is added to g. Its sign is that of f, or the other one for equal signs.
        let term = if self.changes { f[0] } else { 0 };
        // The sign of the sum where there is a term: its sign, or the other one if g is not 0
        // either, because 1 + 1 is -1. Where the sum is 0, it means nothing.
        let sign = f[1] ^ self.same ^ g[0];
        let negative = sign & term | g[1] & !term;
        // Of two terms, the sum is 0 exactly if the sign is still that of g.
        let nonzero = (g[0] ^ term) | (negative ^ g[1]);
        (if self.swaps { g } else { f }, [nonzero, negative])
    }
}

/// Returns the lowest bit of each byte, the lowest byte's first.
#[inline(always)]
fn gather(bytes: u64) -> u32 {
    ((bytes & LOWEST).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

/// Returns bytes of 0 and 1: the inverse of [`gather`].
#[inline(always)]
fn scatter(bits: u8) -> u64 {
    // Byte i is 0 or 2^i.
    let powers = (u64::from(bits) * LOWEST) & 0x8040_2010_0804_0201;
    (powers + 0x7f * LOWEST) >> 7 & LOWEST
}

/// The lowest bit of each byte.
const LOWEST: u64 = 0x0101_0101_0101_0101;
