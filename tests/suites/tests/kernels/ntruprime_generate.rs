//! Compares the kernels that generate keys of Streamlined NTRU Prime with the CPU.

use ctru_gpu_kernels::descriptor::Batch;
use ctru_gpu_kernels::emulator::Buffer;
use ctru_gpu_kernels::kernels::ntruprime::draw::rho_words;
use ctru_gpu_kernels::kernels::ntruprime::private_key_bytes;
use ctru_gpu_kernels::kernels::ntruprime::stream::words as words_of_draw;
use ctru_gpu_kernels::kernels::{ID_BYTES, row};
use ctru_gpu_kernels::table::{
    ENCODE_MIXED_RADIX, NTRUPRIME_DIVIDE, NTRUPRIME_DRAW, NTRUPRIME_DRAW_AGAIN,
    NTRUPRIME_HASH_PUBLIC_KEYS, NTRUPRIME_INVERT, NTRUPRIME_PACK,
};
use ctru_math::array::Array;
use ctru_math::codec::mixed_radix;
use ctru_math::mul::Multiplier;
use ctru_math::{Arithmetic, NtruPrimeArithmetic, NtruPrimeRing};
use ctru_math::{Poly, R653, R761, R1277, SmallPoly, short, ternary};
use ctru_tests::hashes::shake256;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::device;
use crate::ntruprime::{half_sha512, numbers, packed, padded};
use crate::operations::{self, rows, unfilled};
use crate::strategies::{bytes, poly};
use crate::traces::assert_same_trace;

/// Returns rows of small polynomials, with nonsense after the last coefficients.
fn small_rows<R: Arithmetic>(polynomials: &[Vec<i8>]) -> Buffer {
    let bytes = |a: &Vec<i8>| a.iter().map(|&c| c as u8).collect();
    let polynomials: Vec<Vec<u8>> = polynomials.iter().map(bytes).collect();
    Buffer::new(&padded(&polynomials, row::<R>(), 0xff))
}

/// Returns rows of polynomials, with nonsense after the last coefficients.
fn poly_rows<R: Arithmetic>(polynomials: &[Poly<R>]) -> Buffer {
    let polynomials: Vec<Vec<u16>> =
        polynomials.iter().map(|a| a.coefficients().to_vec()).collect();
    Buffer::new(&padded(&polynomials, row::<R>(), 0xffff))
}

fn blank_rows<R: Arithmetic>(count: usize) -> Buffer {
    Buffer::new(&vec![0x55_u8; count * row::<R>() as usize])
}

/// Returns the arrays of the kernel that inverts.
fn arrays<R: Arithmetic>(elements: &[Vec<i8>]) -> [Buffer; 3] {
    let invertible = Buffer::new(&vec![7_u64; elements.len()]);
    [small_rows::<R>(elements), blank_rows::<R>(elements.len()), invertible]
}

fn check<R: Arithmetic + NtruPrimeArithmetic>(elements: &[Vec<i8>]) {
    let [rows, inverses, invertible] = arrays::<R>(elements);
    let batch = Batch::each(elements.len() as u32);
    device::launch(NTRUPRIME_INVERT.of::<R>(), &[&rows, &inverses, &invertible], batch);
    let (inverses, invertible) = (inverses.content::<u8>(), invertible.content::<u64>());
    for (i, inverse) in inverses.chunks(row::<R>() as usize).enumerate() {
        let a = SmallPoly::<R>::from_coefficients(&elements[i]).unwrap();
        let expected = Option::<SmallPoly<R>>::from(ternary::invert(&a));
        assert_eq!(invertible[i], u64::from(expected.is_some()), "{i}");
        if let Some(expected) = expected {
            let inverse: Vec<i8> = inverse[..R::N].iter().map(|&c| c as i8).collect();
            assert_eq!(inverse, expected.coefficients(), "{i}");
        }
    }
}

fn small<R: Arithmetic>() -> impl Strategy<Value = Vec<i8>> {
    vec(-1..=1_i8, R::N)
}

/// Returns the polynomial with these coefficients at these powers.
fn sparse<R: Arithmetic>(terms: &[(usize, i8)]) -> Vec<i8> {
    let mut coefficients = vec![0; R::N];
    for &(power, coefficient) in terms {
        coefficients[power] = coefficient;
    }
    coefficients
}

