//! Prints the block shape of every kernel as JSON, which `cargo xtask ptx-report` reads.

use ctru_gpu_kernels::table;

fn main() {
    let kernels = table::ALL.iter().flat_map(|kernels| kernels.each()).map(|kernel| {
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
