//! Batches: the class `Engine`.

use ctru_kem::ParameterSet;
use ctru_kem::engine::{CpuEngine, CpuRows, RowEngine, RowError, Seeds};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arrays::{Kind, Output, View, output, view};
use crate::errors::{engine_error, row_error, type_error, type_name, value_error};
use crate::keys::{PrivateKey, PublicKey};
use crate::seeds::{MasterSeed, whole_number};
use crate::sets::{Parameters, Set, with_set};

/// The largest number of threads that a caller may ask for.
const MOST_THREADS: usize = 4096;
/// Operations per thread of the CPU between two looks at signals, which take about 0.1 s.
const CHUNK_PER_THREAD: usize = 1 << 14;
/// Operations on a GPU between two looks at signals.
const DEVICE_CHUNK: usize = 1 << 20;

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
    rows: Box<dyn RowEngine>,
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
fn open_gpu<P: ParameterSet>(number: u32) -> PyResult<Box<dyn RowEngine>> {
    use ctru_kem::engine::{DeviceEngine, DeviceOptions, DeviceRows, cuda};
    let open = || DeviceEngine::<P, _>::new(cuda::open(number)?, DeviceOptions::default());
    Ok(Box::new(DeviceRows::new(open().map_err(|error| engine_error(&error))?)))
}

#[cfg(not(feature = "cuda"))]
fn open_gpu<P: ParameterSet>(_: u32) -> PyResult<Box<dyn RowEngine>> {
    let message = "this build of the package has no engine for GPUs";
    Err(crate::errors::DeviceError::new_err(message))
}

/// The keys of a batch, as the caller gave them.
enum KeyRows<'a, 'py> {
    /// The bytes of one key.
    One(&'a [u8]),
    /// An array with a number of rows.
    Array { view: View<'py>, rows: usize, kind: Kind<'py> },
}

impl<'py> KeyRows<'_, 'py> {
    /// Reads an array of keys.
    fn array(object: &Bound<'py, PyAny>, name: &str, row_bytes: usize) -> PyResult<Self> {
        let view = view(object, name)?;
        let rows = view.rows(name, row_bytes)?;
        let kind = Kind::of(object, &view)?;
        Ok(Self::Array { view, rows, kind })
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::One(bytes) => bytes,
            Self::Array { view, .. } => view.bytes(),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Array { rows, .. } => *rows,
        }
    }

    fn overlaps(&self, output: &Output<'_>) -> bool {
        matches!(self, Self::Array { view, .. } if view.overlaps(output.view()))
    }
}

