//! The values that an axis covers.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::description::Scale;
use super::number::number;

/// The part of an axis from the least value to the largest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    scale: Scale,
    from: f64,
    to: f64,
    /// The numbers beside the axis, if they are not chosen by its ends.
    numbers: Option<Vec<f64>>,
}

/// The most numbers that stand for all values of an axis, and the least distance between them.
const FEW: (usize, f64) = (7, 0.08);

impl Span {
    /// Returns whether an axis of this scale can show the value.
    pub(super) fn shows(scale: Scale, value: f64) -> bool {
        value.is_finite() && (scale == Scale::Linear || value > 0.0)
    }

    /// Makes an axis for values that it can show.
    pub(super) fn of(scale: Scale, values: impl IntoIterator<Item = f64>) -> Self {
        let ends = values.into_iter().fold(None, |ends: Option<(f64, f64)>, value| match ends {
            None => Some((value, value)),
            Some((from, to)) => Some((from.min(value), to.max(value))),
        });
        let (from, to) = ends.unwrap_or((1.0, 1.0));
        let (from, to) = match scale {
            // An axis needs some length.
            Scale::Linear if from == to => (from - 1.0, to + 1.0),
            Scale::Log if from == to => (from / 2.0, to * 2.0),
            _ => (from, to),
        };
        Self { scale, from, to, numbers: None }
    }

    /// Puts the values themselves beside the axis if they are few and far enough apart.
    pub(super) fn with_few(self, values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let is_far = |pair: &[f64]| self.position(pair[1]) - self.position(pair[0]) >= FEW.1;
        let are_few = values.len() <= FEW.0 && values.windows(2).all(is_far);
        Self { numbers: are_few.then_some(values), ..self }
    }

    /// Moves the ends outwards to numbers that the axis shows.
    pub(super) fn rounded(self) -> Self {
        let Self { scale, from, to, .. } = self;
        let (from, to) = match scale {
            Scale::Linear => {
                let step = self.step(6);
                ((from / step).floor() * step, (to / step).ceil() * step)
            }
            Scale::Log => {
                let numbers = |power: i32| [1.0, 2.0, 5.0].map(|digit| digit * power_of_ten(power));
                let power = from.log10().floor() as i32;
                let below = numbers(power).into_iter().rfind(|&number| number <= from);
                let power = to.log10().floor() as i32;
                let above = numbers(power).into_iter().find(|&number| number >= to);
                let next = power_of_ten(power + 1);
                (below.unwrap_or(from), above.unwrap_or(next))
            }
        };
        Self { from, to, ..self }
    }

    /// Returns the position of a value, from 0 to 1.
    fn position(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear => value,
            Scale::Log => value.ln(),
        };
        (place(value) - place(self.from)) / (place(self.to) - place(self.from))
    }

    /// Returns the least of 1, 2 and 5 times a power of ten that divides the axis into at most
    /// `most` parts.
    fn step(&self, most: usize) -> f64 {
        let least = (self.to - self.from) / most as f64;
        let power = power_of_ten(least.log10().floor() as i32);
        let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= least);
        digit.unwrap_or(10.0) * power
    }

    /// Returns the numbers beside the axis, at most `most + 1`.
    fn numbers(&self, most: usize) -> Vec<f64> {
        if let Some(numbers) = &self.numbers {
            return numbers.clone();
        }
        let most = most.clamp(1, 8);
        match self.scale {
            Scale::Linear => {
                let step = self.step(most);
                let (first, last) = ((self.from / step).ceil(), (self.to / step).floor());
                (first as i64..=last as i64).map(|i| i as f64 * step).collect()
            }
            Scale::Log => {
                let (first, last) = (self.from.log10().floor(), self.to.log10().ceil());
                let digits: &[f64] = match last - first {
                    decades if decades <= 2.0 => &[1.0, 2.0, 5.0],
                    decades if decades <= 3.0 => &[1.0, 3.0],
                    _ => &[1.0],
                };
                let every = ((last - first) / most as f64).ceil().max(1.0) as usize;
                // The ends may be numbers of the axis, but for rounding.
                let range = self.from * (1.0 - 1e-9)..=self.to * (1.0 + 1e-9);
                (first as i32..=last as i32)
                    .step_by(every)
                    .flat_map(|power| digits.iter().map(move |digit| digit * power_of_ten(power)))
                    .filter(|number| range.contains(number))
                    .collect()
            }
        }
    }
}

fn power_of_ten(power: i32) -> f64 {
    // The division gives the double next to the decimal fraction.
    if power < 0 { 1.0 / 10f64.powi(-power) } else { 10f64.powi(power) }
}

impl Ranged for Span {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        from + (f64::from(to - from) * self.position(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.numbers(hint.max_num_points())
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Span {
    fn format(value: &f64) -> String {
        number(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_on_axes() {
        let log = Span::of(Scale::Log, [100.0, 1.0, 7.0]);
        assert!((log.position(10.0) - 0.5).abs() < 1e-12);
        let linear = Span::of(Scale::Linear, [0.0, 4.0]);
        assert_eq!(linear.map(&1.0, (100, 0)), 75);
    }

    #[test]
    fn numbers_of_axes() {
        let linear = Span::of(Scale::Linear, [-380.0, -3.0]).rounded();
        assert_eq!(linear.numbers(6), [-400.0, -300.0, -200.0, -100.0, 0.0]);
        let log = Span::of(Scale::Log, [1.0, 1_048_576.0]);
        assert_eq!(log.numbers(8), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        assert_eq!(log.numbers(4), [1.0, 100.0, 1e4, 1e6]);
        let short = Span::of(Scale::Log, [0.3, 4.0]).rounded();
        assert_eq!(short.numbers(8), [0.2, 0.5, 1.0, 2.0, 5.0]);
    }

    #[test]
    fn few_values_are_the_numbers() {
        let numbers = |values: &[f64]| {
            let values = || values.iter().copied();
            Span::of(Scale::Linear, values()).with_few(values()).numbers(5)
        };
        assert_eq!(numbers(&[4.0, 1.0, 2.0, 1.0]), [1.0, 2.0, 4.0]);
        assert_eq!(numbers(&[1.0, 1.1, 5.0]), [1.0, 2.0, 3.0, 4.0, 5.0]);
    }

    #[test]
    fn one_value_and_none() {
        assert_eq!(Span::of(Scale::Linear, [3.0]).range(), 2.0..4.0);
        assert_eq!(Span::of(Scale::Log, []).range(), 0.5..2.0);
    }
}
