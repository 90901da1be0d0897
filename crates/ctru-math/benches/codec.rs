//! Sampling, rounding, decoding and every codec, on every backend that this CPU has.
//!
//! `cargo bench -p ctru-math --bench codec`

use ctru_math::array::Array;
use ctru_math::backend::{self, Backend};
use ctru_math::codec::{bits, mixed_radix, secret_poly};
use ctru_math::{
    Arithmetic, Poly, R653, R761, R1277, RoundedPoly, SmallPoly, compress, e8, sample,
};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// Defines benchmarks that run for all rings and backends. The time to make the input is not
/// measured.
macro_rules! benches {
    ($($name:ident: $input:expr => $run:expr;)*) => {
        $(
            #[divan::bench(types = [R653, R761, R1277], args = backend::available())]
            fn $name<R: Arithmetic>(bencher: Bencher<'_, '_>, backend: Backend) {
                backend::select(backend).expect("an available backend");
                let input = $input;
                let run = $run;
                bencher.bench_local(|| run(black_box(&input)));
            }
        )*
    };
}

/// Returns bytes that look random.
fn bytes<A: Array<u8>>() -> A {
    let mut state = 1u32;
    A::from_fn(|_| {
        state = state.wrapping_mul(0x915f_77f5).wrapping_add(0x6a09_e667);
        (state >> 24) as u8
    })
}

/// Returns a polynomial that looks random.
fn poly<R: Arithmetic>() -> Poly<R> {
    mixed_radix::decode(&bytes())
}

fn rounded<R: Arithmetic>() -> RoundedPoly<R> {
    bits::unpack_rounded(&bytes())
}

fn secret<R: Arithmetic>() -> SmallPoly<R> {
    sample::sample_secret(&bytes())
}

benches! {
    sample: bytes::<R::CoinBytes>() => |coins| sample::sample::<R>(coins);
    sample_secret: bytes::<R::CoinBytes>() => |coins| sample::sample_secret::<R>(coins);
    compress: (poly::<R>(), bytes::<R::MessageBytes>()) =>
        |(sigma, message): &(Poly<R>, R::MessageBytes)| {
            compress::compress_with_message(sigma, message)
        };
    decode_message: rounded::<R>() => |poly| {
            let mut message = R::MessageBytes::zeroed();
            e8::decode::<R>(poly, &mut message);
            message
        };
    pack_rounded: rounded::<R>() => |poly| bits::pack_rounded::<R>(poly);
    unpack_rounded: bytes::<R::CiphertextBytes>() => |bytes| bits::unpack_rounded::<R>(bytes);
    pack13: poly::<R>() => |poly| bits::pack13::<R>(poly);
    unpack13: bits::pack13(&poly::<R>()) => |bytes| bits::unpack13::<R>(bytes);
    mixed_radix_encode: poly::<R>() => |poly| mixed_radix::encode::<R>(poly);
    mixed_radix_decode: bytes::<R::MixedRadixBytes>() => |bytes| mixed_radix::decode::<R>(bytes);
    secret_pack: secret::<R>() => |f| secret_poly::pack::<R>(f);
    secret_unpack: secret_poly::pack(&secret::<R>()) => |bytes| secret_poly::unpack::<R>(bytes);
}
