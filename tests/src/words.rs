//! A search for parts of secrets in memory.

use std::collections::HashSet;

/// The length in bytes of a string that does not occur by chance.
const WORD: usize = 8;

/// Returns how many strings of eight bytes of each secret are in memory.
#[must_use]
pub fn words_in(memory: &[u8], secrets: &[&[u8]]) -> Vec<usize> {
    let there: HashSet<&[u8]> = memory.windows(WORD).collect();
    let words = |secret: &&[u8]| secret.windows(WORD).filter(|word| there.contains(word)).count();
    secrets.iter().map(words).collect()
}
