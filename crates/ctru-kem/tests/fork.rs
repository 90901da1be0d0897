//! Checks what works in a fork of a process that has used this library.
#![cfg(unix)]
// Tests may unwrap: a test must fail if its input cannot be built.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::io::{Read, pipe};

use ctru_kem::engine::{CpuEngine, Engine, Keys, Seeds};
use ctru_kem::{Ciphertext, CtruPrime761, DecapsulationKey, SharedSecret};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, write};

type P = CtruPrime761;

/// Decapsulates a batch with an engine, and returns the shared secret.
fn batch(
    engine: &CpuEngine,
    key: &DecapsulationKey<P>,
    ciphertext: &Ciphertext<P>,
) -> SharedSecret {
    let mut secrets = [const { None }; 20].map(|_: Option<()>| SharedSecret::default());
    let ciphertexts = [(); 20].map(|()| ciphertext.clone());
    engine.decapsulate(Keys::One(key), &ciphertexts, &mut secrets).unwrap();
    secrets[19].clone()
}

/// A fork has none of the parent's threads, so it makes an engine of its own. It draws other
/// randomness than the parent, because each call asks the operating system.
#[test]
fn a_fork_makes_an_engine_of_its_own() {
    let key = DecapsulationKey::<P>::generate_deterministic(&[1; 32], &[2; 32]);
    let public = key.encapsulation_key();
    let (ciphertext, secret) = public.encapsulate_deterministic(&[3; 32]);
    let engine = CpuEngine::with_threads(2).unwrap();
    assert!(batch(&engine, &key, &ciphertext) == secret);
    public.try_encapsulate().unwrap();

    let (mut from, to) = pipe().unwrap();
    // SAFETY: the fork calls this library, the allocator, which works in a fork, and `write`.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let result = std::panic::catch_unwind(|| {
                let own = CpuEngine::with_threads(2).unwrap();
                assert!(batch(&own, &key, &ciphertext) == secret);
                let mut keys = [const { None }; 3].map(|_: Option<()>| key.clone());
                own.generate_decapsulation_keys(Seeds::Each(&[[7; 64]; 3]), &mut keys).unwrap();
                let (drawn, _) = public.try_encapsulate().unwrap();
                assert_eq!(write(&to, drawn.as_ref()), Ok(drawn.as_ref().len()));
            });
            // Without the ends of the parent's values, such as the engine's, which waits for its
            // threads.
            // SAFETY: the function may be called at any time.
            unsafe { nix::libc::_exit(i32::from(result.is_err())) }
        }
        ForkResult::Parent { child } => {
            drop(to);
            let mut drawn = Vec::new();
            from.read_to_end(&mut drawn).unwrap();
            assert_eq!(waitpid(child, None), Ok(WaitStatus::Exited(child, 0)));
            let (own, _) = public.try_encapsulate().unwrap();
            assert!(drawn.len() == own.as_ref().len() && drawn != own.as_ref());
            assert!(batch(&engine, &key, &ciphertext) == secret);
        }
    }
}
