//! Figure 6 as far as the paper's text gives it: factors, latencies and occupancy of the product on
//! CUDA cores.

use std::io::Write;

use ctru_measure::table;

use super::products::factor;
use super::{batch_us, digits, fixed, mega, ratio, section};
use crate::error::Error;
use crate::records::{Records, figure, kind, method};
use crate::sources;

/// The batches of the figure. The least factor for n = 653 is that of two products in table 4.
const BATCHES: [usize; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The kernel of our product on CUDA cores.
const KERNEL: &str = "multiply_sampled";

/// A launch whose latency is this many times that of one product counts as slower.
const SLOWER: f64 = 1.1;

/// Writes the least and the largest factor for each n.
pub(super) fn factors(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let header = [
        "n",
        "paper least x",
        "our least x",
        "ratio least",
        "paper most x",
        "our most x",
        "ratio most",
        "paper batch",
        "our batch",
    ];
    let mut factors = table::markdown(header, 0..9);
    let mut rates = table::markdown(["n", "paper M", "our M", "ratio"], 0..4);
    for paper in &sources::paper().figure_6 {
        let set = &paper.set;
        let ours = || {
            let of = |&batch: &usize| factor(records, set, method::NTT, batch).map(|x| (x, batch));
            BATCHES.iter().filter_map(of)
        };
        let least = ours().min_by(|a, b| a.0.total_cmp(&b.0));
        let most = ours().max_by(|a, b| a.0.total_cmp(&b.0));
        let [least_x, most_x] = [least, most].map(|found| found.map(|(x, _)| x));
        factors.add_row([
            set.clone(),
            fixed(paper.least, 2),
            digits(least_x),
            ratio(least_x, Some(paper.least)),
            fixed(paper.most, 2),
            digits(most_x),
            ratio(most_x, Some(paper.most)),
            paper.best_batch.map_or_else(|| "not known".to_owned(), |batch| batch.to_string()),
            most.map_or_else(|| "-".to_owned(), |(_, batch)| batch.to_string()),
        ]);
        let theirs = sources::paper().products_per_second(set);
        let rate = most_x.zip(sources::paper().c_product_us(set)).map(|(x, us)| 1e6 * x / us);
        rates.add_row([set.clone(), mega(theirs), mega(rate), ratio(rate, theirs)]);
    }
    section(
        "Figure 6: x, the factor of the product on CUDA cores against the paper's product in C, \
         least and most over the batches of 2 to 1024; ours: NTT, launches in a row; ratio: ours / \
         paper",
        &factors,
        out,
    )?;
    section(
        "Figure 6: M products per second on CUDA cores that follow from the largest factor; ratio: \
         ours / paper",
        &rates,
        out,
    )
}

/// Writes the batches from which the latency of a launch grows.
pub(super) fn latencies(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let mut table = table::markdown(["n", "paper batch", "our batch", "ratio"], 0..4);
    for paper in &sources::paper().figure_6 {
        let ours = grows_from(records, &paper.set);
        table.add_row([
            paper.set.clone(),
            paper.grows_from.to_string(),
            ours.map_or_else(|| "-".to_owned(), |batch| batch.to_string()),
            ratio(ours.map(|batch| batch as f64), Some(paper.grows_from as f64)),
        ]);
    }
    section(
        "Figure 6: the batch from which the latency on CUDA cores grows; ours: NTT, the least \
         measured batch whose launch alone takes 1.1 times as long as one product; ratio: ours / \
         paper",
        &table,
        out,
    )
}

/// Returns the least batch whose launch alone is slower than that of one product.
fn grows_from(records: &Records, set: &str) -> Option<usize> {
    let alone = || {
        let of_set = records.of_kind(kind::PRODUCTS_ALONE).filter(|record| record.set == set);
        of_set.filter(|record| record.op == method::NTT)
    };
    let one = batch_us(alone().find(|record| record.batch == 1)?);
    let slower = alone().filter(|record| batch_us(record) >= SLOWER * one);
    slower.map(|record| record.batch).min()
}

/// Writes the occupancy of the product on CUDA cores.
pub(super) fn occupancy(records: &Records, out: &mut dyn Write) -> Result<(), Error> {
    let paper = &sources::paper().occupancy;
    let ours = |kind: &str, figure: &str, batch: Option<usize>| {
        let mut found = records.of_kind(kind);
        let found = found.find(|record| {
            let is_batch = batch.is_none_or(|batch| record.batch == batch);
            record.set == paper.set && record.op == KERNEL && is_batch
        });
        found.and_then(|record| record.figure(figure))
    };
    let mut table = table::markdown(["batch", "paper %", "our %", "ratio"], 1..4);
    let mut row = |name: String, theirs: f64, decimals, ours| {
        table.add_row([name, fixed(theirs, decimals), digits(ours), ratio(ours, Some(theirs))]);
    };
    row(
        "theoretical".to_owned(),
        paper.theoretical,
        1,
        ours(kind::RESOURCES, figure::OCCUPANCY, None),
    );
    for measured in &paper.measured {
        let found = ours(kind::COUNTERS, figure::WARPS_ACTIVE, Some(measured.batch));
        row(measured.batch.to_string(), measured.percent, 2, found);
    }
    section(
        &format!(
            "Occupancy of the product on CUDA cores, n = {}, in %: theoretical, and measured by \
             batch; ours: NTT, from the driver and from Nsight Compute; ratio: ours / paper",
            paper.set
        ),
        &table,
        out,
    )
}
