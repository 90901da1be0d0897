//! Runs the measurements in their order.

use ctru_gpu_runtime::cuda::CudaDevice;
use ctru_kem::engine::cuda;
use ctru_kem::{CtruPrime653, CtruPrime761, CtruPrime1277, CtruPrimeSet};
use ctru_math::NtruPrimeRing;
use research_paper::table as compared;

use super::kernels::Devices;
use super::session::{Options, Part, Session};
use super::{ceilings, cpu, engine, inversion, kernels};
use crate::error::Error;
use crate::records::Report;
use crate::sources;

/// Measures the parts and parameter sets that the user has chosen.
///
/// # Errors
/// [`Error`] if the GPU fails or `report` returns an error.
pub(in crate::paper) fn run(options: &Options, report: Report<'_>) -> Result<(), Error> {
    let device = cuda::open(options.gpu)?;
    let compared = CudaDevice::open(options.gpu, &compared::MODULE)?;
    let mut session = Session::new(options, device.info()?.name, report);
    if options.wants(Part::Roofline) {
        ceilings::of_machine(&mut session, &device)?;
    }
    let devices = Devices { engine: device, compared };
    // The paper's keys have the default encoding, mixed-radix.
    one_set::<CtruPrime653>(&mut session, devices)?;
    one_set::<CtruPrime761>(&mut session, devices)?;
    one_set::<CtruPrime1277>(&mut session, devices)
}

/// Measures the chosen parts for one parameter set.
fn one_set<P: CtruPrimeSet>(session: &mut Session<'_>, devices: Devices) -> Result<(), Error> {
    let options = session.options;
    session.set = P::Ring::N.to_string();
    if !options.wants_set(&session.set) {
        return Ok(());
    }
    let device = devices.engine;
    if options.wants(Part::Products) {
        kernels::products::<P::Ring>(session, devices)?;
        cpu::product::<P::Ring>(session)?;
    }
    if options.wants(Part::Fusion) {
        kernels::fusion::<P::Ring>(session, devices)?;
    }
    if options.wants(Part::Inversion) {
        inversion::inversions::<P::Ring>(session, device)?;
    }
    if options.wants(Part::Resources) {
        kernels::resources::<P::Ring>(session, devices)?;
    }
    if options.wants(Part::Streams) && session.set == sources::paper().figure_7.set {
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
