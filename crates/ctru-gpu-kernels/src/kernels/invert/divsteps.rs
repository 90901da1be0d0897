//! Inversion by division steps, one block for each element: the algorithm of [`ctru_math::invert`],
//! which names the source.
//!
//! A thread holds eight neighbouring coefficients of each of the four polynomials in registers. In
//! each step it needs one coefficient of either neighbour and the two constant coefficients. They
//! go through shared memory, in two areas by turns, so that a step has one barrier.

use core::marker::PhantomData;

use ctru_math::ntt::NttRing;
use ctru_math::reduce::{Reducer, centre};

use crate::descriptor::{Batch, Shape};
use crate::kernels::row;
use crate::simt::{Simt, WARP};

/// Coefficients of a polynomial that a thread holds.
const HELD: usize = 8;

/// Returns the threads that hold `n + 1` coefficients, whole warps.
const fn threads<R: NttRing>() -> u32 {
    (R::N as u32 + 1).div_ceil(HELD as u32).next_multiple_of(WARP)
}

/// Returns blocks for one element.
#[must_use]
pub const fn shape<R: NttRing>() -> Shape {
    Shape { threads: threads::<R>(), per_block: 1, shared_bytes: 2 * area_bytes::<R>() }
}

/// Inverts elements of `R_q`; the result for zero is zero.
///
/// Threads: one block for each element, one thread for eight coefficients.
/// Shared memory: two areas with two numbers for each thread.
/// Arrays: `elements` and `inverses`, in `0..q`.
/// Source: [`ctru_math::invert`].
#[inline(always)]
pub fn invert<S: Simt, R: NttRing>(
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

/// Inverts the polynomial with the centred coefficients `element(i)`. Calls `output` with each
/// coefficient of the inverse, in `0..q`.
#[inline(always)]
fn divide_one<S: Simt, R: NttRing>(s: S, element: impl Fn(u32) -> i32, output: impl Fn(u32, u32)) {
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
        let g0 = R::CoefficientReducer::canonical(g0) as i32;
        let swap = (-delta >> 31) & (-g0 >> 31);
        delta = (delta ^ (swap & (delta ^ -delta))) + 1;
        let step = Step::<R> { swap, f0, minus_g0: -g0, ring: PhantomData };
        // The other coefficients cannot matter any more. Their number is public.
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
    let scale = factor::<R>(reciprocal::<R>(area.receive().f0));
    for j in 0..HELD {
        let i = first + j as u32;
        if i < n {
            output(
                n - 1 - i,
                R::CoefficientReducer::canonical(R::CoefficientReducer::mul(own.v[j], scale)),
            );
        }
    }
}

/// A thread's part of the polynomials: residues of at most the reducer's output bound.
struct Held {
    f: [i32; HELD],
    g: [i32; HELD],
    v: [i32; HELD],
    r: [i32; HELD],
}

/// Returns `coefficient(i)` for the coefficients from `first` on that a thread holds.
#[inline(always)]
fn held(first: u32, coefficient: impl Fn(u32) -> i32) -> [i32; HELD] {
    core::array::from_fn(|j| coefficient(first + j as u32))
}

/// A division step on a pair of coefficients: a swap, then `(f, g)` becomes `(f, f0 g - g0 f)`.
struct Step<R> {
    /// All ones to swap, or zero.
    swap: i32,
    /// The constant coefficient of `f` before the swap. `g` matters only up to a factor, its sign
    /// included, so the swap does not change the new `g`.
    f0: i32,
    /// The negated constant coefficient of `g`: a product by it and a sum are one instruction.
    minus_g0: i32,
    ring: PhantomData<R>,
}

impl<R: NttRing> Step<R> {
    #[inline(always)]
    fn apply(&self, f: i32, g: i32) -> (i32, i32) {
        let combined = R::CoefficientReducer::normalise(self.f0 * g + self.minus_g0 * f);
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

/// Returns the bytes of an area: one number of each thread and one more for either direction, and
/// the constant coefficients.
const fn area_bytes<R: NttRing>() -> u32 {
    4 * (2 * (threads::<R>() + 1) + 2)
}

/// An area of shared memory through which threads exchange numbers.
#[derive(Copy, Clone)]
struct Area<S, R> {
    s: S,
    start: u32,
    ring: PhantomData<R>,
}

/// The numbers that a thread receives before a step.
struct Received {
    f0: i32,
    /// The constant coefficient of `g / x`.
    g0: i32,
    g_above: i32,
    v_below: i32,
}

impl<S: Simt, R: NttRing> Area<S, R> {
    /// Returns the first area for an even `number`, the second one for an odd `number`.
    #[inline(always)]
    fn of(s: S, number: u32) -> Self {
        Self { s, start: number % 2 * area_bytes::<R>(), ring: PhantomData }
    }

    /// Returns where thread `thread` puts its lowest coefficient of `g`. The place behind the last
    /// thread's stays 0.
    #[inline(always)]
    fn lowest_g(self, thread: u32) -> u32 {
        self.start + 4 * thread
    }

    /// Returns where thread `thread - 1` puts its highest coefficient of `v`. Place 0 stays 0.
    #[inline(always)]
    fn highest_v(self, thread: u32) -> u32 {
        self.lowest_g(threads::<R>() + 1) + 4 * thread
    }

    /// Returns where the constant coefficients lie.
    #[inline(always)]
    fn constants(self) -> [u32; 2] {
        [self.highest_v(threads::<R>() + 1), self.highest_v(threads::<R>() + 2)]
    }

    /// Sets the numbers that the first and the last thread receive.
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

/// Returns a residue as a factor.
#[inline(always)]
fn factor<R: NttRing>(x: i32) -> <R::CoefficientReducer as Reducer>::Factor {
    R::CoefficientReducer::factor(R::CoefficientReducer::centred(x))
}

/// Returns `1 / x = x^(q-2)` (Fermat). The exponent is public.
#[inline(always)]
fn reciprocal<R: NttRing>(x: i32) -> i32 {
    let exponent = R::Q - 2;
    let mut power = x;
    for bit in (0..exponent.ilog2()).rev() {
        power = R::CoefficientReducer::mul(power, factor::<R>(power));
        if exponent >> bit & 1 == 1 {
            power = R::CoefficientReducer::mul(power, factor::<R>(x));
        }
    }
    power
}

/// Proof that a step stays in 32 bits.
struct Lazy<R>(PhantomData<R>);

impl<R: NttRing> Lazy<R> {
    /// `|f0 g - g0 f|` for residues of at most the output bound fits the input bound.
    const BOUND: () = {
        let largest = <R::CoefficientReducer as Reducer>::OUTPUT_BOUND as i64;
        assert!(2 * largest * largest <= <R::CoefficientReducer as Reducer>::INPUT_BOUND as i64);
    };
}
