//! Compares the kernels of Streamlined NTRU Prime with the CPU.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::keys::validate::WRONG_HASH;
use ctru_gpu_kernels::kernels::ntruprime::hash::TWO_HASHES;
use ctru_gpu_kernels::kernels::ntruprime::{
    ciphertext_bytes, private_key_bytes, public_key_bytes, stream,
};
use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS, row};
use ctru_gpu_kernels::table::*;
use ctru_math::array::Array;
use ctru_math::codec::{mixed_radix, ternary};
use ctru_math::{
    Arithmetic, NtruPrimeArithmetic, NtruPrimeRing, Poly, R653, R761, R1277, SmallPoly, mul, short,
    ternary as math,
};
use ctru_tests::hashes::shake256;
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::{Digest, Sha512};

use crate::operations::{launch, rows, strings, unfilled, words};
use crate::strategies::bytes;
use crate::traces::assert_same_trace;
use crate::vectors::array;

fn check_stream<R: Arithmetic>(seeds: &[Vec<u8>]) {
    let row = stream::words::<R>(1);
    let stream = unfilled(seeds.len(), row);
    let batch = Batch::each(seeds.len() as u32);
    launch(NTRUPRIME_STREAM.of::<R>(), &[&words(seeds), &stream], batch);
    for (seed, stream) in seeds.iter().zip(rows(&stream, row)) {
        let input = [format!("sntrup{} encapsulation", R::N).as_bytes(), seed].concat();
        assert_eq!(stream, shake256(&input, 8 * row as usize));
    }
}

/// Random words of one draw, with the spare half of the last 64-bit word.
fn draw<R: Arithmetic>() -> impl Strategy<Value = Vec<u32>> {
    let len = 2 * stream::words::<R>(1) as usize;
    prop_oneof![
        4 => vec(any::<u32>(), len),
        // Equal keys.
        1 => vec(prop_oneof![Just(0), Just(u32::MAX), Just(1 << 31)], len),
        // Sorted in either direction.
        1 => any::<bool>().prop_map(move |up| {
            (0..len as u32).map(|i| (if up { i } else { len as u32 - i }) << 20).collect()
        }),
    ]
}

fn buffer(draws: &[Vec<u32>]) -> Buffer {
    let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
    Buffer::new(&draws.concat().chunks(2).map(word).collect::<Vec<u64>>())
}

fn coefficients<R: Arithmetic>(
    words: &[u32],
    f: fn(&R::Coeffs<[u8; 4]>) -> SmallPoly<R>,
) -> Vec<u8> {
    let words = R::Coeffs::from_fn(|i| words[i].to_le_bytes());
    f(&words).coefficients().iter().map(|&c| c as u8).collect()
}

fn check_sampling<R: Arithmetic + NtruPrimeArithmetic>(draws: &[Vec<u32>]) {
    let width = row::<R>() as usize;
    let result = Buffer::new(&vec![0xa7u8; draws.len() * width]);
    let batch = Batch::each(draws.len() as u32);
    launch(NTRUPRIME_SHORT.of::<R>(), &[&buffer(draws), &result], batch);
    for (words, result) in draws.iter().zip(result.content::<u8>().chunks(width)) {
        assert_eq!(result[..R::N], coefficients::<R>(words, short::short::<R>));
    }
}

