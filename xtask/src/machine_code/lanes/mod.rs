//! Searches machine code for vector lanes that decide branches or addresses.
//!
//! Secrets of this project live in vectors. Valgrind follows them in programs for SSE2 and AVX2,
//! but it knows neither AVX-512 nor, on the machines of this project, NEON. This search reads the
//! machine code of both instead. It follows what instructions bring from lanes and masks into flags
//! and general registers, on every path through a function, through registers and named places on
//! the stack, and reports branches and addresses that use it. It does not follow other memory, or
//! calls, or lanes that are stored as such: compilers also copy pointers and lengths through
//! vectors. So it finds slips, and proves nothing.

mod arm;
mod flow;
mod x86;

use std::collections::BTreeMap;

use super::{Function, Listing, symbol};
use flow::{Instruction, Step, Use, VECTOR};

/// The function with the branch on a lane.
const CONTROL: &str = "ctru_no_std_lane_control";

/// A use of lanes that shows nothing secret.
struct Known {
    /// The end of the function's name, as the disassembler prints it.
    function: &'static str,
    kind: Use,
    /// The most places in a function.
    most: usize,
}

/// The uses of lanes that show nothing secret. All but the first are in code for NEON.
const KNOWN: &[Known] = &[
    // The compiler loads and stores words of eight states at once, each at the address of its own.
    Known { function: "::dispatch::on_avx512", kind: Use::Address, most: 6 },
    // Whether a coefficient of a public key is q or more, and its place.
    Known { function: ">::unpack13", kind: Use::Branch, most: 3 },
    // Whether the secret polynomial of a key from outside is valid, which the caller learns anyway:
    // one branch at the end, on all coefficients together.
    Known { function: ">::unpack", kind: Use::Branch, most: 1 },
    // The same for a polynomial that must also have the right weight.
    Known { function: ">::unpack_short", kind: Use::Branch, most: 1 },
];

/// Returns the functions in which lanes decide branches or addresses, the control if no branch is
/// found in it, and whether there is nothing else to search.
pub(super) fn faults(listing: &Listing<'_>) -> Vec<String> {
    let mut found = search(listing);
    let controls = found.remove(&(CONTROL, Use::Branch)).unwrap_or_default();
    found.remove(&(CONTROL, Use::Address));
    let mut faults: Vec<String> = found
        .iter()
        .filter(|((function, kind), count)| {
            let is_it = |known: &&Known| function.ends_with(known.function) && known.kind == *kind;
            KNOWN.iter().find(is_it).is_none_or(|known| **count > known.most)
        })
        .map(|((function, kind), count)| format!("{function}: {count} {kind}"))
        .collect();
    if controls == 0 {
        faults.push(format!("the search does not find the branch in {CONTROL}"));
    }
    if searched(listing).all(|function| function.name == CONTROL) {
        faults.push("the library contains no function with vectors".into());
    }
    faults
}

/// Returns the functions of this project's crates for AVX-512 or NEON. Valgrind runs all others.
fn searched<'a, 'b>(listing: &'b Listing<'a>) -> impl Iterator<Item = &'b Function<'a>> {
    let is_searched = move |function: &&Function<'_>| {
        function.compiled_in.starts_with("ctru_") && (listing.is_arm || is_of_avx512(function.name))
    };
    listing.functions.iter().filter(is_searched)
}

/// Returns how many branches and addresses use lanes in each function that is searched.
fn search<'a>(listing: &Listing<'a>) -> BTreeMap<(&'a str, Use), usize> {
    let mut found = BTreeMap::new();
    for function in searched(listing) {
        for kind in flow::uses(&instructions(function, listing.is_arm)) {
            *found.entry((function.name, kind)).or_default() += 1;
        }
    }
    found
}

/// Returns the instructions of a function.
fn instructions(function: &Function<'_>, is_arm: bool) -> Vec<Instruction> {
    let mut code: Vec<Instruction> = vec![];
    for line in &function.lines {
        if let (Some(name), Some(call)) = (symbol(line), code.last_mut()) {
            // A jump to such a function may not be taken.
            let is_call = call.steps.iter().any(|step| !step.lost.is_empty());
            call.ends |= is_call && never_returns(name);
        }
        code.extend(instruction(line, is_arm));
    }
    code
}