/// Zero, monomials, constants throughout, and polynomials of a low degree, some of which have no
/// inverse: they fill more than one block.
fn special<R: Arithmetic>() -> Vec<Vec<i8>> {
    let mut elements = vec![sparse::<R>(&[])];
    for c in [1, -1] {
        let powers = [0, 1, 31, 32, R::N / 2, R::N - 2, R::N - 1];
        elements.extend(powers.map(|power| sparse::<R>(&[(power, c)])));
        elements.push(vec![c; R::N]);
    }
    for number in 0..81 {
        let c = |i: u32| (number / 3_i32.pow(i) % 3 - 1) as i8;
        elements.push(sparse::<R>(&[(0, c(0)), (1, c(1)), (2, c(2)), (3, c(3)), (4, 1)]));
    }
    elements
}

/// The parts of a key pair from the draw `draws`: `g`, the bytes of the words of `f`, and `rho`.
fn parts<R: Arithmetic + NtruPrimeArithmetic>(
    seed: &[u8],
    draw: usize,
) -> (SmallPoly<R>, Vec<u8>, Vec<u8>) {
    let input = [format!("sntrup{} key pair", R::N).as_bytes(), &seed[..32]].concat();
    let row = 4 * R::N;
    let stream = shake256(&input, (draw + 2) * row + R::TERNARY_BYTES);
    let (stream, rho) = stream[draw * row..].split_at(2 * row);
    let (g, f) = stream.split_at(row);
    let g = R::Coeffs::from_fn(|i| g.as_chunks().0[i]);
    (short::small(&g), f.to_vec(), rho.to_vec())
}

/// Launches the kernels that draw. Operations that are in `again` act as if the first draw had no
/// inverse.
fn check_draws<R: Arithmetic + NtruPrimeArithmetic>(seeds: &[Vec<u8>], again: &[bool]) {
    let count = seeds.len();
    let batch = Batch::each(count as u32);
    let (g, inverses) = (blank_rows::<R>(count), blank_rows::<R>(count));
    let (f, rho) = (unfilled(count, words_of_draw::<R>(1)), unfilled(count, rho_words::<R>()));
    let seed_rows = operations::words(seeds);
    device::launch(NTRUPRIME_DRAW.of::<R>(), &[&seed_rows, &g, &f, &rho], batch);
    let check = |draws: &[usize]| {
        let (f, rho) = (rows(&f, words_of_draw::<R>(1)), rows(&rho, rho_words::<R>()));
        let g_rows = g.content::<u8>();
        for (i, (seed, &draw)) in seeds.iter().zip(draws).enumerate() {
            let (expected_g, expected_f, expected_rho) = parts::<R>(seed, draw);
            let own_g = g_rows[i * row::<R>() as usize..][..R::N].iter().map(|&c| c as i8);
            assert!(own_g.eq(expected_g.coefficients().iter().copied()), "{i}");
            assert_eq!(f[i][..expected_f.len()], expected_f, "{i}");
            assert_eq!(rho[i][..expected_rho.len()], expected_rho, "{i}");
        }
    };
    check(&vec![0; count]);
    let invertible: Vec<u64> = again.iter().map(|&again| (!again).into()).collect();
    let invertible = Buffer::new(&invertible);
    let arrays = [&seed_rows, &g, &f, &rho, &inverses, &invertible];
    device::launch(NTRUPRIME_DRAW_AGAIN.of::<R>(), &arrays, batch);
    assert_eq!(invertible.content::<u64>(), vec![1; count]);
    let inverses = inverses.content::<u8>();
    let draw_of = |(i, seed): (usize, &Vec<u8>)| {
        let inverse = &inverses[i * row::<R>() as usize..][..R::N];
        if !again[i] {
            assert_eq!(inverse, vec![0x55; R::N]);
            return 0;
        }
        let expected = |draw| Option::<SmallPoly<R>>::from(ternary::invert(&parts(seed, draw).0));
        let draw = (1..).find(|&draw| expected(draw).is_some()).unwrap();
        let expected = expected(draw).unwrap();
        assert!(inverse.iter().map(|&c| c as i8).eq(expected.coefficients().iter().copied()));
        draw
    };
    check(&seeds.iter().enumerate().map(draw_of).collect::<Vec<_>>());
}

