//! Batches: the class `Engine`.

use std::ops::Range;
use std::sync::Arc;

use ctru_fork::Process;
use ctru_kem::engine::{CpuEngine, EngineError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Kind, Output};
use crate::batch::{Batch, Input};
use crate::calls;
use crate::errors::{engine_error, type_error, type_name, value_error};
use crate::gpu::Gpu;
use crate::keys::{PrivateKey, PublicKey};
use crate::part::{Part, PartMut};
use crate::run::Run;
use crate::seeds::{MasterSeed, whole_number};
use crate::sets::{Parameters, named};

/// The largest number of threads that a caller may ask for.
const MOST_THREADS: u64 = 4096;
/// The number of operations per CPU thread between two checks for signals, about 0.1 s of work.
const CHUNK_PER_THREAD: usize = 1 << 14;
/// The number of operations on a GPU between two checks for signals.
const DEVICE_CHUNK: usize = 1 << 20;
/// The names of the two arrays of the argument `out`.
const TWO: [&str; 2] = ["out[0]", "out[1]"];

/// Runs batches of one parameter set, on all cores or on an NVIDIA GPU.
///
/// `device` is "cpu", "cuda" for the first GPU, "cuda:1" for the second one, or "auto" for a GPU if
/// there is one. `threads` is the number of threads of an engine on the CPU. Unless given, there is
/// one per core, or as many as the environment variable `RAYON_NUM_THREADS` says. Several threads
/// of Python may use one engine. In a process that was forked, an engine of the parent raises
/// `RuntimeError`.
///
/// A batch reads and writes arrays where they lie, without the GIL: all of them on the host, or all
/// of them on the GPU of the engine, where it follows the work that their library has issued to its
/// current stream. Results are complete when the call returns. A single key for all operations can
/// be on the host. `ValueError` is raised if an array of `out` shares memory with another array of
/// the call or with one that another call uses, and if a call reads what another one writes. During
/// the call, no other code may change the arrays. If a batch fails, the results that it has written
/// to `out` are wiped.
///
/// A numpy array or a DLPack tensor has the shape (count, size); one dimension is one row. `bytes`,
/// `bytearray`, and each other buffer of one dimension, such as a memoryview of `bytes`, have any
/// number of rows, one after the other. A buffer of two dimensions has the shape (count, size).
/// Arrays are contiguous. An Arrow array, or a stream of its chunks, has the type
/// `fixed_size_binary`, or is copied first and has the type `binary`, `large_binary`, `binary_view`
/// or a dictionary of one of these.
///
/// With `seed`, which has 32 bytes, operation `i` takes the seed that is derived from the seed, the
/// context, the parameter set and the row `first + i`. So a job can be cut into batches at any row.
/// `context` has up to 32 bytes and names what the seed is used for; text counts in UTF-8, and
/// `UnicodeEncodeError` is raised if it has lone surrogates. Two batches with the same seed,
/// context and rows have the same secrets. Without `seed`, the system's randomness is used.
///
/// Anybody can make a key of CTRU-Prime whose first 33 bytes are those of another key. With the
/// same seed, context and row, an encapsulation to it has the shared secret of one to the other
/// key, so its owner learns this secret. Where strangers choose the keys, let no row serve two
/// keys: give each batch a context, a seed or rows of its own.
#[pyclass(frozen, module = "ctru")]
pub(crate) struct Engine {
    set: ctru_kem::Parameters,
    sizes: Parameters,
    device: String,
    threads: usize,
    /// The number of operations between two checks for signals.
    chunk: usize,
    /// The process whose threads compute. They do not exist in a fork of it.
    process: Process,
    run: Run,
}

/// Where an engine computes.
enum Device {
    Auto,
    Cpu,
    Cuda(u32),
}

impl Device {
    fn named(name: &str) -> PyResult<Self> {
        let number = name.strip_prefix("cuda:").map(str::parse);
        match (name, number) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("cuda", _) => Ok(Self::Cuda(0)),
            (_, Some(Ok(number))) => Ok(Self::Cuda(number)),
            _ => Err(value_error(format!(
                "device is {name:?}, not 'auto', 'cpu', 'cuda' or 'cuda:' and a number"
            ))),
        }
    }
}

/// Returns the argument `count`.
fn count_of(count: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(whole_number(count, "count", 0..=usize::MAX as u64)? as usize)
}

/// Returns the two arrays of the argument `out`.
fn two<'py>(out: &Bound<'py, PyAny>) -> PyResult<[Bound<'py, PyAny>; 2]> {
    let arrays = out.cast::<PyTuple>().map_err(|_| {
        type_error(format!("out is a {}, not a tuple of two arrays", type_name(out)))
    })?;
    let arrays: Vec<_> = arrays.iter().collect();
    let count = arrays.len();
    arrays.try_into().map_err(|_| value_error(format!("out has {count} arrays, not two")))
}

