//! Measures section 4.2.1: Montgomery's trick and one inversion per element, each with division
//! steps and with powers (Itoh and Tsujii), on random data on the device.

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::table;
use ctru_gpu_runtime::cuda::{CudaDevice, CudaQueue};
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use ctru_kem::engine::device::powers::{Chain, Maps, Powers, padded};
use ctru_math::Arithmetic;

use super::kernels::on_device;
use super::session::Session;
use crate::error::Error;
use crate::gpu::{self, Array};
use crate::records::{kind, method};
use crate::sources;

/// Elements of a batch that fills a GPU. It is measured besides the paper's batch.
const LARGE_BATCH: u32 = 65536;

/// Bytes per coefficient of the large arrays, and of the leaves.
const LARGE: u32 = 2;
const SMALL: u32 = 1;

/// The inversion of the root of a tree, or of all elements of a batch.
type Invert<'a> = &'a dyn Fn(&Array, &Array, u32) -> Result<(), RuntimeError>;

/// Measures each method in batches, launches in a row. The large batch takes seconds, so it is
/// measured for the paper's parameter set only, and so is the serial chain.
pub(super) fn inversions<R: Arithmetic>(
    session: &mut Session<'_>,
    device: CudaDevice,
) -> Result<(), Error> {
    let queue = &device.queue()?;
    let paper = &sources::paper().section_4_2_1;
    let (of_paper, paper) = (session.set == paper.set, paper.batch as u32);
    let chain = Chain::of::<R>();
    let maps = Maps::new(queue, chain)?;
    for count in [1, paper, LARGE_BATCH].into_iter().filter(|&count| of_paper || count <= paper) {
        let elements = Arrays::new(queue, count)?;
        let powers = Powers::new(queue, chain, count as usize)?;
        let by_steps: Invert<'_> =
            &|from, to, count| launch::<R>(queue, &table::INVERT, &[from, to], count);
        let by_powers: Invert<'_> = &|from, to, count| {
            let (from, to) = (from.memory(), to.memory());
            queue.launch_all(&powers.steps(chain, &maps, count as usize, from, to))
        };
        let mut report = |op, statistics| {
            session.time(statistics, f64::from(count), on_device(kind::INVERSION, op, count))
        };
        for (each, tree, invert) in [
            (method::INVERT_EACH, method::INVERT_TREE, by_steps),
            (method::INVERT_EACH_BY_POWERS, method::INVERT_TREE_BY_POWERS, by_powers),
        ] {
            let of_each = || elements.each(invert);
            report(each, gpu::time_in_a_row(queue, of_each)?)?;
            let of_tree = || elements.tree::<R>(queue, invert);
            report(tree, gpu::time_in_a_row(queue, of_tree)?)?;
        }
        // In the large batch, the products of the chain would take minutes.
        if of_paper && count == paper {
            let one_by_one = || elements.chain::<R>(queue);
            report(method::INVERT_CHAIN, gpu::time_in_a_row(queue, one_by_one)?)?;
        }
    }
    Ok(())
}

fn launch<R: Arithmetic>(
    queue: &CudaQueue,
    kernels: &'static RingKernels,
    arrays: &[&Array],
    count: u32,
) -> Result<(), RuntimeError> {
    let memory: Vec<_> = arrays.iter().map(|array| array.memory()).collect();
    queue.launch(kernels.of::<R>(), &memory, Batch::each(count))
}

/// The arrays of a batch.
struct Arrays {
    /// The number of elements.
    count: u32,
    leaves: Array,
    /// The nodes of the levels above the leaves, up to one root.
    levels: Vec<(u32, Array)>,
    /// Two arrays with one row per element.
    rows: [Array; 2],
}

impl Arrays {
    fn new(queue: &CudaQueue, count: u32) -> Result<Self, RuntimeError> {
        let sizes = std::iter::successors(Some(count.div_ceil(2)), |&nodes| {
            (nodes > 1).then(|| nodes.div_ceil(2))
        });
        // The inversion by powers reads rows after the last one.
        let array = |rows| Array::new(queue, LARGE, padded(rows as usize) as u32);
        let level = |nodes| Ok((nodes, array(nodes)?));
        Ok(Self {
            count,
            leaves: Array::new(queue, SMALL, count)?,
            levels: sizes.map(level).collect::<Result<_, RuntimeError>>()?,
            rows: [array(count)?, array(count)?],
        })
    }

    /// Launches one inversion per element.
    fn each(&self, invert: Invert<'_>) -> Result<(), RuntimeError> {
        let [elements, inverses] = &self.rows;
        invert(elements, inverses, self.count)
    }

    /// Launches the trick as the paper does: three products per further element, each of which
    /// waits for the one before it, and one inversion.
    fn chain<R: Arithmetic>(&self, queue: &CudaQueue) -> Result<(), RuntimeError> {
        let [factors, product] = &self.rows;
        for _ in 0..3 * (self.count - 1) {
            // An operation is one of the two factors.
            launch::<R>(queue, &table::MULTIPLY_NODES, &[factors, product], 2)?;
        }
        launch::<R>(queue, &table::INVERT, &[factors, product], 1)
    }

    /// Launches the trick as a tree: one product per node on the way up, one inversion of the root,
    /// and two products per node on the way down.
    fn tree<R: Arithmetic>(
        &self,
        queue: &CudaQueue,
        invert: Invert<'_>,
    ) -> Result<(), RuntimeError> {
        let Self { count, leaves, levels, rows: [even, odd] } = self;
        let run = |kernels, arrays: &[&Array], count| launch::<R>(queue, kernels, arrays, count);
        run(&table::MULTIPLY_LEAVES, &[leaves, &levels[0].1], *count)?;
        for pair in levels.windows(2) {
            let [(nodes, children), (_, parents)] = pair else { continue };
            run(&table::MULTIPLY_NODES, &[children, parents], *nodes)?;
        }
        // The inverses of successive levels alternate between two arrays.
        let of_level = |level: usize| if level.is_multiple_of(2) { even } else { odd };
        let top = levels.len() - 1;
        invert(&levels[top].1, of_level(top), levels[top].0)?;
        for level in (0..top).rev() {
            let (nodes, children) = &levels[level];
            run(&table::DIVIDE_NODES, &[of_level(level + 1), children, of_level(level)], *nodes)?;
        }
        run(&table::DIVIDE_LEAVES, &[even, leaves, odd], *count)
    }
}
