// Kernels that make nvcc write what the small ones do not need: calls, generic addresses, local
// memory, structs, tables of jumps, half precision, roundings, carries and barriers of all kinds.
// `compile.py` makes `features.ptx` of them.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __noinline__ int power(int base, int exponent) {
    int result = 1;
    for (; exponent > 0; exponent--) result *= base;
    return result;
}

struct Pair {
    int first;
    double second;
};

__device__ __noinline__ Pair swapped(Pair pair, int *calls) {
    atomicAdd(calls, 1);
    return {(int)pair.second, (double)pair.first};
}

// Calls functions, one with a struct and the address of an element.
extern "C" __global__ void calls(const int *in, int *out, int *count) {
    int i = threadIdx.x;
    Pair pair = swapped({power(in[i], 3), (double)power(2, i % 8)}, count);
    out[2 * i] = pair.first;
    out[2 * i + 1] = (int)pair.second;
}

__device__ __noinline__ void add_to(int *number, int value) { *number += value; }

// Passes the addresses of global, shared and local memory to one function.
extern "C" __global__ void generic(int *numbers) {
    __shared__ int shared[64];
    int local[4] = {1, 2, 3, 4};
    int i = threadIdx.x;
    shared[i] = i;
    add_to(&shared[i], 10);
    add_to(&local[i % 4], 100);
    add_to(&numbers[i], shared[i] + local[0] + local[i % 4]);
}

struct Arguments {
    const int *in;
    int *out;
    short scale;
    unsigned char add[3];
};

// Takes a struct with addresses.
extern "C" __global__ void structs(Arguments arguments, int which) {
    int i = threadIdx.x;
    arguments.out[i] = arguments.in[i] * arguments.scale + arguments.add[which];
}

// A switch that becomes a table of jumps.
extern "C" __global__ void jumps(const int *in, int *out) {
    int i = threadIdx.x, value = in[i];
    switch (i % 8) {
    case 0: value = value * value; break;
    case 1: value = __brev(value); break;
    case 2: value = __popc(value); break;
    case 3: value = __clz(value); break;
    case 4: atomicAdd(&out[i], 7); return;
    case 5: value = __ffs(value); break;
    case 6: value = __byte_perm(value, 5, 0x4321); break;
    default: value = ~value;
    }
    out[i] = value;
}

// Sums and products of halves, of pairs of halves, and of bfloat16.
extern "C" __global__ void halves(const __half *a, const __half *b, __half *out,
                                  __nv_bfloat16 *wide, float *floats) {
    int i = threadIdx.x;
    out[4 * i] = __hadd(a[i], b[i]);
    out[4 * i + 1] = __hmul(a[i], b[i]);
    out[4 * i + 2] = __hfma(a[i], b[i], a[i]);
    out[4 * i + 3] = __float2half_rz(__half2float(a[i]) / 3);
    __half2 pair = __halves2half2(a[i], b[i]);
    pair = __hfma2(pair, pair, __hneg2(pair));
    __nv_bfloat16 bfloat = __float2bfloat16(__half2float(a[i]));
    wide[2 * i] = bfloat * __float2bfloat16(1.5f);
    wide[2 * i + 1] = __hmax(bfloat, __float2bfloat16(0.25f));
    floats[2 * i] = __low2float(pair);
    floats[2 * i + 1] = __high2float(pair) + __half2int_rn(b[i]) + (a[i] < b[i] ? 100 : 0);
}

// All roundings of sums, products, quotients and roots.
extern "C" __global__ void roundings(const float *in, const double *wide, float *out, double *far) {
    float a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    double x = wide[2 * threadIdx.x], y = wide[2 * threadIdx.x + 1];
    out += 24 * threadIdx.x;
    far += 20 * threadIdx.x;
#define ALL(to, name, ...)                                                                        \
    *to++ = name##_rn(__VA_ARGS__), *to++ = name##_rz(__VA_ARGS__);                               \
    *to++ = name##_ru(__VA_ARGS__), *to++ = name##_rd(__VA_ARGS__)
    ALL(out, __fadd, a, b);
    ALL(out, __fmul, a, b);
    ALL(out, __fmaf, a, b, b);
    ALL(out, __fdiv, a, b);
    ALL(out, __fsqrt, a);
    ALL(out, __double2float, x);
    ALL(far, __dadd, x, y);
    ALL(far, __dmul, x, y);
    ALL(far, __fma, x, y, y);
    ALL(far, __ddiv, x, y);
    ALL(far, __dsqrt, x);
}

