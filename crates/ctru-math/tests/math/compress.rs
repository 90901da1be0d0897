//! Rounding to `q2` and adding the message, against vectors and the definition.

use crate::strategies::{bytes, poly};
use crate::vectors::{Intermediate, array};
use ctru_math::compress::compress_with_message;
use ctru_math::kernel::compress::compress;
use ctru_math::{Arithmetic, Poly, for_each_ring};
use ctru_tests::every_ring_on_every_backend;
use proptest::prelude::*;

fn rounded_plainly<R: Arithmetic>(sigma: u16) -> u32 {
    (R::Q2 * u32::from(sigma) + (R::Q - 1) / 2) / R::Q
}

/// Codewords of the nibbles 0..16.
const CODEWORDS: [u8; 16] = [
    0x00, 0x55, 0x0f, 0x5a, 0x3c, 0x69, 0x33, 0x66, 0xf0, 0xa5, 0xff, 0xaa, 0xcc, 0x99, 0xc3, 0x96,
];

fn every_coefficient_of<R: Arithmetic>() {
    for sigma in 0..R::Q as u16 {
        assert_eq!(u32::from(compress::<R>(sigma)), rounded_plainly::<R>(sigma), "{sigma}");
    }
}

#[test]
fn every_coefficient() {
    macro_rules! of_ring {
        ($ring:ident $n:literal $numbers:tt) => {
            every_coefficient_of::<ctru_math::$ring>();
        };
    }
    for_each_ring!(of_ring);
}

/// Checks every coefficient at about four places of a polynomial, with messages whose nibbles are
/// all 0, all 1 and all 15.
fn every_coefficient_on_every_backend<R: Arithmetic>() {
    for first in (0..R::Q).step_by(R::N / 4) {
        let sigma: Vec<u16> = (0..R::N as u32).map(|i| ((first + i) % R::Q) as u16).collect();
        let sigma = Poly::<R>::from_coefficients(&sigma).unwrap();
        // Nibble 1 has the codeword 0x55, nibble 15 the codeword 0x96.
        for (byte, codeword) in [(0, 0_u8), (0x11, 0x55), (0xff, 0x96)] {
            let rounded = compress_with_message(&sigma, &array(&vec![byte; R::MESSAGE_BYTES]));
            for (i, (&c, &sigma)) in
                rounded.coefficients().iter().zip(sigma.coefficients()).enumerate()
            {
                let codeword = if i < R::CODED_COEFFS { codeword } else { 0 };
                let bit = u16::from(codeword >> (i % 8) & 1);
                let expected = compress::<R>(sigma) + R::Q2 as u16 / 2 * bit;
                assert_eq!(c, expected % R::Q2 as u16);
            }
        }
    }
}

fn vectors<R: Arithmetic>() {
    for record in Intermediate::load(R::N).encapsulations() {
        let sigma = Poly::<R>::from_coefficients(&record.sigma).unwrap();
        let mask = R::Q2 as u16 - 1;
        let rounded: Vec<u16> =
            sigma.coefficients().iter().map(|&c| compress::<R>(c) & mask).collect();
        assert_eq!(rounded, Vec::from_iter(record.sigma_compressed.iter().map(|t| t & mask)));
        assert_eq!(compress_with_message(&sigma, &array(&record.m)).coefficients(), record.c);
    }
}

fn with_message<R: Arithmetic>() {
    proptest!(|(sigma in poly::<R>(), message in bytes(R::MESSAGE_BYTES))| {
        let expected: Vec<u16> = (0..R::N).map(|i| {
            let bit = message.get(i / 16).map_or(0, |byte| {
                let nibble = if i / 8 % 2 == 0 { byte & 15 } else { byte >> 4 };
                CODEWORDS[usize::from(nibble)] >> (i % 8) & 1
            });
            let rounded = rounded_plainly::<R>(sigma.coefficients()[i]);
            ((rounded + R::Q2 / 2 * u32::from(bit)) % R::Q2) as u16
        }).collect();
        let rounded = compress_with_message(&sigma, &array(&message));
        prop_assert_eq!(rounded.coefficients(), expected);
    });
}

every_ring_on_every_backend! { for_each_ring:
    every_coefficient_on_every_backend,
    vectors,
    with_message,
}
