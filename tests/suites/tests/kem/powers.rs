//! Inversion by powers on the emulator against division steps on the CPU.

use ctru_gpu_kernels::kernels::row;
use ctru_gpu_runtime::emulated::EmulatedDevice;
use ctru_gpu_runtime::{Device, HostMemory, Queue};
use ctru_kem::engine::device::powers::{Chain, Maps, Powers, padded};
use ctru_math::invert::invert;
use ctru_math::{Arithmetic, Poly, R653, R761, R1277};

/// Returns elements that look random, and zero.
fn elements<R: Arithmetic>(count: usize) -> Vec<Poly<R>> {
    let element = |k: usize| {
        let c = |i: usize| (k * (i + k).pow(3) % R::Q as usize) as u16;
        Poly::from_coefficients(&(0..R::N).map(c).collect::<Vec<_>>()).unwrap()
    };
    (0..count).map(element).collect()
}

/// Inverts `count` elements, of which the first one is zero.
fn check<R: Arithmetic>(count: usize) {
    let (chain, row) = (Chain::of::<R>(), row::<R>() as usize);
    let queue = EmulatedDevice::new().queue().unwrap();
    let maps = Maps::new(&queue, chain).unwrap();
    let powers = Powers::new(&queue, chain, count).unwrap();
    let mut pinned = queue.pinned(padded(count) * row).unwrap();
    let elements = elements::<R>(count);
    for (row, element) in pinned.write().unwrap().chunks_exact_mut(row).zip(&elements) {
        row[..R::N].copy_from_slice(element.coefficients());
    }
    let [from, to] = [(); 2].map(|()| queue.allocate::<u16>(pinned.len()).unwrap());
    queue.upload(&pinned, 0..pinned.len(), &from, 0).unwrap();
    queue.launch_all(&powers.steps(chain, &maps, count, &from, &to)).unwrap();
    queue.download(&to, 0..count * row, &mut pinned, 0).unwrap();
    for (row, element) in pinned.read().unwrap().chunks_exact(row).zip(&elements) {
        let expected = Option::from(invert(element)).unwrap_or_else(Poly::zero);
        assert_eq!(&row[..R::N], expected.coefficients());
    }
}

#[test]
#[ignore = "takes long; CI runs it"]
fn few_653() {
    check::<R653>(3);
}

#[test]
fn few_761() {
    check::<R761>(2);
}

#[test]
#[ignore = "takes long; CI runs it"]
fn few_1277() {
    check::<R1277>(2);
}

/// One warp computes each product of a larger batch.
#[test]
#[ignore = "takes long; CI runs it"]
fn many_653() {
    check::<R653>(65);
}