// Products of 128 bits, whose sums have carries.
extern "C" __global__ void carries(const unsigned long long *in, unsigned long long *out) {
    unsigned __int128 a = in[2 * threadIdx.x], b = in[2 * threadIdx.x + 1];
    unsigned __int128 c = (a << 64 | b) * b + (b << 64 | a) - (a ^ b);
    out[2 * threadIdx.x] = (unsigned long long)c;
    out[2 * threadIdx.x + 1] = (unsigned long long)(c >> 64);
}

// Atomic operations of many types. Each adds to, or replaces, an element of its own.
extern "C" __global__ void atomics(int *ints, unsigned *numbers, unsigned long long *longs,
                                   float *floats, double *doubles, __half2 *pairs) {
    __shared__ unsigned shared;
    int i = threadIdx.x;
    if (i == 0) shared = 0;
    __syncthreads();
    atomicMax(&ints[0], i - 5), atomicMin(&ints[1], i - 5), atomicExch(&ints[2], 9);
    atomicAnd(&numbers[0], ~(1u << i)), atomicOr(&numbers[1], 1u << i);
    atomicXor(&numbers[2], 1u << i), atomicInc(&numbers[3], 9), atomicDec(&numbers[4], 9);
    atomicSub(&numbers[5], 2u), atomicAdd(&shared, 3u);
    atomicAdd(&longs[0], 1ull << 40), atomicMax(&longs[1], (unsigned long long)i << 33);
    atomicCAS(&longs[2], 0ull, 77ull);
    atomicAdd(floats, 0.5f), atomicAdd(doubles, 0.25), atomicAdd(pairs, __floats2half2_rn(1, 2));
    __syncthreads();
    if (i == 0) numbers[6] = shared;
}

// What the threads of a warp and of a block tell one another.
extern "C" __global__ void votes(const int *in, unsigned *out) {
    int value = in[threadIdx.x], lane = threadIdx.x % 32, same;
    unsigned all = 0xffffffff;
    out += 16 * threadIdx.x;
    out[0] = __ballot_sync(all, value > 3), out[1] = __any_sync(all, value > 3);
    out[2] = __all_sync(all, value > 3), out[3] = __match_any_sync(all, value);
    out[4] = __match_all_sync(all, value, &same), out[5] = same;
    out[6] = __shfl_sync(all, value, 5, 8), out[7] = __shfl_up_sync(all, value, 2, 16);
    out[8] = __reduce_add_sync(all, value), out[9] = __reduce_max_sync(all, value);
    out[10] = __reduce_xor_sync(all, (unsigned)value);
    out[11] = __syncthreads_count(value > 3), out[12] = __syncthreads_and(value >= 0);
    out[13] = __syncthreads_or(value > 99);
    out[14] = lane < 16 ? __shfl_xor_sync(0xffff, value, 1) : __activemask();
    out[15] = __dp4a(value, 0x01020304, 5);
}

// Two warps make numbers for two others: one barrier says that they are there, one that they are
// taken.
extern "C" __global__ void named_barriers(const int *in, int *out) {
    __shared__ int numbers[64];
    int i = threadIdx.x % 64;
    for (int round = 0; round < 4; round++) {
        if (threadIdx.x < 64) {
            asm volatile("bar.sync 2, 128;" ::: "memory");
            numbers[i] = in[64 * round + i];
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            asm volatile("bar.arrive 2, 128;" ::: "memory");
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[64 * round + i] = numbers[63 - i];
        }
    }
}

// Stops at a number that must not be there.
extern "C" __global__ void traps(const int *in, int *out) {
    if (in[threadIdx.x] == 13) __trap();
    out[threadIdx.x] = in[threadIdx.x];
}

// Functions that the hardware computes approximately.
extern "C" __global__ void approximations(const float *in, float *out) {
    float x = in[threadIdx.x];
    out += 8 * threadIdx.x;
    out[0] = __expf(x), out[1] = __logf(x), out[2] = __sinf(x), out[3] = __cosf(x);
    out[4] = rsqrtf(x), out[5] = __fdividef(1, x), out[6] = exp2f(x), out[7] = tanhf(x);
}
