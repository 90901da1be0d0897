//! The figures of the sources: the founding paper of CTRU-Prime on GPUs, and reports A and B on
//! NTTs on GPUs. `sources.json` holds them, each figure once and exactly as its source gives it,
//! and says how each source is cited. It also holds article C, which this program does not show.

use std::sync::LazyLock;

use ctru_measure::Operation;
use serde::Deserialize;

static SOURCES: LazyLock<Sources> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../sources.json")).expect("a unit test parses this file")
});

/// Returns the figures of the founding paper.
pub(crate) fn paper() -> &'static Paper {
    &SOURCES.paper
}

/// Returns the GPU and the best time of reports A and B: the milliseconds of one product of
/// polynomials with 131,072 coefficients modulo 469762049.
///
/// It is not known whether the times contain more than kernels.
pub(crate) fn cyclic() -> [(&'static str, f64); 2] {
    let Sources { a, b, .. } = &*SOURCES;
    let [.., best] = a.table_4.ms;
    [(&a.gpu, best), (&b.gpu, b.montgomery)]
}

#[derive(Deserialize)]
struct Sources {
    paper: Paper,
    a: ReportA,
    b: ReportB,
}

#[derive(Deserialize)]
struct ReportA {
    gpu: String,
    table_4: TunedTimes,
}

/// Times by modulus. The last modulus is 469762049.
#[derive(Deserialize)]
struct TunedTimes {
    ms: [f64; 3],
}

#[derive(Deserialize)]
struct ReportB {
    gpu: String,
    montgomery: f64,
}

/// The figures of the founding paper, by table.
#[derive(Debug, Deserialize)]
pub(crate) struct Paper {
    pub(crate) setting: Setting,
    pub(crate) c_product: Vec<CProduct>,
    pub(crate) figure_6: Vec<Factors>,
    pub(crate) occupancy: Occupancy,
    pub(crate) table_4: Table4,
    pub(crate) table_5: Table5,
    pub(crate) figure_7: Figure7,
    pub(crate) table_6: Vec<Resources>,
    pub(crate) table_7: Table7,
    pub(crate) section_4_2_1: Inversion,
}

/// The machine and the method of measurement.
#[derive(Debug, Deserialize)]
pub(crate) struct Setting {
    pub(crate) gpu: String,
    pub(crate) cuda_cores: u32,
    pub(crate) gigabytes_per_second: f64,
    pub(crate) cpu: String,
    pub(crate) compiler: String,
    pub(crate) cuda: String,
    pub(crate) runs: u32,
    pub(crate) transfers: String,
}

/// The time of one product in `R_q` by the paper's C code on one core.
#[derive(Debug, Deserialize)]
pub(crate) struct CProduct {
    pub(crate) set: String,
    pub(crate) us: f64,
}

/// Figure 6: how many times as fast as the product in C the product on CUDA cores is.
#[derive(Debug, Deserialize)]
pub(crate) struct Factors {
    pub(crate) set: String,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// The batch of the largest factor, if the text gives it.
    pub(crate) best_batch: Option<usize>,
    /// The batch from which the latency of a launch grows.
    pub(crate) grows_from: usize,
}

/// Percentages of the warps that a multiprocessor can hold, for the product on CUDA cores.
#[derive(Debug, Deserialize)]
pub(crate) struct Occupancy {
    pub(crate) set: String,
    pub(crate) theoretical: f64,
    pub(crate) measured: Vec<MeasuredOccupancy>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MeasuredOccupancy {
    pub(crate) batch: usize,
    pub(crate) percent: f64,
}

/// Table 4: products on tensor cores and on CUDA cores.
#[derive(Debug, Deserialize)]
pub(crate) struct Table4 {
    pub(crate) set: String,
    /// Products whose operands all differ.
    pub(crate) general: Vec<TensorProducts>,
    /// Products that share one large operand.
    pub(crate) same_key: Vec<TensorProducts>,
    pub(crate) same_key_rate: TensorRate,
    pub(crate) cuda_cores: Vec<CudaCores>,
}

/// A launch of products on tensor cores.
#[derive(Debug, Deserialize)]
pub(crate) struct TensorProducts {
    pub(crate) batch: usize,
    /// The microseconds of the kernels initMA, initMB, Twmma and Merge.
    pub(crate) us: [f64; 4],
    /// How many times as fast as the product in C all four kernels together are.
    pub(crate) factor: f64,
}

impl TensorProducts {
    /// Returns the microseconds of all four kernels.
    pub(crate) fn total_us(&self) -> f64 {
        self.us.iter().sum()
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct TensorRate {
    pub(crate) batch: usize,
    /// 10^12 operations per second.
    pub(crate) tops: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CudaCores {
    pub(crate) batch: usize,
    /// How many times as fast as the product in C the product on CUDA cores is.
    pub(crate) factor: f64,
}

/// Table 5: the kernels after the product, fused and unfused.
#[derive(Debug, Deserialize)]
pub(crate) struct Table5 {
    pub(crate) set: String,
    pub(crate) rows: Vec<Fusion>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Fusion {
    pub(crate) batch: usize,
    pub(crate) fused_us: f64,
    pub(crate) unfused_us: f64,
    pub(crate) saved_percent: f64,
}

/// Figure 7: equal chunks on several streams, compared with the same chunks one after the other.
#[derive(Debug, Deserialize)]
pub(crate) struct Figure7 {
    pub(crate) set: String,
    /// The number of operations in all chunks together.
    pub(crate) operations: usize,
    pub(crate) streams: Vec<usize>,
    /// With this number of streams, all three operations lose time.
    pub(crate) loses_with_streams: usize,
    /// The saving that the text gives.
    pub(crate) saved: StreamsSave,
    pub(crate) labels: Vec<Labels>,
}

/// The labels of the bars for some numbers of streams, in rising order. Which bar has which label
/// is not known, except that the largest one belongs to [`Figure7::saved`].
#[derive(Debug, Deserialize)]
pub(crate) struct Labels {
    pub(crate) streams: Vec<usize>,
    /// Percentages of time that streams save. The last digits of 20.8 are not readable.
    pub(crate) percent: Vec<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StreamsSave {
    pub(crate) op: String,
    pub(crate) streams: usize,
    pub(crate) percent: f64,
}

/// Table 6: power and memory under load, and resources of the product on CUDA cores.
#[derive(Debug, Deserialize)]
pub(crate) struct Resources {
    pub(crate) set: String,
    pub(crate) watts: f64,
    pub(crate) device_mib: f64,
    pub(crate) registers: u32,
    /// Shared memory per block in units of 1024 bytes.
    pub(crate) shared_kb: f64,
}

/// Table 7: thousands of operations per second.
#[derive(Debug, Deserialize)]
pub(crate) struct Table7 {
    pub(crate) ctru_prime: Vec<Rates>,
    /// Other schemes on GPUs, as the paper quotes them.
    pub(crate) others: Vec<OtherRate>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Rates {
    pub(crate) set: String,
    pub(crate) op: String,
    /// The C code on one core.
    pub(crate) c: f64,
    /// The GPU, transfers included.
    pub(crate) gpu: f64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OtherRate {
    pub(crate) scheme: String,
    pub(crate) gpu: String,
    pub(crate) op: String,
    pub(crate) rate: f64,
}

/// Section 4.2.1: the time of Montgomery's trick divided by that of one inversion per element.
#[derive(Debug, Deserialize)]
pub(crate) struct Inversion {
    pub(crate) set: String,
    pub(crate) batch: usize,
    pub(crate) factor: f64,
}

impl Paper {
    /// Returns the microseconds of one product in `R_q` by the paper's C code.
    pub(crate) fn c_product_us(&self, set: &str) -> Option<f64> {
        self.c_product.iter().find(|product| product.set == set).map(|product| product.us)
    }

    /// Returns how many times as fast as the paper's product in C a launch of `batch` products is,
    /// if it takes `us` microseconds.
    pub(crate) fn factor(&self, set: &str, batch: usize, us: f64) -> Option<f64> {
        self.c_product_us(set).map(|one| batch as f64 * one / us)
    }

    /// Returns the products per second of the paper's product on CUDA cores with the best batch.
    pub(crate) fn products_per_second(&self, set: &str) -> Option<f64> {
        let factors = self.figure_6.iter().find(|factors| factors.set == set)?;
        Some(1e6 * factors.most / self.c_product_us(set)?)
    }
}

impl Figure7 {
    /// Returns the percentage of time that this number of streams saves, if the text gives it.
    pub(crate) fn streams_save(&self, operation: Operation, streams: usize) -> Option<f64> {
        let StreamsSave { op, streams: known, percent } = &self.saved;
        (op == operation.name() && *known == streams).then_some(*percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64, digit: f64) -> bool {
        (value - expected).abs() <= digit / 2.0
    }

    /// Checks values that follow from several figures against calculations by hand.
    #[test]
    fn derived_values() {
        let paper = paper();
        // 14.53 us is the time of one product, so the factor 256.13 means one product in 56.73 ns.
        let rate = |set| paper.products_per_second(set).unwrap() / 1e6;
        assert!(near(rate("653"), 0.79256, 1e-5));
        assert!(near(rate("761"), 17.6277, 1e-4));
        assert!(near(rate("1277"), 9.7637, 1e-4));
        // 512 products in 40.38 us: 512 * 13.98 / 40.38.
        assert!(near(paper.factor("653", 512, 40.38).unwrap(), 177.2600, 1e-4));
        assert!(near(paper.table_4.general[0].total_us(), 22.07, 1e-9));
        assert!(near(paper.table_4.same_key[5].total_us(), 40.38, 1e-9));
        assert_eq!(cyclic(), [("Tesla T4", 6.65), ("RTX 3050 Ti", 19.5)]);
        assert_eq!(paper.figure_7.streams_save(Operation::Decaps, 8), Some(72.83));
        assert_eq!(paper.figure_7.streams_save(Operation::Encaps, 8), None);
    }

    /// Checks that figures of one source agree with each other as far as their rounding allows.
    #[test]
    fn figures_agree() {
        let Table4 { set, general, same_key, .. } = &paper().table_4;
        for row in general.iter().chain(same_key) {
            let factor = paper().factor(set, row.batch, row.total_us()).unwrap();
            assert!((factor / row.factor - 1.0).abs() < 0.006, "{row:?}");
        }
        for row in &paper().table_5.rows {
            let saved = 100.0 * (1.0 - row.fused_us / row.unfused_us);
            assert!(near(saved, row.saved_percent, 0.25), "{row:?}");
        }
        let Figure7 { labels, saved, .. } = &paper().figure_7;
        assert!(labels.iter().all(|labels| labels.percent.is_sorted()), "{labels:?}");
        let largest = labels.last().unwrap().percent.last().unwrap();
        assert!((largest - saved.percent).abs() < 0.011, "{largest}");
    }
}
