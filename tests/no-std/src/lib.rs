//! Puts `ctru-math`, `ctru-kem` and `ctru-hybrid` into a static library without the standard
//! library.
//!
//! The library defines a panic handler. The standard library defines one, too, and a program must
//! not have two. The library therefore builds only if nothing in the dependency tree links `std`.
//! `.ci/run` builds it for the host and for a microcontroller.
//!
//! The library contains every operation of the KEM, of the KEM with X25519 and of the arithmetic
//! below them, for every parameter set, and nothing else. For this reason,
//! `cargo xtask machine-code` searches it, and `.ci/memcheck` runs it under valgrind together with
//! `main.c`.
#![no_std]

use core::hint::black_box;
use core::panic::PanicInfo;

use ctru_hybrid::X25519CtruPrime;
use ctru_kem::ntruprime;
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    MixedRadix, Packed13, ParameterSet,
};
use ctru_math::array::Array;
use ctru_math::backend::{self, Backend};
use ctru_math::codec::{bits, mixed_radix, secret_poly};
use ctru_math::mul;
use ctru_math::{
    Arithmetic, NtruPrimeArithmetic, Poly, R653, R761, R857, R953, R1013, R1277, SmallPoly,
    compress, e8, invert, sample, ternary,
};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// A function that tells valgrind that these bytes are secret, or that they are public.
pub type Mark = extern "C" fn(*const u8, usize);

fn mark(mark: Mark, bytes: &[u8]) {
    mark(bytes.as_ptr(), bytes.len());
}

/// Runs every operation of the KEM, from bytes to bytes. Returns 0 if both sides have the same
/// secret.
fn kem<P: ParameterSet>(seeds: &[[u8; 32]; 3], hide: Mark, reveal: Mark) -> u32 {
    let public_end = P::DECAPSULATION_KEY_BYTES - 32;
    let public_part = public_end - P::ENCAPSULATION_KEY_BYTES..public_end;
    mark(hide, seeds.as_flattened());
    let key = DecapsulationKey::<P>::generate_deterministic(&seeds[0], &seeds[1]);
    mark(reveal, &key.as_ref()[public_part]);
    let Ok(key) = DecapsulationKey::<P>::from_bytes(black_box(key.as_ref())) else { return 1 };
    let mut consistent = u8::from(key.check().is_ok());
    // `mark` would not work here: it takes a shared reference, so the compiler assumes that the
    // byte does not change, and may branch on a copy that is still marked as secret.
    reveal(&raw mut consistent, 1);
    if consistent != 1 {
        return 5;
    }
    let public = key.encapsulation_key();
    let Ok(public) = EncapsulationKey::<P>::from_bytes(black_box(public.as_ref())) else {
        return 2;
    };
    let (sent, secret) = public.encapsulate_deterministic(&seeds[2]);
    mark(reveal, sent.as_ref());
    let Ok(received) = Ciphertext::<P>::from_bytes(black_box(sent.as_ref())) else { return 3 };
    let answer = key.decapsulate(&received);
    let rejection = key.decapsulate(&Ciphertext::default());
    for secret in [&secret, &answer, &rejection] {
        mark(reveal, secret.as_bytes());
    }
    if answer == secret && rejection != secret { 0 } else { 4 }
}

/// Runs every operation of the KEM with X25519, from bytes to bytes. Returns 0 if both sides have
/// the same secret.
fn hybrid<P: ctru_hybrid::ParameterSet>(seeds: &[[u8; 32]; 3], hide: Mark, reveal: Mark) -> u32 {
    mark(hide, seeds.as_flattened());
    let Ok(key) = ctru_hybrid::DecapsulationKey::<P>::from_bytes(&seeds[0]) else {
        return 1;
    };
    let public = key.encapsulation_key();
    mark(reveal, public.as_ref());
    let public = ctru_hybrid::EncapsulationKey::<P>::from_bytes(black_box(public.as_ref()));
    let Ok(public) = public else { return 2 };
    let Some(coins) = seeds[1..].as_flattened().first_chunk() else { return 3 };
    let (sent, secret) = public.encapsulate_deterministic(coins);
    mark(reveal, sent.as_ref());
    let mut altered = *sent.as_array();
    altered.as_mut()[0] ^= 1;
    let [sent, altered] = [sent.as_ref(), altered.as_ref()]
        .map(|bytes| ctru_hybrid::Ciphertext::<P>::from_bytes(black_box(bytes)));
    let (Ok(sent), Ok(altered)) = (sent, altered) else { return 4 };
    let answer = key.decapsulate(&sent);
    let rejection = key.decapsulate(&altered);
    for secret in [&secret, &answer, &rejection] {
        mark(reveal, secret.as_bytes());
    }
    if answer == secret && rejection != secret { 0 } else { 5 }
}

/// The most bytes of a private key and of a ciphertext of Streamlined NTRU Prime.
const NTRU_PRIME_ROOM: usize = 3059;

