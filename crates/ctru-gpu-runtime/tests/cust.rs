//! Tests devices and queues for contexts and streams of `cust`. The program is linked with the
//! driver, so it needs one to start, or the stand-in for it (see the README).
#![allow(clippy::unwrap_used, unsafe_code)]

mod common;

use std::sync::Arc;

use ctru_gpu_runtime::cuda::{CudaDevice, CudaQueue};
use ctru_gpu_runtime::{Device, Queue, RuntimeError};
use cust::context::Context;
use cust::context::legacy::{Context as LegacyContext, ContextFlags};
use cust::stream::{Stream, StreamFlags};

/// Issues a kernel to a stream of `cust`, between copies of `cust`, and drops what both share in
/// each order. Checks that a stream of another context is refused.
#[test]
fn contexts_and_streams_of_cust() {
    cust::init(cust::CudaFlags::empty()).unwrap();
    let gpu = cust::device::Device::get_device(0).unwrap();
    let context = Context::new(gpu).unwrap();
    let device = CudaDevice::of_context(&context, &common::MODULE).unwrap();
    assert_eq!(device.index(), 0);
    common::check(&device).unwrap();

    let stream = || Arc::new(Stream::new(StreamFlags::NON_BLOCKING, None).unwrap());
    for drops_first in [true, false] {
        let stream = stream();
        // SAFETY: nothing captures a graph.
        let queue = unsafe { CudaQueue::of_stream(device, Arc::clone(&stream)) }.unwrap();
        assert_eq!(queue.stream(), stream.as_inner().expose_provenance());
        assert_eq!(Arc::strong_count(&stream), 2);
        if drops_first {
            drop(stream);
            queue.allocate::<u32>(64).unwrap();
            queue.synchronise().unwrap();
        } else {
            drop(queue);
            assert_eq!(Arc::strong_count(&stream), 1);
            stream.synchronize().unwrap();
        }
    }

    let other = LegacyContext::create_and_push(ContextFlags::SCHED_AUTO, gpu).unwrap();
    // SAFETY: no code captures a graph from the stream.
    let refused = unsafe { CudaQueue::of_stream(device, stream()) };
    assert!(matches!(refused, Err(RuntimeError::Foreign { .. })), "{refused:?}");
    drop(other);
    drop(context);
    device.queue().unwrap().synchronise().unwrap();
}
