//! Runs kernels from the text of their PTX.

use std::collections::BTreeSet;
use std::sync::Mutex;

use ctru_simt::descriptor::{Batch, Kernel};
use ctru_simt::ptx::Module;
use ptx_check::run::{Argument, Array, Error, Launch};
use ptx_check::syntax;

use crate::lock::lock;

/// A module that was read, and the names of its kernels that were launched.
pub(crate) struct Interpreter {
    module: syntax::Module<'static>,
    launched: Mutex<BTreeSet<&'static str>>,
}

impl Interpreter {
    pub(crate) fn new(module: &'static Module) -> Result<Self, Error> {
        Ok(Self { module: syntax::parse(module.text())?, launched: Mutex::default() })
    }

    /// Returns the names of the kernels that were launched so far.
    pub(crate) fn launched(&self) -> BTreeSet<&'static str> {
        lock(&self.launched).clone()
    }

    /// Runs a kernel. `which` has, for each of its arrays, an index into `contents`, which the
    /// kernel changes.
    pub(crate) fn launch(
        &self,
        kernel: &Kernel,
        contents: &mut [Vec<u8>],
        which: &[usize],
        batch: Batch,
    ) -> Result<(), Error> {
        let scalars = kernel.values().iter().map(|value| value.bits());
        lock(&self.launched).insert(kernel.name());
        let numbers = batch.arguments().map(u64::from).into_iter().chain(scalars);
        let arguments: Vec<Argument> = which
            .iter()
            .map(|&index| Argument::Array(index))
            .chain(numbers.map(Argument::Number))
            .collect();
        let launch = Launch {
            grid: kernel.grid(batch.operations()),
            block: [kernel.shape().threads(), 1, 1],
            shared_bytes: kernel.shape().shared_bytes(),
            // Far above what kernels need: one that never ends fails.
            most_instructions: 1 << 31,
            ..Launch::new(&self.module, kernel.name())
        };
        let mut arrays: Vec<Array> =
            contents.iter_mut().map(|content| Array::new(core::mem::take(content))).collect();
        let done = launch.run(&mut arrays, &arguments);
        for (content, array) in contents.iter_mut().zip(arrays) {
            *content = array.bytes;
        }
        done.map(drop)
    }
}
