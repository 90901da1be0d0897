// Measures cub::DeviceScan::ExclusiveSum on as many numbers as examples/own-kernel's scan.
// Prints the median time of a run as a line of JSON.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <cub/device/device_scan.cuh>

#include "measure.h"

int main() {
    const uint32_t count = 1u << 26;
    std::vector<uint32_t> numbers(count), sums(count);
    for (uint32_t i = 0; i < count; i++) numbers[i] = i * 2654435761u;

    uint32_t *from, *to;
    CHECK(cudaMalloc(&from, 4ull * count));
    CHECK(cudaMalloc(&to, 4ull * count));
    CHECK(cudaMemcpy(from, numbers.data(), 4ull * count, cudaMemcpyHostToDevice));
    size_t bytes = 0;
    CHECK(cub::DeviceScan::ExclusiveSum(nullptr, bytes, from, to, (int)count));
    void* memory;
    CHECK(cudaMalloc(&memory, bytes));

    auto run = [&] { CHECK(cub::DeviceScan::ExclusiveSum(memory, bytes, from, to, (int)count)); };
    run();
    CHECK(cudaMemcpy(sums.data(), to, 4ull * count, cudaMemcpyDeviceToHost));
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sums[i] != sum) {
            fprintf(stderr, "number %u is wrong\n", i);
            return 1;
        }
        sum += numbers[i];
    }
    report("scan", "cub", run);
}