/// Checks that a key object belongs to the parameter set of an engine.
fn same_set(name: &str, set: Set, of_engine: Set) -> PyResult<()> {
    if set == of_engine {
        return Ok(());
    }
    Err(value_error(format!(
        "{name} is a key of '{}' with '{}', the engine computes with '{}' and '{}'",
        set.name(),
        set.encoding(),
        of_engine.name(),
        of_engine.encoding()
    )))
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

/// Checks that results do not overwrite one another or what is read.
fn check_apart(inputs: &[&dyn Fn(&Output<'_>) -> bool], outputs: &[&Output<'_>]) -> PyResult<()> {
    for (index, output) in outputs.iter().enumerate() {
        let mut others = outputs[..index].iter();
        if others.any(|other| other.view().overlaps(output.view())) {
            return Err(value_error("the arrays of out share memory"));
        }
        if inputs.iter().any(|overlaps| overlaps(output)) {
            return Err(value_error("out shares memory with an array that is read"));
        }
    }
    Ok(())
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

    /// Makes the arrays for two kinds of results, or takes those of the caller.
    fn two_outputs<'py>(
        py: Python<'py>,
        kind: &Kind<'py>,
        out: Option<&Bound<'py, PyAny>>,
        count: usize,
        sizes: [usize; 2],
    ) -> PyResult<[Output<'py>; 2]> {
        let [a, b] = sizes;
        let Some(out) = out else {
            return Ok([kind.allocate(py, count, a)?, kind.allocate(py, count, b)?]);
        };
        let arrays = two(out)?;
        Ok([output(&arrays[0], "out[0]", count, a)?, output(&arrays[1], "out[1]", count, b)?])
    }

    /// Calls `compute` for one chunk of the batch after the other, without the GIL, and looks for
    /// signals in between. An empty batch is one empty chunk. `keys` is the name of the argument
    /// with the keys, and `one` says whether one key serves all operations.
    fn in_chunks(
        &self,
        py: Python<'_>,
        count: usize,
        (keys, one): (&str, bool),
        mut compute: impl FnMut(usize, usize) -> Result<(), RowError> + Send,
    ) -> PyResult<()> {
        let mut first = 0usize;
        loop {
            let next = count.min(first.saturating_add(self.chunk));
            py.detach(|| compute(first, next))
                .map_err(|error| row_error(&error, keys, if one { 0 } else { first }))?;
            if next == count {
                return Ok(());
            }
            first = next;
            py.check_signals()?;
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
            let rows: Box<dyn RowEngine> = with_set!(set, P => Box::new(CpuRows::<P>::new(cpu)));
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
        let [mut publics, mut privates] =
            Self::two_outputs(py, &kind, out, count, [public, private])?;
        check_apart(&[], &[&publics, &privates])?;
        let (public_rows, private_rows) = (publics.bytes_mut(), privates.bytes_mut());
        self.in_chunks(py, count, ("", false), |first, next| {
            self.rows.generate(
                Seeds::Expand(master.of_chunk(first)),
                &mut public_rows[first * public..next * public],
                &mut private_rows[first * private..next * private],
            )
        })?;
        Ok((publics.finish()?, privates.finish()?))
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
            Ok(key) => {
                let (set, bytes) = key.get().parts();
                same_set(name, set, self.set)?;
                KeyRows::One(bytes)
            }
            Err(_) => KeyRows::array(public_keys, name, public)?,
        };
        let rows = keys.rows();
        let count = count.map_or(Ok(rows), count_of)?;
        if rows != 1 && rows != count {
            return Err(value_error(format!("{name} has {rows} rows, count is {count}")));
        }
        let master = MasterSeed::new(seed, context, first)?;
        master.check(count)?;
        let kind = if let KeyRows::Array { kind, .. } = &keys { kind } else { &Kind::Numpy };
        let [mut secrets, mut ciphertexts] =
            Self::two_outputs(py, kind, out, count, [secret, ciphertext])?;
        check_apart(&[&|output| keys.overlaps(output)], &[&secrets, &ciphertexts])?;
        let one = rows == 1;
        let key_rows = keys.bytes();
        let (secret_rows, ciphertext_rows) = (secrets.bytes_mut(), ciphertexts.bytes_mut());
        self.in_chunks(py, count, (name, one), |first, next| {
            self.rows.encapsulate(
                if one { key_rows } else { &key_rows[first * public..next * public] },
                Seeds::Expand(master.of_chunk(first)),
                &mut ciphertext_rows[first * ciphertext..next * ciphertext],
                &mut secret_rows[first * secret..next * secret],
            )
        })?;
        Ok((secrets.finish()?, ciphertexts.finish()?))
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
            Ok(key) => {
                let (set, bytes) = key.get().parts();
                same_set(name, set, self.set)?;
                KeyRows::One(bytes)
            }
            Err(_) => KeyRows::array(private_keys, name, private)?,
        };
        let received = view(ciphertexts, "ciphertexts")?;
        let count = received.rows("ciphertexts", ciphertext)?;
        let rows = keys.rows();
        if rows != 1 && rows != count {
            let message = format!("{name} has {rows} rows, ciphertexts has {count}");
            return Err(value_error(message));
        }
        let mut secrets = match out {
            Some(out) => output(out, "out", count, secret)?,
            None => Kind::of(ciphertexts, &received)?.allocate(py, count, secret)?,
        };
        let overlaps_keys = |output: &Output<'_>| keys.overlaps(output);
        let overlaps = |output: &Output<'_>| received.overlaps(output.view());
        check_apart(&[&overlaps_keys, &overlaps], &[&secrets])?;
        let one = rows == 1;
        let (key_rows, ciphertext_rows) = (keys.bytes(), received.bytes());
        let secret_rows = secrets.bytes_mut();
        self.in_chunks(py, count, (name, one), |first, next| {
            self.rows.decapsulate(
                if one { key_rows } else { &key_rows[first * private..next * private] },
                &ciphertext_rows[first * ciphertext..next * ciphertext],
                &mut secret_rows[first * secret..next * secret],
            )
        })?;
        secrets.finish()
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
