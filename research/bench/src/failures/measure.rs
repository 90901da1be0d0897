//! Computes all results of the command.

use ctru_math::{R653, R761, R1277};
use ctru_measure::{Record, cpu_name};

use super::model::Model;
use super::random::Random;
use super::set::{SETS, Set};
use super::spread::{Fixed, Spread};
use super::tail::{Log2OfExp, ln_sum};
use super::{Args, ball, code, experiment, keys, noise, tilted};
use crate::error::Error;
use crate::records::{Report, figure, kind};

/// The name of the ball bound of the worst block, times the number of blocks, in `op`.
pub(super) const BALL_WORST: &str = "ball, worst block";
/// The name of the sum of the ball bounds of all blocks.
pub(super) const BALL_ALL: &str = "ball, all blocks";
/// The name of the union bound for normal noise.
pub(crate) const NORMAL: &str = "union, normal noise";
/// The name of the union bound for the noise as it is.
pub(crate) const UNION: &str = "union";
/// The name of the probability of the most likely of its events.
pub(super) const LARGEST: &str = "largest event";
/// The name of a mean over sampled keys.
pub(super) const MEAN_OF_KEYS: &str = "mean of sampled keys";
/// The name of the law over keys.
pub(super) const KEYS: &str = "keys";
/// The name of the law over messages.
pub(super) const MESSAGES: &str = "messages";

/// The rarities of keys and messages that are estimated, as `log2`.
const RARITIES: [f64; 8] = [3.0, 7.0, 20.0, 32.0, 40.0, 64.0, 96.0, 128.0];

/// Returns the factors by which the experiment multiplies the noise: failures become so frequent
/// that they can be counted.
fn scales(name: &str) -> [f64; 4] {
    match name {
        "653" => [4.8, 5.0, 5.2, 5.4],
        "761" => [3.5, 3.65, 3.8, 4.0],
        _ => [2.8, 3.0, 3.2, 3.4],
    }
}

/// Returns the scale at which the mean over sampled keys is compared with the model. At larger
/// thresholds few keys decide the mean, and a sample does not contain them. At smaller thresholds
/// the sums that [`keys`] leaves out begin to count.
fn scale_of_means(name: &str) -> f64 {
    if name == "1277" { 2.0 } else { 2.5 }
}

/// Reports the results of the parameter sets that the user wants.
pub(super) fn measure(args: &Args, report: Report<'_>) -> Result<(), Error> {
    for (name, set) in SETS {
        if args.set.as_deref().is_none_or(|wanted| wanted == name) {
            of_set(args, name, set, report)?;
        }
    }
    Ok(())
}

fn of_set(args: &Args, name: &str, set: Set, report: Report<'_>) -> Result<(), Error> {
    let record = |kind: &str, op: &str| Record {
        bench: kind.to_owned(),
        engine: "cpu".to_owned(),
        device: cpu_name(),
        set: name.to_owned(),
        op: op.to_owned(),
        threads: 1,
        ..Record::default().dated()
    };
    let rate = |op: &str, scale: f64, log2: f64| {
        record(kind::FAILURE_RATE, op).with_figures([(figure::SCALE, scale), (figure::LOG2, log2)])
    };
    let (deviation, compared) = noise::check(&set, args.pairs, &mut Random::new(1));
    report(record(kind::NOISE_COVARIANCE, "").with_figures([
        (figure::SAMPLES, args.pairs as f64),
        (figure::COMPARED, compared as f64),
        (figure::STANDARD_ERRORS, deviation),
    ]))?;
    report(rate(BALL_WORST, 1.0, ball::worst_block(&set)))?;
    report(rate(BALL_ALL, 1.0, ball::all_blocks(&set)))?;
    let model = Model::new(set);
    let scales = scales(name);
    let quarters = (4..).map(|quarter| f64::from(quarter) / 4.0);
    let quarters = quarters.take_while(|scale| *scale < scales[3]);
    for scale in quarters.chain(scales) {
        let of_scale = model.rate(scale);
        report(rate(NORMAL, scale, code::normal_union(&set, scale)))?;
        report(rate(UNION, scale, of_scale.union.log2_of_exp()))?;
        report(rate(LARGEST, scale, of_scale.largest.log2_of_exp()))?;
    }
    let scale = scale_of_means(name);
    let sampled = keys::of_keys(&set, scale, args.keys, &mut Random::new(2));
    let mean = ln_sum(sampled) - (args.keys as f64).ln();
    report(rate(MEAN_OF_KEYS, scale, mean.log2_of_exp()))?;

    let of_keys = keys::of_keys(&set, 1.0, args.keys, &mut Random::new(3));
    let of_messages = keys::of_messages(&set, args.messages, &mut Random::new(4));
    for (op, fixed, sampled) in
        [(KEYS, Fixed::Key, of_keys), (MESSAGES, Fixed::Message, of_messages)]
    {
        report(record(kind::FAILURE_SPREAD, op).with_figures(statistics(&sampled)))?;
        let spread = Spread::new(set, fixed);
        let median = sampled[sampled.len() / 2];
        for rarity in RARITIES {
            let log2 = spread.rate(rarity, median).log2_of_exp();
            let mut figures = vec![(figure::RARITY, rarity), (figure::EXTRAPOLATED, log2)];
            // The sample has this rank only if it is not among its last few values.
            let beyond = (sampled.len() as f64 * (-rarity).exp2()) as usize;
            if beyond >= 8 {
                let log2 = sampled[sampled.len() - beyond].log2_of_exp();
                figures.push((figure::SAMPLED, log2));
            }
            let random = &mut Random::new(6);
            if let Some(rare) = tilted::sample(&spread, rarity, args.rare, random) {
                figures.push((figure::LOG2, rare.least.log2_of_exp()));
                figures.push((figure::MEAN, rare.mean.log2_of_exp()));
                figures.push((figure::SAMPLES, rare.samples));
            }
            report(record(kind::FAILURE_RANK, op).with_figures(figures))?;
        }
    }
    if args.decapsulations == 0 {
        return Ok(());
    }
    let random = &mut Random::new(5);
    let failures = match name {
        "653" => experiment::count::<R653>(&scales, args.decapsulations, random),
        "761" => experiment::count::<R761>(&scales, args.decapsulations, random),
        _ => experiment::count::<R1277>(&scales, args.decapsulations, random),
    };
    for (scale, failures) in scales.into_iter().zip(failures) {
        report(record(kind::FAILURES, "").with_figures([
            (figure::SCALE, scale),
            (figure::FAILURES, failures as f64),
            (figure::DECAPSULATIONS, experiment::rounded_up(args.decapsulations) as f64),
        ]))?;
    }
    Ok(())
}

/// Returns the mean, the standard deviation, the least, the middle and the largest of sorted
/// natural logarithms, all as `log2`.
fn statistics(sorted: &[f64]) -> [(&'static str, f64); 6] {
    let values: Vec<f64> = sorted.iter().map(|value| value.log2_of_exp()).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    [
        (figure::SAMPLES, count),
        (figure::MEAN, mean),
        (figure::DEVIATION, variance.sqrt()),
        (figure::LEAST, values[0]),
        (figure::MEDIAN, values[values.len() / 2]),
        (figure::MOST, values[values.len() - 1]),
    ]
}
