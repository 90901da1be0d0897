//! Draws the parts of a key pair again until `g` has an inverse modulo 3, one warp per operation.
//!
//! How often `g` is drawn is no secret: it tells nothing about the `g` of the key. So branches may
//! depend on the array `invertible`, but on nothing else.

use ctru_math::Ring;

use super::draw::{begin_key_pair, rho_words};
use super::invert::{Layout, Rows};
use super::sample::small;
use super::stream::words;
use crate::descriptor::{Batch, Shape};
use crate::kernels::hash::keccak::{PerWarp, SHAKE256, State};
use crate::kernels::{row, warp};
use crate::simt::{Simt, WARP};

/// Returns the block shape: one warp and one operation per block.
#[must_use]
pub const fn shape<R: Ring>() -> Shape {
    warp::shape(Layout::new::<R>(WARP).shared_bytes())
}

/// Draws again where `g` has no inverse, and leaves the other operations as they are.
///
/// Threads: one warp per operation.
/// Shared memory: the strings of an element.
/// Arrays: `seeds`, `g`, `f` and `rho` as for [`draw`](super::draw::draw); `inverses` and
/// `invertible` as for [`invert`](super::invert::invert). `invertible` must not be secret.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the arrays of a kernel are its arguments")]
pub fn draw_again<S: Simt, R: Ring>(
    s: S,
    seeds: S::Global<u64>,
    g: S::Global<u8>,
    f: S::Global<u64>,
    rho: S::Global<u64>,
    inverses: S::Global<u8>,
    invertible: S::Global<u64>,
    _: Batch,
) {
    let (operation, n) = (s.block(), R::N as u32);
    // One instruction reads one word for the whole warp, so all threads take the same way. The
    // assembler knows this of a load, and not of a shuffle in a loop, where barriers and shuffles
    // would take a detour on sm_80.
    let is_invertible = || s.load(invertible, operation) == 1;
    if is_invertible() {
        return;
    }
    let mut stream = Stream { state: begin_key_pair::<R, _>(s, seeds, operation), blocks: 0 };
    let rows =
        Rows { s, layout: const { Layout::new::<R>(WARP) }, room: 0, first: operation, count: 1 };
    // The first draw had no inverse.
    let mut next = n;
    loop {
        let first = row::<R>() * operation;
        stream.read(next, n, |i, word| s.store(g, first + i, small(word)));
        next += n;
        s.sync_warp();
        rows.load::<R>(g);
        let has_inverse = rows.invert::<R>();
        // All threads have read the array, and the shared memory.
        s.sync_warp();
        if s.lane() == 0 {
            s.store(invertible, operation, has_inverse);
        }
        s.sync_warp();
        if is_invertible() {
            break;
        }
    }
    rows.store::<R>(inverses);
    let half =
        |array, first| move |i, word: u32| s.store(s.cast::<u64, u32>(array), first + i, word);
    stream.read(next, n, half(f, 2 * words::<R>(1) * operation));
    let rho_row = 2 * rho_words::<R>();
    stream.read(next + n, rho_row, half(rho, rho_row * operation));
}

/// A stream whose state a warp holds.
struct Stream<S> {
    state: PerWarp<S>,
    /// The number of blocks that have been squeezed. The state is the last of them.
    blocks: u32,
}

impl<S: Simt> Stream<S> {
    /// Calls `output(i, word)` for the 32-bit words `first..first + count` of the stream. They must
    /// not lie before the last block that has been squeezed.
    #[inline(always)]
    fn read(&mut self, first: u32, count: u32, output: impl Fn(u32, u32)) {
        let words = 2 * SHAKE256.rate;
        for block in first / words..(first + count).div_ceil(words) {
            while self.blocks <= block {
                self.state = self.state.permute();
                self.blocks += 1;
            }
            self.state.output(true, SHAKE256.rate, |lane, pair| {
                for (k, word) in [pair, pair >> 32].into_iter().enumerate() {
                    let i = (words * block + 2 * lane + k as u32).wrapping_sub(first);
                    if i < count {
                        output(i, word as u32);
                    }
                }
            });
        }
    }
}
