//! Runs programs apart from the user's environment, and cargo apart from the user's configuration,
//! so that neither changes a kernel.
//!
//! Cargo reads the files `.cargo/config.toml` of its working folder and of all folders above, and
//! one in its home. Flags for the compiler, profiles, wrappers of the compiler and variables may
//! stand there. So cargo runs in an empty folder, with a home of its own, whose configuration has
//! what says where packages come from and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use toml::{Table, Value};

use crate::{Error, IoContext, Result};

/// The variables that a program keeps: they say where programs, packages and certificates are.
const VARIABLES: &[&str] = &[
    "ALL_PROXY",
    "APPDATA",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "PATH",
    "RUSTUP_HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "USERPROFILE",
];

/// The beginnings of further variables that a program keeps.
const BEGINNINGS: &[&str] = &["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"];

/// The parts of cargo's configuration that say where packages come from.
const TABLES: &[&str] = &["http", "net", "patch", "paths", "registries", "registry", "source"];

/// Removes all variables from the environment of `command` that could change what it does.
pub(crate) fn program(mut command: Command) -> Command {
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy().to_uppercase();
        VARIABLES.contains(&&*name) || BEGINNINGS.iter().any(|start| name.starts_with(start))
    }));
    command
}

/// Lets `command`, which calls cargo, take the packages that cargo takes in `folder`, and no other
/// setting. `home` is the folder for cargo's home. The command must end before the result is
/// dropped.
///
/// # Errors
/// [`Error::Unusable`] if a file of configuration cannot be read or would be read all the
/// same; [`Error::Io`].
pub(crate) fn cargo(command: &mut Command, folder: &Path, home: &Path) -> Result<TempDir> {
    let user = home_of("cargo");
    fs::create_dir_all(home).at("create", home)?;
    for place in ["registry", "git"] {
        // Packages that cargo loads are for later calls, too.
        let place = user.join(place);
        fs::create_dir_all(&place).at("create", &place)?;
    }
    for entry in fs::read_dir(&user).at("read", &user)? {
        let entry = entry.at("read", &user)?;
        let link = home.join(entry.file_name());
        let is_known = fs::read_link(&link).is_ok_and(|target| target == entry.path());
        if !is_known && !["config", "config.toml"].map(Into::into).contains(&entry.file_name()) {
            match link_to(&entry.path(), &link) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => linked.at("link", &link)?,
            }
        }
    }
    let mut settings = Table::new();
    let folders = folder.ancestors().map(|folder| folder.join(".cargo"));
    for file in folders.chain([user]).filter_map(|folder| configuration(&folder)) {
        merge(&mut settings, packages(&file)?);
    }
    let file = home.join("config.toml");
    fs::write(&file, settings.to_string()).at("write", &file)?;

    let empty = tempfile::tempdir().at("create", &std::env::temp_dir())?;
    let above = empty.path().ancestors().find_map(|folder| configuration(&folder.join(".cargo")));
    if let Some(path) = above {
        let reason = "cargo would read it for kernels; set TMPDIR to a folder without \
                      .cargo/config.toml in it or above it"
            .to_owned();
        return Err(Error::Unusable { path, reason });
    }
    command.env("CARGO_HOME", home).current_dir(empty.path());
    Ok(empty)
}

/// Returns the home of `cargo` or `rustup`, as the variable `CARGO_HOME` or `RUSTUP_HOME` says.
pub(crate) fn home_of(tool: &str) -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default().join(format!(".{tool}"));
    let variable = format!("{}_HOME", tool.to_uppercase());
    std::env::var_os(variable).map_or_else(home, Into::into)
}

/// Returns the file of configuration in a folder, if there is one.
fn configuration(folder: &Path) -> Option<PathBuf> {
    ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|file| file.is_file())
}

/// Returns what a file of configuration says about the places of packages. Paths in it are relative
/// to the folder above the file's own folder.
fn packages(file: &Path) -> Result<Table> {
    let text = fs::read_to_string(file).at("read", file)?;
    let mut settings: Table = text.parse().map_err(|error: toml::de::Error| Error::Unusable {
        path: file.to_owned(),
        reason: error.to_string(),
    })?;
    settings.retain(|name, _| TABLES.contains(&name));
    let base = file.parent().and_then(Path::parent).unwrap_or(file);
    for (name, value) in &mut settings {
        make_absolute(value, base, name == "paths");
    }
    Ok(settings)
}

/// Makes the paths in a part of the configuration absolute. `is_path` says whether texts in `value`
/// are paths.
fn make_absolute(value: &mut Value, base: &Path, is_path: bool) {
    match value {
        Value::String(text) if is_path => *text = base.join(&*text).to_string_lossy().into_owned(),
        Value::Array(values) => {
            values.iter_mut().for_each(|value| make_absolute(value, base, is_path));
        }
        Value::Table(table) => {
            for (name, value) in table {
                let paths = ["path", "directory", "local-registry", "cainfo", "proxy-cainfo"];
                make_absolute(value, base, paths.contains(&&**name));
            }
        }
        _ => {}
    }
}

/// Adds to `settings` what it does not have of `further`.
fn merge(settings: &mut Table, further: Table) {
    for (name, value) in further {
        match (settings.get_mut(&name), value) {
            (Some(Value::Table(own)), Value::Table(further)) => merge(own, further),
            (Some(Value::Array(own)), Value::Array(further)) => own.extend(further),
            (Some(_), _) => {}
            (None, value) => drop(settings.insert(name, value)),
        }
    }
}

#[cfg(unix)]
fn link_to(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
fn link_to(target: &Path, link: &Path) -> io::Result<()> {
    use std::os::windows::fs;
    if target.is_dir() { fs::symlink_dir(target, link) } else { fs::symlink_file(target, link) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_places_of_packages_only() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".cargo")).unwrap();
        let file = folder.path().join(".cargo/config.toml");
        let text = "paths = ['a']\n[build]\nrustflags = ['-Ctarget-cpu=native']\n[env]\nA = 'b'\n\
                    [patch.crates-io]\nsimt.path = '../simt'\nother.git = 'https://a/b'\n\
                    [profile.release]\ndebug = true\n[unstable]\nbuild-std = ['std']\n";
        fs::write(&file, text).unwrap();
        let mut settings = packages(&file).unwrap();
        let base = folder.path().display();
        let expected = format!(
            "paths = ['{base}/a']\n[patch.crates-io]\nsimt.path = '{base}/../simt'\n\
             other.git = 'https://a/b'\n"
        );
        assert_eq!(settings, expected.parse::<Table>().unwrap());
        merge(&mut settings, "paths = ['/c']\npatch.crates-io.simt.path = '/d'".parse().unwrap());
        let paths = format!("paths = ['{base}/a', '/c']");
        assert_eq!(settings["paths"], paths.parse::<Table>().unwrap()["paths"]);
        assert_eq!(
            settings["patch"]["crates-io"]["simt"]["path"].as_str(),
            Some(format!("{base}/../simt").as_str())
        );
    }

    #[test]
    fn programs_do_not_see_the_environment() {
        let command = program(Command::new("cargo"));
        let names: Vec<_> =
            command.get_envs().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert!(names.contains(&"PATH".to_owned()), "{names:?}");
        // Cargo sets these for tests.
        assert!(!names.iter().any(|name| name.starts_with("CARGO_MANIFEST")), "{names:?}");
        assert!(!names.contains(&"CARGO".to_owned()), "{names:?}");
    }
}
