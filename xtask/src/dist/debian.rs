//! The package for Debian: the programs, the server as a unit of systemd, and the library for C.

use std::ffi::OsStr;
use std::fs;

use super::notices;
use super::programs::{built, contents, glibc, packages};
use super::workshop::Workshop;
use crate::{IoContext, Result, workspace};

/// Makes the package.
pub(super) fn make(shop: &Workshop) -> Result<()> {
    let (root, built) = (workspace::root(), built(shop));
    let licences = [
        ("LICENSE-MIT", "share/doc/ctru/copyright"),
        ("LICENSE-APACHE", "share/doc/ctru/LICENSE-APACHE"),
    ];
    let folder = shop.gather("debian", &contents(&built, "usr/", LIBRARIES, &licences))?;

    let unit = root.join("deploy/systemd/ctru-server.service");
    let unit = fs::read_to_string(&unit).at("read", &unit)?;
    for (path, text) in [
        ("DEBIAN/control", control(&shop.version, glibc(shop, &built)?)),
        ("usr/lib/systemd/system/ctru-server.service", unit.replace("/usr/local/bin", "/usr/bin")),
        ("usr/lib/sysusers.d/ctru-server.conf", GROUP.to_owned()),
        (&format!("usr/share/doc/ctru/{}", notices::FILE), notices::text(shop, packages())?),
        (&format!("usr/{LIBRARIES}/pkgconfig/ctru.pc"), for_pkg_config(&shop.version)),
    ] {
        shop.put(&folder.join(path), text)?;
    }
    shop.call("chmod", ["-R".as_ref(), "u+rw,go=rX".as_ref(), folder.as_os_str()])?;
    let out = shop.out.join(format!("ctru_{}_amd64.deb", shop.version));
    let build = ["--build", "--root-owner-group", "-Zxz"].map(OsStr::new);
    shop.call("dpkg-deb", build.into_iter().chain([folder.as_os_str(), out.as_os_str()])).map(drop)
}

/// The folder of libraries, below /usr.
const LIBRARIES: &str = "lib/x86_64-linux-gnu";

/// The members of this group may call the server.
const GROUP: &str = "g ctru-clients -\n";

fn control(version: &str, glibc: u32) -> String {
    format!(
        "Package: ctru\nVersion: {version}\nArchitecture: amd64\n\
         Maintainer: The ctru authors <authors@ctru.invalid>\nSection: utils\nPriority: optional\n\
         Depends: libc6 (>= 2.{glibc}), libgcc-s1\n\
         Description: post-quantum KEMs CTRU-Prime and Streamlined NTRU Prime\n \
         The program ctru, the gRPC server ctru-server, the plugin of age, the checker of PTX\n \
         ptx-check, and the library for C. Not standardised and not audited.\n"
    )
}

fn for_pkg_config(version: &str) -> String {
    format!(
        "prefix=/usr\nlibdir=/usr/{LIBRARIES}\nincludedir=${{prefix}}/include\n\n\
         Name: ctru\nDescription: The KEMs CTRU-Prime and Streamlined NTRU Prime\n\
         Version: {version}\nLibs: -L${{libdir}} -lctru\nLibs.private: -lpthread -ldl -lm\n\
         Cflags: -I${{includedir}}\n"
    )
}
