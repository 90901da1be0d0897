//! The program: signals, restarts, logs, and its command line.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ctru_server::client::{Client, Retries};
use ctru_server::proto::DescribeRequest;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::{NamedTempFile, TempDir};

use crate::authority::{Authority, write_private};
use crate::common::{
    decapsulate, encapsulate, get, load_private, pair, sealing_keys, start_fast, until,
};

/// A process, which is killed when the value is dropped.
pub(crate) struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    pub(crate) fn start(arguments: &[&str], log: File) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-server"));
        command.arg("serve").args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.stderr(log).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id() as i32), signal).unwrap();
    }

    /// Waits for the end, and returns the exit status.
    pub(crate) fn wait(&mut self) -> i32 {
        wait_for("the end", || self.0.try_wait().unwrap()).code().unwrap()
    }

    /// Ends the server, which must finish its calls.
    pub(crate) fn end(&mut self) {
        self.signal(Signal::SIGTERM);
        assert_eq!(self.wait(), 0);
    }
}

/// A program that serves, with sealing keys and metrics.
pub(crate) struct Served {
    pub(crate) program: Program,
    /// The folder of the log.
    pub(crate) folder: TempDir,
    pub(crate) keys: NamedTempFile,
    pub(crate) port: u16,
    pub(crate) admin: SocketAddr,
    pub(crate) client: Client,
}

impl Served {
    /// Starts a program with some more arguments, and waits until it answers.
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let (folder, keys, port) = (tempfile::tempdir().unwrap(), sealing_keys(), free_port());
        let admin = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let (listen, admin_listen) = (format!("127.0.0.1:{port}"), admin.to_string());
        let mut all = vec!["--listen", &listen, "--admin-listen", &admin_listen];
        all.extend(["--sealing-key-file", keys.path().to_str().unwrap()]);
        all.extend(arguments);
        let program = Program::start(&all, log(&folder));
        let client = client(port);
        client.describe().await.unwrap();
        Self { program, folder, keys, port, admin, client }
    }
}

pub(crate) fn client(port: u16) -> Client {
    let retries = Retries { attempts: 20, ..Retries::default() };
    Client::at(format!("http://127.0.0.1:{port}"), retries).unwrap()
}

/// Returns a port on which nobody listens. It is none of those that a system gives to whoever asks
/// for any, as other tests do meanwhile.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // Other processes of tests begin elsewhere.
    let first = 101 * std::process::id() as usize;
    let next = || 20_000 + ((first + NEXT.fetch_add(1, Ordering::Relaxed)) % 11_999) as u16;
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    (0..11_999).map(|_| next()).find(is_free).unwrap()
}

pub(crate) fn log(folder: &TempDir) -> File {
    let path = folder.path().join("log");
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}

/// Calls a server from many tasks until it is told to stop. Each answer must be right.
struct Load {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    async fn start(client: &Client) -> Self {
        let pair = pair(&mut client.calls()).await;
        let (is_over, done): (Arc<AtomicBool>, Arc<AtomicUsize>) = Default::default();
        let task = |_| {
            let (client, pair) = (client.clone(), pair.clone());
            let (is_over, done) = (Arc::clone(&is_over), Arc::clone(&done));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let sent = client.encapsulate(encapsulate(&pair, 3)).await.unwrap();
                    let back = decapsulate(&pair, sent.ciphertexts);
                    let received = client.decapsulate(back).await.unwrap();
                    assert_eq!(received.shared_secrets, sent.shared_secrets);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let tasks = (0..16).map(task).collect();
        Self { is_over, done, tasks }
    }

