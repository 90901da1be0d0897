//! Checks the length of lines.
//!
//! Two kinds of lines may be longer, because they cannot be broken: a row of a Markdown table, and
//! a line that is short enough without its longest web address.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{IoContext, Result, process};

/// The largest number of columns of a line.
pub const LONGEST: usize = 100;

/// The endings of the names of checked files. All scripts in `.ci` are checked, too, but not its
/// lists of packages, which other programs write.
const TEXTS: &[&str] = &[".rs", ".md", ".toml", ".sh", ".c", ".py", ".yml"];

/// Returns the files to check: those that git tracks in the workspace at `root`.
///
/// # Errors
/// If git fails.
pub fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let list = process::text(Command::new("git").current_dir(root).arg("ls-files"))?;
    let is_script = |name: &str| name.starts_with(".ci/") && !name.starts_with(".ci/packages/");
    let is_text = |name: &&str| is_script(name) || TEXTS.iter().any(|end| name.ends_with(end));
    Ok(list.lines().filter(is_text).map(PathBuf::from).filter(|p| root.join(p).is_file()).collect())
}

/// Returns a message for each line of a file that is too long.
///
/// # Errors
/// If the file cannot be read.
pub fn faults(root: &Path, file: &Path) -> Result<Vec<String>> {
    let path = root.join(file);
    let text = fs::read_to_string(&path).at("read", &path)?;
    let is_markdown = file.extension().is_some_and(|end| end == "md");
    let too_long = |(index, line): (usize, &str)| {
        let columns = line.chars().count();
        let is_row = is_markdown && line.trim_start().starts_with('|');
        (columns > LONGEST && !is_row && columns - address(line) > LONGEST)
            .then(|| format!("{}:{}: {columns} columns", file.display(), index + 1))
    };
    Ok(text.lines().enumerate().filter_map(too_long).collect())
}

/// Returns the number of columns of the longest web address in a line.
fn address(line: &str) -> usize {
    let words = line.split_whitespace().filter(|word| word.contains("://"));
    words.map(|word| word.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(name: &str, text: &str) -> usize {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(name), text).unwrap();
        faults(root.path(), Path::new(name)).unwrap().len()
    }

    #[test]
    fn long_lines_are_faults() {
        let (longest, longer) = ("ä".repeat(100), "ä".repeat(101));
        assert_eq!(count("a.rs", &format!("{longest}\n{longest}\n")), 0);
        assert_eq!(count("a.rs", &format!("{longest}\n{longer}\n")), 1);
        assert_eq!(count("a.md", &longer), 1);
    }

    #[test]
    fn rows_and_addresses_cannot_be_broken() {
        let row = format!("| {} |", "a".repeat(100));
        assert_eq!((count("a.md", &row), count("a.rs", &row)), (0, 1));
        let address = format!("//! See https://{}", "a".repeat(100));
        assert_eq!(count("a.rs", &address), 0);
        assert_eq!(count("a.rs", &format!("{address} {}", "a".repeat(100))), 1);
    }
}
