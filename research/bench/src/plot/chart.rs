//! Draws panels with axes and lines. The name of each line is at its right end, so there is no
//! legend.

use super::svg::{Anchor, Style, Svg};

/// An axis with the numbers that it shows.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) ticks: Vec<f64>,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) logarithmic: bool,
}

impl Axis {
    /// Makes a logarithmic axis from the first tick to the last.
    pub(super) fn logarithmic(name: &'static str, ticks: &[f64]) -> Self {
        Self { logarithmic: true, ..Self::linear(name, ticks) }
    }

    /// Makes a linear axis from the first tick to the last.
    pub(super) fn linear(name: &'static str, ticks: &[f64]) -> Self {
        let (from, to) = (ticks[0], ticks[ticks.len() - 1]);
        Self { name, ticks: ticks.to_vec(), from, to, logarithmic: false }
    }

    /// Returns the position of a value, from 0 to 1.
    fn position(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.logarithmic { value.ln() } else { value };
        (scale(value) - scale(self.from)) / (scale(self.to) - scale(self.from))
    }
}

/// A line, or a single point.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) colour: &'static str,
    /// Whether the points are known results, and not measurements of this project.
    pub(super) known: bool,
    pub(super) points: Vec<(f64, f64)>,
}

impl Line {
    /// Makes a line from a known result that does not depend on the horizontal axis.
    pub(super) fn level(name: &str, colour: &'static str, x: &Axis, value: f64) -> Self {
        let points = vec![(x.from, value), (x.to, value)];
        Self { name: name.to_owned(), colour, known: true, points }
    }
}

/// A chart of several lines.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
}

/// The sizes of panels in a picture.
#[derive(Copy, Clone, Debug)]
pub(super) struct Layout {
    /// The width of each panel, including its numbers and names.
    pub(super) width: f64,
    /// The height of the area of the lines.
    pub(super) height: f64,
    /// The width of the names at the right.
    pub(super) names: f64,
}

/// The space above the panels, for the titles of the picture and of the panels.
const ABOVE: f64 = 66.0;
/// The space below the area of the lines, for the numbers and the name of the axis.
const BELOW: f64 = 46.0;
/// The width of the numbers at the left.
const NUMBERS: f64 = 52.0;
/// The distance between the base lines of names.
const LINE_HEIGHT: f64 = 14.0;

/// Draws panels side by side, with a title above and a caption below them.
pub(super) fn draw(title: &str, panels: &[Panel], layout: Layout, caption: &[&str]) -> String {
    let width = layout.width * panels.len() as f64 + 16.0;
    let height = ABOVE + layout.height + BELOW + 16.0 * caption.len() as f64 + 14.0;
    let mut svg = Svg::new(width, height, title);
    for (number, panel) in panels.iter().enumerate() {
        let left = NUMBERS + layout.width * number as f64;
        let right = left + layout.width - NUMBERS - layout.names;
        Area { left, right, top: ABOVE, bottom: ABOVE + layout.height }.draw(panel, &mut svg);
    }
    svg.finish(caption)
}