impl Engine {
    /// Checks that the threads of the engine exist in this process.
    fn check_process(&self) -> PyResult<()> {
        if self.process.is_current() {
            return Ok(());
        }
        let message = "an engine cannot be used after a fork; make one in each process";
        Err(PyRuntimeError::new_err(message))
    }

    /// Returns the GPU that computes, if one does.
    fn gpu(&self) -> Option<&Gpu> {
        self.run.gpu().map(|gpu| &**gpu)
    }

    /// Returns the argument `out` with two arrays for `count` rows, or new arrays of a kind.
    fn two_outputs<'py>(
        &self,
        py: Python<'py>,
        kind: &Kind<'py>,
        out: Option<&Bound<'py, PyAny>>,
        count: usize,
        [a, b]: [usize; 2],
    ) -> PyResult<[Output<'py>; 2]> {
        let gpu = self.gpu();
        let Some(out) = out else {
            return Ok([kind.allocate(py, gpu, count, a)?, kind.allocate(py, gpu, count, b)?]);
        };
        let arrays = two(out)?;
        Ok([
            Output::of_caller(&arrays[0], TWO[0], gpu, count, a)?,
            Output::of_caller(&arrays[1], TWO[1], gpu, count, b)?,
        ])
    }

    /// Computes a batch of `count` operations. Between its chunks, checks for signals, and for a
    /// fork that the handler of a signal may have made. Returns the objects that the caller gets.
    fn compute<'py, const R: usize, const W: usize, C>(
        &self,
        py: Python<'py>,
        mut batch: Batch<'py, R, W>,
        count: usize,
        compute: C,
    ) -> PyResult<[Bound<'py, PyAny>; W]>
    where
        C: FnMut(Range<usize>, [Part<'_>; R], [PartMut<'_>; W]) -> Result<(), EngineError> + Send,
    {
        let between = || calls::check_signals(py).and_then(|()| self.check_process());
        batch.compute(py, (count, self.chunk), between, compute)?;
        batch.finish()
    }
}

