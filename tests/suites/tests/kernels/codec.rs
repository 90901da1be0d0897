//! Compares kernels with the CPU: sampling, and the conversion of keys.

use core::fmt::Debug;

use ctru_gpu_kernels::descriptor::{Batch, Kernel, RingKernels};
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS, coin_words, row};
use ctru_gpu_kernels::simt::Word;
use ctru_gpu_kernels::table::*;
use ctru_math::codec::{bits, mixed_radix, secret_poly};
use ctru_math::{Arithmetic, Poly, R653, R761, R1277, Ring, SmallPoly, sample};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::device;
use crate::operations::strings;
use crate::strategies::{bytes, poly};
use crate::traces::assert_same_trace;
use crate::vectors::{Intermediate, array};

/// Returns the rows of `contents`, each filled up with `nonsense` to `width` elements.
fn padded<T: Copy>(contents: &[Vec<T>], width: u32, nonsense: T) -> Vec<T> {
    contents
        .iter()
        .flat_map(|row| (0..width as usize).map(|i| *row.get(i).unwrap_or(&nonsense)))
        .collect()
}

/// Returns the rows of `contents`, each filled up with `fill` to `width` little-endian words.
fn words(contents: &[Vec<u8>], width: u32, fill: u8) -> Vec<u64> {
    padded(contents, 8 * width, fill)
        .as_chunks()
        .0
        .iter()
        .map(|&word| u64::from_le_bytes(word))
        .collect()
}

fn signed(coefficients: &[i8]) -> Vec<u8> {
    coefficients.iter().map(|&c| c as u8).collect()
}

/// Returns an output array before a launch, with all bits set.
fn blank<T: Word>(len: usize) -> Buffer {
    Buffer::new(&vec![T::from_bits(!0); len])
}

/// Launches a kernel for `count` operations.
fn launch(kernel: &Kernel, buffers: &[&Buffer], count: usize) {
    device::launch(kernel, buffers, Batch::each(count as u32));
}

/// Checks that each row of an array begins with the expected elements.
fn assert_rows<T: Word>(buffer: &Buffer, width: u32, expected: &[Vec<T>]) {
    let content = buffer.content::<T>();
    assert_eq!(content.len(), width as usize * expected.len());
    for (row, expected) in content.chunks(width as usize).zip(expected) {
        assert_eq!(row[..expected.len()], expected[..]);
    }
}

fn check_sample_secret<R: Arithmetic>(coins: &[Vec<u8>]) {
    let input = Buffer::new(&words(coins, coin_words::<R>(), 0xee));
    let secret = blank::<u8>(coins.len() * row::<R>() as usize);
    launch(SAMPLE_SECRET.of::<R>(), &[&input, &secret], coins.len());
    let expected: Vec<_> = coins
        .iter()
        .map(|coins| signed(sample::sample_secret::<R>(&array(coins)).coefficients()))
        .collect();
    assert_rows(&secret, row::<R>(), &expected);
}

/// The kernels for one encoding of public keys, and the encoding on the CPU.
struct Keys<R: Arithmetic> {
    decode: &'static RingKernels,
    encode: &'static RingKernels,
    unpack: &'static RingKernels,
    pack: &'static RingKernels,
    encoding: fn(&Poly<R>) -> Vec<u8>,
}

fn encodings<R: Arithmetic>() -> [Keys<R>; 2] {
    [
        Keys {
            decode: &DECODE_MIXED_RADIX,
            encode: &ENCODE_MIXED_RADIX,
            unpack: &UNPACK_SECRET_KEY_MIXED_RADIX,
            pack: &PACK_SECRET_KEY_MIXED_RADIX,
            encoding: |h| mixed_radix::encode(h).as_ref().to_vec(),
        },
        Keys {
            decode: &DECODE_PACKED13,
            encode: &ENCODE_PACKED13,
            unpack: &UNPACK_SECRET_KEY_PACKED13,
            pack: &PACK_SECRET_KEY_PACKED13,
            encoding: |h| bits::pack13(h).as_ref().to_vec(),
        },
    ]
}

/// The parts of a key: the coins of `f`, then `h`, then `z`.
type Parts<R> = (Vec<u8>, Poly<R>, Vec<u8>);

