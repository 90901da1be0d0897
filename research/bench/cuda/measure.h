// What the programs in this folder share.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                   \
    do {                                                                              \
        cudaError_t code = (call);                                                    \
        if (code != cudaSuccess) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(code)); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

// Prints the median time of a run, over the same runs as examples/own-kernel/examples/measure.rs.
template <typename Run>
void report(const char* kernel, const char* program, Run run) {
    const int runs = 10, times = 31;
    cudaEvent_t start, end;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    std::vector<float> measured;
    for (int i = 0; i < times; i++) {
        CHECK(cudaEventRecord(start));
        for (int k = 0; k < runs; k++) run();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float milliseconds;
        CHECK(cudaEventElapsedTime(&milliseconds, start, end));
        measured.push_back(milliseconds * 1e6f / runs);
    }
    std::sort(measured.begin(), measured.end());
    printf("{\"kernel\": \"%s\", \"program\": \"%s\", \"median_ns\": %.0f, \"least_ns\": %.0f, "
           "\"most_ns\": %.0f}\n",
           kernel, program, measured[times / 2], measured.front(), measured.back());
}
