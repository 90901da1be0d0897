//! All measurements, one after the other.

use ctru_gpu_kernels::lab::compared;
use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_kem::ParameterSet;
use ctru_kem::engine::cuda;

use super::kernels::Devices;
use super::session::{Options, Part, Session};
use super::{ceilings, engine, kernels};
use crate::error::Error;
use crate::paper::Report;
use crate::set::{Encoding, Set, Suite, Task};

/// Measures everything that is wanted.
///
/// # Errors
/// [`Error`] if the GPU fails or a measurement cannot be written down.
pub(in crate::paper) fn run(options: &Options, report: Report<'_>) -> Result<(), Error> {
    let device = cuda::open(options.gpu)?;
    let compared = CudaDevice::open(options.gpu, &compared::MODULE)?;
    let mut session = Session::new(options, device.info()?.name, report);
    if options.wants(Part::Roofline) {
        ceilings::of_machine(&mut session, &device)?;
    }
    for &set in options.sets() {
        set.degree().clone_into(&mut session.set);
        // The paper's keys, and the engine's default.
        Suite { set, encoding: Encoding::MixedRadix }.run(OneSet {
            set,
            devices: Devices { engine: device, compared },
            session: &mut session,
        })?;
    }
    Ok(())
}

/// Everything for one parameter set.
struct OneSet<'a, 'b> {
    set: Set,
    devices: Devices,
    session: &'a mut Session<'b>,
}

impl Task for OneSet<'_, '_> {
    type Output = Result<(), Error>;

    fn run<P: ParameterSet>(self) -> Result<(), Error> {
        let Self { set, devices, session } = self;
        let device = devices.engine;
        let options = session.options;
        if options.wants(Part::Products) {
            kernels::products::<P::Ring>(session, devices)?;
        }
        if options.wants(Part::Fusion) {
            kernels::encryption::<P::Ring>(session, devices)?;
        }
        if options.wants(Part::Resources) {
            kernels::resources::<P::Ring>(session, devices)?;
        }
        if options.wants(Part::Streams) && set == engine::STREAMS_SET {
            engine::streams::<P>(session, device)?;
        }
        if options.wants(Part::Operations) {
            engine::operations::<P>(session, device)?;
        }
        if options.wants(Part::Latency) {
            engine::latencies::<P>(session, device)?;
        }
        if options.wants(Part::Roofline) {
            ceilings::of_ring::<P::Ring>(session, devices)?;
            engine::on_device::<P>(session, device)?;
        }
        Ok(())
    }
}