fn check_keys<R: Arithmetic>(parts: &[Parts<R>]) {
    let count = parts.len();
    let width = row::<R>() as usize;
    let h: Vec<_> = parts.iter().map(|(_, h, _)| h.coefficients().to_vec()).collect();
    let f: Vec<SmallPoly<R>> =
        parts.iter().map(|(coins, _, _)| sample::sample_secret(&array(coins))).collect();
    let z: Vec<_> = parts.iter().map(|(_, _, z)| z.clone()).collect();
    let z = words(&z, SEED_WORDS, 0);
    let small: Vec<_> = f.iter().map(|f| signed(f.coefficients())).collect();

    for Keys { decode, encode, unpack, pack, encoding } in encodings::<R>() {
        let public: Vec<_> = parts.iter().map(|(_, h, _)| encoding(h)).collect();
        let ids: Vec<_> = public.iter().map(|key| key[..ID_BYTES as usize].to_vec()).collect();
        let secret: Vec<_> = (f.iter().zip(&public).zip(parts))
            .map(|((f, public), (_, _, z))| [secret_poly::pack(f).as_ref(), public, z].concat())
            .collect();

        let h_rows = Buffer::new(&padded(&h, row::<R>(), 0xffff));
        let keys = blank::<u8>(public.concat().len());
        launch(encode.of::<R>(), &[&h_rows, &keys], count);
        assert_eq!(keys.content::<u8>(), public.concat());

        let h_out = blank::<u16>(count * width);
        let ids_out = blank::<u8>(count * ID_BYTES as usize);
        launch(decode.of::<R>(), &[&strings(&public), &h_out, &ids_out], count);
        assert_rows(&h_out, row::<R>(), &h);
        assert_rows(&ids_out, ID_BYTES, &ids);

        let f_rows = Buffer::new(&padded(&small, row::<R>(), 0xff));
        let z_rows = Buffer::new(&z);
        let keys = blank::<u8>(secret.concat().len());
        launch(pack.of::<R>(), &[&f_rows, &h_rows, &z_rows, &keys], count);
        assert_eq!(keys.content::<u8>(), secret.concat());

        let f_out = blank::<u8>(count * width);
        let h_out = blank::<u16>(count * width);
        let ids_out = blank::<u8>(count * ID_BYTES as usize);
        let z_out = blank::<u64>(z.len());
        let keys = strings(&secret);
        launch(unpack.of::<R>(), &[&keys, &f_out, &h_out, &ids_out, &z_out], count);
        assert_rows(&f_out, row::<R>(), &small);
        assert_rows(&h_out, row::<R>(), &h);
        assert_rows(&ids_out, ID_BYTES, &ids);
        assert_eq!(z_out.content::<u64>(), z);
    }
}

/// Runs the checks on the values of the test vectors.
fn check_vectors<R: Arithmetic>() {
    let vector = Intermediate::load(R::N);
    check_sample_secret::<R>(&[vector.coins_f.clone(), vector.coins_g.clone()]);
    let h = Poly::<R>::from_coefficients(&vector.h).unwrap();
    check_keys::<R>(&[(vector.coins_f.clone(), h, vector.z.clone())]);
}

fn check_traces<R: Arithmetic>() {
    let width = row::<R>() as usize;
    let coins =
        [vec![0u8; R::COIN_BYTES], (0..R::COIN_BYTES).map(|i| (31 * i % 251) as u8).collect()];
    let sampling = coins
        .clone()
        .map(|coins| vec![Buffer::new(&words(&[coins], coin_words::<R>(), 0)), blank::<u8>(width)]);
    assert_same_trace(SAMPLE_SECRET.of::<R>(), sampling, Batch::each(1));
    for Keys { unpack, pack, encoding, .. } in encodings::<R>() {
        // Two keys, one per warp of a block.
        let h = Poly::<R>::one();
        let f = coins.clone().map(|coins| sample::sample_secret::<R>(&array(&coins)));
        let unpacking = [0u8, 0xff].map(|z| {
            let f = secret_poly::pack(&f[usize::from(z & 1)]);
            let key = [f.as_ref(), &encoding(&h), &[z; 32]].concat();
            vec![
                strings(&[key.clone(), key]),
                blank::<u8>(2 * width),
                blank::<u16>(2 * width),
                blank::<u8>(2 * ID_BYTES as usize),
                blank::<u64>(2 * SEED_WORDS as usize),
            ]
        });
        assert_same_trace(unpack.of::<R>(), unpacking, Batch::each(2));
        let packing = [0u8, 0xff].map(|z| {
            let f = signed(f[usize::from(z & 1)].coefficients());
            vec![
                Buffer::new(&padded(&[f.clone(), f], row::<R>(), 0)),
                Buffer::new(&padded(&vec![h.coefficients().to_vec(); 2], row::<R>(), 0)),
                Buffer::new(&words(&[vec![z; 32], vec![z; 32]], SEED_WORDS, 0)),
                blank::<u8>(2 * (R::SECRET_POLY_BYTES + encoding(&h).len() + 32)),
            ]
        });
        assert_same_trace(pack.of::<R>(), packing, Batch::each(2));
    }
}

/// Generates batches of 1, 2 or 33 values.
fn batch<T: Debug>(one: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Vec<T>> {
    prop_oneof![4 => Just(1usize), 3 => Just(2), 1 => Just(33)]
        .prop_flat_map(move |count| vec(one.clone(), count))
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(8))]
                #[test]
                fn sample_secret(coins in batch(bytes(<$ring>::COIN_BYTES).boxed())) {
                    check_sample_secret::<$ring>(&coins);
                }
                #[test]
                fn keys(parts in batch((bytes(<$ring>::COIN_BYTES), poly::<$ring>(),
                    bytes(32)).boxed())) {
                    check_keys::<$ring>(&parts);
                }
            }
            #[test]
            fn vectors() {
                check_vectors::<$ring>();
            }
            #[test]
            fn traces() {
                check_traces::<$ring>();
            }
        }
    )*};
}
properties! {
    r653: R653,
    r761: R761,
    r1277: R1277
}