fn check_traces<R: Arithmetic>() {
    let seeds = [0u64, !0].map(|seed| {
        vec![Buffer::new(&[seed; SEED_WORDS as usize]), unfilled(1, stream::words::<R>(1))]
    });
    assert_same_trace(NTRUPRIME_STREAM.of::<R>(), seeds, Batch::each(1));
    let len = 2 * stream::words::<R>(1);
    let draws = [1, 0x9e37_79b9_u32].map(|step| {
        let words = (0..len).map(|i| i.wrapping_mul(step)).collect();
        vec![buffer(&[words]), Buffer::new(&vec![0u8; row::<R>() as usize])]
    });
    assert_same_trace(NTRUPRIME_SHORT.of::<R>(), draws, Batch::each(1));
    let private = [0, 0xa5].map(|byte| {
        let key = vec![byte; private_key_bytes::<R>() as usize];
        vec![strings(&[key]), unfilled(1, SEED_WORDS), Buffer::new(&[0u64])]
    });
    assert_same_trace(NTRUPRIME_HASH_PRIVATE_KEYS.of::<R>(), private, Batch::each(1));
    let short = [0u8, 1].map(|c| {
        let id = Buffer::new(&[7u8; ID_BYTES as usize]);
        vec![Buffer::new(&vec![c; row::<R>() as usize]), id, unfilled(1, TWO_HASHES)]
    });
    assert_same_trace(NTRUPRIME_CONFIRM.of::<R>(), short, Batch::each(1));
    let secret = [0, 1].map(|byte: u8| {
        let ciphertext = |byte| strings(&[vec![byte; ciphertext_bytes::<R>() as usize]]);
        let hashes = Buffer::new(&[u64::from(byte); TWO_HASHES as usize]);
        let rejection = Buffer::new(&[!u64::from(byte); SEED_WORDS as usize]);
        vec![hashes, rejection, ciphertext(0), ciphertext(byte), unfilled(1, SEED_WORDS)]
    });
    assert_same_trace(NTRUPRIME_SHARED_SECRET.of::<R>(), secret, Batch::each(1));
    let width = row::<R>() as usize;
    let private = [0, 0xa5].map(|byte| {
        let key = vec![byte; private_key_bytes::<R>() as usize];
        let (secrets, h) = (Buffer::new(&vec![0u8; 2 * width]), Buffer::new(&vec![0u16; width]));
        let id = Buffer::new(&[0u8; ID_BYTES as usize]);
        vec![strings(&[key]), secrets, h, id, Buffer::new(&[0u64])]
    });
    assert_same_trace(NTRUPRIME_UNPACK.of::<R>(), private, Batch::each(1));
    let short = [0, 0xff].map(|c: u8| {
        let ciphertext = strings(&[vec![0; ciphertext_bytes::<R>() as usize]]);
        let hashes = Buffer::new(&[u64::from(c); TWO_HASHES as usize]);
        vec![Buffer::new(&vec![5u16; width]), Buffer::new(&vec![c; width]), hashes, ciphertext]
    });
    assert_same_trace(NTRUPRIME_ENCRYPT.of::<R>(), short, Batch::each(1));
    let secrets = [0, 1].map(|c: u8| {
        let ciphertext = strings(&[vec![0x5a; ciphertext_bytes::<R>() as usize]]);
        let secrets = Buffer::new(&vec![c; 2 * width]);
        vec![ciphertext, secrets, Buffer::new(&vec![0u8; width])]
    });
    assert_same_trace(NTRUPRIME_DECRYPT.of::<R>(), secrets, Batch::each(1));
}

pub(crate) fn half_sha512(prefix: u8, parts: &[&[u8]]) -> Vec<u8> {
    Sha512::digest([&[prefix], &parts.concat()[..]].concat())[..32].to_vec()
}

/// What the operations of a batch hash: keys, polynomials and ciphertexts.
#[derive(Clone, Debug)]
struct Hashed {
    public: Vec<u8>,
    private: Vec<u8>,
    short: Vec<u8>,
    ciphertext: Vec<u8>,
    /// The bits in which the ciphertext and what decapsulation encrypts again differ: none, one, or
    /// two whose differences must not cancel each other.
    altered: Vec<usize>,
}

fn hashed<R: Arithmetic>() -> impl Strategy<Value = Hashed> {
    let ciphertext = ciphertext_bytes::<R>() as usize;
    (
        bytes(public_key_bytes::<R>() as usize),
        bytes(private_key_bytes::<R>() as usize),
        vec(prop_oneof![Just(0xff), Just(0), Just(1)], R::N),
        bytes(ciphertext),
        prop_oneof![
            Just(vec![]),
            Just(vec![0]),
            Just(vec![8 * ciphertext - 1]),
            (0..8 * ciphertext).prop_map(|bit| vec![bit]),
            (0..8 * (ciphertext - 4)).prop_map(|bit| vec![bit, bit + 32]),
        ],
    )
        .prop_map(|(public, private, short, ciphertext, altered)| Hashed {
            public,
            private,
            short,
            ciphertext,
            altered,
        })
}

