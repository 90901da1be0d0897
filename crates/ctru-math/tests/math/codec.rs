//! Packing, the secret polynomial and the mixed-radix encoding against vectors and plain oracles.

use crate::strategies::{bytes, numbers, poly, rounded_poly};
use crate::vectors::{Intermediate, array};
use ctru_math::array::Array;
use ctru_math::codec::bits::{Packed13Error, pack_rounded, pack13, unpack_rounded, unpack13};
use ctru_math::codec::mixed_radix::{NonCanonical, decode, decode_canonical, encode};
use ctru_math::codec::secret_poly::{self, InvalidSecretPoly};
use ctru_math::kernel::bits::{pack, pack_tops, unpack};
use ctru_math::mixed_radix::{LIMIT, Plan, Radix};
use ctru_math::{Arithmetic, NtruPrimeRing, Poly, R653, R761, R1277, RoundedPoly, SmallPoly};
use ctru_tests::every_ring_on_every_backend;
use proptest::prelude::*;

/// Packs values bit by bit.
fn packed_bit_by_bit(width: usize, values: &[u16]) -> Vec<u8> {
    let mut bytes = vec![0; (width * values.len()).div_ceil(8)];
    for (i, value) in values.iter().enumerate() {
        for j in 0..width {
            let bit = width * i + j;
            bytes[bit / 8] |= ((value >> j & 1) as u8) << (bit % 8);
        }
    }
    bytes
}

/// Encodes pairs (value, radix) by NTRU Prime's Encode.
fn encoded_plainly(list: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let [(mut value, mut radix)] = *list {
        while radix > 1 {
            bytes.push((value % 256) as u8);
            value /= 256;
            radix = radix.div_ceil(256);
        }
        return bytes;
    }
    let mut joined = Vec::new();
    for pair in list.chunks(2) {
        if let [(r0, m0), (r1, m1)] = *pair {
            let (mut value, mut radix) = (r0 + m0 * r1, m0 * m1);
            while radix >= 16384 {
                bytes.push((value % 256) as u8);
                value /= 256;
                radix = radix.div_ceil(256);
            }
            joined.push((value, radix));
        } else {
            joined.push(pair[0]);
        }
    }
    bytes.extend(encoded_plainly(&joined));
    bytes
}

/// Decodes values with these radices by NTRU Prime's Decode.
fn decoded_plainly(bytes: &[u8], radices: &[u32]) -> Vec<u32> {
    if let [radix] = *radices {
        return vec![
            bytes.iter().rev().fold(0, |value, &byte| 256 * value + u32::from(byte)) % radix,
        ];
    }
    let mut bytes = bytes.iter();
    // For each pair: the low part, the factor of the high part, and the radix of the high part.
    let mut pairs = Vec::new();
    for pair in radices.chunks(2) {
        let (mut low, mut unit, mut radix) = (0, 1, pair.iter().product::<u32>());
        while pair.len() == 2 && radix >= 16384 {
            low += unit * u32::from(*bytes.next().unwrap());
            unit *= 256;
            radix = radix.div_ceil(256);
        }
        pairs.push((low, unit, radix));
    }
    let joined =
        decoded_plainly(bytes.as_slice(), &pairs.iter().map(|pair| pair.2).collect::<Vec<_>>());
    let mut values = Vec::new();
    for ((pair, (low, unit, _)), high) in radices.chunks(2).zip(pairs).zip(joined) {
        let value = low + unit * high;
        values.push(value % pair[0]);
        if let [m0, m1] = *pair {
            values.push(value / m0 % m1);
        }
    }
    values
}

fn oracle_encode<R: Arithmetic>(poly: &Poly<R>) -> Vec<u8> {
    encoded_plainly(&poly.coefficients().iter().map(|&r| (u32::from(r), R::Q)).collect::<Vec<_>>())
}

