//! Batches: the class `Engine`.

use std::ops::Range;
use std::sync::Arc;

use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, CpuRows, RowEngine, RowError, Seeds};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Kind, Output, view};
use crate::batch::{Batch, KeyRows, Rows};
use crate::errors::{engine_error, type_error, type_name, value_error};
use crate::keys::{PrivateKey, PublicKey};
use crate::seeds::{MasterSeed, whole_number};
use crate::sets::{Parameters, Set, with_set};

/// The largest number of threads that a caller may ask for.
const MOST_THREADS: usize = 4096;
/// Operations per thread of the CPU between two looks at signals, which take about 0.1 s.
const CHUNK_PER_THREAD: usize = 1 << 14;
/// Operations on a GPU between two looks at signals.
const DEVICE_CHUNK: usize = 1 << 20;
/// The names of the two arrays of the argument `out`.
const TWO: [&str; 2] = ["out[0]", "out[1]"];

/// Runs batches of one parameter set.
#[pyclass(frozen, module = "ctru")]
pub(crate) struct Engine {
    set: Set,
    sizes: Parameters,
    device: String,
    threads: usize,
    /// Operations between two looks at signals.
    chunk: usize,
    /// The process whose threads compute. They do not exist in a fork of it.
    process: u32,
    rows: Arc<dyn RowEngine>,
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

/// Opens a GPU.
#[cfg(feature = "cuda")]
fn open_gpu<P: ParameterSet>(number: u32) -> PyResult<Arc<dyn RowEngine>> {
    use ctru_kem::engine::{DeviceEngine, DeviceOptions, DeviceRows, cuda};
    let open = || DeviceEngine::<P, _>::new(cuda::open(number)?, DeviceOptions::default());
    Ok(Arc::new(DeviceRows::new(open().map_err(|error| engine_error(&error))?)))
}

#[cfg(not(feature = "cuda"))]
fn open_gpu<P: ParameterSet>(_: u32) -> PyResult<Arc<dyn RowEngine>> {
    let message = "this build of the package has no engine for GPUs";
    Err(crate::errors::DeviceError::new_err(message))
}

/// Returns the argument `count`.
fn count_of(count: &Bound<'_, PyAny>) -> PyResult<usize> {
    whole_number(count, "count")?
        .extract()
        .map_err(|_| value_error(format!("count is {count}, not a number of rows")))
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

/// Returns the argument `out` with two arrays for `count` rows, or new arrays of a kind.
fn two_outputs<'py>(
    py: Python<'py>,
    kind: &Kind<'py>,
    out: Option<&Bound<'py, PyAny>>,
    count: usize,
    [a, b]: [usize; 2],
) -> PyResult<[Output<'py>; 2]> {
    let Some(out) = out else {
        return Ok([kind.allocate(py, count, a)?, kind.allocate(py, count, b)?]);
    };
    let arrays = two(out)?;
    Ok([
        Output::of_caller(&arrays[0], TWO[0], count, a)?,
        Output::of_caller(&arrays[1], TWO[1], count, b)?,
    ])
}

impl Engine {
    /// Checks that the threads of the engine exist in this process.
    fn check_process(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let message = "an engine cannot be used after a fork; make one in each process";
        Err(PyRuntimeError::new_err(message))
    }

    /// Computes a batch of `count` operations: looks for signals between its chunks, and for a fork
    /// that a handler of a signal may have made. The other arguments are those of
    /// [`Batch::compute`].
    fn compute<'py, const N: usize>(
        &self,
        py: Python<'py>,
        batch: &mut Batch<'py, N>,
        count: usize,
        keys: (&str, bool),
        compute: impl FnMut(Range<usize>, [&mut [u8]; N]) -> Result<(), RowError> + Send,
    ) -> PyResult<()> {
        let between = || py.check_signals().and_then(|()| self.check_process());
        batch.compute(py, (count, self.chunk), keys, between, compute)
    }
}

