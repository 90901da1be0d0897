//! Draws charts side by side.

use plotters::coord::Shift;
use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::description::{Axis, Bar, Chart, Line, Scale};
use super::names::{LINE_HEIGHT, apart};
use super::number::number;
use super::span::Span;

/// The width of a chart, without the names of its lines.
const WIDTH: i32 = 380;
/// The height of the area of lines.
const HEIGHT: i32 = 260;
/// The space around a chart.
const MARGIN: i32 = 16;
/// The height of a bar, and of the space below it.
const BAR: (i32, i32) = (14, 6);
/// The space below lines or bars, for the numbers and the label of the axis.
const BELOW: i32 = 44;
/// The space at the left of lines, for the numbers and the label of the axis.
const LEFT: i32 = 62;

/// The colours of the background, of text, of small text and of the grid, each for light screens
/// and for dark ones. The light ones are drawn, and a style replaces them where screens are dark.
const SHADES: [(RGBColor, RGBColor); 4] = [
    (RGBColor(0xFF, 0xFF, 0xFF), RGBColor(0x0D, 0x11, 0x17)),
    (RGBColor(0x1F, 0x23, 0x28), RGBColor(0xE6, 0xED, 0xF3)),
    (RGBColor(0x59, 0x63, 0x6E), RGBColor(0x91, 0x98, 0xA1)),
    (RGBColor(0xD8, 0xDE, 0xE4), RGBColor(0x2A, 0x31, 0x3C)),
];
const PAPER: RGBColor = SHADES[0].0;
const INK: RGBColor = SHADES[1].0;
const MUTED: RGBColor = SHADES[2].0;
const GRID: RGBColor = SHADES[3].0;

/// The size of text, as plotters counts it: 12 pixels.
const SIZE: f64 = 12.0 * 1.24;

/// A picture in memory, which never fails.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Draws charts as the text of an SVG file, in rows of at most `columns` charts.
#[must_use]
pub fn svg(charts: &[Chart], columns: usize) -> String {
    let columns = columns.clamp(1, charts.len().max(1));
    let rows: Vec<&[Chart]> = charts.chunks(columns).collect();
    let width = charts.iter().map(width).max().unwrap_or(WIDTH);
    let heights: Vec<i32> =
        rows.iter().map(|row| row.iter().map(height).max().unwrap_or(0)).collect();
    let size = (width * columns as i32 + MARGIN, heights.iter().sum::<i32>() + MARGIN);
    let mut text = String::new();
    {
        let size = (size.0 as u32, size.1 as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let draw = || -> Drawn {
            area.fill(&PAPER)?;
            let mut top = 0;
            for (row, height) in rows.iter().zip(&heights) {
                for (column, chart) in row.iter().enumerate() {
                    let left = MARGIN + width * column as i32;
                    let place = (left, left + width - MARGIN, top + MARGIN, top + height);
                    draw_chart(&area, chart, place)?;
                }
                top += height;
            }
            area.present()
        };
        draw().expect("a string accepts any drawing");
    }
    finished(&text, charts)
}

/// The place of a chart: its left, right, upper and lower ends.
type Place = (i32, i32, i32, i32);

/// Returns the width of a chart with the margin at its left.
fn width(chart: &Chart) -> i32 {
    let names = chart.lines.iter().map(|line| text_width(&line.name)).max();
    let names = if chart.bars.is_empty() { names.unwrap_or(0) } else { 0 };
    let title = chart.title.lines().map(text_width).max().unwrap_or(0);
    (WIDTH + names).max(title + 2 * MARGIN)
}

/// Returns the height of a chart with the margin above it.
fn height(chart: &Chart) -> i32 {
    let content = match chart.bars.len() as i32 {
        0 => HEIGHT + BELOW,
        bars if chart.x.label.is_empty() => bars * (BAR.0 + BAR.1),
        bars => bars * (BAR.0 + BAR.1) + BELOW / 2,
    };
    MARGIN + title_height(chart) + content
}

fn title_height(chart: &Chart) -> i32 {
    18 * chart.title.lines().count() as i32 + 8
}

/// Returns the width of a text. Few fonts need more.
fn text_width(text: &str) -> i32 {
    15 * text.chars().count() as i32 / 2
}

fn style(colour: RGBColor, at: (HPos, VPos)) -> TextStyle<'static> {
    ("system-ui, sans-serif", SIZE).into_font().color(&colour).pos(Pos::new(at.0, at.1))
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), style: &TextStyle<'_>) -> Drawn {
    area.draw_text(text, style, at)
}

fn draw_chart(area: &Area<'_>, chart: &Chart, place: Place) -> Drawn {
    let (left, right, top, bottom) = place;
    for (number, line) in chart.title.lines().enumerate() {
        let colour = if number == 0 { INK } else { MUTED };
        let mut style = style(colour, (HPos::Left, VPos::Top));
        if number == 0 {
            style.font = style.font.style(FontStyle::Bold);
        }
        write(area, line, (left, top + 18 * number as i32), &style)?;
    }
    let place = (left, right, top + title_height(chart), bottom);
    if chart.bars.is_empty() {
        draw_lines(area, chart, place)
    } else {
        draw_bars(area, &chart.x, &chart.bars, place)
    }
}

/// Returns the values that an axis covers whose lengths are compared: a linear one also has zero.
fn with_zero(scale: Scale, values: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    values.chain((scale == Scale::Linear).then_some(0.0))
}