fn check_hashes<R: Arithmetic + NtruPrimeArithmetic>(hashed: &[Hashed], one_key: bool) {
    let count = hashed.len();
    let each = Batch::each(count as u32);
    let of = |f: fn(&Hashed) -> &Vec<u8>| hashed.iter().map(|h| f(h).clone()).collect::<Vec<_>>();
    let public = of(|hashed| &hashed.public);
    let ids = Buffer::new(&vec![0xa7u8; count * ID_BYTES as usize]);
    launch(NTRUPRIME_HASH_PUBLIC_KEYS.of::<R>(), &[&strings(&public), &ids], each);
    let ids = ids.content::<u8>();
    let id = |i: usize| &ids[ID_BYTES as usize * i..][..ID_BYTES as usize];
    for (i, key) in public.iter().enumerate() {
        assert_eq!(*id(i), [half_sha512(4, &[key]), vec![0]].concat());
    }

    // The first of two private keys has the hash of its public key.
    let mut private = of(|hashed| &hashed.private);
    let rho = 2 * R::TERNARY_BYTES + public_key_bytes::<R>() as usize;
    for key in private.iter_mut().step_by(2) {
        let hash = half_sha512(4, &[&key[2 * R::TERNARY_BYTES..rho]]);
        key[rho + R::TERNARY_BYTES..].copy_from_slice(&hash);
    }
    let (rejections, faults) = (unfilled(count, SEED_WORDS), Buffer::new(&vec![1u64; count]));
    let memory = [&strings(&private), &rejections, &faults];
    launch(NTRUPRIME_HASH_PRIVATE_KEYS.of::<R>(), &memory, each);
    let rejection_rows = rows(&rejections, SEED_WORDS);
    for (i, key) in private.iter().enumerate() {
        let rho = &key[rho..][..R::TERNARY_BYTES];
        assert_eq!(rejection_rows[i], half_sha512(3, &[rho]));
        let fault = if i.is_multiple_of(2) { 0 } else { WRONG_HASH };
        assert_eq!(faults.content::<u64>()[i], 1 | fault);
    }

    let batch = if one_key { Batch::shared(count as u32) } else { each };
    let key = |i: usize| if one_key { 0 } else { i };
    let short = padded(&of(|hashed| &hashed.short), row::<R>(), 0x11);
    let hashes = unfilled(count, TWO_HASHES);
    let memory = [&Buffer::new(&short), &Buffer::new(&ids), &hashes];
    launch(NTRUPRIME_CONFIRM.of::<R>(), &memory, batch);
    let hash_rows = rows(&hashes, TWO_HASHES);
    for (i, hashed) in hashed.iter().enumerate() {
        let hash = half_sha512(3, &[&packed::<R>(&hashed.short)]);
        let confirmation = half_sha512(2, &[&hash, &id(key(i))[..32]]);
        assert_eq!(hash_rows[i], [hash, confirmation].concat());
    }

    let received = of(|hashed| &hashed.ciphertext);
    let mut encrypted = received.clone();
    for (hashed, ciphertext) in hashed.iter().zip(&mut encrypted) {
        for &bit in &hashed.altered {
            ciphertext[bit / 8] ^= 1 << (bit % 8);
        }
    }
    let secrets = unfilled(count, SEED_WORDS);
    let memory = [&hashes, &rejections, &strings(&received), &strings(&encrypted), &secrets];
    launch(NTRUPRIME_SHARED_SECRET.of::<R>(), &memory, batch);
    for (i, secret) in rows(&secrets, SEED_WORDS).into_iter().enumerate() {
        let expected = if hashed[i].altered.is_empty() {
            half_sha512(1, &[&hash_rows[i][..32], &received[i]])
        } else {
            half_sha512(0, &[&rejection_rows[key(i)], &received[i]])
        };
        assert_eq!(secret, expected, "{:?}", hashed[i].altered);
    }
}

/// Returns rows of a polynomial's width, filled up with nonsense.
pub(crate) fn padded<T: Copy>(rows: &[Vec<T>], width: u32, nonsense: T) -> Vec<T> {
    let padded = |row: &Vec<T>| [&row[..], &vec![nonsense; width as usize - row.len()]].concat();
    rows.iter().flat_map(padded).collect()
}

fn small<R: Arithmetic>(row: &[u8]) -> SmallPoly<R> {
    let coefficients: Vec<i8> = row[..R::N].iter().map(|&c| c as i8).collect();
    SmallPoly::from_coefficients(&coefficients).unwrap()
}

pub(crate) fn packed<R: Arithmetic + NtruPrimeArithmetic>(row: &[u8]) -> Vec<u8> {
    let mut packed = R::TernaryBytes::zeroed();
    ternary::pack(&small::<R>(row), &mut packed);
    packed.as_ref().to_vec()
}

/// Returns the numbers as which a public key encodes the coefficients of `h`.
pub(crate) fn numbers<R: Arithmetic>(h: &Poly<R>) -> Vec<u16> {
    let number = |&c: &u16| (u32::from(c) + R::Q / 2) % R::Q;
    h.coefficients().iter().map(|c| number(c) as u16).collect()
}

/// A public key, `f` and `1/g`, and the rest of a private key.
type Key = (Vec<u8>, [Vec<u8>; 2], Vec<u8>);

