//! Compares batches on data in device memory with the CPU engine, on any device.

use std::ops::Range;

use ctru_gpu_runtime::{Buffer, Device, DeviceMemory, Queue, Slice};
use ctru_kem::engine::device::{ResidentKeys, ResidentSeeds};
use ctru_kem::engine::{
    Context, CpuEngine, DeviceEngine, Engine, EngineError, Expand, Keys, Seeds,
};
use ctru_kem::{Ciphertext, DecapsulationKey, EncapsulationKey, ParameterSet, SharedSecret};

/// The seeds of the tests.
pub(crate) const EXPAND: Expand<'_> = Expand {
    seed: b"master seed of rows on a device.",
    context: Context::literal(b"tests of data on the device"),
    first: (1 << 32) - 3,
};

/// An array on a device, in a part of an allocation that begins at `offset`.
pub(crate) struct Rows<Q: Queue> {
    queue: Q,
    memory: Buffer<u8, Q::Memory>,
    range: Range<usize>,
}

impl<Q: Queue> Rows<Q> {
    /// Allocates `bytes` bytes at the given offset.
    pub(crate) fn new(queue: Q, offset: usize, bytes: usize) -> Self {
        let memory = queue.allocate(offset + bytes + 5).unwrap();
        let all = vec![0xc3; memory.len()];
        queue.scope(|scope| queue.upload_from(scope, &all, &memory)).unwrap();
        queue.synchronise().unwrap();
        Self { queue, memory, range: offset..offset + bytes }
    }

    /// Allocates a copy of bytes of the host.
    pub(crate) fn of(queue: Q, bytes: &[u8]) -> Self {
        let mut rows = Self::new(queue, 0, bytes.len());
        rows.write(0, bytes);
        rows
    }

    /// Overwrites bytes of the array.
    pub(crate) fn write(&mut self, start: usize, bytes: &[u8]) {
        let mut all = self.all();
        all[self.range.start + start..][..bytes.len()].copy_from_slice(bytes);
        self.queue.scope(|scope| self.queue.upload_from(scope, &all, &self.memory)).unwrap();
        self.queue.synchronise().unwrap();
    }

    /// Returns the array as an argument of the engine.
    pub(crate) fn slice(&self) -> Slice<'_, u8, Q::Memory> {
        self.queue.slice(&self.memory, self.range.clone()).unwrap()
    }

    /// Returns the content of the array. Checks that the bytes around it are unchanged.
    pub(crate) fn read(&self) -> Vec<u8> {
        let all = self.all();
        let outside = all[..self.range.start].iter().chain(&all[self.range.end..]);
        assert!(outside.copied().all(|byte| byte == 0xc3));
        all[self.range.clone()].to_vec()
    }

    fn all(&self) -> Vec<u8> {
        let mut all = vec![0; self.memory.len()];
        self.queue.scope(|scope| self.queue.download_to(scope, &self.memory, &mut all)).unwrap();
        all
    }
}

fn concat<T: AsRef<[u8]>>(rows: &[T]) -> Vec<u8> {
    rows.iter().flat_map(|row| row.as_ref().to_vec()).collect()
}

/// Returns rows of `N` bytes with arbitrary content.
fn seed_rows<const N: usize>(count: usize) -> Vec<[u8; N]> {
    (0..count).map(|i| core::array::from_fn(|j| (i * 83 + j * 7) as u8)).collect()
}

