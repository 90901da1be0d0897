//! Prints the block shape of every kernel as JSON, which `cargo xtask ptx-report` reads.

#[cfg(feature = "lab")]
use ctru_gpu_kernels::lab::compared;
use ctru_gpu_kernels::table;

fn main() {
    let kernels = table::ALL.iter().flat_map(|kernels| kernels.each());
    #[cfg(feature = "lab")]
    let kernels = kernels
        .chain(compared::ALL.iter().flat_map(|kernels| kernels.each()))
        .chain(ctru_gpu_kernels::lab::table::all());
    let kernels = kernels.map(|kernel| {
        let shape = kernel.shape();
        format!(
            "  {:?}: {{\"threads\": {}, \"per_block\": {}, \"shared_bytes\": {}}}",
            kernel.name(),
            shape.threads(),
            shape.per_block(),
            shape.shared_bytes()
        )
    });
    println!("{{\n{}\n}}", kernels.collect::<Vec<_>>().join(",\n"));
}
