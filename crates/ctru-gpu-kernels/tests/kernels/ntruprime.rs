//! Compares the kernels of Streamlined NTRU Prime on the emulator with the CPU.

use ctru_gpu_kernels::descriptor::{Batch, Kernel, Parameter, Rows};
use ctru_gpu_kernels::emulator::{Buffer, Emulate};
use ctru_gpu_kernels::kernels::ntruprime::hash::{TWO_HASHES, WRONG_HASH};
use ctru_gpu_kernels::kernels::ntruprime::{
    ciphertext_bytes, private_key_bytes, public_key_bytes, sample, stream,
};
use ctru_gpu_kernels::kernels::{ID_BYTES, SEED_WORDS, row};
use ctru_gpu_kernels::simt::Simt;
use ctru_gpu_kernels::table::*;
use ctru_math::array::Array;
use ctru_math::codec::ternary;
use ctru_math::{Arithmetic, NtruPrimeArithmetic, R653, R761, R1277, SmallPoly, short};
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::{Digest, Sha512};

use crate::operations::{launch, rows, shake256, strings, unfilled, words};
use crate::strategies::bytes;
use crate::traces::assert_same_trace;

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
    let emulate: Emulate = |s, arrays, _| {
        let first = 2 * stream::words::<R>(1) * s.block();
        let (stream, to) = (arrays[0].view(), (arrays[1].view(), row::<R>() * s.block()));
        sample::store_small::<_, R>(s, |i| s.load::<u32>(stream, first + i), to);
    };
    let emulate: &'static Emulate = Box::leak(Box::new(emulate));
    let short = NTRUPRIME_SHORT.of::<R>();
    let arrays = Box::leak(Box::new([
        Parameter::new("stream", 8, Rows::EachOperation, stream::words::<R>(1)),
        Parameter::new("small", 1, Rows::EachOperation, row::<R>()),
    ]));
    let small = Kernel::emulated("small", sample::shape::<R>(), arrays, emulate);
    for (kernel, expected) in
        [(short, short::short::<R> as fn(&_) -> _), (&small, short::small::<R> as fn(&_) -> _)]
    {
        let width = row::<R>() as usize;
        let result = Buffer::new(&vec![0xa7u8; draws.len() * width]);
        launch(kernel, &[&buffer(draws), &result], Batch::each(draws.len() as u32));
        for (words, result) in draws.iter().zip(result.content::<u8>().chunks(width)) {
            assert_eq!(result[..R::N], coefficients::<R>(words, expected));
        }
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
}

fn half_sha512(prefix: u8, parts: &[&[u8]]) -> Vec<u8> {
    Sha512::digest([&[prefix], &parts.concat()[..]].concat())[..32].to_vec()
}

/// What the operations of a batch hash: keys, polynomials and ciphertexts.
#[derive(Clone, Debug)]
struct Hashed {
    public: Vec<u8>,
    private: Vec<u8>,
    short: Vec<u8>,
    ciphertext: Vec<u8>,
    /// What decapsulation encrypts again: the ciphertext with one other bit, or the same.
    altered: Option<usize>,
}

fn hashed<R: Arithmetic>() -> impl Strategy<Value = Hashed> {
    let ciphertext = ciphertext_bytes::<R>() as usize;
    (
        bytes(public_key_bytes::<R>() as usize),
        bytes(private_key_bytes::<R>() as usize),
        vec(prop_oneof![Just(0xff), Just(0), Just(1)], R::N),
        bytes(ciphertext),
        prop_oneof![
            Just(None),
            Just(Some(0)),
            Just(Some(8 * ciphertext - 1)),
            (0..8 * ciphertext).prop_map(Some)
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
    let padding = vec![0x11; row::<R>() as usize - R::N];
    let short: Vec<u8> =
        hashed.iter().flat_map(|hashed| [&hashed.short[..], &padding].concat()).collect();
    let hashes = unfilled(count, TWO_HASHES);
    let memory = [&Buffer::new(&short), &Buffer::new(&ids), &hashes];
    launch(NTRUPRIME_CONFIRM.of::<R>(), &memory, batch);
    let hash_rows = rows(&hashes, TWO_HASHES);
    for (i, hashed) in hashed.iter().enumerate() {
        let small = hashed.short.iter().map(|&c| c as i8).collect::<Vec<_>>();
        let mut packed = R::TernaryBytes::zeroed();
        ternary::pack(&SmallPoly::<R>::from_coefficients(&small).unwrap(), &mut packed);
        let hash = half_sha512(3, &[packed.as_ref()]);
        let confirmation = half_sha512(2, &[&hash, &id(key(i))[..32]]);
        assert_eq!(hash_rows[i], [hash, confirmation].concat());
    }

    let received = of(|hashed| &hashed.ciphertext);
    let mut encrypted = received.clone();
    for (hashed, ciphertext) in hashed.iter().zip(&mut encrypted) {
        if let Some(bit) = hashed.altered {
            ciphertext[bit / 8] ^= 1 << (bit % 8);
        }
    }
    let secrets = unfilled(count, SEED_WORDS);
    let memory = [&hashes, &rejections, &strings(&received), &strings(&encrypted), &secrets];
    launch(NTRUPRIME_SHARED_SECRET.of::<R>(), &memory, batch);
    for (i, secret) in rows(&secrets, SEED_WORDS).into_iter().enumerate() {
        let expected = match hashed[i].altered {
            None => half_sha512(1, &[&hash_rows[i][..32], &received[i]]),
            Some(_) => half_sha512(0, &[&rejection_rows[key(i)], &received[i]]),
        };
        assert_eq!(secret, expected, "{:?}", hashed[i].altered);
    }
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
