//! Layers of butterflies on the numbers that a thread holds.

use research_arithmetic::ntt::cyclic::{Layers, butterfly};
use research_arithmetic::reduce::{Packed, Reducer};

use super::super::FactorWord;
use ctru_simt::simt::{Simt, Word};

/// The factors of the layers that a thread applies to the numbers that it holds.
///
/// This is a trait and no closure, because the compiler must put every use in line.
pub(super) trait Factors<M: Reducer> {
    /// Returns a factor. Of [`forward`], node `2^l + i` is block `i` of layer `l`; of [`inverse`],
    /// it is position `i` of layer `l`.
    fn of_node(&self, node: u32) -> M::Factor;
}

/// The factors of forward layers, in a table in global memory. The thread's numbers are block
/// `block` of the layer before the first one.
pub(super) struct OfBlocks<S: Simt, M: Reducer>
where
    FactorWord<M>: Word,
{
    pub(super) s: S,
    pub(super) table: S::Global<FactorWord<M>>,
    pub(super) block: u32,
}

impl<S: Simt, M: Reducer> Factors<M> for OfBlocks<S, M>
where
    FactorWord<M>: Word,
{
    #[inline(always)]
    fn of_node(&self, node: u32) -> M::Factor {
        let layer = node.ilog2();
        let blocks = self.s.tail(self.table, self.block << layer);
        factor::<S, M>(self.s, blocks, node - (1 << layer))
    }
}

/// The factors of forward layers, in a table in global memory. For each node, from node 1 on, it
/// has a factor for each of `blocks` blocks.
pub(super) struct ByNode<S: Simt, M: Reducer>
where
    FactorWord<M>: Word,
{
    pub(super) s: S,
    /// The table from the first factor of the thread's block on.
    pub(super) table: S::Global<FactorWord<M>>,
    pub(super) blocks: u32,
}

impl<S: Simt, M: Reducer> Factors<M> for ByNode<S, M>
where
    FactorWord<M>: Word,
{
    #[inline(always)]
    fn of_node(&self, node: u32) -> M::Factor {
        factor::<S, M>(self.s, self.table, (node - 1) * self.blocks)
    }
}

/// The factors of inverse layers, in a table in global memory. Number `k` of the thread is at
/// position `offset + k stride` of its block.
pub(super) struct OfPositions<S: Simt, M: Reducer>
where
    FactorWord<M>: Word,
{
    pub(super) s: S,
    /// The table from entry `offset` on.
    pub(super) table: S::Global<FactorWord<M>>,
    pub(super) stride: u32,
}

impl<S: Simt, M: Reducer> Factors<M> for OfPositions<S, M>
where
    FactorWord<M>: Word,
{
    #[inline(always)]
    fn of_node(&self, node: u32) -> M::Factor {
        factor::<S, M>(self.s, self.table, self.stride * node)
    }
}

/// Factors that the thread has loaded, by node.
impl<M: Reducer, const HELD: usize> Factors<M> for [M::Factor; HELD] {
    #[inline(always)]
    fn of_node(&self, node: u32) -> M::Factor {
        self[node as usize]
    }
}

/// Applies layers to the numbers that a thread holds of each of `COUNT` polynomials, from distant
/// pairs to neighbours: three layers to eight numbers, four layers to sixteen. `first` is the
/// number of the first layer in the plan. If it is 0, each thread has a whole column or row.
///
/// The layers are written one by one, because an array lies in registers only if the compiler knows
/// every index.
#[inline(always)]
pub(super) fn forward<M: Reducer, const HELD: usize, const COUNT: usize>(
    mut x: [[M::Residue; HELD]; COUNT],
    plan: Layers,
    first: u32,
    factors: &impl Factors<M>,
) -> [[M::Residue; HELD]; COUNT] {
    const { assert!(HELD == 8 || HELD == 16) };
    x = layer::<M, HELD, COUNT, true>(x, HELD / 2, Step::new(plan, first, 0), factors);
    x = layer::<M, HELD, COUNT, true>(x, HELD / 4, Step::new(plan, first, 1), factors);
    x = layer::<M, HELD, COUNT, true>(x, HELD / 8, Step::new(plan, first, 2), factors);
    if HELD == 8 {
        return x;
    }
    layer::<M, HELD, COUNT, true>(x, HELD / 16, Step::new(plan, first, 3), factors)
}

/// Applies as many layers as [`forward`], from neighbours to distant pairs. `first` is the number
/// of the first layer in the plan. If it is 0, each thread has neighbouring values.
#[inline(always)]
pub(super) fn inverse<M: Reducer, const HELD: usize>(
    x: [M::Residue; HELD],
    plan: Layers,
    first: u32,
    factors: &impl Factors<M>,
) -> [M::Residue; HELD] {
    const { assert!(HELD == 8 || HELD == 16) };
    let mut x = layer::<M, HELD, 1, false>([x], 1, Step::new(plan, first, 0), factors);
    x = layer::<M, HELD, 1, false>(x, 2, Step::new(plan, first, 1), factors);
    x = layer::<M, HELD, 1, false>(x, 4, Step::new(plan, first, 2), factors);
    if HELD == 16 {
        x = layer::<M, HELD, 1, false>(x, 8, Step::new(plan, first, 3), factors);
    }
    let [x] = x;
    x
}

/// What the plan says of one of a thread's layers.
struct Step {
    normalises: bool,
    /// Whether the factors of the nodes `2^l` are 1.
    has_units: bool,
}

impl Step {
    /// Returns the step of layer `first + layer` of the plan.
    #[inline(always)]
    fn new(plan: Layers, first: u32, layer: u32) -> Self {
        Self {
            normalises: plan.normalises(first + layer),
            has_units: first == 0 && layer < plan.units,
        }
    }
}

/// Applies a forward or an inverse layer: butterflies to pairs of numbers that are `half` apart.
/// The polynomials share the factors.
#[inline(always)]
fn layer<M: Reducer, const HELD: usize, const COUNT: usize, const IS_FORWARD: bool>(
    mut x: [[M::Residue; HELD]; COUNT],
    half: usize,
    step: Step,
    factors: &impl Factors<M>,
) -> [[M::Residue; HELD]; COUNT] {
    for low in 0..HELD {
        if low & half == 0 {
            let node = if IS_FORWARD { (HELD + low) / (2 * half) } else { half + low % half };
            let is_unit = step.has_units && node.is_power_of_two();
            let z = if is_unit { None } else { Some(factors.of_node(node as u32)) };
            for x in &mut x {
                (x[low], x[low + half]) = butterfly::<M>(x[low], x[low + half], z, step.normalises);
            }
        }
    }
    x
}

/// Returns entry `index` of a table of factors.
#[inline(always)]
pub(super) fn factor<S: Simt, M: Reducer>(
    s: S,
    table: S::Global<FactorWord<M>>,
    index: u32,
) -> M::Factor
where
    FactorWord<M>: Word,
{
    M::Factor::from_word(s.load(table, index))
}
