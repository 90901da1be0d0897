//! Batches on all cores, by an engine that C sees as an opaque pointer.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem;
use std::ptr::NonNull;

use ctru_fork::Process;
use ctru_kem::engine::{BatchEngine, CpuEngine, EngineError, KeyRows, Seeds};
use ctru_kem::{KEY_PAIR_SEED_BYTES, Parameters, SEED_BYTES, SHARED_SECRET_BYTES, Scheme, Set};
use zeroize::Zeroizing;

use crate::code::{
    CTRU_ERROR_ENGINE, CTRU_ERROR_FORK, CTRU_ERROR_INTERNAL, CTRU_ERROR_LENGTH, CTRU_ERROR_MEMORY,
    CTRU_ERROR_NULL, CTRU_ERROR_PUBLIC_KEY, CTRU_ERROR_RANDOMNESS, CTRU_ERROR_SECRET_KEY,
    CTRU_ERROR_SET, CTRU_ERROR_THREADS, code_of, wiping,
};
use crate::memory::{input, output, write};

/// An engine for batches: a set of threads. Several threads may use it at the same time. The
/// calling thread computes batches of one key pair or of up to 8 other operations by itself.
///
/// The threads do not exist in a child that `fork` makes. There the functions return
/// `CTRU_ERROR_FORK`, and `ctru_engine_free` frees nothing. A child makes an engine of its own.
#[allow(non_camel_case_types, reason = "the name in C")]
#[derive(Debug)]
pub struct ctru_engine {
    cpu: CpuEngine,
    /// The process that has the threads.
    process: Process,
}

/// More bytes of the stack than the calling thread uses. 8 decapsulations of the largest set of
/// CTRU-Prime, each with its own key, use about 145 KiB.
const STACK: usize = 160 << 10;

/// The same for the two largest sets of NTRU Prime, of which the larger one uses about 196 KiB.
const LARGER_STACK: usize = 208 << 10;

/// Does the work of a batch of a set, and wipes the stack that it uses.
fn wiping_batch(set: c_int, work: impl FnOnce() -> Result<(), c_int>) -> c_int {
    match set {
        CTRU_SNTRUP1013 | CTRU_SNTRUP1277 => wiping::<LARGER_STACK>(work),
        _ => wiping::<STACK>(work),
    }
}

/// The set sntrup653 in the functions for batches.
pub const CTRU_SNTRUP653: c_int = 11;
/// The set sntrup761 in the functions for batches.
pub const CTRU_SNTRUP761: c_int = 12;
/// The set sntrup857 in the functions for batches.
pub const CTRU_SNTRUP857: c_int = 13;
/// The set sntrup953 in the functions for batches.
pub const CTRU_SNTRUP953: c_int = 14;
/// The set sntrup1013 in the functions for batches.
pub const CTRU_SNTRUP1013: c_int = 15;
/// The set sntrup1277 in the functions for batches.
pub const CTRU_SNTRUP1277: c_int = 16;

/// The largest number of threads of an engine.
pub const CTRU_MAX_THREADS: usize = 4096;

const _: () = assert!(CTRU_MAX_THREADS == CpuEngine::MAX_THREADS);

/// Makes an engine with this number of threads, and writes its pointer to `engine`.
/// `ctru_engine_free` frees it. If the number is 0, there are as many threads as the environment
/// variable `RAYON_NUM_THREADS` says, or one per core. More than `CTRU_MAX_THREADS`, such as a
/// negative number, give `CTRU_ERROR_THREADS`, or `CTRU_ERROR_ENGINE` if the variable says so.
///
/// # Safety
/// A pointer that is not null points to a writable pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ctru_engine_new(engine: *mut *mut ctru_engine, threads: usize) -> c_int {
    code_of(|| {
        let engine = NonNull::new(engine).ok_or(CTRU_ERROR_NULL)?;
        if threads > CTRU_MAX_THREADS {
            return Err(CTRU_ERROR_THREADS);
        }
        let cpu = CpuEngine::with_threads(threads).map_err(|_| CTRU_ERROR_ENGINE)?;
        let made = Box::into_raw(Box::new(ctru_engine { cpu, process: Process::current() }));
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
            let engine = unsafe { Box::from_raw(engine) };
            if engine.process.is_current() {
                drop(engine);
            } else {
                // To stop threads takes locks, which one of them may have held during the fork.
                mem::forget(engine);
            }
        }
        Ok(())
    });
}