fn vectors<R: Arithmetic>() {
    let vector = Intermediate::load(R::N);
    let h = Poly::<R>::from_coefficients(&vector.h).unwrap();

    assert_eq!(pack13(&h).as_ref(), vector.packed13.pk);
    assert!(unpack13::<R>(&array(&vector.packed13.pk)) == Ok(h.clone()));

    assert_eq!(encode(&h).as_ref(), vector.mixed_radix.pk);
    assert!(decode::<R>(&array(&vector.mixed_radix.pk)) == h);
    assert!(decode_canonical::<R>(&array(&vector.mixed_radix.pk)) == Ok(h));

    let f = SmallPoly::<R>::from_coefficients(&vector.f).unwrap();
    assert_eq!(secret_poly::pack(&f).as_ref(), vector.f_packed);
    assert!(secret_poly::unpack::<R>(&array(&vector.f_packed)) == Ok(f));

    for record in vector.encapsulations() {
        let c = RoundedPoly::<R>::from_coefficients(&record.c).unwrap();
        assert_eq!(pack_rounded(&c).as_ref(), record.ct);
        assert!(unpack_rounded::<R>(&array(&record.ct)) == c);
    }
}

proptest! {
    #[test]
    fn the_top_bits_are_packed(numbers in any::<[u32; 8]>()) {
        for width in 10..=12 {
            let tops = numbers.map(|number| (number >> (32 - width)) as u16);
            let words = pack_tops(width, numbers);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let expected = packed_bit_by_bit(width as usize, &tops);
            prop_assert_eq!(&bytes[..expected.len()], &expected);
            prop_assert!(bytes[expected.len()..].iter().all(|&byte| byte == 0));
        }
    }
    #[test]
    fn packing_is_bit_by_bit((width, values) in (1usize..=16).prop_flat_map(|width| {
        (Just(width), (0usize..60).prop_flat_map(move |len| numbers(len, 0, (1 << width) - 1)))
    })) {
        let values: Vec<u16> = values.iter().map(|&value| value as u16).collect();
        let expected = packed_bit_by_bit(width, &values);
        let mut bytes = vec![0xff; expected.len()];
        pack(width as u32, &values, &mut bytes);
        prop_assert_eq!(&bytes, &expected);
        let mut unpacked = vec![0xffff; values.len()];
        unpack(width as u32, &bytes, &mut unpacked);
        prop_assert_eq!(unpacked, values);
    }
}

fn packing<R: Arithmetic>() {
    proptest!(|(h in poly::<R>(), c in rounded_poly::<R>())| {
        let bytes = pack13(&h);
        prop_assert_eq!(bytes.as_ref(), packed_bit_by_bit(13, h.coefficients()));
        prop_assert!(unpack13::<R>(&bytes) == Ok(h));
        let bytes = pack_rounded(&c);
        prop_assert_eq!(bytes.as_ref(), packed_bit_by_bit(R::Q2_BITS as usize, c.coefficients()));
        prop_assert!(unpack_rounded::<R>(&bytes) == c);
    });
    // Bits after the last value are ignored.
    proptest!(|(noise in bytes(R::CIPHERTEXT_BYTES))| {
        let mut expected = vec![0; R::N];
        unpack(R::Q2_BITS, &noise, &mut expected);
        let unpacked = unpack_rounded::<R>(&array(&noise));
        prop_assert_eq!(unpacked.coefficients(), expected);
    });
}

/// Checks that unpacking a public key refuses every bad coefficient and every padding bit, and that
/// unpacking a ciphertext ignores padding bits.
fn unpacking_refuses<R: Arithmetic>() {
    let q = R::Q as u16;
    let unpacked = |values: &[u16]| unpack13::<R>(&array(&packed_bit_by_bit(13, values)));
    for index in 0..R::N {
        for (value, expected) in [(q - 1, None), (q, Some(index)), (0x1fff, Some(index))] {
            let mut values = vec![q - 1; R::N];
            values[index] = value;
            let error = expected.map(|index| Packed13Error::Coefficient { index });
            assert_eq!(unpacked(&values).err(), error);
        }
    }
    let mut values = vec![0; R::N];
    (values[7], values[R::N - 1]) = (q, q);
    assert_eq!(unpacked(&values).err(), Some(Packed13Error::Coefficient { index: 7 }));

    for bit in 13 * R::N..8 * R::PACKED13_BYTES {
        let mut bytes = pack13(&Poly::<R>::zero());
        bytes.as_mut()[bit / 8] |= 1 << (bit % 8);
        assert_eq!(unpack13::<R>(&bytes).err(), Some(Packed13Error::Padding));
    }
    for bit in R::Q2_BITS as usize * R::N..8 * R::CIPHERTEXT_BYTES {
        let mut bytes = R::CiphertextBytes::zeroed();
        bytes.as_mut()[bit / 8] |= 1 << (bit % 8);
        assert!(unpack_rounded::<R>(&bytes) == RoundedPoly::zero());
    }
}

