//! Measures one product on one core of the CPU, as the paper does with its code in C.

use std::convert::Infallible;
use std::hint::black_box;

use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, Poly, SmallPoly, backend};
use ctru_measure::{Record, sample};

use super::session::Session;
use crate::error::Error;
use crate::records::{kind, on_cpu};

/// Products per repetition, so that reading the clock takes no part of the time.
const PRODUCTS: u32 = 64;

/// Measures the product of an element of `R_q` and a small one.
///
/// Its time does not depend on the operands.
pub(super) fn product<R: Arithmetic>(session: &mut Session<'_>) -> Result<(), Error> {
    let (large, small) = (Poly::<R>::one(), SmallPoly::<R>::one());
    let mut multiplier = Multiplier::new();
    let Ok(statistics) = sample(session.options.budget(), || -> Result<(), Infallible> {
        for _ in 0..PRODUCTS {
            black_box(multiplier.mul_small(black_box(&large), black_box(&small)));
        }
        Ok(())
    });
    let record = Record {
        backend: backend::in_use().name().to_owned(),
        batch: 1,
        ..on_cpu(kind::PRODUCT_ON_CPU, &session.set, "product by NTTs modulo two primes")
    };
    session.of_cpu(record.timed(statistics, f64::from(PRODUCTS)))
}