impl ctru_engine {
    /// Returns the parameters of the set with this number.
    ///
    /// # Errors
    /// [`CTRU_ERROR_FORK`] if the threads are those of another process, which would never answer.
    /// [`CTRU_ERROR_SET`] if no set has the number.
    fn parameters(&self, set: c_int) -> Result<Parameters, c_int> {
        if !self.process.is_current() {
            return Err(CTRU_ERROR_FORK);
        }
        let number = |of: Set| match of.scheme() {
            Scheme::CtruPrime => c_int::try_from(Parameters::from(of).degree()),
            _ => Ok(of.number().into()),
        };
        let found = Set::ALL.iter().copied().find(|&of| number(of) == Ok(set));
        found.map(Parameters::from).ok_or(CTRU_ERROR_SET)
    }
}

/// Returns the engine behind a pointer.
///
/// # Safety
/// A pointer that is not null comes from `ctru_engine_new` and is not freed while the reference
/// lives.
unsafe fn engine<'a>(engine: *const ctru_engine) -> Result<&'a ctru_engine, c_int> {
    // SAFETY: the caller promises this.
    unsafe { engine.as_ref() }.ok_or(CTRU_ERROR_NULL)
}

/// A buffer of the caller, with its number of bytes.
type Input = (*const u8, usize);

/// An output buffer of the caller, with its number of bytes.
type Output = (*mut u8, usize);

/// Returns the number of rows of `size` bytes for which an output has room.
///
/// # Errors
/// [`CTRU_ERROR_NULL`] for a null pointer, [`CTRU_ERROR_LENGTH`] if a part of a row is left.
fn room((to, bytes): Output, size: usize) -> Result<usize, c_int> {
    output(to)?;
    if bytes.is_multiple_of(size) { Ok(bytes / size) } else { Err(CTRU_ERROR_LENGTH) }
}