/// Runs every operation of Streamlined NTRU Prime, from bytes to bytes. Returns 0 if both sides
/// have the same secret.
fn ntru_prime<R: ntruprime::Named>(seeds: &[[u8; 32]; 3], hide: Mark, reveal: Mark) -> u32 {
    use ntruprime::{PrivateKey, PublicKey, Use, from_seed, short_from_seeds};

    mark(hide, seeds.as_flattened());
    let (mut private, mut sent) = ([0; NTRU_PRIME_ROOM], [0; NTRU_PRIME_ROOM]);
    let private = &mut private[..ntruprime::private_key_bytes::<R>()];
    let sent = &mut sent[..ntruprime::ciphertext_bytes::<R>()];
    let mut public = R::MixedRadixBytes::zeroed();
    let mut keys = from_seed::<R>(Use::KeyPair, &seeds[0]);
    if ntruprime::generate::<R>(&mut keys, &mut public, private).is_err() {
        return 1;
    }
    mark(reveal, public.as_ref());
    let (secrets, hash) = private.split_at(private.len() - 32);
    mark(reveal, &secrets[2 * R::TERNARY_BYTES..secrets.len() - R::TERNARY_BYTES]);
    mark(reveal, hash);
    let [Ok(key)] = PrivateKey::<R>::read_each([black_box(private)]) else { return 2 };
    let mut consistent = u8::from(key.is_consistent());
    // See `kem`.
    reveal(&raw mut consistent, 1);
    if consistent != 1 {
        return 3;
    }
    let public = PublicKey::<R>::new(black_box(&public));
    let mut coins = from_seed::<R>(Use::Encapsulation, &seeds[1]);
    let mut secret = [0; 32];
    if public.encapsulate(&mut coins, sent, &mut secret).is_err() {
        return 4;
    }
    mark(reveal, sent);
    let (mut answer, mut rejection) = ([0; 32], [0; 32]);
    key.decapsulate(black_box(sent), &mut answer);
    sent[0] ^= 1;
    key.decapsulate(black_box(sent), &mut rejection);
    for secret in [&secret, &answer, &rejection] {
        mark(reveal, secret);
    }
    if answer != secret || rejection == secret {
        return 5;
    }
    // Three operations at a time, whose hashes are computed together.
    let r = short_from_seeds::<R, 3>([&seeds[1]; 3]);
    let mut rows = [[0; NTRU_PRIME_ROOM]; 3];
    let mut together = [[0; 32]; 3];
    let bytes = ntruprime::ciphertext_bytes::<R>();
    let sent = rows.each_mut().map(|row| &mut row[..bytes]);
    ntruprime::encapsulate([&public; 3], r.each_ref(), sent, &mut together);
    mark(reveal, rows.as_flattened());
    rows[1][0] ^= 1;
    let mut answers = [[0; 32]; 3];
    let received = rows.each_ref().map(|row| &black_box(row)[..bytes]);
    ntruprime::decapsulate([&key; 3], received, &mut answers);
    mark(reveal, together.as_flattened());
    mark(reveal, answers.as_flattened());
    if together == [secret; 3] && answers == [secret, rejection, secret] { 0 } else { 6 }
}

/// Runs the arithmetic that handles secrets, without the KEM around it. Returns 0 if the results
/// agree with each other.
fn arithmetic<R: Arithmetic + NtruPrimeArithmetic>(
    coins: &R::CoinBytes,
    message: &R::MessageBytes,
) -> u32 {
    let f: SmallPoly<R> = black_box(sample::sample_secret(coins));
    let g: SmallPoly<R> = black_box(sample::sample(coins));
    let Some(inverse) = Option::<Poly<R>>::from(invert::invert(&Poly::from(&f))) else { return 1 };
    let mut inverses = [Poly::zero(), Poly::zero()];
    let mut nodes = [invert::BatchNode::new(), invert::BatchNode::new()];
    if invert::invert_batch(&[&f, &g], &mut inverses, &mut nodes).is_err() || inverses[0] != inverse
    {
        return 2;
    }
    let mut nodes = [SmallPoly::zero(), SmallPoly::zero(), SmallPoly::one(), SmallPoly::one()];
    ternary::invert_batch::<R>(black_box(&mut nodes));
    if nodes[2..] != [SmallPoly::one(), SmallPoly::one()] {
        return 9;
    }
    let h = black_box(mul::mul_small(&inverse, &g));
    if mul::mul(&h, &Poly::from(&f)) != Poly::from(&g) {
        return 3;
    }
    if secret_poly::unpack::<R>(&black_box(secret_poly::pack(&f))).as_ref() != Ok(&f)
        || bits::unpack13::<R>(&black_box(bits::pack13(&h))).as_ref() != Ok(&h)
        || mixed_radix::decode_canonical::<R>(&black_box(mixed_radix::encode(&h))).as_ref()
            != Ok(&h)
    {
        return 4;
    }
    let c = compress::compress_with_message(&mul::mul_small(&h, &g), message);
    let c = bits::unpack_rounded::<R>(&black_box(bits::pack_rounded::<R>(&c)));
    let mut decoded = R::MessageBytes::zeroed();
    e8::decode(&mul::mul_rounded(&c, &f), black_box(&mut decoded));
    u32::from(decoded.as_ref() != message.as_ref()) << 3
}

