//! Instructions of 64-bit Arm, as GNU's disassembler prints them.

use super::Step;

/// The registers that a call may overwrite.
const LOST: &[&str] = &[
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16",
    "17", "18",
];

/// The instructions that no other follows.
pub(super) const ENDS: &[&str] = &["b", "br", "ret", "udf", "brk"];

/// Returns the number of a general register.
fn register(operand: &str) -> Option<String> {
    let number = operand.strip_prefix(['w', 'x'])?;
    number.parse::<u8>().ok().map(|number| number.to_string())
}

/// Returns the registers of the address of an operand in memory.
fn address(operand: &str) -> Vec<String> {
    let Some((_, inside)) = operand.split_once('[') else { return vec![] };
    inside.split([',', ']', ' ']).filter_map(register).collect()
}

/// Returns what an operand names: a register, or a place on the stack.
fn place(operand: &str) -> Option<String> {
    if operand.starts_with("[sp") {
        return Some(operand.trim_end_matches('!').to_owned());
    }
    register(operand)
}

/// Returns what an instruction does, step by step.
pub(super) fn read(mnemonic: &str, operands: &[&str]) -> Vec<Step> {
    let single = match mnemonic {
        "stp" | "stnp" => "str",
        "ldp" | "ldnp" => "ldr",
        _ => return read_single(mnemonic, operands).into_iter().collect(),
    };
    // Two accesses, one after the other in memory.
    let [first, second, memory, ..] = operands[..] else { return vec![] };
    let bytes = match first.as_bytes().first() {
        Some(b'w' | b's') => 4,
        Some(b'q') => 16,
        _ => 8,
    };
    let next = following(memory, bytes);
    let both = [[first, memory], [second, &next]];
    both.iter().filter_map(|operands| read_single(single, operands)).collect()
}

/// Returns the place on the stack that is some bytes above another. Other memory is one place.
fn following(memory: &str, bytes: i32) -> String {
    let offset = memory.trim_end_matches('!').strip_prefix("[sp").and_then(|inside| {
        let offset = inside.strip_suffix(']')?;
        offset.strip_prefix(", #").map_or(Some(0), |offset| offset.parse::<i32>().ok())
    });
    offset.map_or_else(|| memory.to_owned(), |offset| format!("[sp, #{}]", offset + bytes))
}

/// Returns what an instruction with at most one access does.
fn read_single(mnemonic: &str, operands: &[&str]) -> Option<Step> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| mnemonic.starts_with(prefix));
    let mut step = Step::default();
    if starts(&["nop"]) || mnemonic.is_empty() {
        return None;
    }
    let all = || operands.iter().filter_map(|operand| place(operand)).collect::<Vec<_>>();
    // The address of an operand such as v1.h[2] is a lane, not a place in memory.
    let in_memory = |operand: &&&str| operand.starts_with('[');
    step.addresses = operands.iter().filter(in_memory).flat_map(|o| address(o)).collect();
    if matches!(mnemonic, "bl" | "blr") {
        step.lost = LOST;
        step.is_branch = true;
        step.sources = all();
        return Some(step);
    }
    if starts(&["b.", "cbz", "cbnz", "tbz", "tbnz"]) || matches!(mnemonic, "b" | "br" | "ret") {
        step.is_branch = true;
        step.reads_flags = mnemonic.starts_with("b.");
        step.sources = all();
        return Some(step);
    }
    if starts(&["fcmp", "fccmp"]) {
        step.is_from_lanes = true;
        step.sets_flags = true;
        return Some(step);
    }
    let (first, others) = operands.split_first()?;
    let is_lane = |operand: &&str| {
        operand.starts_with(['v', 's', 'd', 'h', 'b', 'q'])
            && operand[1..].starts_with(|c: char| c.is_ascii_digit())
    };
    if register(first).is_some() && others.iter().any(is_lane) {
        step.is_from_lanes = true;
        step.results = place(first).into_iter().collect();
        return Some(step);
    }
    step.reads_flags = starts(&["cs", "cinc", "cinv", "cneg", "ccm", "adc", "sbc"]);
    let set_flags = [
        "cmp", "cmn", "tst", "adds", "subs", "ands", "bics", "negs", "ccmp", "ccmn", "adcs", "sbcs",
    ];
    step.sets_flags = set_flags.contains(&mnemonic);
    if starts(&["cmp", "cmn", "tst", "ccm"]) {
        step.sources = all();
        return Some(step);
    }
    if starts(&["st"]) {
        // What is stored, to a place on the stack or to other memory.
        step.sources = operands.iter().filter_map(|operand| register(operand)).collect();
        step.results = operands.iter().filter(in_memory).filter_map(|o| place(o)).collect();
        return Some(step);
    }
    step.results = register(first).into_iter().collect();
    step.sources = others.iter().filter_map(|operand| place(operand)).collect();
    if starts(&["movk", "bfi", "bfxil", "bfm"]) {
        step.sources.extend(place(first));
    }
    Some(step)
}
