//! Reads the output of `nvdisasm -c -plr -lrm narrow`.
//!
//! Every line of a kernel ends with a row of the table of live ranges. The table has four sections
//! (registers, predicates, uniform registers, uniform predicates) with one column per register. `^`
//! marks a register that the instruction writes, `v` one that it reads, `x` one that it reads and
//! writes, and `:` one that holds a value for a later instruction. A header line that begins with
//! `#` numbers the columns.

use std::collections::HashMap;

use super::operand::{File, Name};
use crate::flow::program::NotUnderstood;

/// A kernel in the listing.
#[derive(Debug, Default)]
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    pub(super) lines: Vec<Line<'a>>,
    /// The labels, each with the index of the instruction after it.
    pub(super) labels: HashMap<&'a str, usize>,
}

/// An instruction in the listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) address: usize,
    /// The text of the instruction without the semicolon.
    pub(super) text: &'a str,
    /// The registers that the table marks as written, sorted.
    pub(super) written: Vec<Name>,
    /// The registers that the table marks as read, sorted.
    pub(super) read: Vec<Name>,
}

/// Reads the kernels of a listing.
pub(super) fn functions(listing: &str) -> Vec<Result<Function<'_>, NotUnderstood>> {
    let mut functions = Vec::new();
    let mut reader: Option<Reader<'_>> = None;
    for line in listing.lines() {
        if let Some(section) = line.strip_prefix("//--------------------- ") {
            functions.extend(reader.take().map(|reader| Ok(reader.function)));
            let section = section.split(' ').next().unwrap_or_default();
            reader = section.strip_prefix(".text.").map(Reader::new);
        } else if let Some(open) = &mut reader
            && let Err(reason) = open.line(line)
        {
            functions.push(Err(NotUnderstood {
                kernel: open.function.name.to_owned(),
                place: format!(
                    "after {:#06x}",
                    open.function.lines.last().map_or(0, |last| last.address)
                ),
                text: format!("{}: {reason}", line.split("//").next().unwrap_or_default().trim()),
            }));
            reader = None;
        }
    }
    functions.extend(reader.map(|reader| Ok(reader.function)));
    functions
}

struct Reader<'a> {
    function: Function<'a>,
    /// The kind of registers of each section of the table, and the position of its first column.
    /// Empty before the header.
    sections: Vec<(File, Option<usize>)>,
}

impl<'a> Reader<'a> {
    fn new(name: &'a str) -> Self {
        Self { function: Function { name, ..Function::default() }, sections: Vec::new() }
    }

    fn line(&mut self, line: &'a str) -> Result<(), String> {
        let (text, table) =
            line.split_once("// |").unwrap_or((line.split("//").next().unwrap_or(line), ""));
        let text = text.trim();
        if let Some(label) = text.strip_suffix(':') {
            if self.function.labels.insert(label, self.function.lines.len()).is_some() {
                return Err("the label exists twice".into());
            }
        } else if let Some(rest) = text.strip_prefix("/*") {
            let line = self.instruction(rest, table)?;
            self.function.lines.push(line);
        } else if text.is_empty() {
            if table.contains("GPR") || table.contains('#') {
                self.header(table)?;
            }
        } else if !text.starts_with('.') {
            return Err("the line is neither an instruction nor a directive".into());
        }
        Ok(())
    }

