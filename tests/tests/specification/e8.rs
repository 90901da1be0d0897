//! The E8 code (specification, section 8).

/// Returns the codeword of a nibble.
pub(crate) fn codeword(nibble: u8) -> u8 {
    let a = |k: u8| nibble >> k & 1;
    (a(0) * 0x55) ^ (a(1) * 0x0f) ^ (a(2) * 0x3c) ^ (a(3) * 0xf0)
}

/// Returns the nibbles of the 2L blocks of a message.
pub(crate) fn nibbles(m: &[u8]) -> Vec<u8> {
    m.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect()
}

/// Returns the message with these nibbles.
pub(crate) fn message(nibbles: &[u8]) -> Vec<u8> {
    nibbles.chunks(2).map(|pair| pair[0] | pair[1] << 4).collect()
}

/// Returns the squared distance `d(j, bit)` of a value `v_j` from a bit.
fn distance(v: i64, bit: i64, q2: i64) -> i64 {
    if bit == 0 { v.min(q2 - v).pow(2) } else { (v - q2 / 2).pow(2) }
}

/// Returns the `C0` and `C1` of the four pairs for an `s` (step 1.1).
fn pairs(v: &[i64], s: i64, q2: i64) -> [(i64, i64); 4] {
    let d = |j: usize, bit| distance(v[j], bit, q2);
    [0, 1, 2, 3].map(|j| (d(2 * j, s) + d(2 * j + 1, 0), d(2 * j, 1 - s) + d(2 * j + 1, 1)))
}

/// Returns the `p_j` of an `s` and its cost (step 1).
fn cost(v: &[i64], s: i64, q2: i64) -> ([u8; 4], i64) {
    let pairs = pairs(v, s, q2);
    let mut p = pairs.map(|(c0, c1)| u8::from(c1 < c0));
    let d = pairs.map(|(c0, c1)| (c1 - c0).abs());
    let mut cost = pairs.iter().map(|(c0, c1)| c0.min(c1)).sum();
    if p.iter().sum::<u8>() % 2 == 1 {
        // `min_by_key` returns the first of equal elements.
        let j = (0..4).min_by_key(|&j| d[j]).unwrap();
        p[j] = 1 - p[j];
        cost += d[j];
    }
    (p, cost)
}

/// Decodes a block of 8 values in `0..q2` to a nibble.
pub(crate) fn decode(v: &[i64], q2: i64) -> u8 {
    let (zero, one) = (cost(v, 0, q2), cost(v, 1, q2));
    let (s, [p0, p1, _, p3]) = if one.1 < zero.1 { (1, one.0) } else { (0, zero.0) };
    s | p0 << 1 | (p0 ^ p1) << 2 | p3 << 3
}

/// Returns the squared distance of a block from the codeword of each nibble.
pub(crate) fn distances(v: &[i64], q2: i64) -> [i64; 16] {
    std::array::from_fn(|nibble| {
        let codeword = codeword(nibble as u8);
        (0..8).map(|j| distance(v[j], i64::from(codeword >> j & 1), q2)).sum()
    })
}

#[test]
fn codewords() {
    let all: Vec<u8> = (0..16).map(codeword).collect();
    assert_eq!(const_hex::encode(all), "00550f5a3c693366f0a5ffaacc99c396");
}

/// Each codeword decodes to its nibble. The form without squares has the stated differences.
#[test]
fn codewords_decode() {
    for q2 in [1024, 2048] {
        for nibble in 0..16 {
            let v: Vec<i64> =
                (0..8).map(|j| q2 / 2 * i64::from(codeword(nibble) >> j & 1)).collect();
            assert_eq!(decode(&v, q2), nibble);
        }
        for v in 0..q2 {
            let u = q2 / 4 - v.min(q2 - v);
            assert_eq!(distance(v, 1, q2) - distance(v, 0, q2), q2 * u);
        }
    }
}

#[test]
fn examples() {
    const Q2: i64 = 1024;
    let differences = |v: &[i64; 8]| pairs(v, 0, Q2).map(|(c0, c1)| (c1 - c0).abs());

    let v = [256; 8];
    assert!((0..8).all(|j| (0..2).all(|bit| distance(v[j], bit, Q2) == 65536)));
    assert_eq!(decode(&v, Q2), 0);

    let v = [500, 400, 0, 0, 0, 0, 0, 0];
    assert_eq!(pairs(&v, 0, Q2)[0], (250_000 + 160_000, 144 + 12_544));
    assert_eq!(differences(&v), [397_312, 524_288, 524_288, 524_288]);
    assert_eq!(cost(&v, 0, Q2), ([0, 0, 0, 0], 410_000));
    assert_eq!(cost(&v, 1, Q2).1, 946_576);
    assert_eq!(decode(&v, Q2), 0);

    let v = [300, 300, 300, 300, 300, 300, 0, 0];
    assert_eq!(differences(&v), [90_112, 90_112, 90_112, 524_288]);
    assert_eq!(cost(&v, 0, Q2), ([0, 1, 1, 0], 359_776));
    assert_eq!(cost(&v, 1, Q2).1, 666_976);
    assert_eq!(decode(&v, Q2), 4);

    let v = [10, 1000, 500, 256, 520, 260, 1020, 3];
    assert_eq!(cost(&v, 0, Q2), ([0, 1, 1, 0], 129_949));
    assert_eq!(cost(&v, 1, Q2).1, 630_685);
    assert_eq!(decode(&v, Q2), 4);
}
