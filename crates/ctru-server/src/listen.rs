//! Addresses, and the sockets that accept connections there.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::str::FromStr;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::connection::Connections;
use crate::identity::Source;

/// An address to listen on: `HOST:PORT`, or `unix:PATH` for a socket in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address of TCP.
    Tcp(SocketAddr),
    /// A path.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("there is no path after `unix:`".into()),
            Some(path) => Ok(Self::Unix(path.into())),
            None => text
                .parse()
                .map(Self::Tcp)
                .map_err(|_| "an address is IP:PORT, such as 127.0.0.1:50051, or unix:PATH".into()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Returns whether other machines can reach the address.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Self::Tcp(address) if !address.ip().is_loopback())
    }
}

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    /// The path is dropped first, because another file may get the inode number of this one after
    /// the socket is closed.
    #[cfg(unix)]
    Unix(Socket, tokio::net::UnixListener),
}

/// The path of a socket, which is removed when the value is dropped, unless something else is there
/// by then.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    /// The device and the inode number of the file.
    file: (u64, u64),
}

#[cfg(unix)]
impl Socket {
    /// Returns the device and the inode number of the file at a path.
    ///
    /// # Errors
    /// If there is none.
    fn file(path: &Path) -> io::Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
    }
}

#[cfg(unix)]
impl Drop for Socket {
    fn drop(&mut self) {
        if Self::file(&self.path).is_ok_and(|file| file == self.file) {
            // There is nothing to do about a path that cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    /// Listens on an address.
    ///
    /// # Errors
    /// If the system refuses the address.
    pub(crate) async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => Ok(Self::Tcp(TcpListener::bind(address).await?)),
            #[cfg(unix)]
            Address::Unix(path) => {
                remove_dead(path).await?;
                let listener = tokio::net::UnixListener::bind(path)?;
                let socket = Socket { path: path.clone(), file: Socket::file(path)? };
                Ok(Self::Unix(socket, listener))
            }
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the address, with the port that the system has chosen.
    ///
    /// # Errors
    /// If the system does not say.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            #[cfg(unix)]
            Self::Unix(socket, _) => Ok(Address::Unix(socket.path.clone())),
        }
    }

    /// Accepts connections until the server is going down.
    pub(crate) async fn run(self, connections: Connections) {
        let mut stages = connections.stages.clone();
        let mut left = pin!(stages.left());
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut left => return,
                accepted = self.accept(&connections) => accepted,
            };
            if let Err(error) = accepted {
                // The process may have too many open files; some will be closed.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// Accepts a connection, and serves it in a task of its own.
    async fn accept(&self, connections: &Connections) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => {
                let (stream, client) = listener.accept().await?;
                // Without this, small answers are slower.
                let _ = stream.set_nodelay(true);
                let source = Source::at(client.ip());
                connections.begin(stream, source, connections.tls.clone(), client);
            }
            #[cfg(unix)]
            Self::Unix(_, listener) => {
                let (stream, _) = listener.accept().await?;
                let user = stream.peer_cred().map(|credentials| credentials.uid());
                let source = user.map_or(Source::Unknown, Source::User);
                connections.begin(stream, source, None, "a socket in the file system");
            }
        }
        Ok(())
    }
}

/// Removes a socket on which nobody listens, which a killed server has left.
///
/// # Errors
/// If somebody listens, or if the path is not a socket.
#[cfg(unix)]
async fn remove_dead(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if !found.file_type().is_socket() => Err(io::ErrorKind::AlreadyExists.into()),
        Ok(_) => match tokio::net::UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::fs::remove_file(path)
            }
            _ => Err(io::ErrorKind::AddrInUse.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["127.0.0.1:50051", "[::1]:0", "unix:/run/ctru/socket"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for wrong in ["", "localhost:1", "127.0.0.1", "unix:"] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
        let is_remote = |text: &str| text.parse::<Address>().unwrap().is_remote();
        assert!(is_remote("0.0.0.0:1") && is_remote("[::]:1") && is_remote("10.0.0.1:1"));
        assert!(!is_remote("127.0.0.9:1") && !is_remote("[::1]:1") && !is_remote("unix:a"));
    }
}
