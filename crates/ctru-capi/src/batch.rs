//! Batches on all cores, by an engine that C sees as an opaque pointer.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::NonNull;

use ctru_kem::engine::{CpuEngine, Engine, Keys, Seeds};
use ctru_kem::{
    Ciphertext, CtruPrime653, CtruPrime761, CtruPrime1277, DecapsulationKey, EncapsulationKey,
    KEY_PAIR_SEED_BYTES, ParameterSet, SEED_BYTES, SHARED_SECRET_BYTES, SharedSecret,
};
use zeroize::Zeroizing;

use crate::code::{
    CTRU_ERROR_ENGINE, CTRU_ERROR_INTERNAL, CTRU_ERROR_LENGTH, CTRU_ERROR_NULL,
    CTRU_ERROR_PUBLIC_KEY, CTRU_ERROR_RANDOMNESS, CTRU_ERROR_SECRET_KEY, CTRU_ERROR_SET, code_of,
};
use crate::memory::{input, output, write};

/// An engine for batches: a set of threads. Several threads may use it at the same time.
#[allow(non_camel_case_types, reason = "the name in C")]
#[derive(Debug)]
pub struct ctru_engine {
    cpu: CpuEngine,
}

/// Makes an engine with this number of threads, or with one thread per core if it is 0, and writes
/// its pointer to `engine`. `ctru_engine_free` frees it.
///
/// # Safety
/// A pointer that is not null points to a writable pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_new(engine: *mut *mut ctru_engine, threads: usize) -> c_int {
    code_of(|| {
        let engine = NonNull::new(engine).ok_or(CTRU_ERROR_NULL)?;
        let cpu = CpuEngine::with_threads(threads).map_err(|_| CTRU_ERROR_ENGINE)?;
        let made = Box::into_raw(Box::new(ctru_engine { cpu }));
        // SAFETY: the caller promises this of the pointer.
        unsafe { engine.write(made) };
        Ok(())
    })
}

/// Frees an engine. A null pointer is allowed, and nothing happens.
///
/// # Safety
/// A pointer that is not null comes from `ctru_engine_new`, has not been freed, and no thread uses
/// it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_free(engine: *mut ctru_engine) {
    code_of(|| {
        if !engine.is_null() {
            // SAFETY: the caller promises that the box is there and belongs to nobody else.
            drop(unsafe { Box::from_raw(engine) });
        }
        Ok(())
    });
}

/// An operation that needs the parameter set as a type.
trait Operation {
    fn run<P: ParameterSet>(self) -> Result<(), c_int>;
}

/// Runs an operation with the parameter set of this number: 653, 761 or 1277.
fn with_set(set: c_int, operation: impl Operation) -> c_int {
    code_of(|| match set {
        653 => operation.run::<CtruPrime653>(),
        761 => operation.run::<CtruPrime761>(),
        1277 => operation.run::<CtruPrime1277>(),
        _ => Err(CTRU_ERROR_SET),
    })
}

/// A buffer of the caller, with its number of bytes.
#[derive(Copy, Clone)]
struct Input {
    from: *const u8,
    bytes: usize,
}

/// An output buffer of the caller, with its number of bytes.
#[derive(Copy, Clone)]
struct Output {
    to: *mut u8,
    bytes: usize,
}

/// Returns the number of values of `size` bytes in a buffer.
///
/// # Errors
/// [`CTRU_ERROR_LENGTH`] if a part is left.
fn count(bytes: usize, size: usize) -> Result<usize, c_int> {
    if bytes.is_multiple_of(size) { Ok(bytes / size) } else { Err(CTRU_ERROR_LENGTH) }
}

impl Input {
    /// Reads values of `size` bytes each.
    ///
    /// # Safety
    /// As for [`input`].
    unsafe fn read<T, E>(
        self,
        size: usize,
        parse: impl Fn(&[u8]) -> Result<T, E>,
        code: c_int,
    ) -> Result<Vec<T>, c_int> {
        count(self.bytes, size)?;
        // SAFETY: the caller promises this.
        let bytes = unsafe { input(self.from, self.bytes) }?;
        // The vector never grows, because its old memory would keep copies of secrets.
        let mut values = Vec::with_capacity(bytes.len() / size);
        for value in bytes.chunks_exact(size) {
            values.push(parse(value).map_err(|_| code)?);
        }
        Ok(values)
    }
}

impl Output {
    /// Returns the number of values of `size` bytes for which there is room.
    fn room(self, size: usize) -> Result<usize, c_int> {
        output(self.to)?;
        count(self.bytes, size)
    }

    /// Writes values one after the other.
    ///
    /// # Safety
    /// The pointer points to writable bytes for all values.
    unsafe fn write<T: AsRef<[u8]>>(self, values: &[T]) -> Result<(), c_int> {
        let mut to = output(self.to)?;
        for value in values.iter().map(AsRef::as_ref) {
            // SAFETY: the caller promises that the bytes up to the end of this value are there.
            unsafe {
                write(to, value);
                to = to.add(value.len());
            }
        }
        Ok(())
    }
}