impl Drop for Engine {
    /// In a fork, leaves what belongs to the threads or to the GPU of the other process alone.
    fn drop(&mut self) {
        if self.check_process().is_err() {
            std::mem::forget(Arc::clone(&self.rows));
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
        let set = Set::new(set, encoding)?;
        let device = Device::named(device)?;
        let threads: usize = match threads {
            None => 0,
            Some(threads) => whole_number(threads, "threads")?
                .extract()
                .ok()
                .filter(|threads| (1..=MOST_THREADS).contains(threads))
                .ok_or_else(|| {
                    value_error(format!("threads is {threads}, not in 1..={MOST_THREADS}"))
                })?,
        };
        let of = |device: String, threads, chunk, rows| {
            let (sizes, process) = (set.parameters(), std::process::id());
            Self { set, sizes, device, threads, chunk, process, rows }
        };
        let on_cpu = || -> PyResult<Self> {
            let cpu = CpuEngine::with_threads(threads).map_err(|error| engine_error(&error))?;
            let threads = cpu.threads();
            let rows: Arc<dyn RowEngine> = with_set!(set, P => Arc::new(CpuRows::<P>::new(cpu)));
            Ok(of("cpu".to_owned(), threads, CHUNK_PER_THREAD * threads, rows))
        };
        let on_gpu = |number: u32| -> PyResult<Self> {
            let rows = with_set!(set, P => open_gpu::<P>(number))?;
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            Ok(of(format!("cuda:{number}"), threads, DEVICE_CHUNK, rows))
        };
        let open = || match device {
            Device::Cpu => on_cpu(),
            Device::Cuda(number) => on_gpu(number),
            Device::Auto => on_gpu(0).or_else(|_| on_cpu()),
        };
        py.detach(open)
    }

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
        let outputs = two_outputs(py, &kind, out, count, [public, private])?;
        let mut batch = Batch::begin(py, &[], TWO, outputs)?;
        self.compute(py, &mut batch, count, ("", false), |rows, [publics, privates]| {
            let seeds = Seeds::Expand(master.of_chunk(rows.start));
            self.rows.generate(seeds, publics, privates)
        })?;
        batch.finish().map(Into::into)
    }

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
            Ok(key) => KeyRows::of_object(name, key.get().parts(), self.set)?,
            Err(_) => KeyRows::of_array(name, public_keys, public)?,
        };
        let keys_count = keys.count();
        let count = count.map_or(Ok(keys_count), count_of)?;
        if keys_count != 1 && keys_count != count {
            return Err(value_error(format!("{name} has {keys_count} rows, count is {count}")));
        }
        let master = MasterSeed::new(seed, context, first)?;
        master.check(count)?;
        let outputs = two_outputs(py, keys.kind(), out, count, [secret, ciphertext])?;
        let reads: Vec<_> = keys.view().map(|view| (name, view)).into_iter().collect();
        let mut batch = Batch::begin(py, &reads, TWO, outputs)?;
        let keys = keys.rows(public);
        let of_keys = (name, keys.serves_all);
        self.compute(py, &mut batch, count, of_keys, |rows, [secrets, ciphertexts]| {
            let seeds = Seeds::Expand(master.of_chunk(rows.start));
            self.rows.encapsulate(keys.of(&rows), seeds, ciphertexts, secrets)
        })?;
        batch.finish().map(Into::into)
    }

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
            Ok(key) => KeyRows::of_object(name, key.get().parts(), self.set)?,
            Err(_) => KeyRows::of_array(name, private_keys, private)?,
        };
        let name_of_received = "ciphertexts";
        let received = view(ciphertexts, name_of_received)?;
        let count = received.rows(name_of_received, ciphertext)?;
        let keys_count = keys.count();
        if keys_count != 1 && keys_count != count {
            let message = format!("{name} has {keys_count} rows, ciphertexts has {count}");
            return Err(value_error(message));
        }
        let output = match out {
            Some(out) => Output::of_caller(out, "out", count, secret)?,
            None => Kind::of(ciphertexts, &received)?.allocate(py, count, secret)?,
        };
        let mut reads = vec![(name_of_received, &received)];
        reads.extend(keys.view().map(|view| (name, view)));
        let mut batch = Batch::begin(py, &reads, ["out"], [output])?;
        let keys = keys.rows(private);
        let received =
            Rows { bytes: received.bytes(), row_bytes: ciphertext, serves_all: count == 1 };
        self.compute(py, &mut batch, count, (name, keys.serves_all), |rows, [secrets]| {
            self.rows.decapsulate(keys.of(&rows), received.of(&rows), secrets)
        })?;
        let [secrets] = batch.finish()?;
        Ok(secrets)
    }

    #[getter]
    fn set(&self) -> &'static str {
        self.set.name()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.set.encoding()
    }

    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    fn __repr__(&self) -> String {
        let (set, encoding) = (self.set.name(), self.set.encoding());
        let Self { device, threads, .. } = self;
        format!(
            "<ctru.Engine set='{set}' encoding='{encoding}' device='{device}' threads={threads}>"
        )
    }
}
