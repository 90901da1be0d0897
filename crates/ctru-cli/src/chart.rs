//! Lines in a plane, as SVG.

use std::collections::BTreeMap;
use std::path::Path;

use plotters::prelude::*;

use crate::error::Error;

/// Points of lines by the names of the lines, in the order in which they are joined.
pub(crate) type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// What is written on a chart.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
}

impl Chart {
    /// Draws lines from 0 upwards into a file; nothing if there are no lines.
    pub(crate) fn draw(&self, lines: &Lines, path: &Path) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        self.try_draw(lines, path).map_err(|error| Error::Drawing {
            file: path.display().to_string(),
            reason: error.to_string(),
        })
    }

    fn try_draw(&self, lines: &Lines, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
        let points = || lines.values().flatten();
        let (left, right) =
            points().fold((f64::MAX, f64::MIN), |(a, b), &(x, _)| (a.min(x), b.max(x)));
        let top = points().fold(0.0, |top: f64, &(_, y)| top.max(y));
        let area = SVGBackend::new(path, (900, 560)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(left..right, 0.0..top * 1.05)?;
        chart.configure_mesh().x_desc(self.x).y_desc(self.y).draw()?;
        for (number, (name, line)) in lines.iter().enumerate() {
            let colour = Palette99::pick(number).stroke_width(2);
            chart.draw_series(LineSeries::new(line.iter().copied(), colour))?.label(name).legend(
                move |(x, y)| {
                    PathElement::new(
                        vec![(x, y), (x + 18, y)],
                        Palette99::pick(number).stroke_width(2),
                    )
                },
            );
        }
        // The names go to the top corner at which the lines are lower.
        let highest = |inside: &dyn Fn(f64) -> bool| {
            points().filter(|&&(x, _)| inside(x)).fold(0.0, |top: f64, &(_, y)| top.max(y))
        };
        let middle = f64::midpoint(left, right);
        let corner = if highest(&|x| x < middle) < highest(&|x| x > middle) {
            SeriesLabelPosition::UpperLeft
        } else {
            SeriesLabelPosition::UpperRight
        };
        chart
            .configure_series_labels()
            .position(corner)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK)
            .draw()?;
        area.present()?;
        Ok(())
    }
}
