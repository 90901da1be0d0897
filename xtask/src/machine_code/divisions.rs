//! Searches machine code for divisions, because their time depends on the operands.
//!
//! The search covers the crates of this project and those that they depend on, with what they have
//! compiled of other crates, and calls of functions that divide in software.

use std::collections::BTreeMap;

use super::{Listing, symbol};

/// The function with the planted division.
const CONTROL: &str = "ctru_no_std_control";

/// Crates that the library must contain.
const CRATES: [&str; 7] = [
    "ctru_no_std",
    "ctru_math",
    "ctru_kem",
    "ctru_hybrid",
    "sha3",
    "curve25519_dalek",
    "x25519_dalek",
];

/// Functions that may divide. An entry that ends with `::` stands for all functions of that module.
const PUBLIC: [&str; 6] = [
    // Plans and constants of moduli, which run at compile time and on public parameters.
    "ctru_math::mixed_radix::Plan::new",
    "ctru_math::mixed_radix::Radix::new",
    "ctru_math::mul::rns_ntt::plan::",
    "ctru_math::simd::modulus::Modulus::new",
    "ctru_math::simd::modulus::Modulus::factor",
    // What divides 256 by the width of the windows of a table.
    "curve25519_dalek::scalar::Scalar::as_radix_2w",
];

/// Returns the functions that divide and are not in [`PUBLIC`], the control if it is not found, and
/// the crates that are missing.
pub(super) fn faults(listing: &Listing<'_>) -> Vec<String> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for function in &listing.functions {
        for _ in function.lines.iter().filter(|line| divides(line)) {
            *found.entry(function.name).or_default() += 1;
        }
    }
    let control = found.remove(CONTROL).unwrap_or_default();
    let mut faults: Vec<String> = found
        .into_iter()
        .filter(|(function, _)| !is_public(function))
        .map(|(function, divisions)| format!("{function}: {divisions} divisions"))
        .collect();
    if control == 0 {
        faults.push(format!("the search does not find the division in {CONTROL}"));
    }
    for name in CRATES {
        if listing.functions.iter().all(|function| function.compiled_in != name) {
            faults.push(format!("the library contains no function of {name}"));
        }
    }
    faults
}

/// Returns whether a line is a division, or names a function that divides.
fn divides(line: &str) -> bool {
    if let Some(symbol) = symbol(line) {
        let name = symbol.strip_prefix("__").unwrap_or_default();
        let name = name.strip_prefix('u').unwrap_or(name);
        return ["div", "mod"].iter().any(|start| name.starts_with(start));
    }
    let code = line.split_once(":\t").map_or("", |(_, code)| code);
    let name = code.split_whitespace().next().unwrap_or_default();
    let of_x86 = name.strip_prefix('i').unwrap_or(name).strip_prefix("div");
    of_x86.is_some_and(|width| ["", "b", "w", "l", "q"].contains(&width))
        || ["sdiv", "udiv"].contains(&name)
}

/// Returns whether a function may divide.
fn is_public(function: &str) -> bool {
    let is_name = |c: char| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit();
    PUBLIC.iter().any(|public| match function.strip_prefix(public) {
        Some("") => true,
        Some(name) => public.ends_with("::") && name.chars().all(is_name),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what the search says of a function of a crate, in a library that has all that it
    /// should have.
    fn of(compiled_in: &str, function: &str, code: &str) -> Vec<String> {
        let mut text = String::new();
        let functions = CRATES
            .map(|name| (name, "f", "ret"))
            .into_iter()
            .chain([("ctru_no_std", CONTROL, "div %esi"), (compiled_in, function, code)]);
        for (compiled_in, function, code) in functions {
            text += &format!("{compiled_in}-1.rcgu.o:     file format elf64-x86-64\n");
            text += &format!("0000 <{function}>:\n   0:\t{code}\n");
        }
        faults(&Listing::new(&text))
    }

    #[test]
    fn divisions_are_found() {
        for code in [
            "div %rcx",
            "idivl 0x8(%rsp)",
            "divq (%rdi)",
            "udiv\tw0, w1, w2",
            "sdiv\tx0, x1, x2",
            "call 5 <f>\n\t\t\t1: R_X86_64_PLT32\t__udivti3-0x4",
            "bl\t0 <f>\n\t\t\t0: R_AARCH64_CALL26\t__umodsi3",
            "bl\t0 <f>\n\t\t\t0: R_AARCH64_CALL26\t__divmoddi4",
        ] {
            assert_eq!(of("ctru_math", "ctru_math::f", code), ["ctru_math::f: 1 divisions"]);
            assert_eq!(of("sha3", "a", code), ["a: 1 divisions"]);
            assert_eq!(of("core", "core::fmt::f", code), [""; 0]);
            for public in ["mixed_radix::Plan::new", "mul::rns_ntt::plan::of"] {
                assert_eq!(of("ctru_kem", &format!("ctru_math::{public}"), code), [""; 0]);
            }
            for other in [
                "mixed_radix::Plan::new::a",
                "mul::rns_ntt::plan::a::b",
                "mul::rns_ntt::plan::f<u8>",
                "mul::rns_ntt",
            ] {
                assert_eq!(
                    of("ctru_kem", &format!("ctru_math::{other}"), code).len(),
                    1,
                    "{other}"
                );
            }
        }
        for code in
            ["mul %rcx", "vdivps %ymm0,%ymm1,%ymm2", "call 5 <f>\n\t\t\t1: R_X86_64_PLT32\td"]
        {
            assert_eq!(of("ctru_math", "f", code), [""; 0], "{code}");
        }
    }

    #[test]
    fn a_search_that_finds_nothing_fails() {
        let faults = faults(&Listing::new(""));
        assert_eq!(faults.len(), 1 + CRATES.len());
    }
}