    /// Waits until a number of further calls have succeeded.
    async fn wait_for(&self, calls: usize) {
        let (start, before) = (Instant::now(), self.done.load(Ordering::Relaxed));
        while self.done.load(Ordering::Relaxed) < before + calls {
            assert!(start.elapsed() < Duration::from_secs(20), "the load has stopped");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
    }
}

/// A server is killed and started again, and then told to leave while another takes its place. The
/// clients repeat their calls, and see no error. Keys that the first one has sealed are still good.
#[tokio::test(flavor = "multi_thread")]
async fn clients_survive_restarts() {
    let (folder, keys, port) = (tempfile::tempdir().unwrap(), sealing_keys(), free_port());
    let listen = format!("127.0.0.1:{port}");
    let arguments = ["--listen", &listen, "--sealing-key-file", keys.path().to_str().unwrap()];
    let mut server = Program::start(&arguments, log(&folder));
    let client = client(port);
    until(20, async || client.calls().describe(DescribeRequest {}).await.is_ok()).await;
    let load = Load::start(&client).await;
    load.wait_for(50).await;
    server.signal(Signal::SIGKILL);
    server.0.wait().unwrap();
    server = Program::start(&arguments, log(&folder));
    load.wait_for(50).await;
    server.end();
    let _server = Program::start(&arguments, log(&folder));
    load.wait_for(50).await;
    load.end().await;
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_has_no_core_dumps() {
    let folder = TempDir::new().unwrap();
    let server = Program::start(&["--listen", "127.0.0.1:0"], log(&folder));
    ctru_tests::processes::has_no_core_dumps(server.id());
}

/// Two servers stand behind a balancer, and one is killed. A client that repeats its calls sees no
/// error. Needs haproxy, which `.ci/run` installs.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_servers_may_die() {
    let haproxy = Command::new("haproxy").arg("-v").stdout(Stdio::null()).status();
    if !haproxy.is_ok_and(|status| status.success()) {
        return;
    }
    let (folder, keys, front) = (tempfile::tempdir().unwrap(), sealing_keys(), free_port());
    let start = |port: u16| {
        let listen = format!("127.0.0.1:{port}");
        let keys = keys.path().to_str().unwrap();
        Program::start(&["--listen", &listen, "--sealing-key-file", keys], log(&folder))
    };
    let ports = [free_port(), free_port()];
    let servers = ports.map(start);
    let path = folder.path().join("haproxy.cfg");
    let config = format!(
        "defaults\n mode http\n timeout connect 1s\n timeout client 10s\n timeout server 10s\n\
         listen kem\n bind 127.0.0.1:{front} proto h2\n option redispatch\n\
         balance roundrobin\n\
         server a 127.0.0.1:{} proto h2 check inter 100ms\n\
         server b 127.0.0.1:{} proto h2 check inter 100ms\n",
        ports[0], ports[1]
    );
    fs::write(&path, config).unwrap();
    let balancer = Command::new("haproxy").arg("-f").arg(&path).spawn().unwrap();
    let _balancer = Program(balancer);
    let client = client(front);
    client.describe().await.unwrap();
    let load = Load::start(&client).await;
    load.wait_for(50).await;
    servers[0].signal(Signal::SIGKILL);
    load.wait_for(100).await;
    let _again = start(ports[0]);
    load.wait_for(50).await;
    load.end().await;
}

/// Nothing secret appears in logs and metrics, even with the most verbose log.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_secret_is_told() {
    let arguments = ["--allow-plain-keys", "--log", "trace"];
    let Served { mut program, folder, keys, admin, client, .. } = Served::start(&arguments).await;
    let mut secrets = vec![fs::read(keys.path()).unwrap()];
    let scheme = crate::common::scheme();
    for plain in [false, true] {
        let request = ctru_server::proto::GenerateKeysRequest { scheme, count: 1, plain };
        let made = client.generate_keys(request).await.unwrap();
        let pair = crate::common::Pair { public: made.public_keys, private: made.private_keys };
        let sent = client.encapsulate(encapsulate(&pair, 1)).await.unwrap();
        client.decapsulate(decapsulate(&pair, sent.ciphertexts.clone())).await.unwrap();
        // A call that is refused is logged as well.
        let mut wrong = pair.private.to_vec();
        wrong[1600 % pair.private.len()] ^= 255;
        let wrong = crate::common::Pair { private: wrong.into(), ..pair.clone() };
        let _ = client.decapsulate(decapsulate(&wrong, vec![0; 952].into())).await;
        secrets.extend([pair.private.to_vec(), sent.shared_secrets.to_vec()]);
        secrets.push(sent.ciphertexts[..128].to_vec());
        let mut calls = client.calls();
        let messages = tokio_stream::iter([encapsulate(&pair, 1)]);
        let mut stream = calls.encapsulate_stream(messages).await.unwrap().into_inner();
        let streamed = stream.message().await.unwrap().unwrap();
        secrets.extend([streamed.shared_secrets.to_vec(), streamed.ciphertexts[..128].to_vec()]);
        let messages = tokio_stream::iter([decapsulate(&pair, streamed.ciphertexts)]);
        let mut stream = calls.decapsulate_stream(messages).await.unwrap().into_inner();
        assert_eq!(
            stream.message().await.unwrap().unwrap().shared_secrets,
            streamed.shared_secrets
        );
        // Who knows the name of loaded keys may use them.
        let name = client.load_keys(load_private(&pair.private)).await.unwrap().name;
        client.unload_keys(&name).await.unwrap();
        secrets.extend([const_hex::decode(&name).unwrap(), name.into_bytes()]);
    }
    let metrics = get(admin, "/metrics").await;
    program.end();
    let told = fs::read(folder.path().join("log")).unwrap();
    assert!(told.len() > 10_000, "the log is verbose");
    let told = [&told[..], metrics.as_bytes()].concat();
    assert!(finds(&told, b"ctru_calls_total") && finds(&told, b"Encapsulate"));
    let text = String::from_utf8_lossy(&told).replace([' ', '\n'], "");
    let (small, words) = (text.to_lowercase(), told.windows(8).collect::<HashSet<_>>());
    for secret in secrets {
        // Any part of a secret, as bytes, as hexadecimal digits, and as a list of numbers.
        for part in secret.windows(8).step_by(4) {
            assert!(!words.contains(part));
            assert!(!small.contains(&const_hex::encode(part)));
            let list: Vec<String> = part.iter().map(u8::to_string).collect();
            assert!(!text.contains(&list.join(",")));
            assert!(!text.contains(&part.escape_ascii().to_string()));
        }
    }
}

pub(crate) fn finds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// A second signal ends a server that is going down.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_server_at_once() {
    let Served { mut program, folder, .. } = Served::start(&["--drain-delay", "1h"]).await;
    program.signal(Signal::SIGINT);
    wait_for_log(&folder, "going down", 1);
    assert!(program.0.try_wait().unwrap().is_none());
    program.signal(Signal::SIGINT);
    assert_eq!(program.wait(), 1);
}