/// Returns `count` random seeds, or those of the caller.
///
/// # Safety
/// As for [`input`].
unsafe fn seeds<const N: usize>(
    coins: Option<Input>,
    count: usize,
) -> Result<Zeroizing<Vec<[u8; N]>>, c_int> {
    let mut seeds = Zeroizing::new(vec![[0; N]; count]);
    match coins {
        None => {
            getrandom::fill(seeds.as_flattened_mut()).map_err(|_| CTRU_ERROR_RANDOMNESS)?;
        }
        Some(coins) if count.checked_mul(N) == Some(coins.bytes) => {
            // SAFETY: the caller promises this.
            let coins = unsafe { input(coins.from, coins.bytes) }?;
            seeds.as_flattened_mut().copy_from_slice(coins);
        }
        Some(_) => return Err(CTRU_ERROR_LENGTH),
    }
    Ok(seeds)
}

struct Generate<'a> {
    engine: &'a CpuEngine,
    pk: Output,
    sk: Output,
    coins: Option<Input>,
}

impl Operation for Generate<'_> {
    fn run<P: ParameterSet>(self) -> Result<(), c_int> {
        let count = self.sk.room(P::DECAPSULATION_KEY_BYTES)?;
        if self.pk.room(P::ENCAPSULATION_KEY_BYTES)? != count {
            return Err(CTRU_ERROR_LENGTH);
        }
        // SAFETY: the functions of C promise this of `coins`.
        let seeds = unsafe { seeds::<KEY_PAIR_SEED_BYTES>(self.coins, count) }?;
        let mut public = vec![EncapsulationKey::<P>::placeholder(); count];
        let mut secret = vec![DecapsulationKey::<P>::placeholder(); count];
        self.engine
            .generate(Seeds::Each(&seeds), &mut public, &mut secret)
            .map_err(|_| CTRU_ERROR_INTERNAL)?;
        // SAFETY: the functions of C promise the number of bytes, which is that of the keys.
        unsafe {
            self.pk.write(&public)?;
            self.sk.write(&secret)
        }
    }
}

struct Encapsulate<'a> {
    engine: &'a CpuEngine,
    ct: Output,
    ss: Output,
    pk: Input,
    coins: Option<Input>,
}

impl Operation for Encapsulate<'_> {
    fn run<P: ParameterSet>(self) -> Result<(), c_int> {
        let count = self.ss.room(SHARED_SECRET_BYTES)?;
        if self.ct.room(P::CIPHERTEXT_BYTES)? != count {
            return Err(CTRU_ERROR_LENGTH);
        }
        let (size, parse) = (P::ENCAPSULATION_KEY_BYTES, EncapsulationKey::<P>::from_bytes);
        // SAFETY: the functions of C promise this of `pk` and of `coins`.
        let (public, seeds) = unsafe {
            let public = self.pk.read(size, parse, CTRU_ERROR_PUBLIC_KEY)?;
            (public, seeds::<SEED_BYTES>(self.coins, count)?)
        };
        let mut ciphertexts = vec![Ciphertext::<P>::default(); count];
        let mut secrets = vec![SharedSecret::default(); count];
        self.engine
            .encapsulate(keys(&public, count)?, Seeds::Each(&seeds), &mut ciphertexts, &mut secrets)
            .map_err(|_| CTRU_ERROR_INTERNAL)?;
        // SAFETY: the functions of C promise the number of bytes, which is that of the values.
        unsafe {
            self.ct.write(&ciphertexts)?;
            self.ss.write(&secrets)
        }
    }
}

struct Decapsulate<'a> {
    engine: &'a CpuEngine,
    ss: Output,
    ct: Input,
    sk: Input,
}

impl Operation for Decapsulate<'_> {
    fn run<P: ParameterSet>(self) -> Result<(), c_int> {
        let count = self.ss.room(SHARED_SECRET_BYTES)?;
        let (size, parse) = (P::DECAPSULATION_KEY_BYTES, DecapsulationKey::<P>::from_bytes);
        // SAFETY: the functions of C promise this of `ct` and of `sk`.
        let (ciphertexts, secret_keys) = unsafe {
            let ciphertexts = self.ct.read(
                P::CIPHERTEXT_BYTES,
                Ciphertext::<P>::from_bytes,
                CTRU_ERROR_LENGTH,
            )?;
            (ciphertexts, self.sk.read(size, parse, CTRU_ERROR_SECRET_KEY)?)
        };
        if ciphertexts.len() != count {
            return Err(CTRU_ERROR_LENGTH);
        }
        let mut secrets = vec![SharedSecret::default(); count];
        self.engine
            .decapsulate(keys(&secret_keys, count)?, &ciphertexts, &mut secrets)
            .map_err(|_| CTRU_ERROR_INTERNAL)?;
        // SAFETY: the functions of C promise the number of bytes, which is that of the secrets.
        unsafe { self.ss.write(&secrets) }
    }
}

