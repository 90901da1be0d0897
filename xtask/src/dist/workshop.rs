//! Where the files of a release are made, and how programs are called so that no path and no time
//! of this machine reaches them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptx_check::tools;

use crate::{Error, IoContext, Result, isolated, workspace};

/// The folders and the variables of a run.
pub(super) struct Workshop {
    /// What is made.
    pub(super) out: PathBuf,
    /// Where it is built.
    pub(super) work: PathBuf,
    pub(super) version: String,
    /// The time of the commit.
    time: String,
    /// Options of the compiler that replace the paths of this machine.
    flags: String,
}

impl Workshop {
    /// Empties the folder of results.
    ///
    /// # Errors
    /// [`Error::Faults`] if a file differs from the last commit.
    pub(super) fn new() -> Result<Self> {
        let root = workspace::root();
        let git = |arguments: &[&str]| {
            tools::text(Command::new("git").current_dir(&root).args(arguments))
        };
        let changes = git(&["status", "--porcelain"])?;
        let changes = changes.lines().map(Into::into).collect();
        Error::unless_none("these files differ from the last commit", changes)?;
        let time = git(&["log", "-1", "--format=%ct"])?.trim().to_owned();
        let system = tools::text(Command::new("rustc").args(["--print", "sysroot"]))?;
        let flags = [
            (root, "."),
            (isolated::home_of("cargo").join("registry/src"), "registry"),
            (Path::new(system.trim()).join("lib/rustlib/src/rust"), "rust"),
        ]
        .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()))
        .join(" ");
        let (out, work) =
            (workspace::target().join("dist"), workspace::target().join("dist-build"));
        if out.exists() {
            fs::remove_dir_all(&out).at("remove", &out)?;
        }
        for folder in [&out, &work] {
            fs::create_dir_all(folder).at("create", folder)?;
        }
        Ok(Self { out, work, version: env!("CARGO_PKG_VERSION").to_owned(), time, flags })
    }

    /// Calls a program in the root of the workspace. Returns what it prints.
    pub(super) fn call<S: AsRef<OsStr>>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String> {
        self.call_with(program, arguments, &[])
    }

    /// Does the same with more variables.
    pub(super) fn call_with<S: AsRef<OsStr>>(
        &self,
        program: &str,
        arguments: impl IntoIterator<Item = S>,
        variables: &[(&str, &str)],
    ) -> Result<String> {
        let mut command = match program {
            "cargo" => workspace::cargo(),
            program => Command::new(program),
        };
        command
            .current_dir(workspace::root())
            .args(arguments)
            .env("SOURCE_DATE_EPOCH", &self.time)
            .env("CARGO_TARGET_DIR", self.work.join("target"))
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_RELEASE_STRIP", "symbols")
            .env("RUSTFLAGS", &self.flags)
            .envs(variables.iter().copied());
        Ok(tools::text(&mut command)?)
    }

    /// Returns a new folder in the folder of results.
    pub(super) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.out.join(name);
        fs::create_dir_all(&folder).at("create", &folder)?;
        Ok(folder)
    }

    /// Writes a text to the folder of results.
    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<()> {
        let path = self.out.join(name);
        fs::write(&path, text).at("write", &path)
    }

    /// Fills a new folder below that of the work with copies of files, given by their paths and
    /// those in the folder.
    pub(super) fn gather(&self, name: &str, files: &[(PathBuf, String)]) -> Result<PathBuf> {
        let folder = self.work.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).at("remove", &folder)?;
        }
        for (from, to) in files {
            let content = fs::read(from).at("read", from)?;
            self.put(&folder.join(to), content)?;
            let permissions = fs::metadata(from).at("read", from)?.permissions();
            let to = folder.join(to);
            fs::set_permissions(&to, permissions).at("change", &to)?;
        }
        Ok(folder)
    }

    /// Writes a file, and makes its folder if there is none.
    pub(super) fn put(&self, path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).at("create", parent)?;
        }
        fs::write(path, content).at("write", path)
    }

    /// Packs a folder as NAME.tar.gz, in which it is called NAME.
    pub(super) fn pack(&self, folder: &Path, name: &str) -> Result<()> {
        let archive = self.out.join(format!("{name}.tar.gz"));
        let tar = r#"tar --sort=name --mtime=@"$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
            --numeric-owner --mode=u+rw,go=rX --transform="s,^\.,$2," -C "$1" -c . \
            | gzip -9n > "$3""#;
        let script = ["-euo", "pipefail", "-c", tar, "pack"].map(OsStr::new);
        let paths = [folder.as_os_str(), name.as_ref(), archive.as_os_str()];
        self.call("bash", script.into_iter().chain(paths)).map(drop)
    }
}
