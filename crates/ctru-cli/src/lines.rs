//! Reads files that hold one object per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::mem;

use crate::error::Error;
use crate::names::PathOrStdio;

/// The largest number of bytes of a line. The longest records are known answers of the largest
/// set, with less than 20 KiB. Without a limit, a file such as `/dev/zero` would fill the memory.
const LONGEST_LINE: usize = 64 * 1024;

/// Reads the lines of a file, except for blank lines.
pub(crate) struct Lines {
    /// The name of the file, for errors.
    file: String,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    /// Whether the last line ended with CR, so that an LF belongs to it.
    after_cr: bool,
    /// The number of the line that was read last, from 1.
    pub(crate) number: usize,
}

/// Opens a file or standard input.
///
/// # Errors
/// [`Error::Read`] if the file cannot be opened.
pub(crate) fn open(from: &PathOrStdio) -> Result<Lines, Error> {
    let file = from.to_string();
    let reader: Box<dyn BufRead> = match from {
        PathOrStdio::Stdio => Box::new(io::stdin().lock()),
        PathOrStdio::Path(path) => match File::open(path) {
            Ok(opened) => Box::new(BufReader::new(opened)),
            Err(source) => return Err(Error::Read { file, source }),
        },
    };
    Ok(Lines { file, reader, line: Vec::new(), after_cr: false, number: 0 })
}

impl Lines {
    /// Returns the next line without white space around it and without a byte order mark of UTF-8
    /// before it, or `None` at the end of the file. A line ends with LF, CR or both.
    ///
    /// # Errors
    /// [`Error::Read`] if the file cannot be read, [`Error::LongLine`] if the line has more than
    /// [`LONGEST_LINE`] bytes, [`Error::Utf16`] if a line begins with a byte order mark of UTF-16.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Error> {
        loop {
            self.line.clear();
            let read = self.read_line();
            if !read.map_err(|source| Error::Read { file: self.file.clone(), source })? {
                return Ok(None);
            }
            self.number += 1;
            if self.line.len() > LONGEST_LINE {
                return Err(Error::LongLine {
                    file: self.file.clone(),
                    line: self.number,
                    limit: LONGEST_LINE,
                });
            }
            if [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| self.line.starts_with(&mark[..])) {
                return Err(Error::Utf16 { file: self.file.clone() });
            }
            let line = self.line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.line);
            let start = self.line.len() - line.len();
            if !line.trim_ascii().is_empty() {
                return Ok(Some(self.line[start..].trim_ascii()));
            }
        }
    }

    /// Reads a line without its end, or the first bytes of one that is too long. Returns `false` at
    /// the end of the file.
    fn read_line(&mut self) -> io::Result<bool> {
        let mut is_there = false;
        loop {
            let bytes = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            if bytes.is_empty() {
                return Ok(is_there);
            }
            if mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                self.reader.consume(1);
                continue;
            }
            is_there = true;
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let line = &bytes[..end.unwrap_or(bytes.len())];
            // One byte more than the longest line shows that it is longer.
            let kept = line.len().min(LONGEST_LINE + 1 - self.line.len());
            self.line.extend_from_slice(&line[..kept]);
            if self.line.len() > LONGEST_LINE {
                return Ok(true);
            }
            self.after_cr = end.is_some_and(|end| bytes[end] == b'\r');
            let used = line.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// Returns the message of an error in a single line, without the line number 1 that the parser
/// adds.
pub(crate) fn problem(error: &serde_json::Error) -> String {
    ctru_program::visible(error.to_string().replace(" at line 1 column", " at column"))
}
