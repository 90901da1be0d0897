//! Instructions of x86-64, as GNU's disassembler prints them.

use super::{Step, VECTOR};

/// The registers that a call may overwrite.
const LOST: &[&str] = &["ax", "cx", "dx", "si", "di", "r8", "r9", "r10", "r11"];

/// The instructions that no other follows.
pub(super) const ENDS: &[&str] = &["jmp", "ret", "ud2"];

/// Returns the general register with this name, by the name of its 16 bits.
fn register(operand: &str) -> Option<String> {
    let name = operand.strip_prefix('%')?;
    if let Some(number) = name.strip_prefix('r').filter(|rest| rest.starts_with(char::is_numeric)) {
        return Some(format!("r{}", number.trim_end_matches(['d', 'w', 'b'])));
    }
    let short = name.trim_start_matches(['r', 'e']);
    Some(match short {
        "al" | "ah" | "ax" => "ax".into(),
        "bl" | "bh" | "bx" => "bx".into(),
        "cl" | "ch" | "cx" => "cx".into(),
        "dl" | "dh" | "dx" => "dx".into(),
        "si" | "sil" => "si".into(),
        "di" | "dil" => "di".into(),
        "bp" | "bpl" => "bp".into(),
        _ => return None,
    })
}

/// Returns the registers of the address of an operand in memory.
fn address(operand: &str) -> Vec<String> {
    let Some((_, inside)) = operand.split_once('(') else { return vec![] };
    inside
        .trim_end_matches(|c| c != '%' && !char::is_alphanumeric(c))
        .split([',', ')'])
        .filter_map(|name| is_vector(name).then(|| VECTOR.to_owned()).or_else(|| register(name)))
        .collect()
}

/// Returns whether an operand is a vector or a mask.
fn is_vector(operand: &str) -> bool {
    ["%xmm", "%ymm", "%zmm", "%k"].iter().any(|name| operand.starts_with(name))
}

/// Returns what an operand names: a register, or a place on the stack.
fn place(operand: &str) -> Option<String> {
    if operand.contains('(') {
        return operand.contains("(%rsp)").then(|| operand.to_owned());
    }
    register(operand)
}

/// Returns what an instruction does.
pub(super) fn read(mnemonic: &str, operands: &[&str]) -> Option<Step> {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| mnemonic.starts_with(prefix));
    let mut step = Step::default();
    // Prefixes of instructions that do nothing stand before their names.
    let is_nothing = starts(&["nop"]) || operands.iter().any(|operand| operand.contains("nopw"));
    if is_nothing || mnemonic.is_empty() {
        return None;
    }
    if mnemonic.starts_with("call") {
        step.lost = LOST;
        step.is_branch = true;
        step.sources =
            operands.iter().filter_map(|o| register(o.trim_start_matches('*'))).collect();
        return Some(step);
    }
    if mnemonic.starts_with('j') {
        step.is_branch = true;
        step.reads_flags = mnemonic != "jmp";
        step.sources =
            operands.iter().filter_map(|o| register(o.trim_start_matches('*'))).collect();
        step.addresses = operands.iter().flat_map(|operand| address(operand)).collect();
        return Some(step);
    }
    if mnemonic != "lea" {
        step.addresses = operands.iter().flat_map(|operand| address(operand)).collect();
    }
    if starts(&[
        "kortest", "ktest", "ptest", "vptest", "vtestp", "ucomis", "vucomis", "comis", "vcomis",
    ]) && !starts(&["vptestm", "vptestnm"])
    {
        step.is_from_lanes = true;
        step.sets_flags = true;
        return Some(step);
    }
    let (last, others) = operands.split_last()?;
    // Lanes and masks in registers of vectors; what reaches general registers counts.
    if others.iter().any(|operand| is_vector(operand)) && !is_vector(last) {
        step.is_from_lanes = register(last).is_some();
        step.results = place(last).filter(|_| step.is_from_lanes).into_iter().collect();
        return Some(step);
    }
    if starts(&["cmp", "test", "bt"]) && !starts(&["cmpxchg", "bts", "btr", "btc"]) {
        step.sets_flags = true;
        step.sources = operands.iter().filter_map(|operand| place(operand)).collect();
        return Some(step);
    }
    step.reads_flags = starts(&["cmov", "set", "adc", "sbb"]);
    let moves = starts(&["mov", "lea", "push", "pop", "set"]);
    let of_three = operands.len() == 3;
    step.sets_flags = !moves
        && !starts(&["not", "cmov", "shlx", "shrx", "sarx", "rorx", "pdep", "pext", "bswap", "c"])
        && !mnemonic.starts_with('v');
    if starts(&["cltq", "cqto", "cltd", "cwtl"]) {
        step.sources = vec!["ax".into()];
        step.results = vec!["ax".into(), "dx".into()];
        return Some(step);
    }
    let is_zero = starts(&["xor", "sub"]) && others.first() == Some(last);
    let is_only = others.is_empty();
    if !is_zero {
        step.sources = others.iter().filter_map(|operand| place(operand)).collect();
        if mnemonic == "lea" {
            step.sources.extend(others.iter().flat_map(|operand| address(operand)));
        }
        if !moves && !of_three || is_only && !starts(&["set", "pop"]) {
            step.sources.extend(place(last));
        }
        if starts(&["mul", "imul", "div", "idiv"]) && is_only {
            step.sources.push("ax".into());
        }
    }
    if starts(&["mul", "imul", "div", "idiv"]) && is_only {
        step.results = vec!["ax".into(), "dx".into()];
    } else if !starts(&["push"]) {
        step.results = place(last).into_iter().collect();
    }
    if starts(&["xchg", "mulx"]) {
        step.results = operands.iter().filter_map(|operand| place(operand)).collect();
    }
    Some(step)
}
