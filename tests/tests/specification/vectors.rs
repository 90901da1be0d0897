//! The vectors (specification, section 12).

use std::path::Path;
use std::{fs, thread};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::batches::{Operation, batch_seed};
use crate::e8;
use crate::encodings::{Encoding, pack_f};
use crate::hashes::{id, shake256};
use crate::kem::{decaps, encaps, key_gen};
use crate::parameters::{COLUMNS, Parameters};
use crate::strings::integer;

/// A byte string in hexadecimal.
#[derive(Deserialize, PartialEq, Debug)]
struct Hex(#[serde(with = "const_hex")] Vec<u8>);

/// Reads the text of a file of vectors.
fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(name)).unwrap()
}

/// Reads a file with one object per line.
fn read_lines<T: DeserializeOwned>(name: &str) -> Vec<T> {
    read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    n: usize,
    pk_encoding: String,
    keygen_seed: Hex,
    z: Hex,
    pk: Hex,
    sk: Hex,
    encaps_seed: Hex,
    ct: Hex,
    ss: Hex,
    bad_ct: Hex,
    bad_ss: Hex,
}

/// Checks all records of a file. Returns the number of bad ciphertexts that decrypt to the message.
fn check_file(p: &Parameters, encoding: Encoding) -> usize {
    let name = format!("ctru-prime-{}-{}.jsonl", p.n, encoding.name());
    let records: Vec<Record> = read_lines(&name);
    assert_eq!(records.len(), 26, "{name}");
    let check = |(k, record): (usize, &Record)| check_record(&name, k, p, encoding, record);
    records.iter().enumerate().filter(|&record| check(record)).count()
}

/// Checks record `k`. Returns whether the bad ciphertext decrypts to the message.
fn check_record(name: &str, k: usize, p: &Parameters, encoding: Encoding, record: &Record) -> bool {
    let at = |field| format!("{name}, record {k}, {field}");
    assert_eq!((record.n, &record.pk_encoding[..]), (p.n, encoding.name()), "{}", at("set"));

    let mut label = format!("CTRU-Prime KAT v1 public/n={}/{}/", p.n, encoding.name()).into_bytes();
    label.extend((k as u32).to_le_bytes());
    let x = shake256(&label, 100);
    assert_eq!(record.keygen_seed.0, x[..32], "{}", at("keygen_seed"));
    assert_eq!(record.z.0, x[32..64], "{}", at("z"));
    assert_eq!(record.encaps_seed.0, x[64..96], "{}", at("encaps_seed"));
    let bits = 8 * p.ciphertext_bytes();
    let bit = if k % 25 == 24 { bits - 1 } else { integer(&x[96..]) as usize % bits };
    let mut bad_ct = record.ct.0.clone();
    bad_ct[bit / 8] ^= 1 << (bit % 8);
    assert_eq!(record.bad_ct.0, bad_ct, "{}", at("bad_ct"));

    let key = key_gen(p, encoding, &x[..32], &x[32..64]);
    assert_eq!(key.pk, record.pk.0, "{}", at("pk"));
    assert_eq!(key.sk, record.sk.0, "{}", at("sk"));
    let encapsulation = encaps(p, encoding, &key.pk, &x[64..96]);
    assert_eq!(encapsulation.ct, record.ct.0, "{}", at("ct"));
    assert_eq!(encapsulation.ss, record.ss.0, "{}", at("ss"));
    let good = decaps(p, encoding, &key.sk, &record.ct.0);
    assert_eq!(good.ss, record.ss.0, "{}", at("ss of decapsulation"));
    let bad = decaps(p, encoding, &key.sk, &bad_ct);
    assert_eq!(bad.ss, record.bad_ss.0, "{}", at("bad_ss"));
    assert_ne!(bad.ss, good.ss, "{}", at("bad_ss"));
    bad.decryption.m == encapsulation.m
}

