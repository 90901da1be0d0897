//! Changes of inputs.

/// A generator of numbers that are random enough to choose changes (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Bytes at which code often decides.
const EDGES: [u8; 9] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'-', b'\n', 0x30];

/// Changes `input` at one to eight places. `other` is another input, from which parts are taken.
/// The result has at most `most` bytes.
pub(crate) fn mutate(random: &mut Random, input: &mut Vec<u8>, other: &[u8], most: usize) {
    for _ in 0..1 << random.below(4) {
        let (len, at) = (input.len(), random.below(input.len()));
        let rest = len - at.min(len);
        match random.below(9) {
            0 if len != 0 => input[at] ^= 1 << random.below(8),
            1 if len != 0 => input[at] = random.below(256) as u8,
            2 if len != 0 => input[at] = EDGES[random.below(EDGES.len())],
            3 if len != 0 => {
                input[at] = input[at].wrapping_add(random.below(33) as u8).wrapping_sub(16);
            }
            4 => input.insert(random.below(len + 1), random.below(256) as u8),
            5 => drop(input.drain(at..at + random.below(rest.min(64) + 1))),
            6 => {
                // Repeats a part.
                let part = input[at..at + random.below(rest.min(64) + 1)].to_vec();
                let to = random.below(len + 1);
                input.splice(to..to, part);
            }
            7 => {
                // Takes a part of the other input, over what is there or between.
                let from = random.below(other.len());
                let part = &other[from..from + random.below(other.len() - from + 1)];
                let end = if random.below(2) == 0 { at } else { (at + part.len()).min(len) };
                input.splice(at..end, part.iter().copied());
            }
            _ => input.truncate(random.below(len + 1)),
        }
    }
    input.truncate(most);
}
