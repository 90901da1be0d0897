//! sntrup761 of three libraries: `pqcrypto-ntruprime` (PQClean's AVX2 code), `sntrup` (Rust with
//! AVX2 and AVX-512) and `sntrup-kem` (Rust with AVX2); and of this workspace. sntrup761 has the
//! `n` and
//! `q` of CTRU-Prime-761.

use std::convert::Infallible;
use std::hint::black_box;

use ctru_kem::ntruprime::{
    NoRandomness, PrivateKey, PublicKey, Use, ciphertext_bytes, decapsulate, draw_short,
    encapsulate, from_seed, generate, generate_batch, private_key_bytes,
};
use ctru_math::array::Array;
use ctru_math::{NtruPrimeRing, R761};
use rand_core::{TryCryptoRng, TryRng};

use super::{Run, Subject, calls};

/// The name of the set.
pub(super) const SET: &str = "sntrup761";

/// Returns the operations of all libraries.
pub(super) fn subjects() -> Vec<Subject> {
    [pqclean(), sntrup(), sntrup_kem(), ours()].into_iter().flatten().collect()
}

fn of(engine: &'static str, operations: [Run; 3]) -> Vec<Subject> {
    Subject::of_library((engine, "avx2"), (SET, "mixed-radix"), 1, operations)
}

/// Returns the operations of PQClean's code. It draws its randomness from the operating system,
/// since the crate offers no other source.
fn pqclean() -> Vec<Subject> {
    use pqcrypto_ntruprime::sntrup761::{decapsulate, encapsulate, keypair};

    let (public, private) = keypair();
    let (_, ciphertext) = encapsulate(&public);
    of(
        "pqcrypto-ntruprime",
        [
            calls(keypair),
            calls(move || encapsulate(black_box(&public))),
            calls(move || decapsulate(black_box(&ciphertext), black_box(&private))),
        ],
    )
}

/// Makes a function that returns the operations of a crate, which take random bytes from
/// [`Replay`].
macro_rules! rust {
    ($name:ident, $engine:literal) => {
        fn $name() -> Vec<Subject> {
            use $name::Sntrup761;

            let (public, private) = Sntrup761::generate_key(&mut Replay::new());
            let (ciphertext, _) = public.encapsulate(&mut Replay::new());
            let (mut keys, mut coins) = (Replay::new(), Replay::new());
            of(
                $engine,
                [
                    calls(move || Sntrup761::generate_key(keys.restart())),
                    calls(move || black_box(&public).encapsulate(coins.restart())),
                    calls(move || black_box(&private).decapsulate(black_box(&ciphertext))),
                ],
            )
        }
    };
}
rust!(sntrup, "sntrup");
rust!(sntrup_kem, "sntrup-kem");

/// Random bytes that are drawn before the measurement: a generator that costs a copy.
struct Replay {
    bytes: Vec<u8>,
    at: usize,
}

impl Replay {
    /// Bytes of a key generation, and of one in which `g` is drawn again.
    const BYTES: usize = 1 << 14;

    fn new() -> Self {
        Self::of(0)
    }

    /// Returns the bytes of operation `number`.
    fn of(number: usize) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let mut bytes = vec![0; Self::BYTES];
        from_seed::<R761>(Use::KeyPair, &seed)(&mut bytes).expect("a seed does not fail");
        Self { bytes, at: 0 }
    }

    fn restart(&mut self) -> &mut Self {
        self.at = 0;
        self
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), NoRandomness> {
        bytes.copy_from_slice(&self.bytes[self.at..][..bytes.len()]);
        self.at += bytes.len();
        Ok(())
    }
}

impl TryRng for Replay {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes).expect("bytes for one operation");
        Ok(())
    }
}
impl TryCryptoRng for Replay {}

/// Operations per batch, and those that share an inversion and that are encapsulated together.
const BATCH: usize = 256;
const KEYS_PER_INVERSION: usize = 128;
const GROUP: usize = 8;

