//! Draws the picture at the head of the README: the rates of this project and of its peers on one
//! card.

use ctru_measure::{KeyUse, Operation, Record};

use super::palette;
use super::svg::{Anchor, Style, Svg};
use crate::paper::digits;
use crate::records::{Records, kind};
use crate::references;

const SETS: [&str; 3] = ["653", "761", "1277"];

/// The width of a panel, including the values at the right of the bars.
const PANEL: f64 = 312.0;
/// The width of the longest bar.
const LONGEST: f64 = 170.0;
/// The rate of the longest bar, in millions per second.
const MOST: f64 = 50.0;
const TOP: f64 = 74.0;
const BAR: f64 = 15.0;
const GROUP: f64 = 84.0;

/// Draws the rates of batches in which each operation has its own key, transfers included.
pub(super) fn draw(records: &Records) -> Option<String> {
    let title = "Million operations per second on one NVIDIA H200, a key for each operation, \
                 transfers included";
    let mut svg = Svg::new(SETS.len() as f64 * PANEL + 16.0, TOP + 3.0 * GROUP + 56.0, title);
    for (number, set) in SETS.into_iter().enumerate() {
        let left = 16.0 + PANEL * number as f64;
        svg.text((left, TOP - 18.0), Anchor::Start, Style::Title, &format!("n = {set}"));
        for (number, operation) in Operation::ALL.into_iter().enumerate() {
            let top = TOP + GROUP * number as f64;
            svg.text((left, top + 10.0), Anchor::Start, Style::Muted, operation.name());
            for (row, (name, rate, colour)) in rates(records, set, operation)?.iter().enumerate() {
                let y = top + 16.0 + (BAR + 4.0) * row as f64;
                let width = LONGEST * rate / MOST;
                svg.bar((left, y), (width.max(1.0), BAR), colour);
                // The smallest rates need three decimals.
                let value = if *rate < 1.0 { format!("{rate:.3}") } else { digits(Some(*rate)) };
                let at = (left + width + 6.0, y + BAR - 3.0);
                svg.text(at, Anchor::Start, Style::Label, &format!("{value}  {name}"));
            }
        }
    }
    Some(svg.finish(&[
        "ctru: h200-paper.jsonl. Authors: the paper's public CUDA code, repaired where it crashed. \
         ML-KEM-768: CUDA-PQC (ICICLE), the fastest open GPU code",
        "that we found. We measured both peers on the same kind of card on 2026-11-20; the figures \
         are in research/bench/src/references.rs.",
    ]))
}

/// Returns the name, the rate in millions per second and the colour of each bar.
fn rates(
    records: &Records,
    set: &str,
    operation: Operation,
) -> Option<Vec<(&'static str, f64, &'static str)>> {
    let ours = records.of(kind::BATCH, set, operation, KeyUse::Each);
    let ours = ours.max_by_key(|record: &&Record| record.batch)?.ops_per_s;
    let known = references::operations(set, operation)?;
    let mut rates =
        vec![("ctru", ours, palette::OURS), ("authors", known.authors, palette::AUTHORS)];
    rates.extend(known.peer.map(|rate| ("ML-KEM-768", rate, palette::OTHERS)));
    Some(rates.into_iter().map(|(name, rate, colour)| (name, rate / 1e6, colour)).collect())
}
