//! The encodings of polynomials (specification, section 7).

use crate::parameters::Parameters;
use crate::strings::{integer, pack, unpack};

/// Returns `PackF(f)`.
pub(crate) fn pack_f(p: &Parameters, f: &[i64]) -> Vec<u8> {
    let nibbles: Vec<i64> = f.iter().map(|f| p.nibble_offset() - f).collect();
    pack(&nibbles, 4)
}

/// Returns `UnpackF` of a string.
pub(crate) fn unpack_f(p: &Parameters, string: &[u8]) -> Vec<i64> {
    unpack(string, 4, p.n).iter().map(|nibble| p.nibble_offset() - nibble).collect()
}

/// An encoding of encapsulation keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoding {
    MixedRadix,
    Packed13,
}

impl Encoding {
    pub(crate) const ALL: [Self; 2] = [Self::MixedRadix, Self::Packed13];

    /// Returns the name of the encoding in the vectors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MixedRadix => "mixed-radix",
            Self::Packed13 => "packed13",
        }
    }

    /// Returns E, the number of bytes of an encapsulation key. It is the same for all keys.
    pub(crate) fn bytes(self, p: &Parameters) -> usize {
        self.encode(p, &vec![0; p.n]).len()
    }

    /// Returns `Encode(h)`.
    pub(crate) fn encode(self, p: &Parameters, h: &[i64]) -> Vec<u8> {
        match self {
            Self::MixedRadix => encode_mixed_radix(h, p.q),
            Self::Packed13 => pack(h, 13),
        }
    }

    /// Returns `Decode` of a string of the right length.
    pub(crate) fn decode(self, p: &Parameters, string: &[u8]) -> Vec<i64> {
        match self {
            Self::MixedRadix => decode_mixed_radix(string, p.n, p.q).0,
            Self::Packed13 => unpack(string, 13, p.n),
        }
    }

    /// Returns whether a string of the right length is canonical. Encoding again shows set padding
    /// bits as well.
    pub(crate) fn is_canonical(self, p: &Parameters, string: &[u8]) -> bool {
        let h = self.decode(p, string);
        h.iter().all(|&coefficient| coefficient < p.q) && self.encode(p, &h) == string
    }
}

/// The limit of radices in all passes.
const LIMIT: i64 = 16384;

/// Outputs bytes of `value` while the radix reaches the limit, and returns the rest (steps 2.2 and
/// 3 of encoding).
fn shrink(output: &mut Vec<u8>, mut value: i64, mut radix: i64, limit: i64) -> (i64, i64) {
    while radix >= limit {
        output.push((value % 256) as u8);
        value /= 256;
        radix = (radix + 255) / 256;
    }
    (value, radix)
}

/// Encodes a list of any length with the mixed-radix encoding.
fn encode_mixed_radix(h: &[i64], q: i64) -> Vec<u8> {
    let mut output = vec![];
    let mut list: Vec<(i64, i64)> = h.iter().map(|&h| (h, q)).collect();
    while list.len() > 1 {
        let merge = |pair: &[(i64, i64)]| match *pair {
            [(r0, m0), (r1, m1)] => shrink(&mut output, r0 + m0 * r1, m0 * m1, LIMIT),
            _ => pair[0],
        };
        list = list.chunks(2).map(merge).collect();
    }
    shrink(&mut output, list[0].0, list[0].1, 2);
    output
}

/// Returns the number of bytes that encoding outputs for a radix, and the radix that is left.
fn bytes_and_radix(radix: i64, limit: i64) -> (usize, i64) {
    let mut output = vec![];
    let (_, radix) = shrink(&mut output, 0, radix, limit);
    (output.len(), radix)
}

/// Returns the radices before each pass, and the radix of step 3 as the last list.
fn radices(n: usize, q: i64) -> Vec<Vec<i64>> {
    let mut lists = vec![vec![q; n]];
    while lists[lists.len() - 1].len() > 1 {
        let merge = |pair: &[i64]| match *pair {
            [m0, m1] => bytes_and_radix(m0 * m1, LIMIT).1,
            _ => pair[0],
        };
        lists.push(lists[lists.len() - 1].chunks(2).map(merge).collect());
    }
    lists
}

