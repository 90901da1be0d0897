//! Makes the files of a release.

mod debian;
mod notices;
mod packages;
mod paths;
mod programs;
mod workshop;

use std::fs;
use std::time::Instant;

use crate::{Error, IoContext, Result, sources, workspace};
use workshop::Workshop;

/// A kind of files, and what makes them.
type Part = (&'static str, fn(&Workshop) -> Result<()>);

/// The kinds in order: some use files of those before them.
const PARTS: [Part; 8] = [
    ("crates", packages::crates),
    ("wheels", packages::wheels),
    ("npm package", packages::npm),
    ("programs", programs::make),
    ("Debian package", debian::make),
    ("site", packages::site),
    ("lists", lists),
    ("search for paths", paths::search),
];

/// Runs the job.
///
/// # Errors
/// [`Error`] if a file differs from the last commit, if a program fails, if a file cannot be read
/// or written, if the notes are not those of the version, or if what was made contains a path of
/// this machine.
pub fn run() -> Result<()> {
    let shop = Workshop::new()?;
    for (name, make) in PARTS {
        let start = Instant::now();
        make(&shop)?;
        println!("{:4} s: {name}", start.elapsed().as_secs());
    }
    Ok(())
}

/// Writes the bill of materials, the notes and the sums.
fn lists(shop: &Workshop) -> Result<()> {
    packages::materials(shop)?;
    let path = workspace::root().join("CHANGELOG.md");
    let changes = fs::read_to_string(&path).at("read", &path)?;
    let version = &shop.version;
    let notes =
        notes(&changes, version).ok_or_else(|| Error::NoNotes { version: version.clone() })?;
    shop.write("NOTES.md", notes)?;
    let mut sums = String::new();
    for path in sources::files(&shop.out)? {
        let bytes = fs::read(&path).at("read", &path)?;
        let name = path.strip_prefix(&shop.out).unwrap_or(&path).display();
        sums += &format!("{}  {name}\n", sources::sha256(&bytes));
    }
    shop.write("SHA256SUMS", &sums)
}

/// Returns the section of the newest release, without its heading, if it is that of the version.
fn notes<'a>(changes: &'a str, version: &str) -> Option<&'a str> {
    let (_, section) = changes.split_once("\n## ")?;
    let (heading, section) = section.split_once('\n')?;
    let section = section.split("\n## ").next().map(str::trim_start);
    section.filter(|_| heading.split(' ').next() == Some(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_those_of_the_newest_release() {
        let changes =
            "# Changelog\n\nText.\n\n## 0.2.0 - day\n\nNew.\n\n### Added\n\n- a\n\n## 0.1.0\n";
        assert_eq!(notes(changes, "0.2.0"), Some("New.\n\n### Added\n\n- a\n"));
        for (changes, version) in [(changes, "0.1.0"), (changes, "0.2"), ("# Changelog\n", "0.1.0")]
        {
            assert_eq!(notes(changes, version), None);
        }
    }
}
