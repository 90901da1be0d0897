// The matrix product of examples/own-kernel/src/product.rs in CUDA C++: the same tiles, the same
// copies, the same instructions of the tensor cores. Prints the median time of a run as a line of
// JSON.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "measure.h"

constexpr int THREADS = 128, TILE = 128, SLAB = 64, ROW = SLAB / 16, STAGES = 4;
constexpr int FACTOR = TILE * SLAB, SHARED = STAGES * 2 * FACTOR;
constexpr int ROWS = 4, COLUMNS = 8;

__device__ void copy_to_shared(uint32_t to, const uint4* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

__device__ void mma(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                    uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS)
    multiply(const uint4* __restrict__ a, const uint4* __restrict__ b, int* __restrict__ c,
             uint32_t slabs) {
    extern __shared__ __align__(16) unsigned char shared[];
    const uint32_t thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const uint32_t row = ROW * slabs, line = thread / ROW, part = thread % ROW;
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(shared);
    const uint4* from_a = a + (size_t)(TILE * blockIdx.y + line) * row + part;
    const uint4* from_b = b + (size_t)(TILE * blockIdx.x + line) * row + part;
    auto copy = [&](uint32_t slab) {
        if (slab < slabs) {
            uint32_t to = base + slab % STAGES * 2 * FACTOR + 16 * thread;
#pragma unroll
            for (int k = 0; k < TILE * ROW / THREADS; k++) {
                uint32_t from = THREADS / ROW * k * row + ROW * slab;
                copy_to_shared(to + 16 * THREADS * k, from_a + from);
                copy_to_shared(to + 16 * THREADS * k + FACTOR, from_b + from);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int slab = 0; slab < STAGES - 1; slab++) copy(slab);

    const uint32_t i = lane / 4, j = lane % 4;
    const uint32_t warp_row = 64 * (warp / 2), warp_column = 64 * (warp % 2);
    int sums[ROWS][COLUMNS][4] = {};
    for (uint32_t slab = 0; slab < slabs; slab++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();
        copy(slab + STAGES - 1);
        const unsigned char* stage = shared + slab % STAGES * 2 * FACTOR + 16 * j;
        auto vector = [&](uint32_t line) {
            return *reinterpret_cast<const uint4*>(stage + SLAB * (line + i));
        };
        uint4 columns[COLUMNS];
#pragma unroll
        for (int n = 0; n < COLUMNS; n++) columns[n] = vector(TILE + warp_column + 8 * n);
#pragma unroll
        for (int m = 0; m < ROWS; m++) {
            uint4 low = vector(warp_row + 16 * m), high = vector(warp_row + 16 * m + 8);
#pragma unroll
            for (int n = 0; n < COLUMNS; n++) {
                mma(sums[m][n], low.x, high.x, low.y, high.y, columns[n].x, columns[n].y);
                mma(sums[m][n], low.z, high.z, low.w, high.w, columns[n].z, columns[n].w);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < ROWS; m++) {
#pragma unroll
        for (int n = 0; n < COLUMNS; n++) {
            size_t line = TILE * blockIdx.y + warp_row + 16 * m + i;
            size_t column = TILE * blockIdx.x + warp_column + 8 * n + 2 * j;
            size_t width = (size_t)TILE * gridDim.x;
            int* to = c + line * width + column;
            *reinterpret_cast<int2*>(to) = make_int2(sums[m][n][0], sums[m][n][1]);
            *reinterpret_cast<int2*>(to + 8 * width) = make_int2(sums[m][n][2], sums[m][n][3]);
        }
    }
}

int main() {
    const uint32_t side = 4096;
    const size_t count = (size_t)side * side;
    std::vector<int8_t> factor(2 * count);
    for (size_t i = 0; i < 2 * count; i++) factor[i] = (int8_t)(i * i + i / 7);

    int8_t *a, *b;
    int* c;
    CHECK(cudaMalloc(&a, count));
    CHECK(cudaMalloc(&b, count));
    CHECK(cudaMalloc(&c, 4 * count));
    CHECK(cudaMemcpy(a, factor.data(), count, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, factor.data() + count, count, cudaMemcpyHostToDevice));
    CHECK(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));

    auto run = [&] {
        multiply<<<dim3(side / TILE, side / TILE), THREADS, SHARED>>>(
            (const uint4*)a, (const uint4*)b, c, side / SLAB);
        CHECK(cudaGetLastError());
    };
    run();
    std::vector<int> product(count);
    CHECK(cudaMemcpy(product.data(), c, 4 * count, cudaMemcpyDeviceToHost));
    for (size_t at = 0; at < count; at += 4099) {
        int sum = 0;
        for (size_t k = 0; k < side; k++)
            sum += factor[at / side * side + k] * factor[count + at % side * side + k];
        if (product[at] != sum) {
            fprintf(stderr, "element %zu is wrong\n", at);
            return 1;
        }
    }
    report("product", "cuda", run);
}
