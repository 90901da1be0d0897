//! Bytes as the 64-bit words of the device's arrays.

/// Converts bytes to 64-bit words in little-endian order. The number of bytes is a multiple of 8.
pub(super) fn bytes_to_words(bytes: &[u8], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
}
