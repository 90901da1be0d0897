//! SHA-512 of several inputs of one length, on interleaved states. The crate `sha2` hashes one
//! input.
//!
//! Source: FIPS 180-4, sections 4.1.3, 4.2.3, 5.3.5 and 6.4.

use sha2::Sha512;
use sha2::digest::{FixedOutputReset, Update};

use super::lanes::{Hashing, Lanes, MOST_STATES, Vectors};
use crate::wipe::{Secret, wipe};

/// Bytes of a hash that the scheme uses: the first half.
const HALF: usize = 32;
/// Bytes of a block.
const BLOCK: usize = 128;

/// What is hashed: a byte and two strings, one after the other.
pub(crate) type Input<'a> = (u8, [&'a [u8]; 2]);

/// Writes the first half of the hash of each input. The caller wipes the hashes.
///
/// # Panics
/// If the inputs differ in length.
pub(crate) fn half_sha512<const N: usize>(inputs: [Input<'_>; N], digests: [&mut [u8; HALF]; N]) {
    if N == 1 {
        Inputs { inputs, digests }.one_by_one();
    } else {
        Vectors::in_use().run(N, Inputs { inputs, digests });
    }
}

pub(super) struct Inputs<'a, const N: usize> {
    pub(super) inputs: [Input<'a>; N],
    pub(super) digests: [&'a mut [u8; HALF]; N],
}

impl<const N: usize> Hashing for Inputs<'_, N> {
    fn one_by_one(self) {
        let mut state = Sha512::default();
        for ((prefix, parts), digest) in self.inputs.into_iter().zip(self.digests) {
            state.update(&[prefix]);
            parts.iter().for_each(|part| state.update(part));
            let mut whole = Secret::<[u8; 2 * HALF]>::zeroed();
            // This call takes the state by reference. A move would leave a copy in memory.
            state.finalize_into_reset((&mut *whole).into());
            digest.copy_from_slice(&whole[..HALF]);
        }
    }

    #[inline(always)]
    fn interleaved<V: Lanes>(self, zero: V) {
        let length = length(&self.inputs[0]);
        assert!(self.inputs.iter().all(|input| self::length(input) == length));
        let mut digests = self.digests.into_iter();
        for inputs in self.inputs.chunks(V::STATES) {
            // The function has no closures on vectors: see `keccak`.
            let mut states = [zero; 8];
            for (state, word) in states.iter_mut().zip(INITIAL) {
                *state = zero.splat(word);
            }
            for index in 0..(length + 17).div_ceil(BLOCK) {
                let mut rows = [[0; MOST_STATES]; 16];
                for (state, input) in inputs.iter().enumerate() {
                    let mut block = Secret::zeroed();
                    fill_block(input, index, &mut block);
                    for (row, word) in rows.iter_mut().zip(block.as_chunks().0) {
                        row[state] = u64::from_be_bytes(*word);
                    }
                }
                let mut schedule = [zero; 16];
                for (word, row) in schedule.iter_mut().zip(&rows) {
                    *word = zero.load(row);
                }
                compress(&mut states, &mut schedule);
                wipe(&mut rows, [0; MOST_STATES]);
                wipe(&mut schedule, zero);
            }
            let mut rows = [[0; MOST_STATES]; HALF / 8];
            for (row, word) in rows.iter_mut().zip(states) {
                word.store(row);
            }
            for (state, digest) in digests.by_ref().take(inputs.len()).enumerate() {
                for (bytes, row) in digest.as_chunks_mut().0.iter_mut().zip(&rows) {
                    *bytes = row[state].to_be_bytes();
                }
            }
            wipe(&mut rows, [0; MOST_STATES]);
            wipe(&mut states, zero);
        }
    }
}

/// Returns the number of bytes of an input.
fn length((_, [first, second]): &Input<'_>) -> usize {
    1 + first.len() + second.len()
}

/// Writes block `index` of the padded input to a block of zeros.
#[inline(always)]
fn fill_block(input: &Input<'_>, index: usize, block: &mut [u8; BLOCK]) {
    let (prefix, [first, second]) = input;
    let (start, mut offset) = (index * BLOCK, 0);
    for part in [&[*prefix], *first, *second, &[0x80]] {
        let end = offset + part.len();
        let (from, to) = (start.max(offset), (start + BLOCK).min(end));
        if from < to {
            block[from - start..to - start].copy_from_slice(&part[from - offset..to - offset]);
        }
        offset = end;
    }
    // The number of bits has 16 bytes.
    if offset + 16 <= start + BLOCK {
        block[BLOCK - 8..].copy_from_slice(&(8 * length(input) as u64).to_be_bytes());
    }
}

/// Hashes one block of each state. The schedule holds the block.
#[inline(always)]
fn compress<V: Lanes>(states: &mut [V; 8], schedule: &mut [V; 16]) {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *states;
    for (round, constants) in CONSTANTS.as_chunks::<16>().0.iter().enumerate() {
        for t in 0..16 {
            if round > 0 {
                let (early, late) = (schedule[(t + 1) % 16], schedule[(t + 14) % 16]);
                let early = early.rotate_right(1).xor3(early.rotate_right(8), early.shift_right(7));
                let late = late.rotate_right(19).xor3(late.rotate_right(61), late.shift_right(6));
                schedule[t] = schedule[t].add(early).add(schedule[(t + 9) % 16]).add(late);
            }
            let sum = e.rotate_right(14).xor3(e.rotate_right(18), e.rotate_right(41));
            let choice = g.xor(e.and(f.xor(g)));
            let first = h.add(sum).add(choice).add(a.splat(constants[t])).add(schedule[t]);
            let sum = a.rotate_right(28).xor3(a.rotate_right(34), a.rotate_right(39));
            let majority = a.and(b).xor(c.and(a.xor(b)));
            (h, g, f, e) = (g, f, e, d.add(first));
            (d, c, b, a) = (c, b, a, first.add(sum).add(majority));
        }
    }
    for (state, word) in states.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *state = state.add(word);
    }
}

/// The square roots of the first eight primes: 64 bits after the point.
const INITIAL: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// The cube roots of the first 80 primes: 64 bits after the point.
const CONSTANTS: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
];