#[test]
fn records() {
    let decrypted: usize = thread::scope(|scope| {
        let sets = COLUMNS.iter().flat_map(|p| Encoding::ALL.map(|encoding| (p, encoding)));
        let threads: Vec<_> =
            sets.map(|(p, encoding)| scope.spawn(move || check_file(p, encoding))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(decrypted, 110);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Intermediate {
    n: usize,
    q: i64,
    q2: i64,
    eta: i64,
    msg_bytes: usize,
    keygen_seed: Hex,
    z: Hex,
    encaps_seed: Hex,
    #[serde(rename = "note")]
    _note: String,
    coins_f: Hex,
    coins_g: Hex,
    f_prime: Vec<i64>,
    f: Vec<i64>,
    g: Vec<i64>,
    f_inv: Vec<i64>,
    h: Vec<i64>,
    f_packed: Hex,
    #[serde(rename = "mixed-radix")]
    mixed_radix: OfEncoding,
    packed13: OfEncoding,
}

/// The intermediate values that depend on the encoding of `h`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfEncoding {
    pk: Hex,
    id_pk: Hex,
    m: Hex,
    hash_input: Hex,
    hash_output: Hex,
    coins_r: Hex,
    r: Vec<i64>,
    sigma: Vec<i64>,
    e8_codeword_bytes: Hex,
    sigma_compressed: Vec<i64>,
    c: Vec<i64>,
    ct: Hex,
    decoded: Vec<i64>,
    decoded_nibbles: Vec<u8>,
    decoded_m: Hex,
    ss: Hex,
    reject_key_for_this_ct: Hex,
}

/// Checks one file of intermediate values.
///
/// `full` has the indices `i` with `t_i = q2`, one list for each encoding.
fn check_intermediate(n: usize, full: [&[usize]; 2]) {
    let p = Parameters::of_degree(n);
    let name = format!("intermediate-{n}.json");
    let file: Intermediate = serde_json::from_str(&read(&name)).unwrap();
    assert_eq!((file.n, file.q, file.q2, file.eta), (p.n, p.q, p.q2(), p.eta), "{name}");
    assert_eq!(file.msg_bytes, p.message_bytes(), "{name}");
    let first = &read_lines::<Record>(&format!("ctru-prime-{n}-mixed-radix.jsonl"))[0];
    assert_eq!(file.keygen_seed, first.keygen_seed, "{name}");
    assert_eq!(file.z, first.z, "{name}");
    assert_eq!(file.encaps_seed, first.encaps_seed, "{name}");

    let of_encodings = [&file.mixed_radix, &file.packed13];
    for ((encoding, values), full) in Encoding::ALL.into_iter().zip(of_encodings).zip(full) {
        let at = |field| format!("{name}, {}, {field}", encoding.name());
        let key = key_gen(p, encoding, &file.keygen_seed.0, &file.z.0);
        assert_eq!(key.coins, [&file.coins_f.0[..], &file.coins_g.0].concat(), "{}", at("coins"));
        assert_eq!(key.f_prime, file.f_prime, "{}", at("f_prime"));
        assert_eq!(key.f, file.f, "{}", at("f"));
        assert_eq!(key.g, file.g, "{}", at("g"));
        assert_eq!(key.f_inverse, file.f_inv, "{}", at("f_inv"));
        assert_eq!(key.h, file.h, "{}", at("h"));
        assert_eq!(pack_f(p, &key.f), file.f_packed.0, "{}", at("f_packed"));
        assert_eq!(key.pk, values.pk.0, "{}", at("pk"));
        assert_eq!(id(&key.pk), values.id_pk.0, "{}", at("id_pk"));

        let sent = encaps(p, encoding, &key.pk, &file.encaps_seed.0);
        let (derivation, encryption) = (&sent.derivation, &sent.derivation.encryption);
        assert_eq!(sent.m, values.m.0, "{}", at("m"));
        assert_eq!([id(&key.pk), &sent.m].concat(), values.hash_input.0, "{}", at("hash_input"));
        assert_eq!(derivation.k_and_s, values.hash_output.0, "{}", at("hash_output"));
        assert_eq!(derivation.coins_r, values.coins_r.0, "{}", at("coins_r"));
        assert_eq!(encryption.r, values.r, "{}", at("r"));
        assert_eq!(encryption.sigma, values.sigma, "{}", at("sigma"));
        assert_eq!(encryption.codewords, values.e8_codeword_bytes.0, "{}", at("codewords"));
        let compressed: Vec<i64> = encryption.t.iter().map(|t| t % p.q2()).collect();
        assert_eq!(compressed, values.sigma_compressed, "{}", at("sigma_compressed"));
        let is_full: Vec<usize> = (0..n).filter(|&i| encryption.t[i] == p.q2()).collect();
        assert_eq!(is_full, full, "{}", at("t = q2"));
        assert_eq!(encryption.c, values.c, "{}", at("c"));
        assert_eq!(sent.ct, values.ct.0, "{}", at("ct"));

        let received = decaps(p, encoding, &key.sk, &sent.ct);
        let decryption = &received.decryption;
        assert_eq!(decryption.v, values.decoded, "{}", at("decoded"));
        assert_eq!(decryption.nibbles, values.decoded_nibbles, "{}", at("decoded_nibbles"));
        assert_eq!(decryption.m, values.decoded_m.0, "{}", at("decoded_m"));
        assert_eq!(received.rejection, values.reject_key_for_this_ct.0, "{}", at("rejection"));
        assert_eq!([&sent.ss, &received.ss], [&values.ss.0; 2], "{}", at("ss"));

        // Every string of C bytes is a ciphertext.
        let wrong = decaps(p, encoding, &key.sk, &vec![0xff; p.ciphertext_bytes()]);
        assert_eq!(wrong.ss, wrong.rejection, "{}", at("ciphertext of ones"));
    }
}

#[test]
fn intermediate_values() {
    check_intermediate(653, [&[], &[]]);
    check_intermediate(761, [&[], &[]]);
    check_intermediate(1277, [&[1204], &[518, 844]]);
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    q2: i64,
    v: Vec<i64>,
    nibble: u8,
    tie: bool,
}

#[test]
fn e8_blocks() {
    let blocks: Vec<Block> = read_lines("e8-decode.jsonl");
    assert_eq!(blocks.len(), 400);
    assert_eq!(blocks.iter().filter(|block| block.tie).count(), 187);
    for (k, block) in blocks.iter().enumerate() {
        let at = format!("e8-decode.jsonl, record {k}");
        assert_eq!(e8::decode(&block.v, block.q2), block.nibble, "{at}");
        let distances = e8::distances(&block.v, block.q2);
        let least = *distances.iter().min().unwrap();
        assert_eq!(distances[usize::from(block.nibble)], least, "{at}");
        let nearest = distances.iter().filter(|&&distance| distance == least).count();
        assert_eq!(nearest > 1, block.tie, "{at}");
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seed {
    n: usize,
    pk_encoding: String,
    op: String,
    context: Hex,
    master: Hex,
    row: Hex,
    id: Hex,
    seed: Hex,
}

#[test]
fn seeds() {
    let records: Vec<Seed> = read_lines("seeds.jsonl");
    assert_eq!(records.len(), 48);
    let mut k = 0;
    for p in &COLUMNS {
        let file: Intermediate =
            serde_json::from_str(&read(&format!("intermediate-{}.json", p.n))).unwrap();
        for (encoding, values) in Encoding::ALL.into_iter().zip([&file.mixed_radix, &file.packed13])
        {
            for operation in [Operation::KeyGen, Operation::Encaps(&values.id_pk.0)] {
                let rows = [0, (1 << 32) - 1, 1 << 32, u64::MAX];
                for (row, length) in rows.into_iter().zip([0, 1, 31, 32]) {
                    let (record, at) = (&records[k], format!("seeds.jsonl, record {k}"));
                    let set = (record.n, &record.pk_encoding[..], &record.op[..]);
                    assert_eq!(set, (p.n, encoding.name(), operation.name()), "{at}");
                    assert_eq!(record.context.0.len(), length, "{at}");
                    assert_eq!(record.row.0, row.to_le_bytes(), "{at}");
                    assert_eq!(record.id.0, operation.id(), "{at}");
                    let (context, master) = (&record.context.0, &record.master.0);
                    let seed = batch_seed(operation, p, encoding, context, master, row);
                    assert_eq!(record.seed.0, seed, "{at}");
                    k += 1;
                }
            }
        }
    }
}