/// Returns whether a function is compiled for AVX-512.
fn is_of_avx512(function: &str) -> bool {
    function.to_ascii_lowercase().contains("avx512") || function == CONTROL
}

/// Returns whether a function only panics. What lies behind its call is another path.
fn never_returns(function: &str) -> bool {
    // Without type parameters. On x86, a number follows the name.
    let path = function.split(['<', '-', '+']).next().unwrap_or_default();
    let name = path.trim_end_matches(':').rsplit("::").next().unwrap_or_default();
    path.starts_with("core::panicking::") || path.starts_with("core::") && name.contains("_fail")
}

/// Returns the instruction in a line.
fn instruction(line: &str, is_arm: bool) -> Option<Instruction> {
    let (address, code) = line.split_once(":\t")?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    // What the disassembler adds to the instruction. For Arm, # marks a number.
    let code = code.split(if is_arm { "//" } else { "#" }).next()?.trim();
    let (mnemonic, operands) = code.split_once([' ', '\t']).unwrap_or((code, ""));
    let mut all = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (i, character) in operands.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(operands[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    all.push(operands[start..].trim());
    let steps = if is_arm {
        arm::read(mnemonic, &all)
    } else {
        x86::read(mnemonic, &all).into_iter().collect()
    };
    let ends = if is_arm { arm::ENDS } else { x86::ENDS }.contains(&mnemonic);
    // A jump names its target as `45c <function+0x45c>`. Calls return.
    let is_call = steps.iter().any(|step| !step.lost.is_empty());
    let target = all
        .last()
        .filter(|_| !is_call)
        .and_then(|operand| u64::from_str_radix(operand.split_once(" <")?.0, 16).ok());
    Some(Instruction { address, steps, ends, target })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the listing of an object with one function. `head` is its format and the function.
    fn program(head: &str, code: &str) -> String {
        let lines: String =
            code.lines().enumerate().map(|(i, line)| format!(" {i}:\t{line}\n")).collect();
        format!("ctru_math-1.rcgu.o:     file format {head}:\n{lines}")
    }

    fn count(text: &str) -> Vec<(Use, usize)> {
        let found = search(&Listing::new(text));
        found.into_iter().map(|((_, kind), count)| (kind, count)).collect()
    }

    #[test]
    fn masks_and_lanes_of_avx512() {
        let program = |code: &str| program("elf64-x86-64\n0 <a::avx512::f>", code);
        let none = [
            // A lane that stays a value.
            "vmovd %xmm0,%eax\nadd %eax,%ecx\nmov %ecx,(%rdi)",
            // The register is overwritten before it is used.
            "vmovd %xmm0,%eax\nmov $3,%eax\ntest %eax,%eax\nje 5 <f>",
            // A choice without a branch.
            "vpextrw $1,%xmm0,%eax\ntest %eax,%eax\ncmovne %ecx,%edx",
            "vmovd %xmm0,%eax\ndata16 cs nopw 0x0(%rax,%rax,1)",
            "kmovw %k1,%eax\nxor %eax,%eax\nmov (%rsi,%rax,4),%ecx",
        ];
        for code in none {
            assert_eq!(count(&program(code)), [], "{code}");
        }
        let branches = [
            "kortestw %k0,%k0\nje 5 <f>",
            "vptest %ymm0,%ymm0\njne 5 <f>",
            "vmovd %xmm0,%eax\nand $0x1,%eax\njne 5 <f>",
            "kmovw %k1,%eax\nmov %eax,0x10(%rsp)\nmov 0x10(%rsp),%edx\ncmp $1,%dl\njb 5 <f>",
            "vpextrw $1,%xmm0,%eax\ntest %eax,%eax\nsete %cl\ntest %cl,%cl\nje 5 <f>",
        ];
        for code in branches {
            assert_eq!(count(&program(code)), [(Use::Branch, 1)], "{code}");
        }
        // What follows a jump in memory does not follow it in time; what a loop brings back counts.
        let jump = "vmovd %xmm0,%eax\njmp 4 <f>\nmov (%rsi,%rax,4),%ecx\nret\nret";
        assert_eq!(count(&program(jump)), []);
        // A call that does not return ends a path. A jump to such a function may not be taken.
        let leads = |mnemonic, name| {
            let code = format!("vmovd %xmm0,%ebx\n{mnemonic} 9 <f>\nmov (%rbx),%ecx");
            let symbol = format!("\t\t\t2: R_X86_64_PLT32\t{name}-0x4\n 2:");
            count(&program(&code).replace(" 2:", &symbol))
        };
        assert_eq!(leads("call", "core::panicking::panic_fmt"), []);
        assert_eq!(leads("call", "core::slice::index::slice_index_fail"), []);
        assert_eq!(leads("call", "core::fmt::write"), [(Use::Address, 1)]);
        assert_eq!(leads("call", "core::ptr::drop_in_place::<a::b_failed>"), [(Use::Address, 1)]);
        assert_eq!(leads("jne", "core::panicking::panic_fmt"), [(Use::Address, 1)]);
        let back = "mov (%rsi,%rax,4),%ecx\nvmovd %xmm0,%eax\ndec %edx\njne 0 <f>\nret";
        assert_eq!(count(&program(back)), [(Use::Address, 1)]);
        let address = "vmovq %xmm0,%rax\nlea 0x8(%rax),%rcx\nmovzbl (%rcx,%rdx,1),%eax";
        assert_eq!(count(&program(address)), [(Use::Address, 1)]);
        let gather = "vpgatherdd (%rax,%zmm1,4),%zmm0{%k1}";
        assert_eq!(count(&program(gather)), [(Use::Address, 1)]);
    }

    #[test]
    fn lanes_of_neon() {
        let program = |code: &str| program("elf64-littleaarch64\n0 <f>", code);
        let none = [
            "umov\tw0, v1.h[2]\nadd\tw1, w0, w2\nstr\tw1, [x3]",
            "fmov\tw0, s1\nmov\tw0, #0x3\ncbz\tw0, 10 <f>",
            "umov\tw0, v1.h[2]\ncmp\tw0, #0x1\ncsel\tw1, w2, w3, eq",
            // Of a pair on the stack, each half is a place of its own.
            "fmov\tx0, d1\nstp\tx1, x0, [sp, #64]\nldr\tx2, [sp, #64]\nldr\tw3, [x2]",
            "fmov\tx0, d1\nstp\tx0, x1, [sp]\nldp\tx2, x3, [sp]\nldr\tw4, [x3]",
        ];
        for code in none {
            assert_eq!(count(&program(code)), [], "{code}");
        }
        let branches = [
            "fmov\tw0, s1\ncbnz\tw0, 10 <f>",
            "mov\tx0, v1.d[1]\nand\tx1, x0, #0x1\ncmp\tx1, #0x0\nb.eq\t10 <f>",
            "umov\tw0, v1.h[2]\nstr\tw0, [sp, #8]\nldr\tw9, [sp, #8]\ntbz\tw9, #3, 10 <f>",
        ];
        for code in branches {
            assert_eq!(count(&program(code)), [(Use::Branch, 1)], "{code}");
        }
        let addresses = [
            "smov\tx0, v1.h[2]\nldrb\tw1, [x2, x0]",
            "fmov\tx0, d1\nstp\tx1, x0, [sp, #64]\nldr\tx2, [sp, #72]\nldr\tw3, [x2]",
            "umov\tw0, v1.h[2]\nstp\tw1, w0, [sp]\nldp\tw2, w3, [sp]\nldr\tw4, [x3]",
        ];
        for code in addresses {
            assert_eq!(count(&program(code)), [(Use::Address, 1)], "{code}");
        }
    }
}