/// Returns zeros, wiped when dropped.
///
/// The engine writes results here and not to the caller, so that nothing has been written after an
/// error, and so that outputs may lie where inputs are.
///
/// # Errors
/// [`CTRU_ERROR_MEMORY`] if there is not enough memory.
fn zeros(bytes: usize) -> Result<Zeroizing<Vec<u8>>, c_int> {
    // The vector never grows, because its old memory would keep copies of secrets.
    let mut zeros = Zeroizing::new(Vec::new());
    zeros.try_reserve_exact(bytes).map_err(|_| CTRU_ERROR_MEMORY)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

/// Returns the seeds of `count` operations, of `size` bytes each: a copy of those of the caller, or
/// random ones.
///
/// # Safety
/// As for [`input`].
unsafe fn seeds(
    coins: Option<Input>,
    count: usize,
    size: usize,
) -> Result<Zeroizing<Vec<u8>>, c_int> {
    let bytes = count.checked_mul(size);
    if coins.is_some_and(|(_, given)| bytes != Some(given)) {
        return Err(CTRU_ERROR_LENGTH);
    }
    let mut seeds = zeros(bytes.ok_or(CTRU_ERROR_MEMORY)?)?;
    match coins {
        // SAFETY: the caller promises this.
        Some((from, bytes)) => seeds.copy_from_slice(unsafe { input(from, bytes) }?),
        None => getrandom::fill(&mut seeds).map_err(|_| CTRU_ERROR_RANDOMNESS)?,
    }
    Ok(seeds)
}

/// Returns the code of an error. Writes the row of a key that was refused to `row`, unless this is
/// null.
///
/// # Safety
/// A pointer that is not null points to a writable number.
unsafe fn code(error: EngineError, row: *mut usize) -> c_int {
    let (refused, code) = match error {
        EngineError::EncapsulationKey { row, .. } => (row, CTRU_ERROR_PUBLIC_KEY),
        EngineError::DecapsulationKey { row, .. } => (row, CTRU_ERROR_SECRET_KEY),
        EngineError::Rows { .. } | EngineError::Length { .. } => return CTRU_ERROR_LENGTH,
        _ => return CTRU_ERROR_INTERNAL,
    };
    if let Some(row) = NonNull::new(row) {
        // SAFETY: the caller promises this.
        unsafe { row.write(refused) };
    }
    code
}

/// Generates key pairs.
///
/// # Safety
/// As for [`ctru_engine_keypair_derand`].
unsafe fn generate(
    engine: *const ctru_engine,
    set: c_int,
    pk: Output,
    sk: Output,
    coins: Option<Input>,
) -> c_int {
    wiping_batch(set, || {
        // SAFETY: the caller promises this of the pointer.
        let engine = unsafe { self::engine(engine) }?;
        let parameters = engine.parameters(set)?;
        let sizes = parameters.sizes();
        let count = room(sk, sizes.decapsulation_key)?;
        if room(pk, sizes.encapsulation_key)? != count {
            return Err(CTRU_ERROR_LENGTH);
        }
        let (mut public, mut secret) = (zeros(pk.1)?, zeros(sk.1)?);
        // SAFETY: the caller promises this of `coins`.
        let rows = unsafe { seeds(coins, count, parameters.key_pair_seed_bytes()) }?;
        let bytes = count.checked_mul(KEY_PAIR_SEED_BYTES).ok_or(CTRU_ERROR_MEMORY)?;
        let mut seeds = zeros(bytes)?;
        let seeds = seeds.as_chunks_mut().0;
        parameters.write_key_pair_seeds(&rows, seeds);
        let generated = engine.cpu.generate_rows(
            parameters,
            Seeds::Each(seeds),
            Some(&mut public),
            &mut secret,
        );
        generated.map_err(|_| CTRU_ERROR_INTERNAL)?;
        // SAFETY: the caller promises this, and the results have the bytes of the buffers.
        unsafe {
            write(output(pk.0)?, &public);
            write(output(sk.0)?, &secret);
        }
        Ok(())
    })
}

/// Encapsulates shared secrets.
///
/// # Safety
/// As for [`ctru_engine_encaps_derand`].
unsafe fn encapsulate(
    engine: *const ctru_engine,
    set: c_int,
    ct: Output,
    ss: Output,
    pk: Input,
    coins: Option<Input>,
    row: *mut usize,
) -> c_int {
    wiping_batch(set, || {
        // SAFETY: the caller promises this of the pointer.
        let engine = unsafe { self::engine(engine) }?;
        let parameters = engine.parameters(set)?;
        let count = room(ss, SHARED_SECRET_BYTES)?;
        if room(ct, parameters.sizes().ciphertext)? != count {
            return Err(CTRU_ERROR_LENGTH);
        }
        let (mut ciphertexts, mut secrets) = (zeros(ct.1)?, zeros(ss.1)?);
        // SAFETY: the caller promises this of `coins`, `pk` and `row`. The slice of keys ends
        // before anything is written, and the results have the bytes of the buffers.
        unsafe {
            let seeds = seeds(coins, count, SEED_BYTES)?;
            let seeds = Seeds::Each(seeds.as_chunks().0);
            let keys = KeyRows::Unchecked(input(pk.0, pk.1)?);
            engine
                .cpu
                .encapsulate_rows(parameters, keys, seeds, &mut ciphertexts, &mut secrets)
                .map_err(|error| code(error, row))?;
            write(output(ct.0)?, &ciphertexts);
            write(output(ss.0)?, &secrets);
        }
        Ok(())
    })
}

/// Decapsulates ciphertexts.
///
/// # Safety
/// As for [`ctru_engine_decaps`].
unsafe fn decapsulate(
    engine: *const ctru_engine,
    set: c_int,
    ss: Output,
    ct: Input,
    sk: Input,
    row: *mut usize,
) -> c_int {
    wiping_batch(set, || {
        // SAFETY: the caller promises this of the pointer.
        let engine = unsafe { self::engine(engine) }?;
        let parameters = engine.parameters(set)?;
        let count = room(ss, SHARED_SECRET_BYTES)?;
        if count.checked_mul(parameters.sizes().ciphertext) != Some(ct.1) {
            return Err(CTRU_ERROR_LENGTH);
        }
        let mut secrets = zeros(ss.1)?;
        // SAFETY: the caller promises this of `ct`, `sk` and `row`. The slices end before anything
        // is written, and the results have the bytes of the buffer.
        unsafe {
            let (keys, sent) = (KeyRows::Unchecked(input(sk.0, sk.1)?), input(ct.0, ct.1)?);
            engine
                .cpu
                .decapsulate_rows(parameters, keys, sent, &mut secrets)
                .map_err(|error| code(error, row))?;
            write(output(ss.0)?, &secrets);
        }
        Ok(())
    })
}

/// Generates as many key pairs as `sk` has room for. `pk` must have room for as many. `set` is 653,
/// 761 or 1277 for CTRU-Prime, and a constant such as `CTRU_SNTRUP761` for NTRU Prime.
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
    // SAFETY: the caller promises the same.
    unsafe { generate(engine, set, (pk, pk_bytes), (sk, sk_bytes), None) }
}

