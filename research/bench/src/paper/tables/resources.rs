//! Table 6: power, energy and memory of the engine, registers and shared memory of kernels.

use std::io::Write;

use ctru_measure::{Record, table};

use super::{digits, fixed, ratio, section};
use crate::error::Error;
use crate::records::{Records, figure, kind};
use crate::references;
use crate::sources;

/// The kernel of our product on CUDA cores.
const PRODUCT: &str = "multiply_sampled";

/// Writes table 6: the paper's figures beside ours.
pub(super) fn table_6(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header = ["n", "paper W", "our W", "ratio W", "paper MiB", "our MiB", "ratio MiB"];
    let mut engine = table::markdown(header, 0..7);
    let header =
        ["n", "paper registers", "our registers", "ratio", "paper KB", "our KB", "ratio KB"];
    let mut product = table::markdown(header, 0..7);
    for paper in &sources::paper().table_6 {
        let most = |name| {
            let loads = records.of_kind(kind::LOAD).filter(|record| record.set == paper.set);
            loads.filter_map(|record| record.figure(name)).max_by(f64::total_cmp)
        };
        let watts = most(figure::WATTS);
        let device_mib = most(figure::DEVICE_BYTES).map(|bytes| bytes / 1048576.0);
        engine.add_row([
            paper.set.clone(),
            fixed(paper.watts, 0),
            digits(watts),
            ratio(watts, Some(paper.watts)),
            fixed(paper.device_mib, 0),
            digits(device_mib),
            ratio(device_mib, Some(paper.device_mib)),
        ]);
        let kernel = records
            .of_kind(kind::RESOURCES)
            .find(|record| record.set == paper.set && record.op == PRODUCT);
        let of_kernel = |name| kernel.and_then(|record: &Record| record.figure(name));
        let registers = of_kernel(figure::REGISTERS);
        let shared_kb = of_kernel(figure::SHARED_BYTES).map(|bytes| bytes / 1024.0);
        product.add_row([
            paper.set.clone(),
            paper.registers.to_string(),
            registers.map_or_else(|| "-".to_owned(), |registers| registers.to_string()),
            ratio(registers, Some(f64::from(paper.registers))),
            fixed(paper.shared_kb, 2),
            digits(shared_kb),
            ratio(shared_kb, Some(paper.shared_kb)),
        ]);
    }
    section(
        "Table 6: power and device memory. Ours: the largest median power of the three operations \
         under load, each operation with its own key; ratio: ours / paper",
        &engine,
        out,
    )?;
    section(
        "Table 6: registers per thread and shared memory per block of the product on CUDA cores, \
         1 KB = 1024 bytes; ours: NTT; ratio: ours / paper",
        &product,
        out,
    )
}

/// Writes the resources that all kernels use.
pub(super) fn kernels(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header =
        ["kernel", "n", "threads", "registers", "local bytes", "shared KB", "blocks per SM"];
    let mut table = table::markdown(header, 1..7);
    let kilobytes = |bytes: f64| format!("{:.1}", bytes / 1e3);
    for kernel in records.of_kind(kind::RESOURCES) {
        let figure = |name| kernel.figure(name).unwrap_or_default();
        table.add_row([
            kernel.op.clone(),
            kernel.set.clone(),
            kernel.threads.to_string(),
            figure(figure::REGISTERS).to_string(),
            figure(figure::LOCAL_BYTES).to_string(),
            kilobytes(figure(figure::SHARED_BYTES)),
            figure(figure::BLOCKS).to_string(),
        ]);
    }
    if table.row_count() > 0 {
        let references::KnownResources { registers, shared_kilobytes, blocks } =
            references::RESOURCES;
        table.add_row([
            "authors, H200: product".to_owned(),
            String::new(),
            String::new(),
            registers.to_string(),
            String::new(),
            shared_kilobytes.to_string(),
            blocks.to_string(),
        ]);
    }
    section("Resources of kernels, from the driver; 1 KB = 1000 bytes", &table, out)
}

/// Writes power and memory of the engine for each operation.
pub(super) fn loads(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let mut table =
        table::markdown(["n", "op", "W, median", "W, most", "device MiB", "pinned MiB"], 2..6);
    let mebibytes = |bytes: Option<f64>| format!("{:.0}", bytes.unwrap_or_default() / 1048576.0);
    let watt = |value: Option<f64>| {
        value.map_or_else(|| "no nvidia-smi".to_owned(), |watts| format!("{watts:.0}"))
    };
    for load in records.of_kind(kind::LOAD) {
        table.add_row([
            load.set.clone(),
            load.op.clone(),
            watt(load.figure(figure::WATTS)),
            watt(load.figure(figure::MOST_WATTS)),
            mebibytes(load.figure(figure::DEVICE_BYTES)),
            mebibytes(load.figure(figure::PINNED_BYTES)),
        ]);
    }
    if table.row_count() > 0 {
        let (least, most) = references::WATTS;
        let power = format!("{least} to {most}");
        table.add_row(["", "authors, H200", &power, "", "", ""]);
    }
    section(
        "Power and memory of the engine under load, each operation with its own key",
        &table,
        out,
    )
}

/// Writes the energy of the GPU for each operation.
pub(super) fn energy(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = table::markdown(["n", "op", "keys", "data", "W", "uJ per operation"], 4..6);
    for record in records.of_kind(kind::ENERGY) {
        table.add_row([
            record.set.clone(),
            record.op.clone(),
            record.keys.name().to_owned(),
            record.transfers.clone(),
            digits(record.figure(figure::WATTS)),
            digits(record.figure(figure::JOULES).map(|joules| 1e6 * joules)),
        ]);
    }
    section("Energy of the GPU's card by its counter, without the host", &table, out)
}
