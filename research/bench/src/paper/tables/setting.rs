//! The paper's setting, the time of its product in C, and its comparison of inversions.

use std::io::Write;

use ctru_measure::{Record, table};

use super::{batch_us, digits, fixed, ratio, section, unit};
use crate::error::Error;
use crate::records::{Records, distinct, kind, method};
use crate::sources::{self, CProduct};

/// Writes the machines of the paper and ours.
pub(super) fn machines(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().setting;
    let device = |engine: &str| {
        let found = records.0.iter().find(|record| record.engine == engine);
        found.map_or_else(|| "-".to_owned(), |record| record.device.clone())
    };
    let memory = records.of_kind(kind::CEILING).find(|r| r.op == unit::BYTES_OF_DEVICE);
    let gigabytes = digits(memory.map(|record| record.ops_per_s / 1e9));
    let runs = || records.0.iter().map(|record| record.samples).filter(|&runs| runs > 0);
    let runs = runs().min().zip(runs().max());
    let runs = runs.map_or_else(|| "-".to_owned(), |(least, most)| format!("{least} to {most}"));
    let mut table = table::markdown(["", "paper", "ours"], 1..3);
    table.add_row(["GPU", &paper.gpu, &device("gpu")]);
    table.add_row(["CUDA cores", &paper.cuda_cores.to_string(), "-"]);
    table.add_row(["GB/s of memory", &fixed(paper.gigabytes_per_second, 0), &gigabytes]);
    table.add_row(["CPU", &paper.cpu, &device("cpu")]);
    table.add_row(["compiler of C", &paper.compiler, "-"]);
    table.add_row(["CUDA", &paper.cuda, "-"]);
    table.add_row(["runs per value", &paper.runs.to_string(), &runs]);
    table.add_row(["transfers", &paper.transfers, "see the titles"]);
    section(
        "The setting of the paper, whose values are means, and ours. The rate of our GPU's memory \
         is measured",
        &table,
        out,
    )
}

/// Writes the time of one product on one core of a CPU.
pub(super) fn c_product(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = table::markdown(["n", "paper us", "our us", "ratio"], 0..4);
    for CProduct { set, us } in &sources::paper().c_product {
        let ours = records.of_kind(kind::PRODUCT_ON_CPU).find(|record| record.set == *set);
        let ours = ours.map(batch_us);
        table.add_row([set.clone(), fixed(*us, 2), digits(ours), ratio(Some(*us), ours)]);
    }
    section(
        "One product in R_q on one core of a CPU: us of the paper's C code, and of our Rust code; \
         ratio: paper / ours, above 1 where ours is faster",
        &table,
        out,
    )
}

/// Writes the times of Montgomery's trick relative to one inversion per element.
pub(super) fn inversions(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().section_4_2_1;
    let of_set = || records.of_kind(kind::INVERSION).filter(|record| record.set == paper.set);
    let mut batches: Vec<usize> = of_set().map(|record| record.batch).collect();
    batches.push(paper.batch);
    batches.sort_unstable();
    batches.dedup();
    let header = ["batch", "paper x", "our chain x", "ratio chain", "our tree x", "ratio tree"];
    let mut table = table::markdown(header, 0..6);
    for batch in batches {
        let us = |op: &str| {
            let found = of_set().find(|record: &&Record| record.op == op && record.batch == batch);
            found.map(batch_us)
        };
        let each = us(method::INVERT_EACH);
        let theirs = (batch == paper.batch).then_some(paper.factor);
        let relative = |op| us(op).zip(each).map(|(trick, each)| trick / each);
        let [chain, tree] = [method::INVERT_CHAIN, method::INVERT_TREE].map(relative);
        table.add_row([
            batch.to_string(),
            theirs.map_or_else(|| "-".to_owned(), |factor| fixed(factor, 2)),
            digits(chain),
            ratio(chain, theirs),
            digits(tree),
            ratio(tree, theirs),
        ]);
    }
    section(
        &format!(
            "Section 4.2.1, n = {}: x, the time of Montgomery's trick divided by that of one \
             inversion per element; ours: products one after the other, one launch each, and as a \
             tree; ratio: ours / paper, below 1 where our trick loses less",
            paper.set
        ),
        &table,
        out,
    )
}

/// Writes the times of all methods of inversion.
pub(super) fn methods_of_inversion(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let methods = [
        method::INVERT_EACH,
        method::INVERT_EACH_BY_POWERS,
        method::INVERT_TREE,
        method::INVERT_TREE_BY_POWERS,
    ];
    let mut table = table::markdown(["n", "batch"].into_iter().chain(methods), 0..6);
    let of_kind = || records.of_kind(kind::INVERSION);
    for (set, batch) in distinct(of_kind().map(|record| (record.set.clone(), record.batch))) {
        let us = |op: &&str| {
            let mut same = of_kind().filter(|record| record.set == set && record.batch == batch);
            digits(same.find(|record| record.op == *op).map(batch_us))
        };
        table.add_row([set.clone(), batch.to_string()].into_iter().chain(methods.iter().map(us)));
    }
    section(
        "Inversions: us per batch on the device. Each: one inversion per element, by division \
         steps or by powers (Itoh-Tsujii). Tree: Montgomery's trick with one inversion at the \
         root, by division steps or by powers",
        &table,
        out,
    )
}
