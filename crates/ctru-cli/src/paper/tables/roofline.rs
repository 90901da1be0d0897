//! Each operation's time against what transfer, hashing, tensor cores and memory would take alone.

use std::io::Write;

use super::{OPERATIONS, digits, mega, operations, section};
use crate::error::Error;
use crate::info::new_table;
use crate::paper::line::{CEILING, Cost, Lines, ON_DEVICE, unit};

/// What was measured of a ceiling: for a set, or for all.
fn ceiling(lines: &Lines, set: &str, unit: &str) -> Option<f64> {
    let found = lines.times(CEILING).filter(|record| record.op == unit);
    let found = found.filter(|record| record.set.is_empty() || record.set == set);
    found.map(|record| record.ops_per_s).max_by(f64::total_cmp)
}

pub(super) fn ceilings(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = new_table(["ceiling", "n", "10^9 a second", "spread"], 2..4);
    for record in lines.times(CEILING) {
        table.add_row([
            record.op.clone(),
            record.set.clone(),
            digits(Some(record.ops_per_s / 1e9)),
            format!("{:.1} %", 100.0 * record.spread),
        ]);
    }
    section(
        "Ceilings. Permutations are those of the fastest hashing kernel. Byte products, of polynomials with coefficients of one byte, \
         are those of the fastest kernel that multiplies on tensor cores, staging and folding included: a bound by experience, not by \
         the hardware.",
        &table,
        out,
    )
}

/// Nanoseconds that an operation would take if nothing else bounded it.
struct Bounds {
    transfer: Option<f64>,
    hashing: Option<f64>,
    tensor: Option<f64>,
    memory: Option<f64>,
}

impl Bounds {
    fn of(lines: &Lines, cost: &Cost) -> Self {
        let time =
            |amount: f64, unit| ceiling(lines, &cost.set, unit).map(|rate| 1e9 * amount / rate);
        let both = cost.uploaded + cost.downloaded;
        let transfers = [
            time(cost.uploaded, unit::BYTES_TO_DEVICE),
            time(cost.downloaded, unit::BYTES_FROM_DEVICE),
            time(both, unit::BYTES_BOTH_WAYS),
        ];
        Self {
            transfer: transfers.into_iter().flatten().max_by(f64::total_cmp),
            hashing: time(cost.permutations, unit::PERMUTATIONS),
            tensor: time(cost.byte_products, unit::BYTE_PRODUCTS),
            memory: time(cost.memory_bytes, unit::BYTES_OF_DEVICE),
        }
    }

    /// The largest of them.
    fn largest(&self) -> Option<f64> {
        let Self { transfer, hashing, tensor, memory } = *self;
        [transfer, hashing, tensor, memory].into_iter().flatten().max_by(f64::total_cmp)
    }
}

pub(super) fn write(lines: &Lines, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "n",
        "op",
        "keys",
        "bytes up",
        "bytes down",
        "permutations",
        "byte products",
        "memory bytes",
        "transfer ns",
        "hashing ns",
        "tensor ns",
        "memory ns",
        "on device ns",
        "measured ns",
        "measured M",
        "of the bound %",
    ];
    let mut table = new_table(header, 3..16);
    for cost in lines.costs() {
        let Some(operation) = OPERATIONS.into_iter().find(|operation| operation.name() == cost.op)
        else {
            continue;
        };
        let bounds = Bounds::of(lines, cost);
        let measured = operations::rate(lines, &cost.set, operation, cost.keys);
        let on_device = lines.of(ON_DEVICE, &cost.set, operation, cost.keys).next();
        let reached = bounds
            .largest()
            .zip(measured)
            .map(|(bound, record)| 100.0 * bound / record.median_ns_per_op);
        table.add_row([
            cost.set.clone(),
            cost.op.clone(),
            cost.keys.name().to_owned(),
            format!("{:.0}", cost.uploaded),
            format!("{:.0}", cost.downloaded),
            digits(Some(cost.permutations)),
            digits(Some(cost.byte_products)),
            format!("{:.0}", cost.memory_bytes),
            digits(bounds.transfer),
            digits(bounds.hashing),
            digits(bounds.tensor),
            digits(bounds.memory),
            digits(on_device.map(|record| record.median_ns_per_op)),
            digits(measured.map(|record| record.median_ns_per_op)),
            mega(measured.map(|record| record.ops_per_s)),
            reached.map_or_else(|| "-".to_owned(), |reached| format!("{reached:.0}")),
        ]);
    }
    section(
        "Roofline: ns an operation would take by each ceiling alone, on the device without transfers, and with them. The bound is the \
         largest of the four.",
        &table,
        out,
    )
}