/// Generates as many key pairs as `sk` has room for, from `coins`, which have 64 bytes for each key
/// pair of CTRU-Prime, and 32 for each of NTRU Prime. With another set of CTRU-Prime, the same
/// coins give related key pairs. The other arguments are those of `ctru_engine_keypair`.
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
    // SAFETY: the caller promises the same.
    unsafe { generate(engine, set, (pk, pk_bytes), (sk, sk_bytes), Some((coins, coins_bytes))) }
}

/// Encapsulates as many shared secrets as `ss` has room for. `ct` must have room for as many
/// ciphertexts. `pk` holds one key for all, or one for each. `set` is as in `ctru_engine_keypair`.
///
/// After `CTRU_ERROR_PUBLIC_KEY`, `row` has the number of the first key that is none, from 0. It
/// may be null.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. `row` is null or points to a writable number.
/// Other pointers are null or point to as many bytes as the number after them says.
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
    row: *mut usize,
) -> c_int {
    let (ct, ss, pk) = ((ct, ct_bytes), (ss, ss_bytes), (pk, pk_bytes));
    // SAFETY: the caller promises the same.
    unsafe { encapsulate(engine, set, ct, ss, pk, None, row) }
}

/// Encapsulates as many shared secrets as `ss` has room for, from 32 bytes of `coins` for each. The
/// other arguments are those of `ctru_engine_encaps`.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. `row` is null or points to a writable number.
/// Other pointers are null or point to as many bytes as the number after them says.
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
    row: *mut usize,
) -> c_int {
    let (ct, ss, pk) = ((ct, ct_bytes), (ss, ss_bytes), (pk, pk_bytes));
    // SAFETY: the caller promises the same.
    unsafe { encapsulate(engine, set, ct, ss, pk, Some((coins, coins_bytes)), row) }
}

/// Decapsulates as many ciphertexts as `ss` has room for shared secrets. `sk` holds one key for
/// all, or one for each. `set` is as in `ctru_engine_keypair`.
///
/// After `CTRU_ERROR_SECRET_KEY`, `row` has the number of the first key that is none, from 0. It
/// may be null.
///
/// # Safety
/// `engine` comes from `ctru_engine_new` or is null. `row` is null or points to a writable number.
/// Other pointers are null or point to as many bytes as the number after them says.
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
    row: *mut usize,
) -> c_int {
    // SAFETY: the caller promises the same.
    unsafe { decapsulate(engine, set, (ss, ss_bytes), (ct, ct_bytes), (sk, sk_bytes), row) }
}