/// Generates secret polynomials `2 f' + 1` with coefficients of `f'` in `-eta..=eta`.
fn secret<R: Arithmetic>() -> impl Strategy<Value = SmallPoly<R>> {
    numbers(R::N, -i64::from(R::ETA), R::ETA.into()).prop_map(|f_prime| {
        let mut f: Vec<i8> = f_prime.iter().map(|&c| 2 * c as i8).collect();
        f[0] += 1;
        SmallPoly::from_coefficients(&f).unwrap()
    })
}

fn secret_polys<R: Arithmetic>() {
    let bound = SmallPoly::<R>::BOUND as i8;
    proptest!(|(f in secret::<R>())| {
        let bytes = secret_poly::pack(&f);
        let nibbles: Vec<u16> = f.coefficients().iter().map(|&c| (bound - c) as u16).collect();
        prop_assert_eq!(bytes.as_ref(), packed_bit_by_bit(4, &nibbles));
        prop_assert!(secret_poly::unpack::<R>(&bytes) == Ok(f));
    });

    // Every value of every nibble, also of the free nibble.
    let one: Vec<i8> = (0..R::N).map(|i| i8::from(i == 0)).collect();
    let valid = secret_poly::pack(&SmallPoly::<R>::from_coefficients(&one).unwrap());
    for index in 0..=R::N {
        for nibble in 0..16u8 {
            let mut bytes = valid;
            let byte = &mut bytes.as_mut()[index / 2];
            *byte = if index % 2 == 0 { *byte & 0xf0 | nibble } else { *byte & 15 | nibble << 4 };
            let f = bound - nibble as i8;
            let f_prime = if index == 0 { f - 1 } else { f };
            let exists =
                index < R::N && f_prime % 2 == 0 && (f_prime / 2).unsigned_abs() <= R::ETA as u8;
            let expected = exists || index == R::N && nibble == 0;
            match secret_poly::unpack::<R>(&bytes) {
                Ok(poly) => {
                    assert!(expected, "nibble {nibble} at {index}");
                    assert!(index == R::N || poly.coefficients()[index] == f);
                }
                Err(InvalidSecretPoly) => assert!(!expected, "nibble {nibble} at {index}"),
            }
        }
    }

    // Two equal faults do not cancel out: in one byte, in two, and in the last one.
    let flip = |bytes: &mut R::SecretPolyBytes, index: usize, flipped: u8| {
        bytes.as_mut()[index / 2] ^= flipped << (4 * (index % 2));
    };
    for (first, second) in [(0, 1), (2, 3), (0, 2), (3, 4), (1, R::N - 1), (R::N - 1, R::N)] {
        let mut faults = 0;
        for flipped in 1..16 {
            let mut bytes = valid;
            flip(&mut bytes, first, flipped);
            if secret_poly::unpack::<R>(&bytes).is_err() {
                faults += 1;
                flip(&mut bytes, second, flipped);
                let unpacked = secret_poly::unpack::<R>(&bytes);
                assert!(unpacked.is_err(), "{flipped} at {first} and {second}");
            }
        }
        // At least all odd numbers are faults.
        assert!(faults >= 8, "{faults} faults at {first}");
    }
}

#[test]
fn mixed_radix_examples() {
    for (q, values, expected) in [
        (4591, vec![1, 2, 3], "df23c60300"),
        (4591, vec![4590; 5], "209d209d0309711c"),
        (4621, vec![0, 1, 4620, 4619], "0d129bc2de9d01"),
        (7879, vec![7878, 0, 1234, 5678, 4321], "c61e94a688b487e700"),
    ] {
        let plan = Plan::new(values.len(), q);
        let mut bytes = vec![0; plan.bytes()];
        plan.encode(&mut values.clone(), &mut vec![0; values.len()], &mut bytes);
        assert_eq!(const_hex::encode(&bytes), expected);
        let mut decoded = vec![0; values.len()];
        assert!(plan.decode(&bytes, &mut decoded, &mut vec![0; values.len()]));
        assert_eq!(decoded, values);
    }
}

/// The expected plan: one row per level and one for the root. A row has the number of values, the
/// radix, the last radix and the number of bytes.
type Table = [(usize, u32, u32, usize)];

