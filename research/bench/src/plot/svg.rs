//! Writes SVG elements. The colours of text, grid and background follow the light or dark scheme of
//! the reader's browser.

use std::fmt::Write;

/// The part of a text that lies at its position.
#[derive(Copy, Clone, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// The look of a text.
#[derive(Copy, Clone, Debug)]
pub(super) enum Style {
    /// The title of a picture or a panel.
    Title,
    /// The name of a line or a value.
    Label,
    /// The numbers of an axis, and captions.
    Muted,
}

impl Style {
    fn class(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Label => "label",
            Self::Muted => "muted",
        }
    }
}

/// A picture under construction.
#[derive(Debug)]
pub(super) struct Svg {
    width: f64,
    height: f64,
    title: String,
    body: String,
}

const STYLE: &str = "\
.paper{fill:#fff}text{fill:#1f2328}.title{font-weight:600}.muted{fill:#59636e}\
.grid{stroke:#d8dee4}.axis{stroke:#8c959f}\
@media(prefers-color-scheme:dark){.paper{fill:#0d1117}text{fill:#e6edf3}.muted{fill:#9198a1}\
.grid{stroke:#2a313c}.axis{stroke:#656c76}}";

impl Svg {
    /// Starts a picture with a title above it.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self { width, height, title: escape(title), body: String::new() };
        svg.text((16.0, 26.0), Anchor::Start, Style::Title, title);
        svg
    }

    /// Writes a text. `at` is the position, on the base line, of the part of the text that `anchor`
    /// names.
    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, style: Style, text: &str) {
        let (x, y) = at;
        let (anchor, class, text) = (anchor.name(), style.class(), escape(text));
        self.element(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#
        ));
    }

    /// Writes a thin line of the class "grid" or "axis".
    pub(super) fn rule(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.element(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#
        ));
    }

    /// Writes a coloured line through points.
    pub(super) fn line(&mut self, points: &[(f64, f64)], colour: &str, dashed: bool) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let (points, dashes) =
            (points.join(" "), if dashed { r#" stroke-dasharray="5 4""# } else { "" });
        self.element(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"2\"{dashes}/>"
        ));
    }

    /// Writes a coloured dot.
    pub(super) fn dot(&mut self, at: (f64, f64), colour: &str) {
        let (x, y) = at;
        self.element(format_args!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#));
    }

    /// Writes a coloured bar. `at` is its upper left corner.
    pub(super) fn bar(&mut self, at: (f64, f64), size: (f64, f64), colour: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.element(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{colour}\"/>"
        ));
    }

    /// Writes lines of small text at the bottom, and returns the whole picture.
    pub(super) fn finish(mut self, caption: &[&str]) -> String {
        let first = self.height - 14.0 - 16.0 * (caption.len() as f64 - 1.0);
        for (number, line) in caption.iter().enumerate() {
            let at = (16.0, first + 16.0 * number as f64);
            self.text(at, Anchor::Start, Style::Muted, line);
        }
        let Self { width, height, title, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"system-ui,sans-serif\" \
             font-size=\"12\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n{body}</svg>\n"
        )
    }

    fn element(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string accepts any text");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