/// Returns our operations on decoded keys, single ones and in batches in which each operation has
/// its own key.
fn ours() -> Vec<Subject> {
    type Ciphertext = [u8; ciphertext_bytes::<R761>()];

    let mut random: Vec<Replay> = (0..BATCH).map(Replay::of).collect();
    let mut public = vec![<R761 as NtruPrimeRing>::MixedRadixBytes::zeroed(); BATCH];
    let mut private = vec![[0; private_key_bytes::<R761>()]; BATCH];
    let mut ciphertexts: Vec<Ciphertext> = vec![[0; ciphertext_bytes::<R761>()]; BATCH];
    let mut secrets = vec![[0; 32]; BATCH];
    generate_keys(&mut random, &mut public, &mut private);
    let public_keys: Vec<_> = public.iter().map(PublicKey::<R761>::new).collect();
    let private_keys: Vec<_> = private.iter().map(|key| PrivateKey::<R761>::new(key)).collect();
    encapsulate_groups::<GROUP>(&mut random, &public_keys, &mut ciphertexts, &mut secrets);

    let single = {
        let (mut keys, mut coins) = (Replay::new(), Replay::new());
        let (mut public, mut private) = (public[0], private[0]);
        let (mut ciphertext, mut secret) = (ciphertexts[0], [0; 32]);
        let (public_key, private_key) =
            (PublicKey::<R761>::new(&public), PrivateKey::<R761>::new(&private));
        let sent = ciphertext;
        of(
            "ctru",
            [
                Box::new(move || {
                    keys.restart();
                    let source = &mut |bytes: &mut [u8]| keys.fill(bytes);
                    generate::<R761>(source, &mut public, &mut private).expect("bytes");
                    black_box((&public, &private));
                }),
                Box::new(move || {
                    coins.restart();
                    let source = &mut |bytes: &mut [u8]| coins.fill(bytes);
                    public_key.encapsulate(source, &mut ciphertext, &mut secret).expect("bytes");
                    black_box((&ciphertext, &secret));
                }),
                Box::new(move || {
                    let mut secret = [0; 32];
                    private_key.decapsulate(black_box(&sent), &mut secret);
                    black_box(secret);
                }),
            ],
        )
    };
    let mut coins: Vec<Replay> = (0..BATCH).map(Replay::of).collect();
    let (sent, mut received) = (ciphertexts.clone(), secrets.clone());
    let batch = of(
        "ctru",
        [
            Box::new(move || {
                generate_keys(&mut random, &mut public, &mut private);
            }),
            Box::new(move || {
                encapsulate_groups::<GROUP>(
                    &mut coins,
                    &public_keys,
                    &mut ciphertexts,
                    &mut secrets,
                );
            }),
            Box::new(move || {
                decapsulate_groups::<GROUP>(&private_keys, &sent, &mut received);
            }),
        ],
    );
    let in_use = ctru_math::backend::in_use().name();
    let batch = batch.into_iter().map(|subject| Subject { batch: BATCH, ..subject });
    single.into_iter().chain(batch).map(|subject| Subject { backend: in_use, ..subject }).collect()
}

fn generate_keys<K: AsMut<[u8]>>(
    random: &mut [Replay],
    public: &mut [<R761 as NtruPrimeRing>::MixedRadixBytes],
    private: &mut [K],
) {
    let shares = public.chunks_mut(KEYS_PER_INVERSION).zip(private.chunks_mut(KEYS_PER_INVERSION));
    for ((public, private), random) in shares.zip(random.chunks_mut(KEYS_PER_INVERSION)) {
        random.iter_mut().for_each(|random| random.at = 0);
        let source = &mut |i: usize, bytes: &mut [u8]| random[i].fill(bytes);
        generate_batch::<R761, K>(source, public, private).expect("bytes");
    }
}

fn encapsulate_groups<const N: usize>(
    random: &mut [Replay],
    keys: &[PublicKey<R761>],
    ciphertexts: &mut [[u8; ciphertext_bytes::<R761>()]],
    secrets: &mut [[u8; 32]],
) {
    let outputs = ciphertexts.as_chunks_mut::<N>().0.iter_mut().zip(secrets.as_chunks_mut().0);
    let inputs = keys.as_chunks().0.iter().zip(random.as_chunks_mut().0);
    for ((keys, random), (ciphertexts, secrets)) in inputs.zip(outputs) {
        let r = random.each_mut().map(|random| {
            random.at = 0;
            draw_short::<R761>(&mut |bytes| random.fill(bytes)).expect("bytes")
        });
        let ciphertexts = ciphertexts.each_mut().map(|ciphertext| &mut ciphertext[..]);
        encapsulate::<R761, N>(keys.each_ref(), r.each_ref(), ciphertexts, secrets);
    }
}

fn decapsulate_groups<const N: usize>(
    keys: &[PrivateKey<R761>],
    ciphertexts: &[[u8; ciphertext_bytes::<R761>()]],
    secrets: &mut [[u8; 32]],
) {
    let inputs = keys.as_chunks::<N>().0.iter().zip(ciphertexts.as_chunks().0);
    for ((keys, ciphertexts), secrets) in inputs.zip(secrets.as_chunks_mut().0) {
        let ciphertexts = ciphertexts.each_ref().map(|ciphertext| &ciphertext[..]);
        decapsulate::<R761, N>(keys.each_ref(), ciphertexts, secrets);
    }
}