/// A log that cannot be written does not stop the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_for_logs_is_survived() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let mut server = Program::start(&["--listen", &listen, "--log", "trace"], full);
    for _ in 0..100 {
        client(port).describe().await.unwrap();
    }
    server.end();
}

/// Sealing keys are read again on SIGHUP, and the socket of a killed server is taken over.
#[tokio::test(flavor = "multi_thread")]
async fn hangup_reads_keys_again() {
    let (folder, keys) = (tempfile::tempdir().unwrap(), sealing_keys());
    let socket = folder.path().join("socket");
    let listen = format!("unix:{}", socket.display());
    let arguments = ["--listen", &listen, "--sealing-key-file", keys.path().to_str().unwrap()];
    let mut server = Program::start(&arguments, log(&folder));
    wait_for("the socket", || socket.exists().then_some(()));
    server.signal(Signal::SIGKILL);
    server.0.wait().unwrap();
    let mut server = Program::start(&arguments, log(&folder));
    let path = listen.clone();
    let client = Client::at(path, Retries { attempts: 20, ..Retries::default() }).unwrap();
    client.describe().await.unwrap();
    let before = pair(&mut client.calls()).await;
    let next = sealing_keys();
    let both = [fs::read(keys.path()).unwrap(), fs::read(next.path()).unwrap()].concat();
    fs::write(keys.path(), both).unwrap();
    server.signal(Signal::SIGHUP);
    let is_new = async || pair(&mut client.calls()).await.private[1..9] != before.private[1..9];
    until(5, is_new).await;
    let sent = client.encapsulate(encapsulate(&before, 1)).await.unwrap();
    let received = client.decapsulate(decapsulate(&before, sent.ciphertexts)).await.unwrap();
    assert_eq!(received.shared_secrets, sent.shared_secrets);
    // A pipe into which nobody writes holds up nothing, neither now nor at the next start.
    make_pipe(keys.path());
    server.signal(Signal::SIGHUP);
    let pipe = wait_for_reader(keys.path());
    assert!(client.describe().await.is_ok());
    server.end();
    assert!(!socket.exists());
    drop(pipe);
    let mut server = Program::start(&arguments, log(&folder));
    let _pipe = wait_for_reader(keys.path());
    server.end();
}

