//! Sampling, rounding, packing and the mixed-radix encoding: every value at every place of a
//! polynomial, on every backend, and every step of the mixed-radix encoding and every rounding of
//! numbers that are not reduced on all their inputs.

use ctru_math::array::Array;
use ctru_math::codec::bits::{pack_rounded, pack13, unpack_rounded, unpack13};
use ctru_math::codec::secret_poly;
use ctru_math::compress::compress_with_message;
use ctru_math::kernel::compress::compress_to_top;
use ctru_math::mixed_radix::{LIMIT, Radix, combine, split};
use ctru_math::sample::{sample, sample_secret};
use ctru_math::{Arithmetic, Poly, R653, R761, R1277, RoundedPoly, SmallPoly};
use ctru_tests::backends::on_every_backend;

use ctru_tests::exhaust;
use ctru_tests::exhaust::Extent;

/// Returns, for each first value in `0..radix`, the values that count on from there modulo `radix`:
/// so each value comes to each place once.
fn at_every_place(extent: Extent, len: usize, radix: u32) -> impl Iterator<Item = Vec<u16>> {
    let step = if extent == Extent::All { 1 } else { (radix as usize >> 4).max(1) };
    let list = move |first| (0..len as u32).map(|i| ((first + i) % radix) as u16).collect();
    (0..radix).step_by(step).map(list)
}

/// Writes `width` bits per value, bit by bit.
fn packed(width: u32, values: &[u16]) -> Vec<u8> {
    let mut bytes = vec![0; (width as usize * values.len()).div_ceil(8)];
    let mut at = 0;
    for value in values {
        for j in 0..width {
            bytes[at / 8] |= ((value >> j & 1) as u8) << (at % 8);
            at += 1;
        }
    }
    bytes
}

/// Checks rounding of every `sigma` at every place, for codewords of zeros and of ones.
fn rounding<R: Arithmetic>(extent: Extent) -> u64 {
    let mut count = 0;
    on_every_backend(|| {
        for sigma in at_every_place(extent, R::N, R::Q) {
            let poly = Poly::<R>::from_coefficients(&sigma).unwrap();
            // The nibble 10 has the codeword of ones.
            for (byte, bit) in [(0, 0), (0xaa, 1)] {
                let message = R::MessageBytes::from_fn(|_| byte);
                let rounded = compress_with_message(&poly, &message);
                for (i, (&c, &s)) in rounded.coefficients().iter().zip(&sigma).enumerate() {
                    let t = (2 * R::Q2 * u32::from(s) + R::Q) / (2 * R::Q);
                    let added = if i < R::CODED_COEFFS { bit * R::Q2 / 2 } else { 0 };
                    assert_eq!(u32::from(c), (t + added) % R::Q2, "{s} at {i}");
                    count += 1;
                }
            }
        }
    });
    count
}

/// Checks the rounding of every number, which a product that is not reduced may be.
fn unreduced_rounding<R: Arithmetic>(extent: Extent) -> u64 {
    let q = i64::from(R::Q);
    let rounded = |sigma: i64| (2 * i64::from(R::Q2) * sigma + q) / (2 * q) % i64::from(R::Q2);
    let rounded: Vec<u32> = (0..q).map(|sigma| rounded(sigma) as u32).collect();
    let mut count = 0;
    for sigma in extent.of(i64::from(i32::MIN)..=i64::from(i32::MAX)) {
        let top = compress_to_top::<R>(sigma as i32) >> (32 - R::Q2_BITS);
        assert_eq!(top, rounded[sigma.rem_euclid(q) as usize], "{sigma}");
        count += 1;
    }
    count
}

/// Checks both directions of both packings for every value at every place.
fn packing<R: Arithmetic>(extent: Extent) -> u64 {
    let mut count = 0;
    on_every_backend(|| {
        for values in at_every_place(extent, R::N, R::Q) {
            let poly = Poly::<R>::from_coefficients(&values).unwrap();
            let bytes = pack13(&poly);
            assert_eq!(bytes.as_ref(), packed(13, &values));
            assert!(unpack13::<R>(&bytes).unwrap() == poly);
            count += 2 * values.len() as u64;
        }
        for values in at_every_place(extent, R::N, R::Q2) {
            let poly = RoundedPoly::<R>::from_coefficients(&values).unwrap();
            let bytes = pack_rounded(&poly);
            assert_eq!(bytes.as_ref(), packed(R::Q2_BITS, &values));
            assert!(unpack_rounded::<R>(&bytes) == poly);
            count += 2 * values.len() as u64;
        }
    });
    count
}

/// Checks that unpacking refuses every value from `q` on at every place, and every padding bit.
fn refused_values<R: Arithmetic>(extent: Extent) -> u64 {
    let places = if extent == Extent::All { 1 } else { R::N / 3 };
    let values = if extent == Extent::All { 1 } else { 97 };
    let mut count = 0;
    on_every_backend(|| {
        for place in (0..R::N).step_by(places) {
            for value in (R::Q..1 << 13).step_by(values) {
                // 13 bits lie in at most three bytes.
                let (first, bits) = (13 * place / 8, value << (13 * place % 8));
                let mut bytes = R::Packed13Bytes::zeroed();
                for (byte, part) in bytes.as_mut()[first..].iter_mut().zip(bits.to_le_bytes()) {
                    *byte = part;
                }
                assert!(unpack13::<R>(&bytes).is_err(), "{value} at {place}");
                count += 1;
            }
        }
        for bit in 13 * R::N..8 * R::PACKED13_BYTES {
            let padding =
                R::Packed13Bytes::from_fn(|i| if i == bit / 8 { 1 << (bit % 8) } else { 0 });
            assert!(unpack13::<R>(&padding).is_err(), "bit {bit}");
            count += 1;
        }
    });
    count
}