/// Checks the conversion of keys, whose public keys are any strings.
fn check_keys<R: Arithmetic + NtruPrimeArithmetic>(keys: &[Key]) {
    let (count, width) = (keys.len(), row::<R>() as usize);
    let batch = Batch::each(count as u32);
    let public: Vec<Vec<u8>> = keys.iter().map(|(public, ..)| public.clone()).collect();
    let h = Buffer::new(&vec![0xabcd_u16; count * width]);
    let ids = Buffer::new(&vec![0xa7u8; count * ID_BYTES as usize]);
    launch(DECODE_MIXED_RADIX.of::<R>(), &[&strings(&public), &h, &ids], batch);
    let check_h = |h: &Buffer| {
        for (key, h) in public.iter().zip(h.content::<u16>().chunks(width)) {
            let expected = mixed_radix::decode_shifted::<R>(&array(key));
            assert_eq!(h[..R::N], numbers(&expected));
        }
    };
    check_h(&h);

    let private = |(public, [f, g], rest): &Key| {
        [&packed::<R>(f)[..], &packed::<R>(g), public, rest].concat()
    };
    let check = |private: &[Vec<u8>], faulty: &dyn Fn(usize) -> bool| {
        let secrets = Buffer::new(&vec![0xa7u8; count * 2 * width]);
        let h = Buffer::new(&vec![0xabcd_u16; count * width]);
        let ids = Buffer::new(&vec![0xa7u8; count * ID_BYTES as usize]);
        let faults = Buffer::new(&vec![!0u64; count]);
        let memory = [&strings(private), &secrets, &h, &ids, &faults];
        launch(NTRUPRIME_UNPACK.of::<R>(), &memory, batch);
        check_h(&h);
        for (i, (_, polynomials, rest)) in keys.iter().enumerate() {
            assert_eq!(faults.content::<u64>()[i], u64::from(faulty(i)));
            let id = &ids.content::<u8>()[i * ID_BYTES as usize..][..ID_BYTES as usize];
            assert_eq!(*id, [&rest[rest.len() - 32..], &[0]].concat());
            for (k, polynomial) in polynomials.iter().enumerate().filter(|_| !faulty(i)) {
                let row = &secrets.content::<u8>()[(2 * i + k) * width..];
                assert_eq!(row[..R::N], polynomial[..R::N]);
            }
        }
    };
    let private: Vec<Vec<u8>> = keys.iter().map(private).collect();
    check(&private, &|_| false);
    // A pair of bits that is 3, padding, another weight, in the last key only.
    let last = R::TERNARY_BYTES - 1;
    for (byte, value) in [(0, 3), (last, 0x80), (2 * last + 1, 0x40), (last + 5, 0xc0)] {
        let mut altered = private.clone();
        altered[count - 1][byte] |= value;
        check(&altered, &|i| i == count - 1);
    }
    let mut altered = private;
    let pair = altered[count - 1][0] & 3;
    altered[count - 1][0] ^= if pair == 1 { 1 } else { pair ^ 1 };
    check(&altered, &|i| i == count - 1);
}

/// A short polynomial and two hashes, a public key, a received ciphertext, and `f` and `1/g`.
type Text = ([Vec<u8>; 2], Vec<u8>, Vec<u8>, [Vec<u8>; 2]);

/// Checks encryption and decryption, also of ciphertexts that are none.
fn check_texts<R: Arithmetic + NtruPrimeArithmetic>(texts: &[Text], one_key: bool) {
    let (count, width) = (texts.len(), row::<R>());
    let batch = if one_key { Batch::shared(count as u32) } else { Batch::each(count as u32) };
    let key = |i: usize| if one_key { 0 } else { i };
    let h: Vec<_> =
        texts.iter().map(|(_, key, ..)| mixed_radix::decode_shifted::<R>(&array(key))).collect();
    let h_rows: Vec<_> = h.iter().map(numbers).collect();
    let short: Vec<_> = texts.iter().map(|([r, _], ..)| r.clone()).collect();
    let hashes: Vec<_> = texts.iter().map(|([_, hashes], ..)| hashes.clone()).collect();
    let bytes = ciphertext_bytes::<R>() as usize;
    let ciphertexts = Buffer::new(&vec![0xa7u8; (count * bytes).next_multiple_of(4)]);
    let memory = [
        &Buffer::new(&padded(&h_rows, width, 0xffff)),
        &Buffer::new(&padded(&short, width, 0x7b)),
        &words(&hashes),
        &ciphertexts,
    ];
    launch(NTRUPRIME_ENCRYPT.of::<R>(), &memory, batch);
    let content = ciphertexts.content::<u8>();
    for (i, ciphertext) in content.chunks_exact(bytes).enumerate() {
        let product = mul::mul_small(&h[key(i)], &small::<R>(&short[i]));
        let rounded = mixed_radix::encode_rounded(&product);
        assert_eq!(*ciphertext, [rounded.as_ref(), &hashes[i][32..]].concat());
    }

    let received: Vec<_> = texts.iter().map(|(_, _, received, _)| received.clone()).collect();
    let secrets: Vec<_> = texts.iter().flat_map(|(.., secrets)| secrets.clone()).collect();
    let short = Buffer::new(&vec![0xa7u8; count * width as usize]);
    let memory = [&strings(&received), &Buffer::new(&padded(&secrets, width, 0x7b)), &short];
    launch(NTRUPRIME_DECRYPT.of::<R>(), &memory, batch);
    for (i, result) in short.content::<u8>().chunks(width as usize).enumerate() {
        let c = mixed_radix::decode_rounded::<R>(&array(&received[i][..bytes - 32]));
        let [f, g_inverse] = [0, 1].map(|k| small::<R>(&secrets[2 * key(i) + k]));
        let e = math::tripled(&mul::mul_small(&c, &f));
        let expected = math::short_or_ones(&math::mul(&e, &g_inverse));
        assert_eq!(small::<R>(result), expected);
    }
}