/// Returns the keys of a batch: one for all operations, or one for each.
fn keys<K, L: ?Sized>(keys: &[K], count: usize) -> Result<Keys<'_, K, L>, c_int> {
    match keys {
        [key] => Ok(Keys::One(key)),
        keys if keys.len() == count => Ok(Keys::Each(keys)),
        _ => Err(CTRU_ERROR_LENGTH),
    }
}

/// Returns the engine behind a pointer.
///
/// # Safety
/// A pointer that is not null comes from `ctru_engine_new` and is not freed while the reference
/// lives.
unsafe fn engine<'a>(engine: *const ctru_engine) -> Result<&'a CpuEngine, c_int> {
    // SAFETY: the caller promises this.
    unsafe { engine.as_ref() }.map(|engine| &engine.cpu).ok_or(CTRU_ERROR_NULL)
}

/// Generates as many key pairs as `sk` has room for. `pk` must have room for as many.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
/// bytes as the number after them says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_keypair(
    engine: *const ctru_engine,
    set: c_int,
    pk: *mut u8,
    pk_bytes: usize,
    sk: *mut u8,
    sk_bytes: usize,
) -> c_int {
    // SAFETY: the caller promises this of the pointer.
    match unsafe { self::engine(engine) } {
        Ok(engine) => with_set(
            set,
            Generate {
                engine,
                pk: Output { to: pk, bytes: pk_bytes },
                sk: Output { to: sk, bytes: sk_bytes },
                coins: None,
            },
        ),
        Err(code) => code,
    }
}

/// Generates as many key pairs as `sk` has room for, from 64 bytes of `coins` for each.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
/// bytes as the number after them says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_keypair_derand(
    engine: *const ctru_engine,
    set: c_int,
    pk: *mut u8,
    pk_bytes: usize,
    sk: *mut u8,
    sk_bytes: usize,
    coins: *const u8,
    coins_bytes: usize,
) -> c_int {
    // SAFETY: the caller promises this of the pointer.
    match unsafe { self::engine(engine) } {
        Ok(engine) => with_set(
            set,
            Generate {
                engine,
                pk: Output { to: pk, bytes: pk_bytes },
                sk: Output { to: sk, bytes: sk_bytes },
                coins: Some(Input { from: coins, bytes: coins_bytes }),
            },
        ),
        Err(code) => code,
    }
}

/// Encapsulates as many shared secrets as `ss` has room for. `ct` must have room for as many
/// ciphertexts. `pk` holds one key for all, or one for each.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
/// bytes as the number after them says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_encaps(
    engine: *const ctru_engine,
    set: c_int,
    ct: *mut u8,
    ct_bytes: usize,
    ss: *mut u8,
    ss_bytes: usize,
    pk: *const u8,
    pk_bytes: usize,
) -> c_int {
    // SAFETY: the caller promises this of the pointer.
    match unsafe { self::engine(engine) } {
        Ok(engine) => with_set(
            set,
            Encapsulate {
                engine,
                ct: Output { to: ct, bytes: ct_bytes },
                ss: Output { to: ss, bytes: ss_bytes },
                pk: Input { from: pk, bytes: pk_bytes },
                coins: None,
            },
        ),
        Err(code) => code,
    }
}

/// Encapsulates as many shared secrets as `ss` has room for, from 32 bytes of `coins` for each.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
/// bytes as the number after them says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_encaps_derand(
    engine: *const ctru_engine,
    set: c_int,
    ct: *mut u8,
    ct_bytes: usize,
    ss: *mut u8,
    ss_bytes: usize,
    pk: *const u8,
    pk_bytes: usize,
    coins: *const u8,
    coins_bytes: usize,
) -> c_int {
    // SAFETY: the caller promises this of the pointer.
    match unsafe { self::engine(engine) } {
        Ok(engine) => with_set(
            set,
            Encapsulate {
                engine,
                ct: Output { to: ct, bytes: ct_bytes },
                ss: Output { to: ss, bytes: ss_bytes },
                pk: Input { from: pk, bytes: pk_bytes },
                coins: Some(Input { from: coins, bytes: coins_bytes }),
            },
        ),
        Err(code) => code,
    }
}

/// Decapsulates as many ciphertexts as `ss` has room for shared secrets. `sk` holds one key for
/// all, or one for each.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
/// bytes as the number after them says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_decaps(
    engine: *const ctru_engine,
    set: c_int,
    ss: *mut u8,
    ss_bytes: usize,
    ct: *const u8,
    ct_bytes: usize,
    sk: *const u8,
    sk_bytes: usize,
) -> c_int {
    // SAFETY: the caller promises this of the pointer.
    match unsafe { self::engine(engine) } {
        Ok(engine) => with_set(
            set,
            Decapsulate {
                engine,
                ss: Output { to: ss, bytes: ss_bytes },
                ct: Input { from: ct, bytes: ct_bytes },
                sk: Input { from: sk, bytes: sk_bytes },
            },
        ),
        Err(code) => code,
    }
}