/// A pipe of certificates holds up nothing. A pipe of sealing keys does not hold up certificates,
/// and is read once more for a signal that comes meanwhile.
#[test]
fn pipes_hold_up_nothing() {
    let (folder, keys) = (tempfile::tempdir().unwrap(), sealing_keys());
    let authority = Authority::new();
    let tls = authority.options();
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        tls.certificate.to_str().unwrap(),
        "--tls-key",
        tls.key.to_str().unwrap(),
        "--no-client-auth",
        "--sealing-key-file",
        keys.path().to_str().unwrap(),
    ];
    // At the start.
    make_pipe(&tls.certificate);
    let mut server = Program::start(&arguments, log(&folder));
    let pipe = wait_for_reader(&tls.certificate);
    server.end();
    drop(pipe);
    fs::remove_file(&tls.certificate).unwrap();
    authority.write_server();
    // Later.
    let mut server = Program::start(&arguments, log(&folder));
    wait_for_log(&folder, "serving", 1);
    let line = make_pipe(keys.path());
    server.signal(Signal::SIGHUP);
    let mut pipe = wait_for_reader(keys.path());
    wait_for_log(&folder, "certificates are read again", 1);
    server.signal(Signal::SIGHUP);
    wait_for_log(&folder, "certificates are read again", 2);
    wait_for_log(&folder, "still being read", 1);
    pipe.write_all(&line).unwrap();
    drop(pipe);
    wait_for_log(&folder, "sealing keys are read again", 1);
    let _keys = wait_for_reader(keys.path());
    make_pipe(&tls.certificate);
    server.signal(Signal::SIGHUP);
    let _certificate = wait_for_reader(&tls.certificate);
    server.end();
}

/// A signal to read files again does not end a server that still opens its GPU.
#[cfg(all(target_os = "linux", feature = "cuda"))]
#[test]
fn a_hangup_at_the_start_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    // The driver's library is a pipe, so that opening it takes as long as the test likes.
    let library = folder.path().join("libcuda.so.1");
    nix::unistd::mkfifo(&library, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-server"));
    command.args(["serve", "--engine", "cuda"]).env("LD_LIBRARY_PATH", folder.path());
    let mut server = Program(command.stderr(log(&folder)).stdin(Stdio::null()).spawn().unwrap());
    let pipe = wait_for_reader(&library);
    server.signal(Signal::SIGHUP);
    drop(pipe);
    assert_eq!(server.wait(), 1);
    wait_for_log(&folder, "no NVIDIA driver", 1);
}

/// Of two readings at the same time, the later one counts.
#[tokio::test(flavor = "multi_thread")]
async fn old_sealing_keys_do_not_come_back() {
    let running = start_fast(|_| ()).await;
    let path = running.sealing_keys.path();
    let old = make_pipe(path);
    let mut earlier = Box::pin(running.server.reload_sealing_keys());
    assert!(tokio::time::timeout(Duration::ZERO, &mut earlier).await.is_err());
    let mut pipe = wait_for_reader(path);
    fs::remove_file(path).unwrap();
    let new = ctru_server::SealingKeys::fresh_line().unwrap();
    write_private(path, new.as_bytes());
    let mut later = Box::pin(running.server.reload_sealing_keys());
    assert!(tokio::time::timeout(Duration::from_millis(200), &mut later).await.is_err());
    pipe.write_all(&old).unwrap();
    drop(pipe);
    earlier.await.unwrap();
    later.await.unwrap();
    let key = pair(&mut running.calls().await).await.private;
    assert!(new.starts_with(&const_hex::encode(&key[1..9])));
}

/// Puts a pipe in the place of a file, and returns what the file had.
fn make_pipe(path: &Path) -> Vec<u8> {
    let content = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    content
}

/// Waits until there is something.
fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the log.
fn told(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("log")).unwrap()
}

/// Waits until the log has a text some times.
fn wait_for_log(folder: &TempDir, text: &str, times: usize) {
    wait_for(text, || (told(folder).matches(text).count() >= times).then_some(()));
}

/// Opens a pipe for writing when a process reads from it.
fn wait_for_reader(pipe: &Path) -> File {
    let flags = nix::fcntl::OFlag::O_NONBLOCK.bits();
    let open = || OpenOptions::new().write(true).custom_flags(flags).open(pipe).ok();
    wait_for("a reader", open)
}

/// A fresh sealing key is in a file that only its owner may read, and replaces no other.
#[test]
fn sealing_keys_are_written_for_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let write = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-server"));
        command.args(["sealing-key", "--out"]).arg(&path).output().unwrap()
    };
    let written = write();
    assert!(written.status.success() && written.stdout.is_empty(), "{written:?}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert!(ctru_server::SealingKeys::read(&path).is_ok());
    let before = fs::read(&path).unwrap();
    assert_eq!(write().status.code(), Some(1));
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Load without a server says which address it is, and why there is no connection.
#[test]
fn load_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let none = folder.path().join("none");
    let (uri, ca) = (format!("unix:{}", none.display()), none.to_str().unwrap());
    for (uri, more, cause) in [
        (&*uri, &[][..], "No such file or directory"),
        ("nowhere", &[], "scheme is missing"),
        ("https://127.0.0.1:1", &["--ca", ca], "No such file or directory"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ctru-server"));
        let output = command.args(["load", "--connect", uri]).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with(&format!("error: cannot connect to {uri}: ")), "{text}");
        assert_eq!(text.matches(cause).count(), 1, "{text}");
    }
}