fn plan_of<R: Arithmetic>(table: &Table) {
    let plan = R::MIXED_RADIX;
    let levels = plan.levels().iter();
    let mut rows: Vec<_> = levels
        .map(|level| (level.count, level.radix.value, level.last_radix.value, level.bytes()))
        .collect();
    rows.push((1, plan.root().value, plan.root().value, plan.bytes() - plan.root_offset()));
    assert_eq!(rows, table);
    let mut offset = 0;
    for level in plan.levels() {
        assert_eq!(level.offset, offset);
        offset += level.bytes();
    }
    assert_eq!(plan.root_offset(), offset);
    assert_eq!(plan.bytes(), R::MixedRadixBytes::LEN);
}

#[test]
fn mixed_radix_plans() {
    plan_of::<R653>(&[
        (653, 4621, 4621, 652),
        (327, 326, 4621, 163),
        (164, 416, 4621, 82),
        (82, 676, 7510, 42),
        (41, 1786, 78, 20),
        (21, 12461, 78, 20),
        (11, 2370, 78, 10),
        (6, 86, 78, 0),
        (3, 7396, 6708, 2),
        (2, 835, 6708, 2),
        (1, 86, 86, 1),
    ]);
    plan_of::<R761>(&[
        (761, 4591, 4591, 760),
        (381, 322, 4591, 190),
        (191, 406, 4591, 95),
        (96, 644, 4591, 48),
        (48, 1621, 11550, 25),
        (24, 10265, 286, 23),
        (12, 1608, 11468, 7),
        (6, 10101, 282, 5),
        (3, 1557, 11127, 1),
        (2, 9470, 11127, 2),
        (1, 1608, 1608, 2),
    ]);
    plan_of::<R1277>(&[
        (1277, 7879, 7879, 1276),
        (639, 948, 7879, 319),
        (320, 3511, 7879, 320),
        (160, 189, 423, 80),
        (80, 140, 313, 40),
        (40, 77, 172, 0),
        (20, 5929, 13244, 20),
        (10, 537, 1199, 5),
        (5, 1127, 2516, 2),
        (3, 4962, 2516, 2),
        (2, 376, 2516, 1),
        (1, 3696, 3696, 2),
    ]);
}

/// Checks that division by `radix` is exact. The quotient grows with the dividend, so it suffices
/// to check the first and the last dividend of each quotient.
fn division_is_exact(radix: Radix) {
    for multiple in 0..(1 << 31) / radix.value {
        let dividend = multiple * radix.value;
        assert_eq!(radix.divide(dividend), (multiple, 0));
        assert_eq!(radix.divide(dividend + radix.value - 1), (multiple, radix.value - 1));
    }
}

#[test]
fn division_is_exact_for_the_radices_of_the_rings() {
    macro_rules! of_ring {
        ($ring:ident $n:literal $numbers:tt) => {
            [ctru_math::$ring::MIXED_RADIX, ctru_math::$ring::MIXED_RADIX_THIRDS]
        };
    }
    for plan in ctru_math::for_each_ring!([of_ring]).as_flattened() {
        division_is_exact(plan.root());
        for level in plan.levels() {
            division_is_exact(level.radix);
            division_is_exact(level.last_radix);
        }
    }
}

/// Checks the premises of the proof at `Radix::divide` for all radices.
#[test]
fn reciprocals_of_all_radices() {
    for value in 2..LIMIT {
        let radix = Radix::new(value);
        let excess = u64::from(radix.reciprocal) * u64::from(value) - (1 << (32 + radix.shift));
        assert!(excess < u64::from(value) && value <= 2 << radix.shift);
        assert_eq!(radix.divide((1 << 31) - 1), (((1 << 31) - 1) / value, ((1 << 31) - 1) % value));
    }
}