/// Returns the seed of a number.
fn seed(number: u32) -> Vec<u8> {
    [number.to_le_bytes().to_vec(), vec![7; 60]].concat()
}

fn has_inverse<R: Arithmetic + NtruPrimeArithmetic>(seed: &[u8], draw: usize) -> bool {
    Option::<SmallPoly<R>>::from(ternary::invert(&parts(seed, draw).0)).is_some()
}

/// Returns a seed of which the draws 1 and 2 have no inverse. Panics if none of 4000 seeds is one.
fn unlucky<R: Arithmetic + NtruPrimeArithmetic>() -> Vec<u8> {
    let is_unlucky = |seed: &Vec<u8>| (1..=2).all(|draw| !has_inverse::<R>(seed, draw));
    (0..4000).map(seed).find(is_unlucky).unwrap()
}

fn check_quotients<R: Arithmetic + NtruPrimeArithmetic>(pairs: &[(Poly<R>, Vec<i8>)]) {
    let (inverses, small): (Vec<_>, Vec<_>) = pairs.iter().cloned().unzip();
    let quotients = Buffer::new(&vec![0xffff_u16; pairs.len() * row::<R>() as usize]);
    let batch = Batch::each(pairs.len() as u32);
    let buffers = [&poly_rows(&inverses), &small_rows::<R>(&small), &quotients];
    device::launch(NTRUPRIME_DIVIDE.of::<R>(), &buffers, batch);
    for ((inverse, small), quotient) in
        pairs.iter().zip(quotients.content::<u16>().chunks(row::<R>() as usize))
    {
        let small = SmallPoly::from_coefficients(small).unwrap();
        let expected = ternary::third(Multiplier::new().mul_small(inverse, &small));
        assert_eq!(quotient[..R::N], numbers(&expected));
    }
}

/// The polynomials `f`, `1/g` and `h` of a key pair, and `rho`.
type Key<R> = (Vec<i8>, Vec<i8>, Poly<R>, Vec<u8>);

fn check_keys<R: Arithmetic + NtruPrimeArithmetic>(keys: &[Key<R>]) {
    let count = keys.len();
    let batch = Batch::each(count as u32);
    let small = |which: fn(&Key<R>) -> &Vec<i8>| {
        small_rows::<R>(&keys.iter().map(which).cloned().collect::<Vec<_>>())
    };
    let h = padded(&keys.iter().map(|key| numbers(&key.2)).collect::<Vec<_>>(), row::<R>(), 0);
    let h = Buffer::new(&h);
    let nonsense =
        |rho: &Vec<u8>| [&rho[..], &[0xff; 8]].concat()[..8 * rho_words::<R>() as usize].to_vec();
    let rho = operations::words(&keys.iter().map(|key| nonsense(&key.3)).collect::<Vec<_>>());
    let private_bytes = private_key_bytes::<R>() as usize;
    let blank = |bytes: usize| Buffer::new(&vec![0x55_u8; (count * bytes).next_multiple_of(4)]);
    let (public, private) = (blank(R::MIXED_RADIX.bytes()), blank(private_bytes));
    device::launch(ENCODE_MIXED_RADIX.of::<R>(), &[&h, &public], batch);
    let ids = Buffer::new(&vec![0x55_u8; count * ID_BYTES as usize]);
    device::launch(NTRUPRIME_HASH_PUBLIC_KEYS.of::<R>(), &[&public, &ids], batch);
    let (f, inverses) = (small(|key| &key.0), small(|key| &key.1));
    let arrays = [&f, &inverses, &public, &ids, &rho, &private];
    device::launch(NTRUPRIME_PACK.of::<R>(), &arrays, batch);
    let (public, private) = (public.content::<u8>(), private.content::<u8>());
    let rows = public.chunks(R::MIXED_RADIX.bytes()).zip(private.chunks(private_bytes));
    for ((f, inverse, h, rho), (public, private)) in keys.iter().zip(rows) {
        let [f, inverse] =
            [f, inverse].map(|a| packed::<R>(&a.iter().map(|&c| c as u8).collect::<Vec<_>>()));
        let expected = mixed_radix::encode_shifted(h);
        assert_eq!(public, expected.as_ref());
        let hash = half_sha512(4, &[public]);
        assert_eq!(private, [&f[..], &inverse, public, rho, &hash].concat());
    }
}