impl Drop for Engine {
    /// In a fork, keeps away from the threads and the GPU, which belong to the other process.
    fn drop(&mut self) {
        if self.check_process().is_err() {
            self.run.leak();
        }
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (set, device = "auto", *, encoding = "mixed-radix", threads = None))]
    fn new(
        py: Python<'_>,
        set: &str,
        device: &str,
        encoding: &str,
        threads: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let set = named(set, encoding)?;
        let device = Device::named(device)?;
        let threads = threads.map(|threads| whole_number(threads, "threads", 1..=MOST_THREADS));
        let threads = threads.transpose()?.unwrap_or(0) as usize;
        let of = |device: String, threads, chunk, run| {
            let (sizes, process) = (set.into(), Process::current());
            Self { set, sizes, device, threads, chunk, process, run }
        };
        let on_cpu = || -> PyResult<Self> {
            let cpu = CpuEngine::with_threads(threads).map_err(|error| engine_error(&error))?;
            let threads = cpu.threads();
            Ok(of("cpu".to_owned(), threads, CHUNK_PER_THREAD * threads, Run::Cpu(cpu)))
        };
        let on_gpu = |number: u32| -> PyResult<Self> {
            let gpu = Gpu::open(number, set).map_err(|error| engine_error(&error))?;
            let run = Run::Gpu(Arc::new(gpu));
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(of(format!("cuda:{number}"), threads, DEVICE_CHUNK, run))
        };
        let open = || match device {
            Device::Cpu => on_cpu(),
            Device::Cuda(number) => on_gpu(number),
            Device::Auto => on_gpu(0).or_else(|_| on_cpu()),
        };
        py.detach(open)
    }

    /// Generates `count` key pairs. Returns the public and the private keys, as arrays of the kind
    /// "numpy" or of another `kind`, or the arrays `out`.
    ///
    /// The kinds are "numpy", "arrow", "bytes", "bytearray" and "memoryview", and on the GPU of the
    /// engine "cupy" and "torch".
    #[pyo3(signature = (
        count, *, seed = None, context = None, first = None, kind = None, out = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "these are the arguments of the interface")]
    fn generate<'py>(
        &self,
        py: Python<'py>,
        count: &Bound<'py, PyAny>,
        seed: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
        first: Option<&Bound<'py, PyAny>>,
        kind: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.check_process()?;
        let count = count_of(count)?;
        let master = MasterSeed::new(seed, context, first)?;
        master.check(count)?;
        let kind = match (kind, out) {
            (None, _) => Kind::Numpy,
            (Some(kind), None) => Kind::named(kind)?,
            (Some(_), Some(_)) => return Err(value_error("kind and out exclude each other")),
        };
        let Parameters { public_key_bytes: public, private_key_bytes: private, .. } = self.sizes;
        let outputs = self.two_outputs(py, &kind, out, count, [public, private])?;
        let batch = Batch::begin(py, self.run.gpu(), [], TWO, outputs)?;
        let results = self.compute(py, batch, count, |rows, [], results| {
            self.run.generate(self.set, master.of_chunk(rows.start), results)
        })?;
        Ok(results.into())
    }

    /// Encapsulates once to each key, or `count` times to a single key. Returns the shared secrets
    /// and the ciphertexts, as arrays of the kind of `public_keys`, which are numpy arrays for a
    /// `PublicKey`, or the arrays `out`.
    ///
    /// Raises `InvalidKey` with the first row that is not a key.
    #[pyo3(signature = (
        public_keys, *, count = None, seed = None, context = None, first = None, out = None
    ))]
    #[allow(clippy::too_many_arguments, reason = "these are the arguments of the interface")]
    fn encapsulate<'py>(
        &self,
        py: Python<'py>,
        public_keys: &Bound<'py, PyAny>,
        count: Option<&Bound<'py, PyAny>>,
        seed: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
        first: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        self.check_process()?;
        let Parameters {
            public_key_bytes: public,
            ciphertext_bytes: ciphertext,
            shared_secret_bytes: secret,
            ..
        } = self.sizes;
        let name = "public_keys";
        let keys = match public_keys.cast::<PublicKey>() {
            Ok(key) => Input::of_key(name, key, |key| key.get().parts(), self.set)?,
            Err(_) => Input::of_array(name, public_keys, self.gpu(), public)?,
        };
        let rows = keys.rows();
        let count = count.map_or(Ok(rows), count_of)?;
        if rows != 1 && rows != count {
            return Err(value_error(format!("{name} has {rows} rows, count is {count}")));
        }
        let master = MasterSeed::new(seed, context, first)?;
        master.check(count)?;
        let outputs = self.two_outputs(py, keys.kind(), out, count, [secret, ciphertext])?;
        let batch = Batch::begin(py, self.run.gpu(), [keys], TWO, outputs)?;
        let results = self.compute(py, batch, count, |rows, [keys], results| {
            self.run.encapsulate(self.set, keys, master.of_chunk(rows.start), results)
        })?;
        Ok(results.into())
    }

    /// Decapsulates each ciphertext with the key of its row, or with a single key. Returns the
    /// shared secrets, as an array of the kind of `ciphertexts`, or the array `out`.
    ///
    /// Raises `InvalidKey` with the first row that is not a key.
    #[pyo3(signature = (private_keys, ciphertexts, *, out = None))]
    fn decapsulate<'py>(
        &self,
        py: Python<'py>,
        private_keys: &Bound<'py, PyAny>,
        ciphertexts: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.check_process()?;
        let Parameters {
            private_key_bytes: private,
            ciphertext_bytes: ciphertext,
            shared_secret_bytes: secret,
            ..
        } = self.sizes;
        let name = "private_keys";
        let keys = match private_keys.cast::<PrivateKey>() {
            Ok(key) => Input::of_key(name, key, |key| key.get().parts(), self.set)?,
            Err(_) => Input::of_array(name, private_keys, self.gpu(), private)?,
        };
        let received = Input::of_array("ciphertexts", ciphertexts, self.gpu(), ciphertext)?;
        let (rows, count) = (keys.rows(), received.rows());
        if rows != 1 && rows != count {
            let message = format!("{name} has {rows} rows, ciphertexts has {count}");
            return Err(value_error(message));
        }
        let output = match out {
            Some(out) => Output::of_caller(out, "out", self.gpu(), count, secret)?,
            None => received.kind().allocate(py, self.gpu(), count, secret)?,
        };
        let batch = Batch::begin(py, self.run.gpu(), [keys, received], ["out"], [output])?;
        let [secrets] = self.compute(py, batch, count, |_, rows, results| {
            self.run.decapsulate(self.set, rows, results)
        })?;
        Ok(secrets)
    }

    /// The name of the parameter set, such as "761".
    #[getter]
    fn set(&self) -> &'static str {
        self.set.set().id()
    }

    /// The encoding of public keys: "mixed-radix" or "packed13".
    #[getter]
    fn encoding(&self) -> &'static str {
        self.set.encoding().name()
    }

    /// The device: "cpu", or "cuda:" and the number of the GPU.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// The number of threads that compute or prepare the work of a GPU.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    fn __repr__(&self) -> String {
        let (set, encoding) = (self.set.set().id(), self.set.encoding().name());
        let Self { device, threads, .. } = self;
        format!(
            "<ctru.Engine set='{set}' encoding='{encoding}' device='{device}' threads={threads}>"
        )
    }
}
