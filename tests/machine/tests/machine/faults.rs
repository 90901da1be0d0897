//! Tests that the emulator finds each planted fault, and names the kernel, the threads and the
//! lines.
#![allow(unsafe_code)]

use ctru_machine::faults::{self, Planted};
use ctru_simt::descriptor::Batch;
use ctru_simt::emulator::{Buffer, Emulator};

/// The emulator's reports, with the comments of the lines in place of the lines.
const REPORTS: &[&str] = &[
    "race_threads: race on byte 4: read of shared memory by thread 0 of block 0 at [reads its \
     neighbour's word]; write of shared memory by thread 1 of block 0 at [writes its own word]",
    "race_warps: race on byte 128: read of shared memory by thread 0 of block 0 at [reads a word \
     of the other warp]; write of shared memory by thread 32 of block 0 at [writes its own word]",
    "race_blocks: race on byte 0: write of global memory by thread 0 of block 0 at [each block \
     writes the same element]; write of global memory by thread 0 of block 1 at [each block \
     writes the same element]",
    "mixed_atomics: race on byte 0: write of shared memory by thread 0 of block 0 at [a plain \
     write]; atomic update of shared memory by thread 1 of block 0 at [an atomic addition]",
    "divergent_barrier: in block 0 thread 0 waits at [half of each warp waits], but thread 16 has \
     returned",
    "dead_lane: in block 0 thread 0 waits at [reads from a thread that has returned], but thread \
     31 has returned",
    "outside_global: write of global memory by thread 0 of block 0 at [writes behind the array] is \
     out of bounds or unaligned: byte 512 of 512",
    "outside_shared: write of shared memory by thread 0 of block 0 at [writes behind shared \
     memory] is out of bounds or unaligned: byte 256 of 256",
    "outside_constant: read of a constant table by thread 37 of block 0 at [reads behind the \
     table] is out of bounds or unaligned: byte 148 of 148",
    "misaligned_vector: read of global memory by thread 0 of block 0 at [reads 16 bytes from byte \
     4] is out of bounds or unaligned: byte 4 of 512",
    "undefined_shared: read of shared memory by thread 0 of block 0 at [reads new shared memory] \
     reads byte 0, which nothing has written",
    "undefined_global: read of global memory by thread 0 of block 0 at [reads a new array] reads \
     byte 0, which nothing has written",
    "unfinished_copy: read of shared memory by thread 0 of block 0 at [reads before the copy is \
     finished] touches byte 0, whose copy is not finished: write of shared memory by thread 0 of \
     block 0 at [begins a copy]",
];

/// Replaces each source line in a report by the comment behind it.
fn commented(report: &str) -> String {
    let lines: Vec<&str> = include_str!("../../src/faults.rs").lines().collect();
    let mut words: Vec<String> = Vec::new();
    for word in report.split(' ') {
        let parts: Vec<&str> = word.split(':').collect();
        words.push(match *parts {
            [file, line, column, ..] if file.ends_with("faults.rs") => {
                let line = lines[line.parse::<usize>().unwrap() - 1];
                let (_, comment) = line.split_once("// ").unwrap_or_default();
                let after = column.trim_start_matches(|digit: char| digit.is_ascii_digit());
                format!("[{comment}]{after}")
            }
            _ => word.to_owned(),
        });
    }
    words.join(" ")
}

#[test]
fn planted_faults_are_found() {
    // SAFETY: only the emulator runs the kernels.
    let planted = unsafe { faults::planted() };
    let threads = 2 * faults::THREADS;
    let reports: Vec<String> = planted
        .iter()
        .map(|Planted { kernel, needs_new_memory }| {
            let numbers = match needs_new_memory {
                true => Buffer::uninitialised(4, threads as usize),
                false => Buffer::new(&vec![0u32; threads as usize]),
            };
            let result = Emulator::new().launch(kernel, &[&numbers], Batch::each(threads));
            commented(&result.unwrap_err().to_string())
        })
        .collect();
    assert_eq!(reports, REPORTS);
}
