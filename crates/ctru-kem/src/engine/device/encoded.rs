//! The encoded keys of a small batch.

/// The encoded keys of a batch, of `row` bytes each: one for all operations, or one for each.
#[derive(Copy, Clone)]
pub(super) struct EncodedKeys<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) row: usize,
    pub(super) is_one: bool,
}

impl EncodedKeys<'_> {
    /// Returns the key of operation `index`.
    pub(super) fn key(&self, index: usize) -> &[u8] {
        let index = if self.is_one { 0 } else { index };
        &self.bytes[index * self.row..(index + 1) * self.row]
    }
}