/// Wrong command lines and files that others can read are refused.
#[test]
fn wrong_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let keys = sealing_keys();
    fs::set_permissions(keys.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let keys = keys.path().to_str().unwrap();
    for (arguments, status, text) in [
        (&["--listen", "0.0.0.0:0"][..], 1, "--insecure"),
        (&["--listen", "127.0.0.1:0", "--sealing-key-file", keys], 1, "chmod 600"),
        (&["--listen", "127.0.0.1:0", "--tls-cert", "a"], 2, "--tls-key"),
        (&["--tls-cert", "a", "--tls-key", "b"], 1, "--no-client-auth"),
        (&["--tls-cert", "a", "--tls-key", "b", "--no-client-auth"], 1, "TLS: "),
        (&["--admin-listen", "0.0.0.0:0"], 1, "--insecure-admin"),
        (
            &["--tls-cert", "a", "--tls-key", "b", "--client-ca", "c"],
            2,
            "--client-name <CLIENT_NAME>",
        ),
        (&["--client-rate", "dns:*.example=10"], 1, "without wildcards"),
        (&["--client-rate", "frontend=10"], 2, "dns:"),
        (&["--client-rate", "dns:A=3", "--client-rate", "dns:a=4"], 1, "dns:a has several rates"),
        (&["--io-threads", "20000"], 2, "not in 0..=1024"),
        (&["--max-queue-delay", "soon"], 2, "--max-queue-delay"),
        (&["--max-queue", "18446744073709551615"], 1, "--max-queue must be from"),
        (&["--max-connections", "18446744073709551615"], 1, "--max-connections must be from"),
        (&["--max-calls-per-connection", "0"], 1, "--max-calls-per-connection must be from"),
        (&["--max-stream-batch", "0"], 1, "--max-stream-batch must be from"),
    ] {
        let mut program = Program::start(arguments, log(&folder));
        assert_eq!(program.wait(), status, "{arguments:?}");
        assert!(told(&folder).contains(text), "{}", told(&folder));
    }
}

/// A server that may not open enough files says so, and takes what it may have.
#[test]
fn too_few_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let start = |limits: &str, connections: &str| {
        let script =
            format!("{limits}; exec \"$0\" serve --listen 127.0.0.1:0 --max-connections $1");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_ctru-server"), connections]);
        Program(command.stderr(log(&folder)).stdin(Stdio::null()).spawn().unwrap())
    };
    assert_eq!(start("ulimit -n 400", "100").wait(), 1);
    let told = told(&folder);
    assert!(told.contains("may open 400 files") && told.contains("needs 485"), "{told}");
    // A soft limit is raised.
    let mut server = start("ulimit -S -n 400", "100");
    wait_for_log(&folder, "serving", 1);
    server.end();
}

/// Probes of the port and strangers do not fill the log, and clients that are refused are named.
#[tokio::test(flavor = "multi_thread")]
async fn refused_clients_are_named() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let authority = Authority::new();
    let tls = authority.options();
    let listen = format!("127.0.0.1:{port}");
    let arguments = [
        "--listen",
        &listen,
        "--tls-cert",
        tls.certificate.to_str().unwrap(),
        "--tls-key",
        tls.key.to_str().unwrap(),
        "--no-client-auth",
    ];
    let mut server = Program::start(&arguments, log(&folder));
    wait_for_log(&folder, "serving", 1);
    let told = || told(&folder);
    let before = told();
    for _ in 0..20 {
        drop(tokio::net::TcpStream::connect(&listen).await.unwrap());
        let mut stream = tokio::net::TcpStream::connect(&listen).await.unwrap();
        stream.write_all(&[22, 3, 1]).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(told(), before);
    let mut addresses = Vec::new();
    for _ in 0..30 {
        let mut stream = tokio::net::TcpStream::connect(&listen).await.unwrap();
        addresses.push(stream.local_addr().unwrap().to_string());
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    server.end();
    let told = told();
    let named = addresses.iter().filter(|address| told.contains(*address)).count();
    assert!((10..=12).contains(&named), "{named} of 30 in {told}");
}