/// Checks sampling of all coins of a coefficient at every place.
fn sampling<R: Arithmetic>(_: Extent) -> u64 {
    let mut count = 0;
    on_every_backend(|| {
        for coins in at_every_place(Extent::All, R::N, 1 << (2 * R::ETA)) {
            let bytes = packed(2 * R::ETA, &coins);
            let bytes = R::CoinBytes::from_fn(|i| bytes[i]);
            let expected = |coins: u16| {
                let (first, last) = (coins & ((1 << R::ETA) - 1), coins >> R::ETA);
                first.count_ones() as i8 - last.count_ones() as i8
            };
            let secret = sample_secret::<R>(&bytes);
            let sampled = sample::<R>(&bytes);
            for (i, &coins) in coins.iter().enumerate() {
                assert_eq!(sampled.coefficients()[i], expected(coins), "{coins} at {i}");
                let f = 2 * expected(coins) + i8::from(i == 0);
                assert_eq!(secret.coefficients()[i], f, "{coins} at {i}");
                count += 2;
            }
        }
    });
    count
}

/// Checks, for every nibble at every place of the packed secret polynomial, that unpacking accepts
/// exactly those that key generation can make, and that packing gives them back.
fn secret_polynomials<R: Arithmetic>(_: Extent) -> u64 {
    let bound = SmallPoly::<R>::BOUND as i8;
    let mut count = 0;
    on_every_backend(|| {
        let mut nibbles = vec![bound as u16; R::N + 1];
        nibbles[0] -= 1;
        nibbles[R::N] = 0;
        for place in 0..=R::N {
            let before = nibbles[place];
            for nibble in 0..16_u16 {
                nibbles[place] = nibble;
                let bytes = packed(4, &nibbles);
                let bytes = R::SecretPolyBytes::from_fn(|i| bytes[i]);
                let f = bound - nibble as i8;
                let is_odd = i8::from(place == 0);
                let is_valid = if place == R::N {
                    nibble == 0
                } else {
                    let twice = f - is_odd;
                    twice % 2 == 0 && twice.unsigned_abs() as u32 <= 2 * R::ETA
                };
                let unpacked = secret_poly::unpack::<R>(&bytes);
                assert_eq!(unpacked.is_ok(), is_valid, "{nibble} at {place}");
                if let Ok(unpacked) = unpacked {
                    assert!(place == R::N || unpacked.coefficients()[place] == f);
                    assert_eq!(secret_poly::pack(&unpacked).as_ref(), bytes.as_ref());
                }
                count += 1;
            }
            nibbles[place] = before;
        }
    });
    count
}

/// Checks every step of the mixed-radix encoding: for each pair of radices of each level, every
/// combined value that bytes can give.
fn mixed_radix<R: Arithmetic>(extent: Extent) -> u64 {
    let mut count = 0;
    let mut check = |even: Radix, odd: u32, bytes: usize| {
        let (mut next, mut moved) = (even.value * odd, 0);
        while next >= LIMIT {
            next = next.div_ceil(256);
            moved += 1;
        }
        assert_eq!(moved, bytes);
        let most = (i64::from(next) << (8 * bytes)) - 1;
        for combined in extent.of(0..=most) {
            let combined = combined as u32;
            let (quotient, remainder) = (combined / even.value, combined % even.value);
            let (values, excess) = split(even, odd, combined);
            assert_eq!(values, [remainder, quotient % odd].map(|value| value as u16));
            assert_eq!(excess == 0, quotient < odd, "{combined}");
            if excess == 0 {
                assert_eq!(combine(even.value, values[0], values[1]), combined);
            }
            count += 1;
        }
    };
    let plan = R::MIXED_RADIX;
    for level in plan.levels() {
        check(level.radix, level.radix.value, level.pair_bytes);
        if level.count % 2 == 0 {
            check(level.radix, level.last_radix.value, level.last_pair_bytes);
        }
    }
    for value in 0..1 << 16 {
        let expected = (value / plan.root().value, value % plan.root().value);
        assert_eq!(plan.root().divide(value), expected);
        count += 1;
    }
    count
}

exhaust! {
    rounding_653: rounding::<R653>,
    rounding_761: rounding::<R761>,
    rounding_1277: rounding::<R1277>,
    unreduced_rounding_653: unreduced_rounding::<R653>,
    unreduced_rounding_761: unreduced_rounding::<R761>,
    unreduced_rounding_1277: unreduced_rounding::<R1277>,
    packing_653: packing::<R653>,
    packing_761: packing::<R761>,
    packing_1277: packing::<R1277>,
    refused_values_653: refused_values::<R653>,
    refused_values_761: refused_values::<R761>,
    refused_values_1277: refused_values::<R1277>,
    sampling_653: sampling::<R653>,
    sampling_761: sampling::<R761>,
    sampling_1277: sampling::<R1277>,
    secret_polynomials_653: secret_polynomials::<R653>,
    secret_polynomials_761: secret_polynomials::<R761>,
    secret_polynomials_1277: secret_polynomials::<R1277>,
    mixed_radix_653: mixed_radix::<R653>,
    mixed_radix_761: mixed_radix::<R761>,
    mixed_radix_1277: mixed_radix::<R1277>,
}
