//! Crates with kernels of any purpose, which `build-ptx --manifest-path` compiles.
//!
//! Such a crate has a library. Its kernels come from `ctru_simt::kernels!`. What the crate states
//! in its `Cargo.toml` under `[package.metadata.ptx]` is read as [`Settings`].

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::compiler::Compiler;
use crate::kernels::{How, Kernels, Package};
use crate::manifest::{self, ARCH, Manifest, Origin, TARGET};
use crate::workspace::{Metadata, Target};
use crate::{Error, IoContext, Result, sources};

/// The settings of a crate, in `[package.metadata.ptx]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Settings {
    /// The oldest architecture that runs the PTX. Without it, `sm_80`.
    arch: Option<String>,
    /// The features with which the crate is compiled.
    features: Vec<String>,
    /// Arguments of LLVM, such as `-unroll-threshold=1000`.
    llvm_args: Vec<String>,
    /// Whether the content of all arrays is secret, so that the kernels must not leak it.
    secrets: bool,
}

/// A crate with kernels.
#[derive(Debug)]
pub(crate) struct OwnKernels {
    /// The name of the package.
    name: String,
    /// The folder of the crate.
    folder: PathBuf,
    /// The folder of its workspace.
    workspace: PathBuf,
    /// The folder of the compiler's results.
    target: PathBuf,
    /// The name of the library, with `_`.
    library: String,
    settings: Settings,
}

impl OwnKernels {
    /// Reads the crate whose `Cargo.toml` is at `path`.
    ///
    /// # Errors
    /// If cargo cannot read it, if the settings are wrong, or if the crate has no library.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let manifest_path = fs::canonicalize(path).at("find", path)?;
        let metadata = Metadata::read(&manifest_path)?;
        let is_library = |target: &Target| {
            let kinds = ["lib", "rlib", "cdylib"];
            target.kind.iter().any(|kind| kinds.contains(&&**kind))
        };
        let package =
            metadata.packages.into_iter().find(|package| package.manifest_path == manifest_path);
        let package = package.and_then(|package| {
            let library = package.targets.into_iter().find(is_library)?.name;
            Some((package.name, library, package.metadata))
        });
        let Some((name, library, own)) = package else {
            return Err(Error::NoLibrary { path: manifest_path });
        };
        let settings: Option<Settings> =
            serde_json::from_value(own["ptx"].clone()).map_err(|source| {
                let what = format!("[package.metadata.ptx] in {}", path.display());
                Error::Json { what, source }
            })?;
        Ok(Self {
            folder: manifest_path.parent().unwrap_or(&manifest_path).to_owned(),
            name,
            workspace: metadata.workspace_root,
            target: metadata.target_directory.join("ptx"),
            library: library.replace('-', "_"),
            settings: settings.unwrap_or_default(),
        })
    }

    /// Returns the path of a committed file.
    fn committed(&self, ending: &str) -> PathBuf {
        self.folder.join("ptx").join(format!("{}.{ending}", self.library))
    }

    fn flags(&self) -> Vec<String> {
        manifest::flags(self.settings.llvm_args.iter().map(String::as_str))
    }

    /// Returns the files from which cargo has compiled the crate, relative to its folder: its
    /// `Cargo.toml`, and the Rust code of its workspace. The lock file fixes the packages of
    /// registries. Nothing fixes packages in folders outside the workspace.
    fn files(&self) -> Result<Vec<String>> {
        let list = self.target.join(TARGET).join(format!("release/{}.d", self.library));
        let text = fs::read_to_string(&list).at("read", &list)?;
        let (_, files) = text.split_once(": ").unwrap_or_default();
        // In this list, a backslash stands before each space of a name.
        let files = files.trim_end().replace("\\ ", "\0");
        let files = files.split(' ').map(|file| file.replace('\0', " "));
        let is_own = |file: &String| Path::new(file).starts_with(&self.workspace);
        let code = files.filter(|file| file.ends_with(".rs") && is_own(file));
        let relative = |file: String| relative(&self.folder, Path::new(&file));
        Ok(["Cargo.toml".to_owned()].into_iter().chain(code.map(relative)).collect())
    }
}

/// Returns the path of `file` relative to `folder`, with `/` between its parts.
fn relative(folder: &Path, file: &Path) -> String {
    let (folder, file): (Vec<_>, Vec<_>) =
        (folder.components().collect(), file.components().collect());
    let shared = folder.iter().zip(&file).take_while(|(a, b)| a == b).count();
    let up = folder[shared..].iter().map(|_| Component::ParentDir);
    let parts = up.chain(file[shared..].iter().copied());
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

impl Kernels for OwnKernels {
    fn ptx(&self) -> PathBuf {
        self.committed("ptx")
    }

    fn manifest(&self) -> PathBuf {
        self.committed("json")
    }

    fn arch(&self) -> &str {
        self.settings.arch.as_deref().unwrap_or(ARCH)
    }

    fn are_secret(&self) -> bool {
        self.settings.secrets
    }

    fn compile(&self, compiler: &Compiler, arch: &str, how: How) -> Result<String> {
        // The kernels embed their PTX, so there must be a file before the first build.
        let ptx = self.ptx();
        if !ptx.exists() {
            if let Some(folder) = ptx.parent() {
                fs::create_dir_all(folder).at("create", folder)?;
            }
            fs::write(&ptx, "").at("write", &ptx)?;
        }
        let package = Package {
            folder: &self.folder,
            name: &self.name,
            library: &self.library,
            features: &self.settings.features.join(","),
            target: &self.target,
        };
        package.assembly(compiler, arch, how, &self.flags())
    }

    fn origin(&self, committed: Option<&Manifest>) -> Result<Origin> {
        let files = match committed {
            Some(manifest) => manifest.sources_sha256.keys().cloned().collect(),
            None => self.files()?,
        };
        let hash = |file: String| match fs::read_to_string(self.folder.join(&file)) {
            // On Windows, git may check files out with \r\n, which must not change the hash.
            Ok(text) => (file, sources::sha256(text.replace("\r\n", "\n").as_bytes())),
            Err(_) => (file, "missing".to_owned()),
        };
        Ok(Origin {
            arch: self.arch().into(),
            flags: self.flags(),
            sources_sha256: files.into_iter().map(hash).collect::<BTreeMap<_, _>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_crate() {
        let folder = Path::new("/a/b/kernels");
        assert_eq!(relative(folder, Path::new("/a/b/kernels/src/lib.rs")), "src/lib.rs");
        assert_eq!(relative(folder, Path::new("/a/simt/lib.rs")), "../../simt/lib.rs");
    }
    #[test]
    fn settings_are_optional() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/lib.rs"), "").unwrap();
        let (path, package) =
            (folder.path().join("Cargo.toml"), "[workspace]\n[package]\nname='k'\n");
        for (metadata, arch) in
            [("", ARCH), ("metadata='words'", ARCH), ("metadata.ptx.arch='sm_90'", "sm_90")]
        {
            fs::write(&path, format!("{package}{metadata}")).unwrap();
            assert_eq!(OwnKernels::read(&path).unwrap().arch(), arch, "{metadata}");
        }
    }
}
