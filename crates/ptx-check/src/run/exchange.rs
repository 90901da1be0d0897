//! What the lanes of a warp compute from one another's values.

use super::arithmetic::update;
use super::value::{Lanes, chosen, each, low};
use crate::syntax::Type;

/// Computes a value and a truth value for a lane, from the operands of the lanes in a set. The
/// error is a lane outside of the set that it would read.
pub(super) type Exchange =
    Box<dyn Fn(&[Lanes; 3], u32, usize) -> Result<[u64; 2], u32> + Send + Sync>;

/// Returns the number of operands and what an instruction computes, or `None` if it is not known.
/// With `is_pair`, it has two results.
pub(super) fn exchange(opcode: &str, names: &[&str], is_pair: bool) -> Option<(usize, Exchange)> {
    match (opcode, names) {
        ("shfl", ["sync", mode, "b32"]) => Some((3, shuffle(mode)?)),
        ("vote", ["sync", mode, "pred" | "b32"]) if !is_pair => {
            let of: fn(u32, u32) -> u32 = match *mode {
                "all" => |votes, set| u32::from(votes == set),
                "any" => |votes, _| u32::from(votes != 0),
                "uni" => |votes, set| u32::from(votes == 0 || votes == set),
                "ballot" => |votes, _| votes,
                _ => return None,
            };
            let votes = |values: &Lanes, set| chosen(set, |lane| values[lane] & 1 == 1);
            Some((1, Box::new(move |[a, ..], set, _| Ok([of(votes(a, set), set).into(), 0]))))
        }
        // Which lanes have the same value, or whether all have.
        ("match", [mode @ ("any" | "all"), "sync", kind]) if *mode == "all" || !is_pair => {
            let (bits, is_all) = (Type::parse(kind)?.bits, *mode == "all");
            let is_equal = move |a: u64, b: u64| low(a, bits) == low(b, bits);
            Some((
                1,
                Box::new(move |[a, ..], set, own| {
                    let equal = chosen(set, |lane| is_equal(a[lane], a[own]));
                    let equal = if is_all && equal != set { 0 } else { equal };
                    Ok([equal.into(), u64::from(equal == set)])
                }),
            ))
        }
        ("redux", ["sync", operation @ ("add" | "min" | "max"), kind @ ("s32" | "u32")])
        | ("redux", ["sync", operation @ ("and" | "or" | "xor"), kind @ "b32"])
            if !is_pair =>
        {
            let (compute, _) = update(operation, kind)?;
            Some((
                1,
                Box::new(move |[a, ..], set, _| {
                    let values = each(set).map(|lane| a[lane]);
                    let all = values.reduce(|a, b| compute.function.of(&[a, b, 0, 0]));
                    Ok([all.unwrap_or(0), 0])
                }),
            ))
        }
        ("elect", ["sync"]) if is_pair => Some((
            0,
            Box::new(|_, set, lane| {
                let first = set.trailing_zeros();
                Ok([first.into(), u64::from(lane as u32 == first)])
            }),
        )),
        _ => None,
    }
}

/// Returns a shuffle: the operands are the value, the lane or a distance to it, and the bounds.
fn shuffle(mode: &str) -> Option<Exchange> {
    // Returns the lane and whether it is inside of the bounds.
    let of: fn(u32, u32, u32, u32) -> (u32, bool) = match mode {
        "up" => |own, b, most, _| (own.wrapping_sub(b), own as i32 - b as i32 >= most as i32),
        "down" => |own, b, most, _| (own + b, own + b <= most),
        "bfly" => |own, b, most, _| (own ^ b, own ^ b <= most),
        "idx" => |own, b, most, segment| {
            let other = own & segment | b & !segment;
            (other, other <= most)
        },
        _ => return None,
    };
    Some(Box::new(move |[values, which, bounds], set, lane| {
        let own = lane as u32;
        let (b, segment, clamp) = (which[lane] & 31, bounds[lane] >> 8 & 31, bounds[lane] & 31);
        let (b, segment, clamp) = (b as u32, segment as u32, clamp as u32);
        let (other, is_valid) = of(own, b, own & segment | clamp & !segment, segment);
        let other = if is_valid { other & 31 } else { own };
        match set >> other & 1 {
            0 => Err(other),
            _ => Ok([low(values[other as usize], 32), is_valid.into()]),
        }
    }))
}