macro_rules! kem_entry_points {
    ($($name:ident => $set:ty;)*) => {
        $(
            /// Runs [`kem`]. Returns 0 on success.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(seeds: &[[u8; 32]; 3], hide: Mark, reveal: Mark) -> u32 {
                kem::<$set>(seeds, hide, reveal)
            }
        )*
    };
}

kem_entry_points! {
    ctru_kem_653_mixed_radix => CtruPrime653<MixedRadix>;
    ctru_kem_653_packed13 => CtruPrime653<Packed13>;
    ctru_kem_761_mixed_radix => CtruPrime761<MixedRadix>;
    ctru_kem_761_packed13 => CtruPrime761<Packed13>;
    ctru_kem_1277_mixed_radix => CtruPrime1277<MixedRadix>;
    ctru_kem_1277_packed13 => CtruPrime1277<Packed13>;
}

macro_rules! hybrid_entry_points {
    ($($name:ident => $set:ty;)*) => {
        $(
            /// Runs [`hybrid`]. Returns 0 on success.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(seeds: &[[u8; 32]; 3], hide: Mark, reveal: Mark) -> u32 {
                hybrid::<X25519CtruPrime<$set>>(seeds, hide, reveal)
            }
        )*
    };
}

hybrid_entry_points! {
    ctru_hybrid_653 => CtruPrime653;
    ctru_hybrid_761 => CtruPrime761;
    ctru_hybrid_1277 => CtruPrime1277;
}

macro_rules! ntru_prime_entry_points {
    ($($name:ident => $ring:ty;)*) => {
        $(
            /// Runs [`ntru_prime`]. Returns 0 on success.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(seeds: &[[u8; 32]; 3], hide: Mark, reveal: Mark) -> u32 {
                ntru_prime::<$ring>(seeds, hide, reveal)
            }
        )*
    };
}

ntru_prime_entry_points! {
    ctru_sntrup653 => R653;
    ctru_sntrup761 => R761;
    ctru_sntrup857 => R857;
    ctru_sntrup953 => R953;
    ctru_sntrup1013 => R1013;
    ctru_sntrup1277 => R1277;
}

/// Returns the pseudo-random byte at `index` of coins or a message.
fn spread(start: u8, index: usize) -> u8 {
    ((index as u32 ^ u32::from(start) << 16).wrapping_mul(0x9e37_79b1).wrapping_mul(0x85eb_ca77)
        >> 24) as u8
}

macro_rules! math_entry_points {
    ($($name:ident => $ring:ty;)*) => {
        $(
            /// Runs [`arithmetic`]. Returns 0 on success.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(coin: u8, message: u8) -> u32 {
                arithmetic::<$ring>(
                    &Array::from_fn(|i| spread(coin, i)),
                    &Array::from_fn(|i| spread(message, i)),
                )
            }
        )*
    };
}

math_entry_points! {
    ctru_math_653 => R653;
    ctru_math_761 => R761;
    ctru_math_1277 => R1277;
}

macro_rules! backend_entry_points {
    ($($name:ident => $backend:ident;)*) => {
        $(
            /// Selects this backend. Returns 0 on success.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> u32 {
                u32::from(backend::select(Backend::$backend).is_err())
            }
        )*
    };
}

backend_entry_points! {
    ctru_use_portable => Portable;
    ctru_use_neon => Neon;
    ctru_use_sse2 => Sse2;
    ctru_use_avx2 => Avx2;
    ctru_use_avx512 => Avx512;
}

/// Divides with an instruction for division. The search for divisions must find it.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn ctru_no_std_control(dividend: u32, divisor: u32) -> u32 {
    dividend.checked_div(divisor).unwrap_or(0)
}

/// Branches on a lane of a vector of AVX-512 or NEON. The search for such branches must find it.
///
/// # Safety
/// The CPU has AVX-512F, or it is a 64-bit Arm.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f"))]
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe extern "C" fn ctru_no_std_lane_control(words: &[u32; 16], reveal: Mark) {
    #[cfg(target_arch = "x86_64")]
    let is_set = {
        use core::arch::x86_64::{_mm512_loadu_si512, _mm512_test_epi32_mask};
        // SAFETY: the words have 64 bytes, and the load needs no alignment.
        let words = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        _mm512_test_epi32_mask(words, words) != 0
    };
    #[cfg(target_arch = "aarch64")]
    let is_set = {
        use core::arch::aarch64::{vld1q_u32, vmaxvq_u32};
        // SAFETY: the first four words have 16 bytes.
        unsafe { vmaxvq_u32(vld1q_u32(words.as_ptr())) != 0 }
    };
    if is_set {
        reveal(words.as_ptr().cast(), 64);
    }
}
