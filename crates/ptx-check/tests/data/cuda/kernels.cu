// Small kernels of the kinds that programs have, for the tests of the interpreter. `compile.py`
// makes `kernels.ptx` of them.

#define WARP 32

// Sums numbers: each warp by shuffles, each block in shared memory, all blocks by an atomic.
extern "C" __global__ void reduction(const float *in, float *out, int count) {
    __shared__ float sums[WARP];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (; i < count; i += gridDim.x * blockDim.x) sum += in[i];
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x % WARP == 0) sums[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x < WARP) {
        sum = threadIdx.x < blockDim.x / WARP ? sums[threadIdx.x] : 0;
        for (int distance = WARP / 2; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, distance);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

// Counts bytes, in shared memory first.
extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int count) {
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

#define TILE 16

// The product of two square matrices, by tiles in shared memory.
extern "C" __global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < n; tile += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + tile + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// One product of 16 x 16 by 16 x 8 halves by the matrix unit, with sums of 32 bits.
extern "C" __global__ void matrix_unit(const unsigned *a, const unsigned *b, float *c) {
    int lane = threadIdx.x, group = lane / 4, place = lane % 4;
    unsigned a0 = a[group * 8 + place], a1 = a[(group + 8) * 8 + place];
    unsigned a2 = a[group * 8 + place + 4], a3 = a[(group + 8) * 8 + place + 4];
    unsigned b0 = b[group * 8 + place], b1 = b[group * 8 + place + 4];
    float d0, d1, d2, d3;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                 : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(1.0f));
    c[group * 8 + place * 2] = d0;
    c[group * 8 + place * 2 + 1] = d1;
    c[(group + 8) * 8 + place * 2] = d2;
    c[(group + 8) * 8 + place * 2 + 1] = d3;
}

// Inclusive sums of a block, in steps that double.
extern "C" __global__ void scan(const int *in, int *out) {
    extern __shared__ int sums[];
    int i = threadIdx.x, first = blockIdx.x * blockDim.x;
    sums[i] = in[first + i];
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        int before = i >= distance ? sums[i - distance] : 0;
        __syncthreads();
        sums[i] += before;
        __syncthreads();
    }
    out[first + i] = sums[i];
}

// The transpose of a matrix, by tiles with a column to spare.
extern "C" __global__ void transposition(const float *in, float *out, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

__device__ float largest(float value) {
    for (int lane = WARP / 2; lane > 0; lane /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, lane));
    return value;
}

// The softmax of each row of 32 numbers, a warp a row.
extern "C" __global__ void softmax(const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float power = expf(in[i] - largest(in[i])), sum = power;
    for (int lane = WARP / 2; lane > 0; lane /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, lane);
    out[i] = power / sum;
}

__constant__ float weights[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

// A weighted sum of each number and its four neighbours. Numbers outside are zero.
extern "C" __global__ void stencil(const float *in, float *out, int count) {
    extern __shared__ float near[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, own = threadIdx.x + 2;
    near[own] = i < count ? in[i] : 0;
    if (threadIdx.x < 2) {
        int before = i - 2, after = i + blockDim.x;
        near[own - 2] = before >= 0 ? in[before] : 0;
        near[own + blockDim.x] = after < count ? in[after] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = -2; k <= 2; k++) sum += weights[k + 2] * near[own + k];
    if (i < count) out[i] = sum;
}

// Sums a block as above, but each step reads what other warps may not have written yet.
extern "C" __global__ void planted_race(const int *in, int *out) {
    extern __shared__ int sums[];
    int i = threadIdx.x;
    sums[i] = in[i];
    __syncthreads();
    for (int distance = blockDim.x / 2; distance > 0; distance /= 2) {
        if (i < distance) sums[i] += sums[i + distance]; // race
    }
    if (i == 0) *out = sums[0];
}

// Adds two arrays, and one number too many.
extern "C" __global__ void planted_bounds(const int *a, const int *b, int *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= count) out[i] = a[i] + b[i]; // bounds
}

// Reverses a block in shared memory, and does not wait before it reads.
extern "C" __global__ void missing_barrier(const int *in, int *out) {
    extern __shared__ int own[];
    own[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = own[blockDim.x - 1 - threadIdx.x]; // missing
}

// Half of the threads wait for the others, which never come.
extern "C" __global__ void divergent_barrier(const int *in, int *out) {
    extern __shared__ int own[];
    own[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x % 2 == 0) {
        __syncthreads(); // divergent
        own[threadIdx.x] += 1;
    }
    out[threadIdx.x] = own[threadIdx.x];
}
