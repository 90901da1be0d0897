//! Products of matrices by a warp.

use core::array;

/// The types of the factors' elements.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Factors {
    S8,
    U8,
    Bf16,
}

/// A thread's parts of the matrices of a product.
#[derive(Copy, Clone, Default)]
pub(super) struct Fragments {
    pub(super) a: [u32; 4],
    pub(super) b: [u32; 2],
    /// The thread's part of the matrix to which the product is added, and then of the sum, as bits.
    pub(super) sum: [u32; 4],
}

/// The factors of a product: 16 rows of `a` and 8 columns of `b`. Rows and columns have `K`
/// elements.
struct Matrices<T, const K: usize> {
    rows: [[T; K]; 16],
    columns: [[T; K]; 8],
}

impl<T: Copy + Default, const K: usize> Matrices<T, K> {
    /// Collects the factors from the threads of a warp. `elements` returns the `K / 8` elements of
    /// a word.
    ///
    /// Source: [`Simt`](crate::simt::Simt) has the places of the elements.
    fn collect<const IN_WORD: usize>(
        warp: &[Fragments],
        elements: impl Fn(u32) -> [T; IN_WORD],
    ) -> Self {
        const { assert!(8 * IN_WORD == K) };
        let mut matrices = Self { rows: [[T::default(); K]; 16], columns: [[T::default(); K]; 8] };
        for (lane, Fragments { a, b, .. }) in warp.iter().enumerate() {
            let (i, j) = (lane / 4, lane % 4);
            for (k, &word) in a.iter().enumerate() {
                let row = &mut matrices.rows[i + 8 * (k % 2)];
                row[IN_WORD * (4 * (k / 2) + j)..][..IN_WORD].copy_from_slice(&elements(word));
            }
            for (k, &word) in b.iter().enumerate() {
                let column = &mut matrices.columns[i];
                column[IN_WORD * (4 * k + j)..][..IN_WORD].copy_from_slice(&elements(word));
            }
        }
        matrices
    }

    /// Replaces each element of the sum in the threads of a warp by `add(element, row, column)`.
    fn add_to(&self, warp: &mut [Fragments], add: impl Fn(u32, &[T; K], &[T; K]) -> u32) {
        for (lane, Fragments { sum, .. }) in warp.iter_mut().enumerate() {
            let (i, j) = (lane / 4, lane % 4);
            *sum = array::from_fn(|k| {
                add(sum[k], &self.rows[i + 8 * (k / 2)], &self.columns[2 * j + k % 2])
            });
        }
    }
}

impl Factors {
    /// Multiplies the matrices of a warp and adds the product to the sum.
    pub(super) fn multiply(self, warp: &mut [Fragments]) {
        match self {
            Self::S8 => multiply_bytes(warp, |byte| i16::from(byte as i8)),
            Self::U8 => multiply_bytes(warp, i16::from),
            Self::Bf16 => multiply_bf16(warp),
        }
    }
}

fn multiply_bytes(warp: &mut [Fragments], element: impl Fn(u8) -> i16) {
    // The compiler uses vectors for numbers of 16 bits and sums without checks of overflow.
    let matrices = Matrices::<i16, 32>::collect(warp, |word| word.to_le_bytes().map(&element));
    matrices.add_to(warp, |sum, row, column| {
        row.iter().zip(column).fold(sum, |sum, (&a, &b)| {
            sum.wrapping_add(i32::from(a).wrapping_mul(i32::from(b)) as u32)
        })
    });
}

/// The products of two elements are exact in 64 bits. A GPU rounds their sum in another way.
fn multiply_bf16(warp: &mut [Fragments]) {
    let element = |bits: u32| f64::from(f32::from_bits(bits << 16));
    let matrices = Matrices::<f64, 16>::collect(warp, |word| [word, word >> 16].map(element));
    matrices.add_to(warp, |sum, row, column| {
        let start = f64::from(f32::from_bits(sum));
        let sum = row.iter().zip(column).fold(start, |sum, (a, b)| sum + a * b);
        (sum as f32).to_bits()
    });
}
