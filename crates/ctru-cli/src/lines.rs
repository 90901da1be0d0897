//! Reads files that hold one object per line.

use std::io::{self, BufRead};

/// Reads the lines of a file, except for blank lines.
pub(crate) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// The number of the line that was read last, from 1.
    pub(crate) number: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// Returns the next line without white space around it, or `None` at the end of the file.
    ///
    /// # Errors
    /// The error of the reader.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            self.line.clear();
            if self.reader.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(self.line.trim_ascii()));
            }
        }
    }
}

/// Returns the message of an error in a line that the parser saw alone. For the parser, the number
/// of this line was 1.
pub(crate) fn problem(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", " at column")
}