/// The area of a panel's lines.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn draw(&self, panel: &Panel, svg: &mut Svg) {
        let Self { left, right, top, bottom } = *self;
        svg.text((left, top - 12.0), Anchor::Start, Style::Title, &panel.title);
        for &tick in &panel.y.ticks {
            let y = self.y(panel, tick);
            svg.rule((left, y), (right, y), "grid");
            svg.text((left - 6.0, y + 4.0), Anchor::End, Style::Muted, &number(tick));
        }
        for &tick in &panel.x.ticks {
            let x = self.x(panel, tick);
            svg.rule((x, bottom), (x, bottom + 4.0), "axis");
            svg.text((x, bottom + 17.0), Anchor::Middle, Style::Muted, &number(tick));
        }
        svg.rule((left, bottom), (right, bottom), "axis");
        let middle = f64::midpoint(left, right);
        svg.text((middle, bottom + 36.0), Anchor::Middle, Style::Muted, panel.x.name);
        // Known results are drawn first, so that measurements cover them.
        for known in [true, false] {
            for line in panel.lines.iter().filter(|line| line.known == known) {
                let points: Vec<_> = line
                    .points
                    .iter()
                    .map(|&(x, y)| (self.x(panel, x), self.y(panel, y)))
                    .collect();
                svg.line(&points, line.colour, line.known);
                if points.len() == 1 || !known {
                    points.iter().for_each(|&point| svg.dot(point, line.colour));
                }
            }
        }
        self.draw_names(panel, svg);
    }

    /// Writes the names of the lines at the right, far enough apart from each other.
    fn draw_names(&self, panel: &Panel, svg: &mut Svg) {
        let end = |line: &Line| line.points.last().copied().unwrap_or_default();
        let mut names: Vec<(f64, &Line)> =
            panel.lines.iter().map(|line| (self.y(panel, end(line).1), line)).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted: Vec<f64> = names.iter().map(|(y, _)| *y).collect();
        for ((y, line), place) in names.iter().zip(apart(&wanted, self.top, self.bottom)) {
            let from = (self.x(panel, end(line).0) + 4.0, *y);
            let to = (self.right + 10.0, place);
            if from.0 > self.right {
                svg.line(&[from, to], line.colour, false);
            } else {
                svg.rule(from, to, "axis");
            }
            let at = (self.right + 14.0, place + 4.0);
            svg.text(at, Anchor::Start, Style::Label, &line.name);
        }
    }

    fn x(&self, panel: &Panel, value: f64) -> f64 {
        self.left + (self.right - self.left) * panel.x.position(value)
    }

    fn y(&self, panel: &Panel, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * panel.y.position(value)
    }
}

/// Moves sorted positions apart so that names do not overlap. Moves them as little as possible, and
/// keeps them within `top..=bottom` if there is room.
fn apart(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    // Names that would overlap form a group, whose centre is the mean of its wanted positions.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    let half = |count: usize| LINE_HEIGHT * (count as f64 - 1.0) / 2.0;
    for &position in wanted {
        let within = |(centre, count): (f64, usize)| {
            (centre.min(bottom - half(count)).max(top + half(count)), count)
        };
        let mut group = within((position, 1));
        while let Some(&(centre, count)) = groups.last() {
            if group.0 - half(group.1) - (centre + half(count)) >= LINE_HEIGHT {
                break;
            }
            let all = count + group.1;
            group = within(((centre * count as f64 + group.0 * group.1 as f64) / all as f64, all));
            groups.pop();
        }
        groups.push(group);
    }
    let places = groups.iter().flat_map(|&(centre, count)| {
        (0..count).map(move |i| centre - half(count) + LINE_HEIGHT * i as f64)
    });
    places.collect()
}

/// Formats a number with a comma between groups of three digits.
fn number(value: f64) -> String {
    let text = value.to_string();
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text.as_str(), None), |(whole, fraction)| (whole, Some(fraction)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or(grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_groups() {
        let texts = [0.1, 1.0, 100.0, 1024.0, 65536.0].map(number);
        assert_eq!(texts, ["0.1", "1", "100", "1,024", "65,536"]);
        assert_eq!([-400.0, -1024.0].map(number), ["-400", "-1,024"]);
    }

    #[test]
    fn names_do_not_overlap() {
        assert_eq!(apart(&[10.0, 50.0, 52.0], 0.0, 100.0), [10.0, 44.0, 58.0]);
        assert_eq!(apart(&[99.0, 99.0], 0.0, 100.0), [86.0, 100.0]);
        assert_eq!(apart(&[0.0, 1.0, 20.0], 0.0, 100.0), [0.0, 14.0, 28.0]);
        // The last two leave no room above them, so the first one moves as well.
        let places = apart(&[76.0, 99.0, 100.0], 0.0, 100.0);
        assert!(places.is_sorted_by(|a, b| b - a >= LINE_HEIGHT), "{places:?}");
    }

    #[test]
    fn positions_on_axes() {
        let axis = Axis::logarithmic("", &[1.0, 10.0, 100.0]);
        assert!((axis.position(10.0) - 0.5).abs() < 1e-12);
        assert!((Axis::linear("", &[0.0, 4.0]).position(1.0) - 0.25).abs() < 1e-12);
    }
}
