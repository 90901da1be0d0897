//! Compares the checks of rows that may not be keys with the decoders of the CPU, what they decode
//! with the kernels that only decode, and the copies of public keys.

use ctru_gpu_kernels::descriptor::{Batch, RingKernels};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::ID_BYTES;
use ctru_gpu_kernels::kernels::keys::validate::{
    COEFFICIENT, NOT_CANONICAL, SECRET_POLYNOMIAL, ZERO,
};
use ctru_gpu_kernels::table::*;
use ctru_math::codec::bits::Packed13Error;
use ctru_math::codec::{bits, mixed_radix, secret_poly};
use ctru_math::{Arithmetic, Poly, R653, R761, R1277, Ring, sample};
use proptest::prelude::*;

use crate::device;
use crate::operations::strings;
use crate::strategies::{bytes, poly};
use crate::traces::assert_same_trace;
use crate::vectors::array;

/// The kernels for one encoding of public keys, and the encoding on the CPU.
struct Keys<R: Arithmetic> {
    check: &'static RingKernels,
    decode: &'static RingKernels,
    check_secret: &'static RingKernels,
    unpack: &'static RingKernels,
    encode: fn(&Poly<R>) -> Vec<u8>,
    fault: fn(&[u8]) -> u64,
}

fn encodings<R: Arithmetic>() -> [Keys<R>; 2] {
    [
        Keys {
            check: &VALIDATE_PUBLIC_KEY_MIXED_RADIX,
            decode: &DECODE_MIXED_RADIX,
            check_secret: &VALIDATE_SECRET_KEY_MIXED_RADIX,
            unpack: &UNPACK_SECRET_KEY_MIXED_RADIX,
            encode: |h| mixed_radix::encode(h).as_ref().to_vec(),
            fault: mixed_radix_fault::<R>,
        },
        Keys {
            check: &VALIDATE_PUBLIC_KEY_PACKED13,
            decode: &DECODE_PACKED13,
            check_secret: &VALIDATE_SECRET_KEY_PACKED13,
            unpack: &UNPACK_SECRET_KEY_PACKED13,
            encode: |h| bits::pack13(h).as_ref().to_vec(),
            fault: packed13_fault::<R>,
        },
    ]
}

fn zero_fault<R: Arithmetic>(h: &Poly<R>) -> u64 {
    if h.coefficients().iter().all(|&c| c == 0) { ZERO } else { 0 }
}

fn mixed_radix_fault<R: Arithmetic>(key: &[u8]) -> u64 {
    let key = array(key);
    let reduced = mixed_radix::decode_canonical::<R>(&key).map_or(NOT_CANONICAL, |_| 0);
    reduced | zero_fault(&mixed_radix::decode::<R>(&key))
}

/// Finds the first fault with the decoder, clears it, and continues.
fn packed13_fault<R: Arithmetic>(key: &[u8]) -> u64 {
    match bits::unpack13::<R>(&array(key)) {
        Ok(h) => zero_fault(&h),
        Err(Packed13Error::Padding) => {
            let mut cleared = key.to_vec();
            *cleared.last_mut().unwrap() &= (1 << (13 * R::N % 8)) - 1;
            NOT_CANONICAL | packed13_fault::<R>(&cleared)
        }
        Err(Packed13Error::Coefficient { index }) => {
            let mut key = key.to_vec();
            // Coefficients of 1 are below `q`, and they are not 0.
            for i in index..R::N {
                set_bits(&mut key, 13 * i, 13, 1);
            }
            (index as u64 + 1) << COEFFICIENT | packed13_fault::<R>(&key)
        }
    }
}

/// Overwrites `count` bits from bit `first` on with a number.
fn set_bits(bytes: &mut [u8], first: usize, count: usize, number: u32) {
    for bit in 0..count {
        let (byte, mask) = ((first + bit) / 8, 1 << ((first + bit) % 8));
        bytes[byte] = bytes[byte] & !mask | if number >> bit & 1 == 1 { mask } else { 0 };
    }
}

/// Returns arrays for `count` decoded public keys, and for the parts of decoded secret keys.
fn decoded<R: Arithmetic>(count: usize) -> [Vec<Buffer>; 2] {
    let row = R::N.next_multiple_of(8);
    let f = Buffer::new(&vec![0u8; count * row]);
    let public = || {
        [Buffer::new(&vec![0u16; count * row]), Buffer::new(&vec![0u8; count * ID_BYTES as usize])]
    };
    let z = Buffer::new(&vec![0u64; 4 * count]);
    let [h, ids] = public();
    [public().into(), vec![f, h, ids, z]]
}

/// Runs a check on rows, and compares the words with the expected ones, and what the check decodes
/// with what `decode` does. Both write to arrays as `to` returns them.
fn check_rows<R: Arithmetic>(
    (check, decode): (&RingKernels, &RingKernels),
    to: fn(usize) -> Vec<Buffer>,
    rows: &[Vec<u8>],
    expected: &[u64],
) {
    let faults = Buffer::new(&vec![!0u64; rows.len()]);
    let batch = Batch::each(rows.len() as u32);
    let keys = strings(rows);
    let (checked, known) = (to(rows.len()), to(rows.len()));
    let arguments: Vec<_> = [&keys].into_iter().chain(&checked).chain([&faults]).collect();
    device::launch(check.of::<R>(), &arguments, batch);
    for ((word, expected), row) in faults.content::<u64>().iter().zip(expected).zip(rows) {
        assert_eq!(word, expected, "{row:02x?}");
    }
    let arguments: Vec<_> = [&keys].into_iter().chain(&known).collect();
    device::launch(decode.of::<R>(), &arguments, batch);
    assert!(checked.iter().map(Buffer::bytes).eq(known.iter().map(Buffer::bytes)));
}

