//! Tests that the emulator finds each planted fault, and names the kernel, the threads and the
//! lines.
#![allow(unsafe_code)]

use ctru_machine::faults::{self, Planted};
use ctru_simt::descriptor::Batch;
use ctru_simt::emulator::{Buffer, Emulator};
use ptx_check::run::{Argument, Array, Broken, Error, Launch, Rule};

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

/// The interpreter's reports of the same faults in the PTX: kernel, block and thread, instruction,
/// rule.
const OF_PTX: &[&str] = &[
    "race_threads [0, 0] ld.shared.u32 %r5, [%r6]: race on byte 4 with [0, 1]",
    "race_warps [0, 32] st.shared.u32 [%r2], %r4: race on byte 128 with [0, 0]",
    "race_blocks [1, 0] st.global.b32 [%rd1], %r1: race on byte 0 with [0, 0]",
    "mixed_atomics [0, 0] st.shared.u32 [%r7], %r5: race on byte 0 with [0, 31]",
    "divergent_barrier [0, 0] bar.sync 0: other threads, which it waits for, ended, wait elsewhere \
     or are too many",
    "dead_lane [0, 0] shfl.sync.idx.b32 %r6, %r1, 31, 31, -1: lane 31 does not take part",
    "outside_global [0, 0] st.global.b32 [%rd4], 1: 4 bytes at 512 of 512 bytes",
    "outside_shared [0, 0] st.shared.u32 [%r2], %r3: 4 bytes at 256 of 256 bytes",
    "outside_constant [0, 37] ld.global.nc.b32 %r2, [%rd5]: 4 bytes at 148 of 148 bytes",
    "misaligned_vector [0, 0] ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd2+4]: 16 bytes at 4, \
     which is not aligned",
    "undefined_shared [0, 0] ld.shared.u32 %r2, [%r3]: byte 0 is not defined",
    "undefined_global [0, 0] ld.global.b32 %r5, [%rd4]: byte 0 is not defined",
    "unfinished_copy [0, 0] ld.shared.u32 %r3, [%r2]: byte 0 is not defined",
];

#[test]
fn planted_faults_are_found_in_ptx() {
    // SAFETY: only the interpreter runs the kernels.
    let planted = unsafe { faults::planted() };
    let module = ptx_check::syntax::parse(ctru_machine::MODULE.text()).unwrap();
    let reports: Vec<String> = planted
        .iter()
        .map(|Planted { kernel, needs_new_memory }| {
            let operations = 2 * faults::THREADS;
            let array = match needs_new_memory {
                true => Array::undefined(4 * operations as usize),
                false => Array::new(vec![0; 4 * operations as usize]),
            };
            let numbers = Batch::each(operations).arguments();
            let [operations, rows] = numbers.map(|number| Argument::Number(number.into()));
            let launch = Launch {
                grid: kernel.grid(numbers[0]),
                block: [kernel.shape().threads(), 1, 1],
                shared_bytes: kernel.shape().shared_bytes(),
                most_instructions: 1 << 20,
                ..Launch::new(&module, kernel.name())
            };
            match launch.run(&mut [array], &[Argument::Array(0), operations, rows]) {
                Err(Error::Broken(broken)) => {
                    let Broken { kernel, block, thread, text, rule, .. } = *broken;
                    let rule = match rule {
                        // The place of the other thread's instruction changes with the PTX.
                        Rule::Race { byte, block, thread, .. } => {
                            format!("race on byte {byte} with [{}, {}]", block[0], thread[0])
                        }
                        rule => rule.to_string(),
                    };
                    format!("{kernel} [{}, {}] {text}: {rule}", block[0], thread[0])
                }
                other => format!("{}: {other:?}", kernel.name()),
            }
        })
        .collect();
    assert_eq!(reports, OF_PTX);
}