/// Returns coefficients in `-1..=1` as bytes, of any weight or that of a short polynomial.
fn ternary_row<R: Arithmetic + NtruPrimeArithmetic>(is_short: bool) -> BoxedStrategy<Vec<u8>> {
    if is_short {
        draw::<R>().prop_map(|words| coefficients::<R>(&words, short::short::<R>)).boxed()
    } else {
        prop_oneof![
            2 => draw::<R>().prop_map(|words| coefficients::<R>(&words, short::small::<R>)),
            1 => prop_oneof![Just(0xff), Just(1)].prop_map(|c| vec![c; R::N]),
        ]
        .boxed()
    }
}

/// Returns bytes that are random, all zeros or all ones.
fn string(len: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => bytes(len), 1 => Just(vec![0; len]), 1 => Just(vec![0xff; len])]
}

/// Returns a secret key and a ciphertext that decrypts to a short polynomial, or to any.
fn received<R: Arithmetic + NtruPrimeArithmetic>() -> impl Strategy<Value = (Vec<u8>, [Vec<u8>; 2])>
{
    let any = (
        string(ciphertext_bytes::<R>() as usize),
        [ternary_row::<R>(true), ternary_row::<R>(false)],
    );
    // With f and 1/g equal to 1, the multiples of 3 nearest to r/3 modulo q decrypt to r.
    let mut one = vec![0; R::N];
    one[0] = 1;
    let honest = ternary_row::<R>(true).prop_map(move |r| {
        let third = math::third(&Poly::from(&small::<R>(&r)));
        let rounded = mixed_radix::encode_rounded(&third);
        ([rounded.as_ref(), &[7; 32]].concat(), [one.clone(), one.clone()])
    });
    prop_oneof![any, honest]
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                fn stream(seeds in prop_oneof![Just(1usize), Just(33), Just(129)]
                    .prop_flat_map(|count| vec(bytes(32), count))) {
                    check_stream::<$ring>(&seeds);
                }
                #[test]
                fn sampling(draws in vec(draw::<$ring>(), 1..4)) {
                    check_sampling::<$ring>(&draws);
                }
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(4))]
                #[test]
                fn hashes(
                    hashed in prop_oneof![Just(1usize), Just(5), Just(129)]
                        .prop_flat_map(|count| vec(hashed::<$ring>(), count)),
                    one_key in any::<bool>(),
                ) {
                    check_hashes::<$ring>(&hashed, one_key);
                }
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(6))]
                #[test]
                fn keys(
                    keys in vec(
                        (
                            string(public_key_bytes::<$ring>() as usize),
                            [ternary_row::<$ring>(true), ternary_row::<$ring>(false)],
                            bytes(<$ring>::TERNARY_BYTES + 32),
                        ),
                        1..4,
                    ),
                ) {
                    check_keys::<$ring>(&keys);
                }
                #[test]
                fn texts(
                    texts in vec(
                        (
                            (ternary_row::<$ring>(true), bytes(64)),
                            string(public_key_bytes::<$ring>() as usize),
                            received::<$ring>(),
                        )
                            .prop_map(|((r, hashes), key, (text, secrets))| {
                                ([r, hashes], key, text, secrets)
                            }),
                        1..4,
                    ),
                    one_key in any::<bool>(),
                ) {
                    check_texts::<$ring>(&texts, one_key);
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
    r653: R653,
    r761: R761,
    r1277: R1277
}
