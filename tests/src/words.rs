//! A search for parts of secrets in memory.

use std::collections::HashSet;

/// The length in bytes of a string that does not occur by chance.
const WORD: usize = 8;

/// Returns how many strings of eight bytes of each secret are in memory. Eight zeros do not count.
#[must_use]
pub fn words_in(memory: &[u8], secrets: &[&[u8]]) -> Vec<usize> {
    // Most of a stack is zero.
    let words = memory.windows(WORD).filter(|word| word != &[0; WORD]);
    let there: HashSet<&[u8]> = words.collect();
    let words = |secret: &&[u8]| secret.windows(WORD).filter(|word| there.contains(word)).count();
    secrets.iter().map(words).collect()
}
