//! Bytes as the 64-bit words of the device's arrays.

/// Converts bytes to 64-bit words in little-endian order. If the last word has fewer than eight
/// bytes, zeros take the place of the others.
pub(super) fn bytes_to_words(bytes: &[u8], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(eight);
    }
}
