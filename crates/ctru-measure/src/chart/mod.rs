//! Charts of measurements, drawn as SVG text.
//!
//! A chart has lines, whose names stand at their right ends, or bars. The picture is readable on
//! light and dark screens, and the same charts always give the same text.
//!
//! ```
//! use ctru_measure::chart::{self, Axis, Chart, Colour, Line, Scale};
//!
//! let points = vec![(1.0, 300.0), (32.0, 9e3), (1024.0, 200e3)];
//! let name = "encaps".to_owned();
//! let line = Line { name, colour: Colour::Blue, dashed: false, points };
//! let chart = Chart {
//!     title: "Rates of batches".to_owned(),
//!     x: Axis { label: "operations per batch".to_owned(), scale: Scale::Log },
//!     y: Axis { label: "operations per second".to_owned(), scale: Scale::Log },
//!     lines: vec![line],
//!     ..Chart::default()
//! };
//! let picture = chart::svg(&[chart], 1);
//! assert!(picture.starts_with("<svg"));
//! ```

mod description;
mod draw;
mod names;
mod number;
mod span;

pub use self::description::{Axis, Bar, Chart, Colour, Line, Scale};
pub use self::draw::svg;
pub use self::number::number;
