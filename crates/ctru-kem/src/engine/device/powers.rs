//! Inverts few elements by powers (Itoh and Tsujii). [`ctru_math::kernel::frobenius`] describes the
//! method.
//!
//! The division steps of an inversion follow one another in one block. The method here takes about
//! 25 launches instead, and each of them occupies many multiprocessors.

use std::sync::{Arc, OnceLock};
use std::vec;
use std::vec::Vec;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, NamedArrays, RingKernels};
use ctru_gpu_kernels::kernels::invert::frobenius::{self, ELEMENTS};
use ctru_gpu_kernels::kernels::product::rows;
use ctru_gpu_kernels::kernels::row;
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::{Buffer, HostMemory, Launch, Order, Queue, RuntimeError};
use ctru_math::Arithmetic;
use ctru_math::kernel::frobenius::{Step, fill, maps, steps};

/// The largest number of elements for which many blocks compute each product. For more elements,
/// one warp per product fills the GPU.
const FEW: usize = 64;

/// The sizes, the steps and the kernels of a ring, as data.
#[derive(Debug)]
pub struct Chain {
    degree: usize,
    /// Elements per row of a polynomial on the device: the coefficients with padding.
    pub(super) row: usize,
    steps: &'static [Step],
    /// The number of different maps.
    maps: usize,
    /// Bytes of the matrix of a map on the device.
    matrix_bytes: usize,
    /// Operations of the kernel `frobenius` per [`ELEMENTS`] elements.
    map_operations: usize,
    /// Operations of the kernel `multiply_pairs` per product.
    product_operations: usize,
    fill: fn(&mut [u16]),
    pack: fn(&[u16], &mut [u8]),
    pub(super) kernel: fn(&'static RingKernels) -> &'static Kernel,
}

impl Chain {
    /// Returns the description of the ring `R`.
    #[must_use]
    pub const fn of<R: Arithmetic>() -> &'static Self {
        const {
            &Self {
                degree: R::N,
                row: row::<R>() as usize,
                steps: steps::<R>(),
                maps: maps::<R>(),
                matrix_bytes: frobenius::matrix_bytes::<R>() as usize,
                map_operations: frobenius::operations::<R>() as usize,
                product_operations: rows::operations::<R>() as usize,
                fill: fill::<R>,
                pack: frobenius::pack::<R>,
                kernel: RingKernels::of::<R>,
            }
        }
    }
}

/// The matrices of the maps of a ring, in device memory. They are not secret.
#[derive(Debug)]
pub struct Maps<Q: Queue>(Vec<Buffer<u8, Q::Memory>>);

impl<Q: Queue> Maps<Q> {
    /// Computes the matrices and sends them to the device.
    ///
    /// # Errors
    /// [`RuntimeError`] if the device or the host has too little memory, or if a copy fails.
    pub fn new(queue: &Q, chain: &Chain) -> Result<Self, RuntimeError> {
        let mut columns = vec![0; chain.maps * chain.degree * chain.degree];
        (chain.fill)(&mut columns);
        let mut packed = queue.pinned(chain.matrix_bytes)?;
        let send = |columns: &[u16]| {
            let matrix = queue.allocate(chain.matrix_bytes)?;
            (chain.pack)(columns, packed.write()?);
            queue.upload(&packed, 0..chain.matrix_bytes, &matrix, 0)?;
            Ok(matrix)
        };
        let matrices = columns.chunks_exact(chain.degree * chain.degree).map(send);
        let matrices = matrices.collect::<Result<_, RuntimeError>>()?;
        // Other queues, which do not follow this one, use the matrices, too.
        queue.synchronise()?;
        Ok(Self(matrices))
    }
}

/// The matrices of a ring on a device, which the first inversion computes for all others: `None` if
/// that failed.
pub(super) type SharedMaps<Q> = Arc<OnceLock<Option<Maps<Q>>>>;

/// The device memory of an inversion by powers.
#[derive(Debug)]
pub struct Powers<Q: Queue> {
    /// The results of the steps.
    results: Vec<Buffer<u16, Q::Memory>>,
    /// The factors of the next products, side by side.
    pairs: Buffer<u16, Q::Memory>,
}

/// Returns the number of rows that an array of `count` elements needs.
#[must_use]
pub const fn padded(count: usize) -> usize {
    count.next_multiple_of(ELEMENTS as usize)
}

impl<Q: Queue> Powers<Q> {
    /// Allocates the memory for at most `count` elements.
    ///
    /// # Errors
    /// [`RuntimeError`] if the memory does not suffice.
    pub fn new(queue: &Q, chain: &Chain, count: usize) -> Result<Self, RuntimeError> {
        let room = padded(count) * chain.row;
        let results = chain.steps.iter().map(|_| queue.allocate(room));
        Ok(Self { results: results.collect::<Result<_, _>>()?, pairs: queue.allocate(2 * room)? })
    }

    /// Returns all arrays, for wiping.
    pub(super) fn memory(&self) -> impl Iterator<Item = &Buffer<u16, Q::Memory>> {
        let Self { results, pairs } = self;
        results.iter().chain([pairs])
    }

    /// Returns the launches that write the inverses of the first `count` elements to `inverses`.
    /// The inverse of zero is zero.
    ///
    /// `elements` has [`padded`] rows, of which those after row `count - 1` may have any content.
    #[must_use]
    pub fn steps<'a>(
        &'a self,
        chain: &Chain,
        maps: &'a Maps<Q>,
        count: usize,
        elements: &'a Q::Memory,
        inverses: &'a Q::Memory,
    ) -> Vec<Launch<'a, Q::Memory>> {
        let mut launches = Vec::new();
        let element = |number: usize| match number.checked_sub(1) {
            None => elements,
            Some(step) => &*self.results[step],
        };
        let pairs = &*self.pairs;
        let pair_up = |&Step { mapped, factor, map }: &Step| {
            let (matrix, elements, factors) = (&maps.0[map], element(mapped), element(factor));
            table::FROBENIUS::<Q::Memory> { matrix, elements, factors, pairs }
        };
        let mapped = chain.map_operations * count.div_ceil(ELEMENTS as usize);
        for (step, result) in chain.steps.iter().zip(&self.results) {
            launches.push(launch(chain, pair_up(step), mapped));
            if count <= FEW {
                let arrays = table::MULTIPLY_PAIRS::<Q::Memory> { pairs, products: result };
                launches.push(launch(chain, arrays, chain.product_operations * count));
            } else {
                let arrays = table::MULTIPLY_NODES::<Q::Memory> { nodes: pairs, parents: result };
                launches.push(launch(chain, arrays, 2 * count));
            }
        }
        let last = pair_up(&Step { mapped: chain.steps.len(), factor: 0, map: 0 });
        launches.push(launch(chain, last, mapped));
        launches.push(launch(chain, table::DIVIDE_BY_NORM { pairs, inverses }, 2 * count));
        launches
    }
}

/// Returns the launch of the kernel that takes these arrays.
fn launch<'a, M, A: NamedArrays<'a, M>>(
    chain: &Chain,
    arrays: A,
    operations: usize,
) -> Launch<'a, M> {
    Launch {
        kernel: (chain.kernel)(A::KERNELS),
        memory: arrays.in_order().as_ref().to_vec(),
        batch: Batch::each(operations as u32),
        order: Order::Next,
    }
}