    fn instruction(&self, rest: &'a str, table: &str) -> Result<Line<'a>, String> {
        let (address, text) = rest.split_once("*/").ok_or("the instruction has no address")?;
        let address = usize::from_str_radix(address, 16).map_err(|_| "the address is no number")?;
        let text = text
            .trim()
            .strip_suffix(';')
            .ok_or("the instruction does not end with a semicolon")?
            .trim_end();
        let (mut written, mut read) = (Vec::new(), Vec::new());
        let cells: Vec<&str> = cells(table);
        if self.sections.is_empty() || cells.len() != self.sections.len() {
            return Err("the instruction has no live ranges".into());
        }
        for (cell, &(file, start)) in cells.iter().zip(&self.sections) {
            let Some(start) = start else { continue };
            for (number, mark) in cell.bytes().skip(start).enumerate() {
                let name = || Name::new(file, number);
                match mark {
                    b' ' | b':' => {}
                    b'^' => written.push(name()?),
                    b'v' => read.push(name()?),
                    b'x' => {
                        written.push(name()?);
                        read.push(name()?);
                    }
                    _ => return Err("unknown mark in the live ranges".into()),
                }
            }
        }
        Ok(Line { address, text, written, read })
    }

    /// Reads one of the two lines of the header: the names of the sections, or the numbers of their
    /// columns.
    fn header(&mut self, table: &str) -> Result<(), String> {
        let cells = cells(table);
        if table.contains("GPR") {
            let file = |cell: &&str| match cell.trim() {
                "GPR" => Ok((File::General, None)),
                "PRED" => Ok((File::Predicate, None)),
                "UGPR" => Ok((File::Uniform, None)),
                "UPRED" => Ok((File::UniformPredicate, None)),
                _ => Err("unknown section of the live ranges".to_owned()),
            };
            self.sections = cells.iter().map(file).collect::<Result<_, _>>()?;
            return Ok(());
        }
        if cells.len() != self.sections.len() {
            return Err("the live ranges have no header".into());
        }
        for (cell, (_, start)) in cells.iter().zip(&mut self.sections) {
            *start = cell.find("# ").map(|position| position + 2);
            let digits = cell[start.unwrap_or(cell.len())..].trim_end();
            let in_order =
                digits.bytes().enumerate().all(|(at, digit)| digit == b'0' + (at % 10) as u8);
            if !in_order || start.is_none() && !cell.trim().is_empty() {
                return Err("the columns of the live ranges are not in order".into());
            }
        }
        Ok(())
    }
}

/// Splits a row of the table into its sections.
fn cells(table: &str) -> Vec<&str> {
    let mut cells: Vec<&str> = table.split('|').collect();
    // Nothing follows the last bar.
    cells.pop();
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"	.target	sm_90
//--------------------- .nv.info.a_653            --------------------------
        /*0000*/ 	.byte	0x04, 0x37
//--------------------- .text.a_653 --------------------------
	.section	.text.a_653,"ax",@progbits
                                     // +------------+------------+------+-------+
                                     // |   GPR      |   PRED     | UGPR | UPRED |
                                     // |   # 012    |  # 0       | # 01 |       |
                                     // +------------+------------+------+-------+
a_653:                               // |            |            |      |       |
.text.a_653:                         // |            |            |      |       |
        /*0000*/   IMAD R2, R0, UR1, R2 ; // |   2 v:x    |  1 :       | 2 :v |       |
.L_x_1:                              // +............+............+......+.......+
        /*0010*/   @P0 MOV R1, R2 ;  // |   2  ^v    |  1 v       |      |       |
        /*0020*/   BRA `(.L_x_1);    // |   2        |            |      |       |

                                     // Legend:
                                     //     ^       : Register assignment
//--------------------- SYMBOLS --------------------------
"#;

    #[test]
    fn reads_instructions_and_live_ranges() {
        let functions = functions(LISTING);
        assert_eq!(functions.len(), 1);
        let Function { name, lines, labels } = functions[0].as_ref().unwrap();
        assert_eq!((*name, lines.len(), labels[".L_x_1"]), ("a_653", 3, 1));
        let general = |number| Name::new(File::General, number).unwrap();
        let uniform = Name::new(File::Uniform, 1).unwrap();
        let predicate = Name::new(File::Predicate, 0).unwrap();
        assert_eq!((lines[0].address, lines[0].text), (0, "IMAD R2, R0, UR1, R2"));
        assert_eq!(lines[0].written, [general(2)]);
        assert_eq!(lines[0].read, [general(0), general(2), uniform]);
        assert_eq!(lines[1].written, [general(1)]);
        assert_eq!(lines[1].read, [general(2), predicate]);
        assert_eq!(lines[2].text, "BRA `(.L_x_1)");
    }

    #[test]
    fn refuses_what_it_cannot_read() {
        for (good, bad) in [
            ("2 v:x", "2 v:y"),
            ("# 012", "# 013"),
            ("| UGPR |", "| XGPR |"),
            ("MOV R1, R2 ;", "MOV R1, R2  "),
            ("/*0010*/", "/*00g0*/"),
            ("a_653:  ", "what is this"),
            ("|   2 v:x    |  1 :       | 2 :v |       |", ""),
        ] {
            assert!(LISTING.contains(good));
            assert!(functions(&LISTING.replacen(good, bad, 1))[0].is_err(), "{bad}");
        }
    }
}
