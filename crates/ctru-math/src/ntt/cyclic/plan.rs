//! Where a cyclic product normalises its lazily reduced numbers, which const code derives.

use crate::reduce::{ReduceSum, Reducer, Residue};

/// The layers of a transform that normalise, and the bound after the last layer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Bit `l` is set if layer `l`, in the order of work, normalises the numbers that it does not
    /// multiply.
    pub normalise: u32,
    /// Largest absolute value after the last layer.
    pub bound: i64,
}

impl Layers {
    /// Derives the layers for inputs up to `bound`: each butterfly adds a product to a number or
    /// subtracts it.
    ///
    /// # Panics
    /// Panics if `bound` exceeds `INPUT_BOUND`, if `INPUT_BOUND` leaves no room for a butterfly, or
    /// if the method's numbers are unsigned.
    #[must_use]
    pub const fn new<M: Reducer>(mut bound: i64, layers: u32) -> Self {
        assert!(M::IS_SIGNED, "a butterfly needs differences");
        let (product, limit) = (M::OUTPUT_BOUND as i64, M::INPUT_BOUND as i64);
        assert!(
            bound <= limit && M::NORMALISED_BOUND as i64 + product <= limit,
            "no room for a butterfly"
        );
        let (mut normalise, mut layer) = (0, 0);
        while layer < layers {
            if bound + product > limit {
                normalise |= 1 << layer;
                bound = M::NORMALISED_BOUND as i64;
            }
            bound += product;
            layer += 1;
        }
        Self { normalise, bound }
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
        let forward = Layers::new::<M>(M::MODULUS as i64 - 1, layers);
        let (lazy, normalised) = (forward.bound, M::NORMALISED_BOUND as i64);
        let operands = if lazy <= P::SUM_BOUND / lazy {
            0
        } else if normalised <= P::SUM_BOUND / lazy {
            1
        } else {
            assert!(
                normalised <= P::SUM_BOUND / normalised,
                "normalised operands must be small enough"
            );
            2
        };
        Self { forward, operands, inverse: Layers::new::<M>(P::OUTPUT_BOUND as i64, layers) }
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

/// Computes a butterfly, `x + y z` and `x - y z`. It normalises `x` first if `normalise` is set.
#[must_use]
#[inline(always)]
pub fn butterfly<M: Reducer>(
    x: M::Residue,
    y: M::Residue,
    z: M::Factor,
    normalise: bool,
) -> (M::Residue, M::Residue) {
    crate::ntt::butterfly::radix2::<M>(if normalise { M::normalise(x) } else { x }, y, z)
}