proptest! {
    /// Checks lists of up to 299 values of any radix.
    #[test]
    fn mixed_radix_is_the_recursion((radix, values) in (2u32..LIMIT, 1usize..300)
        .prop_flat_map(|(radix, len)| {
        (Just(radix), numbers(len, 0, i64::from(radix) - 1))
    }), noise in proptest::collection::vec(any::<u8>(), 600)) {
        let values: Vec<u16> = values.iter().map(|&value| value as u16).collect();
        let pairs: Vec<_> = values.iter().map(|&value| (value.into(), radix)).collect();
        let expected = encoded_plainly(&pairs);
        let plan = Plan::new(values.len(), radix);
        let mut bytes = vec![0; plan.bytes()];
        let mut scratch = vec![0; values.len()];
        plan.encode(&mut values.clone(), &mut scratch, &mut bytes);
        prop_assert_eq!(&bytes, &expected);

        let mut decoded = vec![0; values.len()];
        prop_assert!(plan.decode(&bytes, &mut decoded, &mut scratch));
        prop_assert_eq!(&decoded, &values);

        let noise = &noise[..bytes.len()];
        let canonical = plan.decode(noise, &mut decoded, &mut scratch);
        let expected = decoded_plainly(noise, &vec![radix; values.len()]);
        prop_assert!(decoded.iter().copied().map(u32::from).eq(expected));
        plan.encode(&mut decoded, &mut scratch, &mut bytes);
        prop_assert_eq!(canonical, bytes == noise);
    }
}

/// Checks that decoding agrees with the recursion, and that the checked decoder accepts a string
/// exactly if encoding gives the same string.
fn decodes_as_the_recursion<R: Arithmetic>(
    bytes: &R::MixedRadixBytes,
) -> Result<(), TestCaseError> {
    let decoded = decode::<R>(bytes);
    let expected = decoded_plainly(bytes.as_ref(), &vec![R::Q; R::N]);
    prop_assert!(decoded.coefficients().iter().copied().map(u32::from).eq(expected));
    let canonical = encode(&decoded).as_ref() == bytes.as_ref();
    let checked = if canonical { Ok(decoded) } else { Err(NonCanonical) };
    prop_assert!(decode_canonical::<R>(bytes) == checked);
    Ok(())
}

fn mixed_radix<R: Arithmetic>() {
    let seldom = ProptestConfig::with_cases(100);
    let len = R::MixedRadixBytes::LEN;
    proptest!(seldom, |(
        h in poly::<R>(), noise in bytes(len), index in 0..len, byte in any::<u8>(),
    )| {
        let bytes = encode(&h);
        prop_assert_eq!(bytes.as_ref(), oracle_encode(&h));
        prop_assert!(decode_canonical::<R>(&bytes) == Ok(h));

        decodes_as_the_recursion::<R>(&array(&noise))?;
        // One changed byte, anywhere or among the last 30 bytes: some of the strings are canonical,
        // others are not.
        for index in [index, len - 1 - index % 30] {
            let mut bytes = bytes;
            bytes.as_mut()[index] = byte;
            decodes_as_the_recursion::<R>(&bytes)?;
        }
    });
}

/// Checks the first value that no encoding has, of the root and of the first pair, and a string of
/// bytes 0xff.
fn mixed_radix_refuses<R: Arithmetic>() {
    let plan = R::MIXED_RADIX;
    for (root, canonical) in [(0, true), (plan.root().value - 1, true), (plan.root().value, false)]
    {
        let mut bytes = R::MixedRadixBytes::zeroed();
        let root_bytes = &mut bytes.as_mut()[plan.root_offset()..];
        root_bytes.copy_from_slice(&root.to_le_bytes()[..root_bytes.len()]);
        assert_eq!(decode_canonical::<R>(&bytes).is_ok(), canonical);
    }
    let mut largest = encode(&Poly::<R>::from_coefficients(&vec![R::Q as u16 - 1; R::N]).unwrap());
    assert!(decode_canonical::<R>(&largest).is_ok());
    largest.as_mut()[0] += 1;
    assert!(decode_canonical::<R>(&largest).is_err());
    assert!(decode_canonical::<R>(&R::MixedRadixBytes::from_fn(|_| 0xff)).is_err());
}

#[test]
fn errors_say_what_was_wrong() {
    let texts = [
        Packed13Error::Coefficient { index: 7 }.to_string(),
        Packed13Error::Padding.to_string(),
        NonCanonical.to_string(),
        InvalidSecretPoly.to_string(),
    ];
    let parts = ["x^7 is not below q", "padding", "canonical mixed-radix", "secret polynomial"];
    for (text, part) in texts.iter().zip(parts) {
        assert!(text.contains(part), "{text}");
    }
}

every_ring_on_every_backend! { for_each_ring:
    vectors,
    packing,
    unpacking_refuses,
    secret_polys,
    mixed_radix,
    mixed_radix_refuses,
}
