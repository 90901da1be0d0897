//! Bits, packing and representatives (specification, section 2).

/// Returns bit `k` of a byte string.
pub(crate) fn bit(string: &[u8], k: usize) -> i64 {
    i64::from(string[k / 8] >> (k % 8) & 1)
}

/// Packs numbers in `0..2^width` with `width` bits each. The padding bits are 0.
pub(crate) fn pack(values: &[i64], width: usize) -> Vec<u8> {
    let mut string = vec![0; (width * values.len()).div_ceil(8)];
    for (i, value) in values.iter().enumerate() {
        assert!((0..1 << width).contains(value));
        for j in 0..width {
            let k = width * i + j;
            string[k / 8] |= ((value >> j & 1) as u8) << (k % 8);
        }
    }
    string
}

/// Unpacks `count` numbers of `width` bits each and ignores the padding bits.
pub(crate) fn unpack(string: &[u8], width: usize, count: usize) -> Vec<i64> {
    assert_eq!(string.len(), (width * count).div_ceil(8));
    (0..count).map(|i| (0..width).map(|j| bit(string, width * i + j) << j).sum()).collect()
}

/// Returns the little-endian integer in a byte string.
pub(crate) fn integer(string: &[u8]) -> i64 {
    string.iter().rev().fold(0, |value, &byte| 256 * value + i64::from(byte))
}

/// Reduces numbers to `0..m`.
pub(crate) fn reduce(values: &[i64], m: i64) -> Vec<i64> {
    values.iter().map(|value| value.rem_euclid(m)).collect()
}

/// Returns the centred representative of `a` modulo an odd or even `m`.
pub(crate) fn centred(a: i64, m: i64) -> i64 {
    (a + m / 2).rem_euclid(m) - m / 2
}

#[test]
fn examples_of_packing() {
    let hex = |values: &[i64], width| const_hex::encode(pack(values, width));
    assert_eq!(hex(&[1023, 0, 1, 512, 5], 10), "ff031000800500");
    assert_eq!(hex(&[1, 4620, 2], 13), "0180410a00");
    // Set padding bits change nothing.
    assert_eq!(unpack(&[0xff, 0x03, 0x10, 0, 0x80, 0x05, 0xfc], 10, 5), [1023, 0, 1, 512, 5]);
}

#[test]
fn centred_representatives() {
    assert_eq!([3, 4, 6, -1].map(|a| centred(a, 7)), [3, -3, -1, -1]);
    assert_eq!([3, 4, 7, -4].map(|a| centred(a, 8)), [3, -4, -1, -4]);
}
