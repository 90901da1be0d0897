//! Reads numbers from the output of NVIDIA's assembler and disassembler.

use std::collections::BTreeMap;

use serde::Serialize;

/// The resources of a kernel, as the assembler reports them.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread.
    pub stack_bytes: u32,
    /// Bytes per thread that the kernel spills: it stores them to local memory for lack of
    /// registers.
    pub spill_store_bytes: u32,
    /// Bytes per thread that the kernel loads back after it has spilled them.
    pub spill_load_bytes: u32,
}

/// Reads the output of `ptxas -v`. Returns the resources by kernel.
#[must_use]
pub fn resources(text: &str) -> BTreeMap<String, Resources> {
    let mut kernels = BTreeMap::<String, Resources>::new();
    let mut current = String::new();
    for line in text.lines() {
        // Returns the last number between the two texts in this line.
        let number = |before: &str, after: &str| {
            let (_, rest) = line.split_once(before)?;
            rest.split_once(after)?.0.trim().rsplit(' ').next()?.parse::<u32>().ok()
        };
        if let Some(name) =
            line.split('\'').nth(1).filter(|_| line.contains("Compiling entry function"))
        {
            name.clone_into(&mut current);
        }
        let kernel = kernels.entry(current.clone()).or_default();
        if line.contains("bytes stack frame") {
            kernel.stack_bytes = number("", " bytes stack frame").unwrap_or_default();
            kernel.spill_store_bytes = number(",", " bytes spill stores").unwrap_or_default();
            kernel.spill_load_bytes = number("stores,", " bytes spill loads").unwrap_or_default();
        }
        if let Some(registers) = number("Used ", " registers") {
            kernel.registers = registers;
        }
    }
    kernels.remove("");
    kernels
}

/// Counts the instructions in the output of `nvdisasm -c`, by kernel and class.
#[must_use]
pub fn instructions(text: &str) -> BTreeMap<String, BTreeMap<String, u32>> {
    let mut kernels = BTreeMap::<String, BTreeMap<String, u32>>::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(section) = line.strip_prefix("//--------------------- ") {
            let name = section.split(' ').next().and_then(|section| section.strip_prefix(".text."));
            current = name.map(str::to_owned);
        }
        if let (Some(kernel), Some(class)) = (&current, class(line)) {
            *kernels.entry(kernel.clone()).or_default().entry(class.into()).or_default() += 1;
        }
    }
    kernels
}

/// Returns the class of the instruction on this line: its opcode. For IMAD, the class includes the
/// first modifier that tells the purpose, since the assembler also uses IMAD for additions, shifts,
/// moves and products of 64 bits.
fn class(line: &str) -> Option<&str> {
    let (address, instruction) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    u32::from_str_radix(address, 16).ok()?;
    let mut words = instruction
        .split_whitespace()
        .filter(|word| !word.starts_with('@') && !word.starts_with('{'));
    let name = words.next()?.trim_end_matches(';');
    let mut dots = name.match_indices('.').map(|(position, _)| position);
    let first = dots.next().unwrap_or(name.len());
    match &name[..first] {
        "NOP" => None,
        // The assembler jumps with CALL inside a kernel at ends of loops where threads may diverge.
        "CALL" if instruction.contains("`(.L_") => Some("BRA"),
        "IMAD" => match name[first..].split('.').nth(1) {
            Some("WIDE" | "HI" | "MOV" | "IADD" | "SHL" | "X") => {
                Some(&name[..dots.next().unwrap_or(name.len())])
            }
            _ => Some("IMAD"),
        },
        opcode => Some(opcode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTXAS: &str = "ptxas info    : 9472 bytes gmem
ptxas info    : Compiling entry function 'multiply_sampled_761' for 'sm_90'
ptxas info    : Function properties for multiply_sampled_761
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers
ptxas info    : Compile time = 26.394 ms
ptxas info    : Compiling entry function 'multiply_sampled_653' for 'sm_90'
ptxas info    : Function properties for multiply_sampled_653
    224 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 48 registers, used 1 barriers, 224 bytes cumulative stack size
";

    const SASS: &str = r#"	.target	sm_90
//--------------------- .nv.info.a_653            --------------------------
        /*0000*/ 	.byte	0x04, 0x37
//--------------------- .text.a_653 --------------------------
	.section	.text.a_653,"ax",@progbits
a_653:
.text.a_653:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P2 LDG.E.U16 R10, desc[UR6][R16.64] ;
        /*0020*/                   IMAD R2, R4, 0x2ab, RZ ;
        /*0030*/                   IMAD.U32 R2, R4, 0x2ab, RZ ;
        /*0040*/               @P1 IMAD.WIDE.U32 R16, R9, 0x2, R16 ;
        /*0050*/                   IMAD.MOV.U32 R3, RZ, RZ, R5 ;
        /*0060*/                   EXIT ;
.L_x_1:
        /*0070*/                   BRA `(.L_x_1);
        /*0080*/                   NOP;
//--------------------- .text.b_653 --------------------------
        /*0000*/              @!P0 CALL.REL.NOINC `(.L_x_2) ;
.L_x_2:
        /*0010*/                   CALL.REL.NOINC `($b_653$__internal_0_$__cuda_sm20_div_u16) ;
"#;

    #[test]
    fn reads_the_assembler() {
        let resources = resources(PTXAS);
        assert_eq!(resources.len(), 2);
        let clean = Resources { registers: 40, ..Default::default() };
        assert_eq!(resources["multiply_sampled_761"], clean);
        let other = Resources {
            registers: 48,
            stack_bytes: 224,
            spill_store_bytes: 16,
            spill_load_bytes: 20,
        };
        assert_eq!(resources["multiply_sampled_653"], other);
    }

    #[test]
    fn counts_instructions() {
        let instructions = instructions(SASS);
        let expected = [
            ("BRA", 1),
            ("EXIT", 1),
            ("IMAD", 2),
            ("IMAD.MOV", 1),
            ("IMAD.WIDE", 1),
            ("LDC", 1),
            ("LDG", 1),
        ];
        let of_a: Vec<_> =
            instructions["a_653"].iter().map(|(class, &count)| (class.as_str(), count)).collect();
        assert_eq!(of_a, expected);
        assert_eq!(
            instructions["b_653"],
            [("BRA", 1), ("CALL", 1)].map(|(class, n)| (class.to_owned(), n)).into()
        );
    }
}
