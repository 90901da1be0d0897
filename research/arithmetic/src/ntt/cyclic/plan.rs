//! Where a cyclic product normalises its lazily reduced numbers, which const code derives.

use crate::ntt::butterfly::{radix2, radix2_unit};
use crate::reduce::{ReduceSum, Reducer, Residue};

/// Most layers whose butterflies leave out products by 1: as many as a thread of a GPU applies to
/// the numbers that it loads first.
const MOST_UNITS: u32 = 4;

/// Where a transform multiplies and normalises, and the bound after the last layer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Number of the first layers whose butterflies with the factor 1 do not multiply: those of
    /// block 0 of forward layers, and those at position 0 of inverse layers.
    pub units: u32,
    /// Bit `l` is set if layer `l`, in the order of work, normalises the numbers that it does not
    /// multiply.
    pub normalise: u32,
    /// Largest absolute value after the last layer.
    pub bound: i64,
}

impl Layers {
    /// Derives the layers for inputs up to `bound`: each butterfly adds a product to a number or
    /// subtracts it. In as many first layers as possible it may add a number instead: such layers
    /// do not normalise, no more layers normalise than without them, and the last bound is at most
    /// `room` if it would be so without them.
    ///
    /// # Panics
    /// Panics if `bound` exceeds `INPUT_BOUND`, if `INPUT_BOUND` leaves no room for a butterfly, or
    /// if the method's numbers are unsigned.
    #[must_use]
    pub const fn new<M: Reducer>(bound: i64, layers: u32, room: i64) -> Self {
        let plain = Self::with_units::<M>(bound, layers, 0);
        let mut units = MOST_UNITS;
        while units > 0 {
            let found = Self::with_units::<M>(bound, layers, units);
            if found.normalise.trailing_zeros() >= units
                && found.normalise.count_ones() <= plain.normalise.count_ones()
                && (found.bound <= room || plain.bound > room)
            {
                return found;
            }
            units -= 1;
        }
        plain
    }

    /// Derives the layers if the first `units` layers may add numbers.
    const fn with_units<M: Reducer>(mut bound: i64, layers: u32, units: u32) -> Self {
        assert!(M::IS_SIGNED, "a butterfly needs differences");
        let (product, limit) = (M::OUTPUT_BOUND as i64, M::INPUT_BOUND as i64);
        assert!(
            bound <= limit && M::NORMALISED_BOUND as i64 + product <= limit,
            "no room for a butterfly"
        );
        let (mut normalise, mut layer) = (0, 0);
        while layer < layers {
            let added = if layer < units && bound > product { bound } else { product };
            if bound + added > limit {
                normalise |= 1 << layer;
                bound = M::NORMALISED_BOUND as i64;
            }
            bound += added;
            layer += 1;
        }
        Self { units, normalise, bound }
    }

    /// Returns whether layer `layer` normalises the numbers that it does not multiply.
    #[must_use]
    #[inline(always)]
    pub const fn normalises(self, layer: u32) -> bool {
        self.normalise >> layer & 1 == 1
    }
}

/// The places where a product of polynomials normalises.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The layers of the forward transforms, whose inputs are canonical.
    pub forward: Layers,
    /// The number of operands that a pointwise product normalises first: 0, 1 (the second) or 2.
    pub operands: u32,
    /// Layers of the inverse transform.
    pub inverse: Layers,
}

impl Plan {
    /// Returns the plan for length `2^layers`.
    ///
    /// # Panics
    /// Panics if `M` and `P` have different moduli, or if their bounds leave no room for a
    /// butterfly or a pointwise product.
    #[must_use]
    pub const fn new<M: Reducer, P: ReduceSum>(layers: u32) -> Self {
        assert!(M::MODULUS == P::MODULUS, "one modulus throughout");
        let (canonical, normalised) = (M::MODULUS as i64 - 1, M::NORMALISED_BOUND as i64);
        // Largest bounds of values with which a product normalises no operand, one or both.
        let room = [P::SUM_BOUND.isqrt(), P::SUM_BOUND / normalised, i64::MAX];
        assert!(normalised <= room[0], "normalised operands must be small enough");
        let lazy = Layers::with_units::<M>(canonical, layers, 0).bound;
        let mut operands = 0;
        while lazy > room[operands] {
            operands += 1;
        }
        Self {
            forward: Layers::new::<M>(canonical, layers, room[operands]),
            operands: operands as u32,
            inverse: Layers::new::<M>(P::OUTPUT_BOUND as i64, layers, i64::MAX),
        }
    }

    /// Returns the product of two values of the forward transforms, divided by
    /// [`ReduceSum::RADIX`].
    #[must_use]
    #[inline(always)]
    pub fn multiply<M: Reducer, P: ReduceSum>(self, a: M::Residue, b: M::Residue) -> M::Residue {
        let a = if self.operands > 1 { M::normalise(a) } else { a };
        let b = if self.operands > 0 { M::normalise(b) } else { b };
        M::Residue::new(P::reduce(i64::from(a.value()) * i64::from(b.value())))
    }
}

/// Computes a butterfly, `x + y z` and `x - y z`. It normalises `x` first if `normalise` is set. No
/// factor stands for the factor 1, by which it does not multiply.
#[must_use]
#[inline(always)]
pub fn butterfly<M: Reducer>(
    x: M::Residue,
    y: M::Residue,
    z: Option<M::Factor>,
    normalise: bool,
) -> (M::Residue, M::Residue) {
    let x = if normalise { M::normalise(x) } else { x };
    match z {
        Some(z) => radix2::<M>(x, y, z),
        None => radix2_unit(x, y),
    }
}
