//! Helpers of the tests: every parameter set, every backend, arrays and strategies for proptest.

pub(crate) mod strategies;

use std::sync::{Mutex, PoisonError};

use ctru_kem::{ParameterSet, PublicKeyEncoding};
use ctru_math::Poly;
use ctru_math::array::Array;
use ctru_math::backend::{self, Backend};
use ctru_math::codec::{bits, mixed_radix};

/// Makes a module of six tests, one for each parameter set and encoding of keys, for every named
/// generic function `fn check<P: ParameterSet>()`.
macro_rules! every_set {
    ($($check:ident),* $(,)?) => {
        $(
            mod $check {
                use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, MixedRadix, Packed13};

                #[test]
                fn ctru_prime_653_mixed_radix() {
                    super::$check::<CtruPrime653<MixedRadix>>();
                }
                #[test]
                fn ctru_prime_653_packed13() {
                    super::$check::<CtruPrime653<Packed13>>();
                }
                #[test]
                fn ctru_prime_761_mixed_radix() {
                    super::$check::<CtruPrime761<MixedRadix>>();
                }
                #[test]
                fn ctru_prime_761_packed13() {
                    super::$check::<CtruPrime761<Packed13>>();
                }
                #[test]
                fn ctru_prime_1277_mixed_radix() {
                    super::$check::<CtruPrime1277<MixedRadix>>();
                }
                #[test]
                fn ctru_prime_1277_packed13() {
                    super::$check::<CtruPrime1277<Packed13>>();
                }
            }
        )*
    };
}

pub(crate) use every_set;

/// Locked by tests that choose a backend, because the process has one backend in use.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `test` on each available backend, then selects the backend that was in use before.
/// A panic names the backend.
pub(crate) fn on_every_backend(mut test: impl FnMut()) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = backend::in_use();
    for backend in backend::available() {
        backend::select(backend).unwrap();
        let on_panic = NameOnPanic(backend);
        test();
        drop(on_panic);
    }
    backend::select(before).unwrap();
}

struct NameOnPanic(Backend);

impl Drop for NameOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("on the backend {}", self.0);
        }
    }
}

/// Returns the bytes as an array.
///
/// # Panics
/// If their number differs from the array's length.
pub(crate) fn array<A: Array<u8>>(bytes: &[u8]) -> A {
    assert_eq!(bytes.len(), A::LEN);
    A::from_fn(|i| bytes[i])
}

/// Returns the encoding of a polynomial `h`, by the codecs of `ctru-math`.
pub(crate) fn encode<P: ParameterSet>(h: &Poly<P::Ring>) -> Vec<u8> {
    match P::Encoding::NAME {
        "mixed-radix" => mixed_radix::encode(h).as_ref().to_vec(),
        "packed13" => bits::pack13(h).as_ref().to_vec(),
        other => panic!("unknown encoding {other}"),
    }
}

/// Returns the polynomial that bytes encode, by the codecs of `ctru-math`.
pub(crate) fn decode<P: ParameterSet>(bytes: &[u8]) -> Poly<P::Ring> {
    match P::Encoding::NAME {
        "mixed-radix" => mixed_radix::decode_canonical(&array(bytes)).unwrap(),
        "packed13" => bits::unpack13(&array(bytes)).unwrap(),
        other => panic!("unknown encoding {other}"),
    }
}
