//! Tells the source line of a line of PTX.

use std::collections::HashMap;

/// Tracks the line of Rust that a line of PTX comes from, as far as the compiler states it.
#[derive(Debug)]
pub struct Places<'a> {
    /// The source files by number. The text declares them at its end.
    files: HashMap<&'a str, &'a str>,
    /// The function.
    pub function: &'a str,
    source: Option<String>,
}

impl<'a> Places<'a> {
    /// Starts before the first line of `ptx`.
    #[must_use]
    pub fn new(ptx: &'a str) -> Self {
        let file = |line: &'a str| {
            let (number, name) = line.trim_start().strip_prefix(".file\t")?.split_once(' ')?;
            Some((number, name.trim_matches('"')))
        };
        Self { files: ptx.lines().filter_map(file).collect(), function: "", source: None }
    }

    /// Reads a line of PTX.
    pub fn read(&mut self, code: &'a str) {
        if let Some(place) = code.strip_prefix(".loc") {
            let mut numbers = place.split_whitespace();
            let file = numbers.next().and_then(|number| self.files.get(number));
            if let (Some(file), Some(line)) = (file, numbers.next())
                && !file.contains("/rust/library/")
            {
                self.source = Some(format!("{file}:{line}"));
            }
        }
        let entry = |line: &'a str| {
            let name = line.trim_start().strip_prefix(".visible .entry ")?;
            Some(name.trim_end_matches(['(', ')', ' ']))
        };
        if let Some(name) = entry(code).or_else(|| code.split_once(".func ").map(|(_, name)| name))
        {
            self.function = name;
            self.source = None;
        }
    }

    /// Returns the last line of Rust that was read in the current function, without lines of the
    /// standard library.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }
}