/// Generates, encapsulates and decapsulates `count` times with keys in every form, and compares
/// everything with the CPU. The ciphertexts and the keys begin at `offset` of an allocation, which
/// may have any remainder modulo 4.
pub(crate) fn check_operations<P: ParameterSet, D: Device>(
    device: &D,
    engine: &DeviceEngine<D>,
    count: usize,
    seeds_each: bool,
    offset: usize,
) {
    let cpu = CpuEngine::new().unwrap();
    let queue = || device.queue().unwrap();
    let after = queue();
    let resident = engine.resident(P::PARAMETERS, &after).unwrap();

    let pair_seeds = seed_rows::<64>(count);
    let pair_seed_rows = Rows::of(queue(), &concat(&pair_seeds));
    let pair_seed_rows = pair_seed_rows.slice();
    let (given, expected_seeds) = match seeds_each {
        true => (ResidentSeeds::Each(&*pair_seed_rows), Seeds::Each(&pair_seeds)),
        false => (ResidentSeeds::Expand(EXPAND), Seeds::Expand(EXPAND)),
    };
    let mut public = vec![EncapsulationKey::<P>::placeholder(); count];
    let mut private = vec![DecapsulationKey::<P>::placeholder(); count];
    cpu.generate(expected_seeds, &mut public, &mut private).unwrap();
    let public_rows = Rows::new(queue(), offset, count * P::ENCAPSULATION_KEY_BYTES);
    let private_rows = Rows::new(queue(), offset, count * P::DECAPSULATION_KEY_BYTES);
    resident.generate(given, Some(&*public_rows.slice()), &private_rows.slice()).unwrap();
    assert!(public_rows.read() == concat(&public));
    assert!(private_rows.read() == concat(&private));
    let alone = Rows::new(queue(), 0, count * P::DECAPSULATION_KEY_BYTES);
    resident.generate(given, None, &alone.slice()).unwrap();
    assert!(alone.read() == private_rows.read());

    let (publics, privates) = (public_rows.slice(), private_rows.slice());
    resident.check_encapsulation_keys(&publics).unwrap();
    resident.check_decapsulation_keys(&privates).unwrap();
    let one_public = Rows::of(queue(), public[count - 1].as_ref());
    let one_private = Rows::of(queue(), private[count - 1].as_ref());
    let (one_public, one_private) = (one_public.slice(), one_private.slice());
    let loaded = (
        resident.load_encapsulation_keys(&publics).unwrap(),
        resident.load_decapsulation_keys(&privates).unwrap(),
    );
    let one_loaded = (
        resident.load_encapsulation_keys(&one_public).unwrap(),
        resident.load_decapsulation_keys(&one_private).unwrap(),
    );

    let seeds = seed_rows::<32>(count);
    let seed_rows = Rows::of(queue(), &concat(&seeds));
    let seed_rows = seed_rows.slice();
    let (given, expected_seeds) = match seeds_each {
        true => (ResidentSeeds::Each(&*seed_rows), Seeds::Each(&seeds)),
        false => (ResidentSeeds::Expand(EXPAND), Seeds::Expand(EXPAND)),
    };
    for (public_keys, private_keys, all) in [
        (ResidentKeys::Trusted(&*one_public), ResidentKeys::Trusted(&*one_private), false),
        (ResidentKeys::Trusted(&*publics), ResidentKeys::Trusted(&*privates), true),
        (ResidentKeys::Unchecked(&*one_public), ResidentKeys::Unchecked(&*one_private), false),
        (ResidentKeys::Unchecked(&*publics), ResidentKeys::Unchecked(&*privates), true),
        (ResidentKeys::Loaded(&one_loaded.0), ResidentKeys::Loaded(&one_loaded.1), false),
        (ResidentKeys::Loaded(&loaded.0), ResidentKeys::Loaded(&loaded.1), true),
    ] {
        let last = (&public[count - 1], &private[count - 1]);
        let expected_keys = match all {
            true => (Keys::Each(&public[..]), Keys::Each(&private[..])),
            false => (Keys::One(last.0), Keys::One(last.1)),
        };
        let mut sent = vec![Ciphertext::<P>::default(); count];
        let mut secrets = vec![SharedSecret::default(); count];
        cpu.encapsulate(expected_keys.0, expected_seeds, &mut sent, &mut secrets).unwrap();
        let mut ciphertexts = Rows::new(queue(), offset, count * P::CIPHERTEXT_BYTES);
        let made = Rows::new(queue(), 8, count * 32);
        resident.encapsulate(public_keys, given, &ciphertexts.slice(), &made.slice()).unwrap();
        assert!(ciphertexts.read() == concat(&sent), "{all}");
        assert!(made.read() == concat(&secrets), "{all}");

        // One ciphertext of three is changed, so that it is rejected.
        for i in (0..count).step_by(3) {
            let mut bytes = sent[i].as_ref().to_vec();
            bytes[i * 31 % P::CIPHERTEXT_BYTES] ^= 1 << (i % 8);
            sent[i] = Ciphertext::from_bytes(&bytes).unwrap();
        }
        ciphertexts.write(0, &concat(&sent));
        cpu.decapsulate(expected_keys.1, &sent, &mut secrets).unwrap();
        let received = Rows::new(queue(), 0, count * 32);
        resident.decapsulate(private_keys, &ciphertexts.slice(), &received.slice()).unwrap();
        assert!(received.read() == concat(&secrets), "{all}");
    }
}

