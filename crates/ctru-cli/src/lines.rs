//! Reads files that hold one object per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use crate::error::Error;
use crate::files::PathOrStdio;

/// The largest number of bytes of a line. The longest records are known answers of CTRU-Prime-1277,
/// with less than 20 KiB. Without a limit, a file such as `/dev/zero` would fill the memory.
const LONGEST_LINE: usize = 64 * 1024;

/// Reads the lines of a file, except for blank lines.
pub(crate) struct Lines<R> {
    /// The name of the file, for errors.
    file: String,
    reader: R,
    line: Vec<u8>,
    /// The number of the line that was read last, from 1.
    pub(crate) number: usize,
}

/// Opens a file or standard input.
///
/// # Errors
/// [`Error::Read`] if the file cannot be opened.
pub(crate) fn open(from: &PathOrStdio) -> Result<Lines<Box<dyn BufRead>>, Error> {
    let file = from.to_string();
    let reader: Box<dyn BufRead> = match from {
        PathOrStdio::Stdio => Box::new(io::stdin().lock()),
        PathOrStdio::Path(path) => match File::open(path) {
            Ok(opened) => Box::new(BufReader::new(opened)),
            Err(source) => return Err(Error::Read { file, source }),
        },
    };
    Ok(Lines::new(file, reader))
}

impl<R: BufRead> Lines<R> {
    /// Reads the lines of `reader`. Errors call it `file`.
    pub(crate) fn new(file: String, reader: R) -> Self {
        Self { file, reader, line: Vec::new(), number: 0 }
    }

    /// Returns the next line without white space around it, or `None` at the end of the file.
    ///
    /// # Errors
    /// [`Error::Read`] if the file cannot be read, [`Error::LongLine`] if the line has more than
    /// [`LONGEST_LINE`] bytes.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        loop {
            self.line.clear();
            // One byte more than the longest line: its line feed, or a sign that it is longer.
            let mut limited = (&mut self.reader).take(LONGEST_LINE as u64 + 1);
            let read = limited.read_until(b'\n', &mut self.line);
            if read.map_err(|source| Error::Read { file: self.file.clone(), source })? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.line.len() > LONGEST_LINE && !self.line.ends_with(b"\n") {
                return Err(Error::LongLine {
                    file: self.file.clone(),
                    line: self.number,
                    limit: LONGEST_LINE,
                });
            }
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
