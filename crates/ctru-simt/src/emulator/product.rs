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
    /// Collects the factors from the threads of a warp. `write` writes the `K / 8` elements of a
    /// word.
    ///
    /// Source: [`Simt`](crate::simt::Simt) has the places of the elements.
    #[inline(always)]
    fn collect(warp: &[Fragments], write: impl Fn(&mut [T], u32)) -> Self {
        let in_word = K / 8;
        let mut matrices = Self { rows: [[T::default(); K]; 16], columns: [[T::default(); K]; 8] };
        for (lane, Fragments { a, b, .. }) in warp.iter().enumerate() {
            let (i, j) = (lane / 4, lane % 4);
            for (k, &word) in a.iter().enumerate() {
                let row = &mut matrices.rows[i + 8 * (k % 2)];
                write(&mut row[in_word * (4 * (k / 2) + j)..][..in_word], word);
            }
            for (k, &word) in b.iter().enumerate() {
                write(&mut matrices.columns[i][in_word * (4 * k + j)..][..in_word], word);
            }
        }
        matrices
    }

    /// Replaces each element of the sum in the threads of a warp by `add(element, row, column)`.
    #[inline(always)]
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
    let matrices = Matrices::<i16, 32>::collect(warp, |to, word| {
        for (to, byte) in to.iter_mut().zip(word.to_le_bytes()) {
            *to = element(byte);
        }
    });
    matrices.add_to(warp, |sum, row, column| {
        let product = row
            .iter()
            .zip(column)
            .fold(0i32, |sum, (&a, &b)| sum.wrapping_add(i32::from(a).wrapping_mul(i32::from(b))));
        sum.wrapping_add(product as u32)
    });
}

/// The products of two elements are exact in 64 bits. A GPU rounds their sum in another way.
fn multiply_bf16(warp: &mut [Fragments]) {
    let matrices = Matrices::<f64, 16>::collect(warp, |to, word| {
        for (to, bits) in to.iter_mut().zip([word, word >> 16]) {
            *to = f64::from(f32::from_bits(bits << 16));
        }
    });
    matrices.add_to(warp, |sum, row, column| {
        let start = f64::from(f32::from_bits(sum));
        let sum = row.iter().zip(column).fold(start, |sum, (a, b)| sum + a * b);
        (sum as f32).to_bits()
    });
}
