//! Inversion by division steps, one block per element. [`ctru_math::invert`] describes the
//! algorithm and names its source.
//!
//! The algorithm works on four polynomials `f`, `g`, `v` and `r`. A thread holds eight neighbouring
//! coefficients of each of them in registers. In each step it needs one coefficient from each
//! neighbouring thread and the constant coefficients of `f` and `g / x`. The threads exchange these
//! through shared memory. Even and odd steps use different areas, so each step needs only one
//! barrier.

use core::marker::PhantomData;

use ctru_math::Ring;
use ctru_math::kernel::modular::{Modulo, centre};

use crate::descriptor::{Batch, Shape};
use crate::kernels::row;
use crate::simt::{Simt, WARP};

/// Number of coefficients of each polynomial that a thread holds.
const HELD: usize = 8;

/// Returns the number of threads that hold `n + 1` coefficients, rounded up to whole warps.
const fn threads<R: Ring>() -> u32 {
    (R::N as u32 + 1).div_ceil(HELD as u32).next_multiple_of(WARP)
}

/// Returns the block shape: one element per block, two exchange areas in shared memory.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    Shape::new(threads::<R>(), 1, 2 * area_bytes::<R>())
}

/// Inverts elements of `R_q`. The result for zero is zero.
///
/// Threads: one block per element, one thread per eight coefficients.
/// Shared memory: two areas with two 32-bit numbers per thread.
/// Arrays: `elements` and `inverses`, coefficients in `0..q`.
/// Source: [`ctru_math::invert`].
#[inline(always)]
pub fn invert<S: Simt, R: Ring>(
    s: S,
    elements: S::Global<u16>,
    inverses: S::Global<u16>,
    _: Batch,
) {
    let row = s.block() * row::<R>();
    divide_one::<S, R>(
        s,
        |i| centre(s.load(elements, row + i), R::Q),
        |i, x| s.store(inverses, row + i, x as u16),
    );
}

/// Inverts the polynomial whose coefficients are `element(i)`, which are centred modulo `q`. Calls
/// `output(i, c)` for each coefficient `c` of the inverse, in `0..q`.
#[inline(always)]
fn divide_one<S: Simt, R: Ring>(s: S, element: impl Fn(u32) -> i32, output: impl Fn(u32, u32)) {
    let () = Lazy::<R>::BOUND;
    let n = R::N as u32;
    let steps = 2 * n - 1;
    let first = HELD as u32 * s.thread();
    // f = 1 - x^(n-1) - x^n; g = x^n a(1/x), which the first step divides by x.
    let mut own = Held {
        f: held(first, |i| i32::from(i == 0) - i32::from(i == n - 1 || i == n)),
        g: held(first, |i| if 0 < i && i <= n { element(n - i) } else { 0 }),
        v: [0; HELD],
        r: held(first, |i| i32::from(i == 0)),
    };
    Area::<S, R>::of(s, 0).prepare();
    Area::<S, R>::of(s, 1).prepare();
    let mut delta = 1;
    for number in 0..steps {
        let area = Area::<S, R>::of(s, number);
        area.send(&own);
        s.sync_block();
        let Received { f0, g0, g_above, v_below } = area.receive();
        // All ones if delta > 0 and g(0) is not 0, which swaps f and g; else zero.
        let g0 = Modulo::<R>::canonical(g0) as i32;
        let swap = (-delta >> 31) & (-g0 >> 31);
        delta = (delta ^ (swap & (delta ^ -delta))) + 1;
        let step = Step::<R> { swap, f0, minus_g0: -g0, ring: PhantomData };
        // The other coefficients of `f` and `g` can no longer reach the result, and those of `v`
        // and `r` are still zero. The numbers of coefficients are public.
        if first < (n + 1).min(steps - number) {
            step.divide(&mut own.f, &mut own.g, g_above);
        }
        if first < (n + 1).min(number + 2) {
            step.multiply(&mut own.v, &mut own.r, v_below);
        }
    }
    let area = Area::<S, R>::of(s, steps);
    area.send(&own);
    s.sync_block();
    let scale = Modulo::<R>::centred(reciprocal::<R>(area.receive().f0));
    for j in 0..HELD {
        let i = first + j as u32;
        if i < n {
            output(n - 1 - i, Modulo::<R>::canonical(Modulo::<R>::mul(own.v[j], scale)));
        }
    }
}

/// A thread's coefficients of the four polynomials. Their absolute values are at most
/// [`Modulo::BOUND`].
struct Held {
    f: [i32; HELD],
    g: [i32; HELD],
    v: [i32; HELD],
    r: [i32; HELD],
}

/// Returns the coefficients that a thread holds: `coefficient(i)` for the eight `i` from `first`
/// on.
#[inline(always)]
fn held(first: u32, coefficient: impl Fn(u32) -> i32) -> [i32; HELD] {
    core::array::from_fn(|j| coefficient(first + j as u32))
}

/// A division step: swaps `f` and `g` if necessary, then replaces `(f, g)` by `(f, f0 g - g0 f)`.
struct Step<R> {
    /// All ones if `f` and `g` are swapped, else zero.
    swap: i32,
    /// The constant coefficient of `f` before the swap. A swap changes only the sign of the new
    /// `g`. The result needs `g` only up to a constant factor, so the values before the swap always
    /// serve.
    f0: i32,
    /// The negated constant coefficient of `g`. Negated, because a product and a sum are one
    /// instruction.
    minus_g0: i32,
    ring: PhantomData<R>,
}