/// Returns the rows of public keys that tests check besides random ones.
fn extreme_keys<R: Arithmetic>(valid: &[u8]) -> Vec<Vec<u8>> {
    let len = valid.len();
    let mut rows = vec![vec![0; len], vec![0xff; len], valid.to_vec()];
    for bit in [0, 7, 8 * len / 2, 8 * len - 8, 8 * len - 5, 8 * len - 1] {
        // Single bits in zeros and in ones, and a changed bit of a key.
        let mut row = vec![0; len];
        row[bit / 8] ^= 1 << (bit % 8);
        rows.push(row);
        let mut row = vec![0xff; len];
        row[bit / 8] ^= 1 << (bit % 8);
        rows.push(row);
        let mut row = valid.to_vec();
        row[bit / 8] ^= 1 << (bit % 8);
        rows.push(row);
    }
    // As rows with 13 bits per coefficient, these have numbers around `q` at the ends of loops.
    for index in [0, 1, 31, 32, R::N - 2, R::N - 1] {
        for number in [R::Q - 1, R::Q, 8191] {
            if 13 * (index + 1) <= 8 * len {
                let mut row = valid.to_vec();
                set_bits(&mut row, 13 * index, 13, number);
                rows.push(row);
            }
        }
    }
    rows
}

fn check_public<R: Arithmetic>(h: &Poly<R>, random: &[u8]) {
    for Keys { check, decode, encode, fault, .. } in encodings::<R>() {
        let valid = encode(h);
        let mut rows = extreme_keys::<R>(&valid);
        rows.push(random[..valid.len()].to_vec());
        let expected: Vec<u64> = rows.iter().map(|row| fault(row)).collect();
        let to = |count| decoded::<R>(count)[0].clone();
        check_rows::<R>((check, decode), to, &rows, &expected);
    }
}

/// Puts every nibble into the first, the second, a middle and the last byte of `f`.
fn check_secret<R: Arithmetic>(h: &Poly<R>, coins: &[u8], z: &[u8]) {
    let f = secret_poly::pack(&sample::sample_secret::<R>(&array(coins)));
    let zeros = vec![0; R::SECRET_POLY_BYTES];
    let mut polynomials = vec![f.as_ref().to_vec(), vec![0xff; R::SECRET_POLY_BYTES], zeros];
    for byte in [0, 1, R::SECRET_POLY_BYTES / 2, R::SECRET_POLY_BYTES - 1] {
        for nibble in 0..16 {
            for shift in [0, 4] {
                let mut f = f.as_ref().to_vec();
                f[byte] = f[byte] & !(15 << shift) | nibble << shift;
                polynomials.push(f);
            }
        }
    }
    for Keys { check_secret, unpack, encode, fault, .. } in encodings::<R>() {
        let (valid, invalid) = (encode(h), encode(&Poly::zero()));
        let mut rows = Vec::new();
        let mut expected = Vec::new();
        for (number, f) in polynomials.iter().enumerate() {
            let public = if number % 5 == 4 { &invalid } else { &valid };
            rows.push([f, &public[..], z].concat());
            let secret = secret_poly::unpack::<R>(&array(f)).map_or(SECRET_POLYNOMIAL, |_| 0);
            expected.push(secret | fault(public));
        }
        let to = |count| decoded::<R>(count)[1].clone();
        check_rows::<R>((check_secret, unpack), to, &rows, &expected);
    }
}

/// Compares the accesses for keys with those for bytes with every fault, for a block with one key
/// and for a block with two.
fn check_traces<R: Arithmetic>() {
    for Keys { check, check_secret, encode, .. } in encodings::<R>() {
        let public = encode(&Poly::one());
        let f = secret_poly::pack(&sample::sample_secret::<R>(&array(&vec![1; R::COIN_BYTES])));
        let secret = [f.as_ref(), &public, &[0; 32]].concat();
        for count in [1, 2] {
            let [decoded, parts] = decoded::<R>(count);
            let words = [Buffer::new(&vec![0u64; count])];
            for (kernel, key, results) in [
                (check, &public, [&decoded[..], &words].concat()),
                (check_secret, &secret, [&parts[..], &words].concat()),
            ] {
                let rows = [key.clone(), vec![0xff; key.len()]];
                let buffers =
                    rows.map(|row| [&[strings(&vec![row; count])], &results[..]].concat());
                assert_same_trace(kernel.of::<R>(), buffers, Batch::each(count as u32));
            }
        }
    }
}

macro_rules! properties {
    ($($name:ident: $ring:ty $(, $ignored:meta)?;)*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                fn public_keys(h in poly::<$ring>(), random in bytes(<$ring>::PACKED13_BYTES)) {
                    check_public::<$ring>(&h, &random);
                }
                #[test]
                $(#[$ignored])?
                fn secret_keys(
                    h in poly::<$ring>(),
                    coins in bytes(<$ring>::COIN_BYTES),
                    z in bytes(32),
                ) {
                    check_secret::<$ring>(&h, &coins, &z);
                }
            }
            #[test]
            fn traces() {
                check_traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653;
    r761: R761;
    r1277: R1277, ignore = "takes long; CI runs it";
}