/// Draws lines, their axes and their names.
fn draw_lines(area: &Area<'_>, chart: &Chart, (left, right, top, bottom): Place) -> Drawn {
    let shown: Vec<(&Line, Vec<(f64, f64)>)> = chart
        .lines
        .iter()
        .map(|line| {
            let is_shown = |&(x, y): &(f64, f64)| {
                Span::shows(chart.x.scale, x) && Span::shows(chart.y.scale, y)
            };
            (line, line.points.iter().copied().filter(is_shown).collect())
        })
        .filter(|(_, points): &(_, Vec<_>)| !points.is_empty())
        .collect();
    let points = || shown.iter().flat_map(|(_, points)| points.iter().copied());
    let across = || points().map(|point| point.0);
    let x = Span::of(chart.x.scale, across()).with_few(across());
    let y = Span::of(chart.y.scale, with_zero(chart.y.scale, points().map(|point| point.1)));
    let y = y.rounded();
    let names = shown.iter().map(|(line, _)| text_width(&line.name) + 12).max().unwrap_or(0);
    let right = right - names;
    let inner = area
        .clone()
        .shrink((left as u32, top as u32), ((right - left) as u32, (bottom - top) as u32));
    let mut context = ChartBuilder::on(&inner)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
        .build_cartesian_2d(x, y)?;
    context
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(8)
        .y_labels(7)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(MUTED)
        .label_style(style(MUTED, (HPos::Center, VPos::Center)))
        .axis_desc_style(style(MUTED, (HPos::Center, VPos::Center)))
        .x_desc(&chart.x.label)
        .y_desc(&chart.y.label)
        .draw()?;
    // Dashed lines are drawn first, so that others cover them.
    for dashed in [true, false] {
        for (line, points) in shown.iter().filter(|(line, _)| line.dashed == dashed) {
            let colour = line.colour.rgb();
            let stroke = colour.stroke_width(2);
            if dashed {
                let points = points.clone().into_iter();
                context.draw_series(DashedLineSeries::new(points, 6, 4, stroke))?;
            } else {
                context.draw_series(LineSeries::new(points.iter().copied(), stroke))?;
            }
            if !dashed || points.len() == 1 {
                let dot = |&point: &(f64, f64)| Circle::new(point, 3, colour.filled());
                context.draw_series(points.iter().map(dot))?;
            }
        }
    }
    let mut ends: Vec<(&Line, (i32, i32))> = shown
        .iter()
        .filter_map(|(line, points)| Some((*line, context.backend_coord(points.last()?))))
        .collect();
    ends.sort_by_key(|(_, (_, y))| *y);
    let wanted: Vec<f64> = ends.iter().map(|(_, (_, y))| f64::from(*y)).collect();
    let lowest = f64::from(bottom - BELOW) - LINE_HEIGHT / 2.0;
    let places = apart(&wanted, f64::from(top), lowest);
    for ((line, (x, y)), name) in ends.into_iter().zip(places) {
        let name = name.round() as i32;
        // A line that ends before the right end has a thin line to its name.
        let leader = if x < right - 1 { MUTED } else { line.colour.rgb() };
        let ends = vec![(x + 4, y), (right + 9, name)];
        area.draw(&PathElement::new(ends, leader.stroke_width(1)))?;
        write(area, &line.name, (right + 12, name), &style(INK, (HPos::Left, VPos::Center)))?;
    }
    Ok(())
}

/// Draws bars with their names at the left and their values at the right.
fn draw_bars(area: &Area<'_>, x: &Axis, bars: &[Bar], (left, right, top, _): Place) -> Drawn {
    let names = bars.iter().map(|bar| text_width(&bar.name)).max().unwrap_or(0);
    let (start, end) = (left + names + 6, right - 50);
    let shown = || bars.iter().map(|bar| bar.value).filter(|&value| Span::shows(x.scale, value));
    let span = Span::of(x.scale, with_zero(x.scale, shown()));
    let span = if x.scale == Scale::Log { span.rounded() } else { span };
    for (number_of_bar, bar) in bars.iter().enumerate() {
        let upper = top + number_of_bar as i32 * (BAR.0 + BAR.1);
        let (lower, middle) = (upper + BAR.0, upper + BAR.0 / 2);
        let name = style(INK, (HPos::Right, VPos::Center));
        write(area, &bar.name, (start - 6, middle), &name)?;
        if !Span::shows(x.scale, bar.value) {
            continue;
        }
        let tip = span.map(&bar.value, (start, end));
        let tip = tip.max(start + 1);
        area.draw(&Rectangle::new([(start, upper), (tip, lower)], bar.colour.rgb().filled()))?;
        let value = style(INK, (HPos::Left, VPos::Center));
        write(area, &number(bar.value), (tip + 6, middle), &value)?;
    }
    let below = top + bars.len() as i32 * (BAR.0 + BAR.1) + 4;
    write(area, &x.label, (start, below), &style(MUTED, (HPos::Left, VPos::Top)))
}

/// Adds the name of a picture and the colours for dark screens.
fn finished(text: &str, charts: &[Chart]) -> String {
    let titles: Vec<_> = charts.iter().filter_map(|chart| chart.title.lines().next()).collect();
    let titles = titles.join("; ").replace('&', "&amp;").replace('<', "&lt;");
    let hex = |RGBColor(red, green, blue): RGBColor| format!("#{red:02X}{green:02X}{blue:02X}");
    let dark: String = SHADES
        .iter()
        .map(|&(light, dark)| {
            let (light, dark) = (hex(light), hex(dark));
            format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
        })
        .collect();
    let (start, rest) = text.split_once('>').expect("a picture begins with an element");
    format!(
        "{start} role=\"img\">\n<title>{titles}</title>\n\
         <style>@media(prefers-color-scheme:dark){{{dark}}}</style>{rest}"
    )
}