/// Checks `count` rows with faults in some of them, and compares the results with the CPU.
pub(crate) fn check_faults<P: ParameterSet, D: Device>(
    device: &D,
    engine: &DeviceEngine<D>,
    count: usize,
) {
    let queue = || device.queue().unwrap();
    let after = queue();
    let resident = engine.resident(P::PARAMETERS, &after).unwrap();
    let private = DecapsulationKey::<P>::generate_deterministic(&[5; 32], &[6; 32]);
    let public = private.encapsulation_key();
    let (row, secret_row) = (P::ENCAPSULATION_KEY_BYTES, P::DECAPSULATION_KEY_BYTES);
    let f_bytes = secret_row - row - 32;

    let mut bytes = public.as_ref().repeat(count);
    let mut secret_bytes = private.as_ref().repeat(count);
    let mut rows = Rows::of(queue(), &bytes);
    let mut secret_rows = Rows::of(queue(), &secret_bytes);
    let ciphertexts = Rows::new(queue(), 0, count * P::CIPHERTEXT_BYTES);
    let mut secrets = Rows::new(queue(), 0, count * 32);
    // From the last row to the first, so that each fault is the first one. The rows of padding bits
    // and of the bits of coefficients differ in their first and last bytes.
    let faulty = [vec![0; row], vec![0xff; row], {
        let mut padded = public.as_ref().to_vec();
        padded[row - 1] |= 0x80;
        padded
    }];
    for (i, fault) in faulty.iter().enumerate() {
        let number = count - 1 - i * (count - 1) / (faulty.len() - 1);
        bytes[number * row..][..row].copy_from_slice(fault);
        rows.write(number * row, fault);
        let expected = EncapsulationKey::<P>::check_rows(&bytes).unwrap_err();
        assert_eq!(expected.row, number);
        let refused = resident.check_encapsulation_keys(&rows.slice());
        assert_eq!(refused, Err(expected.into()));
        let seeds = ResidentSeeds::Expand(EXPAND);
        let sent = ciphertexts.slice();
        let refused = resident.encapsulate(
            ResidentKeys::Unchecked(&*rows.slice()),
            seeds,
            &sent,
            &secrets.slice(),
        );
        assert_eq!(refused, Err(expected.into()));
        assert!(secrets.read().iter().all(|&byte| byte == 0));

        let start = number * secret_row + f_bytes;
        secret_bytes[start..][..row].copy_from_slice(fault);
        secret_rows.write(start, fault);
        let expected = DecapsulationKey::<P>::check_rows(&secret_bytes).unwrap_err();
        assert_eq!(expected.row, number);
        let refused = resident.check_decapsulation_keys(&secret_rows.slice());
        assert_eq!(refused, Err(expected.into()));
        secrets.write(0, &vec![7; count * 32]);
        let refused = resident.decapsulate(
            ResidentKeys::Unchecked(&*secret_rows.slice()),
            &sent,
            &secrets.slice(),
        );
        assert_eq!(refused, Err(expected.into()));
        assert!(secrets.read().iter().all(|&byte| byte == 0));
    }
    // One key for all operations, which is the faulty first row.
    let key = rows.queue.slice::<u8>(&rows.memory, rows.range.start..rows.range.start + row);
    let key = key.unwrap();
    secrets.write(0, &vec![7; count * 32]);
    let seeds = ResidentSeeds::Expand(EXPAND);
    let sent = ciphertexts.slice();
    let refused =
        resident.encapsulate(ResidentKeys::Unchecked(&*key), seeds, &sent, &secrets.slice());
    assert!(matches!(refused, Err(EngineError::EncapsulationKey { row: 0, .. })), "{refused:?}");
    assert!(secrets.read().iter().all(|&byte| byte == 0));
    let start = secret_rows.range.start;
    let key = secret_rows.queue.slice::<u8>(&secret_rows.memory, start..start + secret_row);
    let key = key.unwrap();
    secrets.write(0, &vec![7; count * 32]);
    let refused = resident.decapsulate(ResidentKeys::Unchecked(&*key), &sent, &secrets.slice());
    assert!(matches!(refused, Err(EngineError::DecapsulationKey { row: 0, .. })), "{refused:?}");
    assert!(secrets.read().iter().all(|&byte| byte == 0));
    // The secret polynomial is checked before `h`.
    secret_bytes[f_bytes - 1] |= 0x80;
    secret_rows.write(f_bytes - 1, &secret_bytes[f_bytes - 1..f_bytes]);
    let error = DecapsulationKey::<P>::from_bytes(&secret_bytes[..secret_row]).unwrap_err();
    let refused = resident.check_decapsulation_keys(&secret_rows.slice());
    assert_eq!(refused, Err(EngineError::DecapsulationKey { row: 0, error }));
    assert!(secret_rows.slice().bytes() == secret_bytes.len());
}
