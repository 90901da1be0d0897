//! The roofline table: the time of each operation beside the times that transfer, hashing, tensor
//! cores and memory would take alone.

use std::io::Write;

use ctru_measure::{Operation, Record, table};

use super::{digits, mega, operations, section, unit};
use crate::error::Error;
use crate::records::{Records, figure, kind};

/// Returns the ceiling in this unit: that of the parameter set, or that of the machine.
fn ceiling(records: &Records, set: &str, unit: &str) -> Option<f64> {
    let found = records.of_kind(kind::CEILING).filter(|record| record.op == unit);
    let found = found.filter(|record| record.set.is_empty() || record.set == set);
    found.map(|record| record.ops_per_s).max_by(f64::total_cmp)
}

/// Writes the table of ceilings.
pub(super) fn ceilings(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = table::markdown(["ceiling", "n", "10^9 per second", "spread"], 2..4);
    for record in records.of_kind(kind::CEILING) {
        table.add_row([
            record.op.clone(),
            record.set.clone(),
            digits(Some(record.ops_per_s / 1e9)),
            format!("{:.1} %", 100.0 * record.spread),
        ]);
    }
    section(
        "Ceilings. The ceiling of permutations is the rate of the fastest hashing kernel. Byte \
         products multiply polynomials whose coefficients are bytes. Their ceiling is the rate of \
         the fastest kernel on tensor cores, staging and folding included. This bound comes from \
         measurements, not from the hardware.",
        &table,
        out,
    )
}

/// The nanoseconds that an operation would take if only one resource bounded it.
struct Bounds {
    transfer: Option<f64>,
    hashing: Option<f64>,
    tensor: Option<f64>,
    memory: Option<f64>,
}

impl Bounds {
    /// Computes the bounds from the ceilings and the amounts that an operation needs.
    fn of(records: &Records, cost: &Record) -> Self {
        let time =
            |amount: f64, unit| ceiling(records, &cost.set, unit).map(|rate| 1e9 * amount / rate);
        let amount = |name| cost.figure(name).unwrap_or_default();
        let (up, down) = (amount(figure::UPLOADED), amount(figure::DOWNLOADED));
        let transfers = [
            time(up, unit::BYTES_TO_DEVICE),
            time(down, unit::BYTES_FROM_DEVICE),
            time(up + down, unit::BYTES_BOTH_WAYS),
        ];
        Self {
            transfer: transfers.into_iter().flatten().max_by(f64::total_cmp),
            hashing: time(amount(figure::PERMUTATIONS), unit::PERMUTATIONS),
            tensor: time(amount(figure::BYTE_PRODUCTS), unit::BYTE_PRODUCTS),
            memory: time(amount(figure::MEMORY_BYTES), unit::BYTES_OF_DEVICE),
        }
    }

    /// Returns the largest of the four bounds.
    fn largest(&self) -> Option<f64> {
        let Self { transfer, hashing, tensor, memory } = *self;
        [transfer, hashing, tensor, memory].into_iter().flatten().max_by(f64::total_cmp)
    }
}

/// Writes the roofline table.
pub(super) fn write(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
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
    let mut table = table::markdown(header, 3..16);
    for cost in records.of_kind(kind::COST) {
        let Some(operation) =
            Operation::ALL.into_iter().find(|operation| operation.name() == cost.op)
        else {
            continue;
        };
        let amount = |name| cost.figure(name);
        let bytes = |name| format!("{:.0}", amount(name).unwrap_or_default());
        let bounds = Bounds::of(records, cost);
        let measured = operations::rate(records, &cost.set, operation, cost.keys);
        let on_device = records.of(kind::ON_DEVICE, &cost.set, operation, cost.keys).next();
        let reached = bounds
            .largest()
            .zip(measured)
            .map(|(bound, record)| 100.0 * bound / record.median_ns_per_op);
        table.add_row([
            cost.set.clone(),
            cost.op.clone(),
            cost.keys.name().to_owned(),
            bytes(figure::UPLOADED),
            bytes(figure::DOWNLOADED),
            digits(amount(figure::PERMUTATIONS)),
            digits(amount(figure::BYTE_PRODUCTS)),
            bytes(figure::MEMORY_BYTES),
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
        "Roofline: ns per operation if only one ceiling bounded it, then measured on the device \
         without transfers, and measured with transfers. The bound is the largest of the first \
         four.",
        &table,
        out,
    )
}