/// Compares traces for keys of zeros and for others.
fn check_traces<R: Arithmetic + NtruPrimeArithmetic>() {
    let elements = [sparse::<R>(&[]), vec![1; R::N]];
    let secrets = elements.clone().map(|a| arrays::<R>(&vec![a; 3]).into());
    assert_same_trace(NTRUPRIME_INVERT.of::<R>(), secrets, Batch::each(3));
    let h = [0, R::Q as u16 - 1].map(|c| Poly::<R>::from_coefficients(&vec![c; R::N]).unwrap());
    let small = |i: usize| small_rows::<R>(&[elements[i].clone()]);
    let words = |i: usize, count| Buffer::new(&vec![[0, u64::MAX][i]; count as usize]);
    let blank = || poly_rows(&h[..1]);
    let divided = [0, 1].map(|i| vec![poly_rows(&h[i..=i]), small(i), blank()]);
    assert_same_trace(NTRUPRIME_DIVIDE.of::<R>(), divided, Batch::each(1));
    let drawn = [0, 1].map(|i| {
        let outputs = [small(0), words(0, words_of_draw::<R>(1)), words(0, rho_words::<R>())];
        [vec![words(i, 8)], outputs.into()].concat()
    });
    assert_same_trace(NTRUPRIME_DRAW.of::<R>(), drawn, Batch::each(1));
    // Both have an inverse in the draw after the first one, so both draw equally often.
    let mut seeds = (0..).map(seed).filter(|seed| has_inverse::<R>(seed, 1));
    let again = [0, 1].map(|_| {
        let seeds = operations::words(&[seeds.next().unwrap()]);
        let (f, rho) = (words(0, words_of_draw::<R>(1)), words(0, rho_words::<R>()));
        vec![seeds, small(0), f, rho, small(0), words(0, 1)]
    });
    assert_same_trace(NTRUPRIME_DRAW_AGAIN.of::<R>(), again, Batch::each(1));
    let private =
        || Buffer::new(&vec![0_u8; private_key_bytes::<R>().next_multiple_of(4) as usize]);
    let parts = [0, 1].map(|i| {
        let public =
            Buffer::new(&vec![[0_u8, 0xff][i]; R::MIXED_RADIX.bytes().next_multiple_of(4)]);
        let ids = Buffer::new(&vec![[0_u8, 0xff][i]; ID_BYTES as usize]);
        vec![small(i), small(i), public, ids, words(i, rho_words::<R>()), private()]
    });
    assert_same_trace(NTRUPRIME_PACK.of::<R>(), parts, Batch::each(1));
}

macro_rules! properties {
    ($($name:ident: $ring:ty),*) => {$(
        mod $name {
            use super::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(3))]
                #[test]
                fn random(elements in vec(small::<$ring>(), 1..40)) {
                    check::<$ring>(&elements);
                }
                #[test]
                fn quotients(pairs in vec((poly(), small::<$ring>()), 1..4)) {
                    check_quotients::<$ring>(&pairs);
                }
                #[test]
                fn keys(keys in vec((small::<$ring>(), small::<$ring>(), poly(),
                    bytes(<$ring>::TERNARY_BYTES)), 1..4)) {
                    check_keys::<$ring>(&keys);
                }
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(2))]
                #[test]
                fn draws(operations in vec((bytes(64), any::<bool>()), 1..4)) {
                    let (seeds, again): (Vec<_>, Vec<_>) = operations.into_iter().unzip();
                    check_draws::<$ring>(&seeds, &again);
                }
            }
            #[test]
            fn extremes() {
                check::<$ring>(&special::<$ring>());
                let largest = Poly::from_coefficients(&[<$ring>::Q as u16 - 1; <$ring>::N]);
                let pair = |c| (largest.clone().unwrap(), vec![c; <$ring>::N]);
                check_quotients::<$ring>(&[pair(1), pair(-1)]);
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

#[test]
fn several_draws_have_no_inverse() {
    check_draws::<R653>(&[unlucky::<R653>()], &[true]);
    check_draws::<R1277>(&[unlucky::<R1277>()], &[true]);
}