impl<R: Ring> Step<R> {
    #[inline(always)]
    fn apply(&self, f: i32, g: i32) -> (i32, i32) {
        let combined = Modulo::<R>::normalise(self.f0 * g + self.minus_g0 * f);
        (f ^ (self.swap & (f ^ g)), combined)
    }

    /// Divides `g` by `x` and applies the step. `g_above` is the coefficient of `g` after the
    /// thread's last one.
    #[inline(always)]
    fn divide(&self, f: &mut [i32; HELD], g: &mut [i32; HELD], g_above: i32) {
        for j in 0..HELD {
            let shifted = if j + 1 < HELD { g[j + 1] } else { g_above };
            (f[j], g[j]) = self.apply(f[j], shifted);
        }
    }

    /// Multiplies `v` by `x` and applies the step. `v_below` is the coefficient of `v` before the
    /// thread's first one.
    #[inline(always)]
    fn multiply(&self, v: &mut [i32; HELD], r: &mut [i32; HELD], v_below: i32) {
        for j in (0..HELD).rev() {
            let shifted = if j > 0 { v[j - 1] } else { v_below };
            (v[j], r[j]) = self.apply(shifted, r[j]);
        }
    }
}

/// Returns the size of an area in bytes. An area begins with two lists, one for each direction of
/// the exchange, of one number per thread and one more. The two constant coefficients follow.
const fn area_bytes<R: Ring>() -> u32 {
    4 * (2 * (threads::<R>() + 1) + 2)
}

/// An area of shared memory through which the threads exchange coefficients.
#[derive(Copy, Clone)]
struct Area<S, R> {
    s: S,
    start: u32,
    ring: PhantomData<R>,
}

/// The coefficients that a thread receives before a step.
struct Received {
    f0: i32,
    /// The constant coefficient of `g / x`.
    g0: i32,
    g_above: i32,
    v_below: i32,
}

impl<S: Simt, R: Ring> Area<S, R> {
    /// Returns the first area for an even step `number` and the second area for an odd one.
    #[inline(always)]
    fn of(s: S, number: u32) -> Self {
        Self { s, start: number % 2 * area_bytes::<R>(), ring: PhantomData }
    }

    /// Returns the address at which thread `thread` puts its lowest coefficient of `g`. One more
    /// number follows the number of the last thread and stays 0.
    #[inline(always)]
    fn lowest_g(self, thread: u32) -> u32 {
        self.start + 4 * thread
    }

    /// Returns the address at which thread `thread - 1` puts its highest coefficient of `v`. The
    /// number for thread 0 stays 0.
    #[inline(always)]
    fn highest_v(self, thread: u32) -> u32 {
        self.lowest_g(threads::<R>() + 1) + 4 * thread
    }

    /// Returns the addresses of the constant coefficients of `f` and of `g / x`.
    #[inline(always)]
    fn constants(self) -> [u32; 2] {
        [self.highest_v(threads::<R>() + 1), self.highest_v(threads::<R>() + 2)]
    }

    /// Writes the zeros that the first and the last thread receive in place of a neighbour's
    /// coefficient.
    #[inline(always)]
    fn prepare(self) {
        if self.s.thread() == 0 {
            self.s.store_shared(self.lowest_g(threads::<R>()), 0u32);
            self.s.store_shared(self.highest_v(0), 0u32);
        }
    }

    #[inline(always)]
    fn send(self, own: &Held) {
        let thread = self.s.thread();
        let send = |address, value: i32| self.s.store_shared(address, value as u32);
        send(self.lowest_g(thread), own.g[0]);
        send(self.highest_v(thread + 1), own.v[HELD - 1]);
        if thread == 0 {
            let [f0, g0] = self.constants();
            send(f0, own.f[0]);
            send(g0, own.g[1]);
        }
    }

    #[inline(always)]
    fn receive(self) -> Received {
        let thread = self.s.thread();
        let receive = |address| self.s.load_shared::<u32>(address) as i32;
        let [f0, g0] = self.constants();
        Received {
            f0: receive(f0),
            g0: receive(g0),
            g_above: receive(self.lowest_g(thread + 1)),
            v_below: receive(self.highest_v(thread)),
        }
    }
}

/// Returns `1 / x = x^(q-2)` (Fermat). The exponent is public.
#[inline(always)]
pub(super) fn reciprocal<R: Ring>(x: i32) -> i32 {
    let exponent = R::Q - 2;
    let mut power = x;
    for bit in (0..exponent.ilog2()).rev() {
        power = Modulo::<R>::mul(power, Modulo::<R>::centred(power));
        if exponent >> bit & 1 == 1 {
            power = Modulo::<R>::mul(power, Modulo::<R>::centred(x));
        }
    }
    power
}

/// A compile-time proof that a step does not overflow 32 bits.
struct Lazy<R>(PhantomData<R>);

impl<R: Ring> Lazy<R> {
    /// Proves that `|f0 g - g0 f|` fits if all residues are within the bound of products.
    const BOUND: () = {
        let largest = Modulo::<R>::BOUND as i64;
        assert!(2 * largest * largest <= i32::MAX as i64);
    };
}