/// Decodes a list of `n` values. Also returns whether all reductions left their values unchanged.
fn decode_mixed_radix(string: &[u8], n: usize, q: i64) -> (Vec<i64>, bool) {
    // Decoding undoes the passes from the last to the first one, and here also the pairs of a pass
    // from the last to the first one. So each integer is at the end of the rest of the string.
    let mut rest = string;
    let mut take = |bytes: usize| {
        let (before, last) = rest.split_at(rest.len() - bytes);
        rest = before;
        integer(last)
    };
    let mut passes = radices(n, q);
    let mut unchanged = true;
    let mut reduce = |value: i64, radix: i64| {
        unchanged &= value < radix;
        value % radix
    };
    let last_radix = passes.pop().unwrap()[0];
    let mut list = vec![reduce(take(bytes_and_radix(last_radix, 2).0), last_radix)];
    for pass in passes.iter().rev() {
        let mut reversed = vec![];
        for (pair, value) in pass.chunks(2).zip(list).rev() {
            if let [m0, m1] = *pair {
                let bytes = bytes_and_radix(m0 * m1, LIMIT).0;
                let v = take(bytes) + (value << (8 * bytes));
                reversed.extend([reduce(v / m0, m1), v % m0]);
            } else {
                reversed.push(value);
            }
        }
        reversed.reverse();
        list = reversed;
    }
    assert!(rest.is_empty());
    (list, unchanged)
}

#[test]
fn example_of_pack_f() {
    let p = Parameters::of_degree(761);
    let f: Vec<i64> = [3, -2, 0, -4].into_iter().chain([0; 757]).collect();
    let string = pack_f(p, &f);
    assert_eq!(string[..2], [0x72, 0x95]);
    assert_eq!(unpack_f(p, &string), f);
}

#[test]
fn examples_of_mixed_radix() {
    let examples: [(&[i64], i64, &str); 4] = [
        (&[1, 2, 3], 4591, "df23c60300"),
        (&[4590, 4590, 4590, 4590, 4590], 4591, "209d209d0309711c"),
        (&[0, 1, 4620, 4619], 4621, "0d129bc2de9d01"),
        (&[7878, 0, 1234, 5678, 4321], 7879, "c61e94a688b487e700"),
    ];
    for (list, q, hex) in examples {
        let string = encode_mixed_radix(list, q);
        assert_eq!(const_hex::encode(&string), hex);
        assert_eq!(decode_mixed_radix(&string, list.len(), q), (list.to_vec(), true));
    }
    assert_eq!(radices(3, 4591), [vec![4591, 4591, 4591], vec![322, 4591], vec![5775]]);

    let decode = |hex: &str| decode_mixed_radix(&const_hex::decode(hex).unwrap(), 3, 4591);
    assert_eq!(decode("df23c69216"), (vec![1, 2, 3], false));
    assert_eq!(decode("00009e8e16"), (vec![0, 0, 0], false));
}

/// The two definitions of a canonical string of the mixed-radix encoding agree.
#[test]
fn canonical_strings_of_mixed_radix() {
    let mut canonical = 0;
    for k in 0..2000_u32 {
        let mut string = crate::hashes::shake256(&k.to_le_bytes(), 5);
        string[4] %= 24;
        let (list, unchanged) = decode_mixed_radix(&string, 3, 4591);
        assert!(list.iter().all(|value| (0..4591).contains(value)));
        assert_eq!(unchanged, encode_mixed_radix(&list, 4591) == string);
        canonical += i32::from(unchanged);
    }
    assert!((1..2000).contains(&canonical));
}

/// The tables of passes in section 7 of the page are those that the parameters determine.
#[test]
fn tables_of_passes() {
    let page = include_str!("../../../docs/specification.md");
    for p in &crate::parameters::COLUMNS {
        let mut table = String::new();
        for (pass, list) in radices(p.n, p.q).iter().enumerate() {
            let pairs: Vec<usize> = list
                .chunks_exact(2)
                .map(|pair| bytes_and_radix(pair[0] * pair[1], LIMIT).0)
                .collect();
            let (label, bytes) = match list[..] {
                [last] => ("end".into(), bytes_and_radix(last, 2).0),
                _ => ((pass + 1).to_string(), pairs.iter().sum()),
            };
            let even = list.len() % 2 == 0;
            let cell = |show: bool, value: i64| match show {
                true => format!(" {value} |"),
                false => " |".into(),
            };
            let per_pair = pairs.first().copied().unwrap_or(0) as i64;
            let last_pair = pairs.last().copied().unwrap_or(0) as i64;
            table += &format!("| {label} | {} |", list.len());
            table += &cell(list.len() > 1, list[0]);
            table += &cell(true, list[list.len() - 1]);
            table += &cell(list.len() > 2, per_pair);
            table += &cell(even, last_pair);
            table += &format!(" {bytes} |\n");
        }
        assert!(page.contains(&table), "the page does not contain\n{table}");
    }
}
