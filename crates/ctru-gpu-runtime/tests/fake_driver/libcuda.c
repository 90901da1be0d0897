/* A stand-in for the driver that needs no GPU, for tests of the host code. It delays operations as
 * long as a driver may: a stream's operations happen only when the program waits for them, so code
 * that reads memory too early reads old bytes. It stops the program if memory is freed that is not
 * all zeros. It has one kernel, `reverse` of common/mod.rs, also under longer names, and omits
 * every check that the tests do not need. CTRU_FAKE_DRIVER selects its behaviour while a copy is
 * running:
 * - "refuses-contexts": it refuses to enter a context;
 * - "captures": it refuses to wait for a stream, as if another library captured a graph;
 * - "fails": it waits for a stream and reports that an operation failed.
 * With any other value every call succeeds, until a test calls `ctru_fail`.
 *
 * Two values are for tests of packages whose kernels it does not have: it takes all kernels, and
 * copies and waits as ever.
 * - "computes-nothing": kernels change nothing, and new memory is zero;
 * - "refuses-keys": the same, but a kernel that validates keys says that the last one is none. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream stream;

typedef struct {
    stream *stream;
    unsigned recorded, happened; /* Number of times. */
    unsigned long at; /* How many events had happened before it. */
} event;

typedef struct operation {
    enum { NOTHING, COPY, ZERO, REVERSE, REFUSE, HAPPEN, WAIT } kind;
    void *to;
    const void *from;
    size_t bytes;
    uint32_t operations, keys;
    event *event;
    unsigned record; /* The number of this record of the event. */
    struct operation *next;
} operation;

struct stream {
    operation *first, *last;
    void *context;
    stream *next;
};

enum { INVALID = 1, NO_MEMORY = 2, NO_CONTEXT = 201, BAD_PTX = 218, NOT_FOUND = 500,
       NOT_READY = 600,
       ILLEGAL_ADDRESS = 700, CAPTURING = 900 };
#define TOTAL ((size_t)(has_no_kernels() ? 4 : 1) << 30)
#define MOST_SHARED_BYTES (227 << 10)
#define DECLARED_BYTES 16
#define HEAD 64 /* Bytes before each allocation, which hold its `head`. */

typedef struct head {
    size_t bytes;
    struct head *next, *before;
} head;

static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;
static stream *streams;
static head pieces = {0, &pieces, &pieces}; /* A ring of all allocations. */
static size_t used;
static int shared_bytes = (48 << 10) - DECLARED_BYTES;
static char context, other_context;
static char validation[8]; /* A kernel that validates is the number of its array of results. */
static __thread int depth; /* Number of contexts that this thread has pushed. */

static int is_told(const char *how) {
    const char *told = getenv("CTRU_FAKE_DRIVER");
    return told && !strcmp(told, how);
}

static int has_no_kernels(void) { return is_told("computes-nothing") || is_told("refuses-keys"); }

static long context_waits;

/* Returns how often the program has waited for all streams. */
long ctru_context_waits(void) {
    pthread_mutex_lock(&all);
    long count = context_waits;
    pthread_mutex_unlock(&all);
    return count;
}

static long module_loads;
static int holds_modules;
static pthread_cond_t modules_released = PTHREAD_COND_INITIALIZER;

/* Makes the loading of modules wait until this function is called again, with 0. */
void ctru_hold_modules(int holds) {
    pthread_mutex_lock(&all);
    holds_modules = holds;
    pthread_cond_broadcast(&modules_released);
    pthread_mutex_unlock(&all);
}

/* Returns how often the program has loaded a module, which is when a driver compiles. */
long ctru_module_loads(void) {
    pthread_mutex_lock(&all);
    long count = module_loads;
    pthread_mutex_unlock(&all);
    return count;
}

static long calls, first_fault, after_faults;
static int fault;

/* Makes `count` calls fail with `code`, after `before` others. A function that waits fails only
 * with ILLEGAL_ADDRESS, which says that an operation failed, because programs may abort if they
 * cannot wait. Leaving a context and asking for the name of an error never fail. Returns the number
 * of calls since the last call of this function. */
long ctru_fail(long before, long count, int code) {
    pthread_mutex_lock(&all);
    long since = calls;
    calls = 0, first_fault = before, after_faults = before + count, fault = code;
    pthread_mutex_unlock(&all);
    return since;
}

/* Counts a call, and returns whether it fails. */
static int is_faulty(int waits) {
    long call = calls++;
    return call >= first_fault && call < after_faults && (!waits || fault == ILLEGAL_ADDRESS);
}

/* Every function that needs no context begins with BEGIN, one that waits with AWAIT, and every
 * other one with ENTER. All end with LEAVE. */
#define LEAVE(result) return pthread_mutex_unlock(&all), (result)
#define BEGIN                 \
    pthread_mutex_lock(&all); \
    if (is_faulty(0)) LEAVE(fault)
#define ENTER                          \
    if (depth == 0) return NO_CONTEXT; \
    BEGIN
#define AWAIT                          \
    if (depth == 0) return NO_CONTEXT; \
    pthread_mutex_lock(&all);          \
    int failed = is_faulty(1)

static unsigned long happenings;

static void finish(stream *s) {
    while (s->first) {
        operation *o = s->first;
        s->first = o->next;
        if (!s->first) s->last = NULL;
        switch (o->kind) {
        case NOTHING: break;
        case COPY: memcpy(o->to, o->from, o->bytes); break;
        case ZERO: memset(o->to, 0, o->bytes); break;
        case REVERSE:
            for (uint32_t block = 0; block < o->operations; block++)
                for (uint32_t i = 0; i < 64; i++)
                    ((uint32_t *)o->to)[block * 64 + i] =
                        ((const uint16_t *)o->from)[(o->keys == 1 ? 0 : block) * 64 + 63 - i] + i;
            break;
        case REFUSE:
            /* The kernel writes a result for each key. */
            memset(o->to, 0, 8 * (size_t)o->operations);
            ((uint64_t *)o->to)[o->operations - 1] = 2;
            break;
        case HAPPEN:
            o->event->happened = o->record;
            o->event->at = happenings++;
            break;
        case WAIT:
            if (o->event->happened < o->record) finish(o->event->stream);
            break;
        }
        free(o);
    }
}

static int is_copying(void) {
    for (stream *s = streams; s; s = s->next)
        for (operation *o = s->first; o; o = o->next)
            if (o->kind == COPY) return 1;
    return 0;
}

/* Returns whether the driver has the behaviour `how` and a copy is running. */
static int is_one_that(const char *how) {
    return is_told(how) && is_copying();
}

static operation *issue(stream *s, int kind) {
    operation *o = calloc(1, sizeof *o);
    o->kind = kind;
    if (s->last)
        s->last->next = o;
    else
        s->first = o;
    return s->last = o;
}

static void *piece(size_t bytes) {
    head *h = calloc(HEAD + bytes, 1);
    *h = (head){bytes, pieces.next, &pieces};
    h->next->before = h->before->next = h;
    char *memory = (char *)h + HEAD;
    return has_no_kernels() ? memory : memset(memory, 0x5a, bytes);
}

static size_t give_back(char *memory) {
    head *h = (head *)(memory - HEAD);
    size_t bytes = h->bytes;
    /* All bytes are 0 if the first one is, and each equals the next one. */
    if (bytes && (*memory || memcmp(memory, memory + 1, bytes - 1))) {
        fprintf(stderr, "memory was given back that is not wiped\n");
        abort();
    }
    h->next->before = h->before, h->before->next = h->next;
    free(h);
    return bytes;
}

/* Returns whether the memory of the GPU or pinned memory holds these bytes somewhere. */
int ctru_holds(const char *what, size_t bytes) {
    int holds = 0;
    pthread_mutex_lock(&all);
    for (const head *h = pieces.next; h != &pieces && !holds; h = h->next) {
        const char *start = (const char *)h + HEAD, *end = start + h->bytes, *at = start;
        while (!holds && (at = memchr(at, *what, (size_t)(end - at)))) {
            holds = (size_t)(end - at) >= bytes && !memcmp(at, what, bytes);
            at++;
        }
    }
    pthread_mutex_unlock(&all);
    return holds;
}

int cuInit(unsigned flags) {
    BEGIN;
    LEAVE(flags ? INVALID : 0);
}

int cuDriverGetVersion(int *version) {
    BEGIN;
    *version = 13000;
    LEAVE(0);
}

int cuDeviceGetCount(int *count) {
    BEGIN;
    *count = 1;
    LEAVE(0);
}

int cuDeviceGet(int *device, int index) {
    BEGIN;
    *device = index;
    LEAVE(0);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    BEGIN;
    *bytes = TOTAL;
    LEAVE(0);
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    BEGIN;
    *value = attribute == 76 ? 0 : attribute == 97 ? MOST_SHARED_BYTES : 9;
    LEAVE(0);
}

int cuDeviceGetName(char *name, int bytes, int device) {
    BEGIN;
    snprintf(name, bytes, "Fake");
    LEAVE(0);
}

int cuDevicePrimaryCtxRetain(void **result, int device) {
    BEGIN;
    *result = &context;
    LEAVE(0);
}

/* What only `cust` calls, with a context beside the primary one. */
static __thread int is_in_other, is_cust;

int cuDevicePrimaryCtxRelease_v2(int device) {
    BEGIN;
    LEAVE(device);
}

int cuCtxSetCurrent(void *current) {
    if (depth == 0) depth = 1;
    is_cust = 1;
    return current == &context ? 0 : INVALID;
}

int cuCtxCreate_v2(void **result, unsigned flags, int device) {
    *result = &other_context;
    is_in_other = 1;
    depth++;
    return flags ? INVALID : device;
}

int cuCtxDestroy_v2(void *destroyed) {
    is_in_other = 0;
    depth--;
    return destroyed == &other_context ? 0 : INVALID;
}

int cuCtxGetDevice(int *device) {
    ENTER;
    *device = 0;
    LEAVE(0);
}

int cuStreamGetCtx(stream *s, void **result) {
    BEGIN;
    *result = s->context;
    LEAVE(0);
}

int cuCtxPushCurrent_v2(void *pushed) {
    BEGIN;
    if (pushed != &context || is_one_that("refuses-contexts")) LEAVE(INVALID);
    depth++;
    LEAVE(0);
}

int cuCtxPopCurrent_v2(void **popped) {
    if (depth == 0) return NO_CONTEXT;
    depth--;
    return *popped = &context, 0;
}

int cuCtxSynchronize(void) {
    AWAIT;
    context_waits++;
    for (stream *s = streams; s; s = s->next) finish(s);
    LEAVE(failed ? fault : 0);
}

int cuGetErrorName(int code, const char **name) {
    *name = code == BAD_PTX ? "CUDA_ERROR_INVALID_PTX" : NULL;
    return *name ? 0 : INVALID;
}

int cuModuleLoadDataEx(void **module, const char *image, unsigned count, int *options,
                       void **values) {
    ENTER;
    module_loads++;
    while (holds_modules) pthread_cond_wait(&modules_released, &all);
    if (has_no_kernels()) LEAVE((*module = &context, 0));
    if (strstr(image, ".version") && (!strstr(image, ".entry") || strstr(image, "bar.sync"))) {
        *module = &context;
        LEAVE(0);
    }
    if (count == 2 && options[0] == 5 && options[1] == 6)
        snprintf(values[0], (size_t)values[1], "what is this:%s\n", image);
    LEAVE(BAD_PTX);
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER;
    *function = !strncmp(name, "validate_public", 15) ? validation + 3
                : !strncmp(name, "validate_secret", 15) ? validation + 5
                                                        : &context;
    if (has_no_kernels()) LEAVE(0);
    LEAVE(strncmp(name, "reverse", 7) ? NOT_FOUND : 0);
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
    ENTER;
    if (attribute != 8 || value > MOST_SHARED_BYTES) LEAVE(INVALID);
    shared_bytes = value;
    LEAVE(0);
}

int cuFuncGetAttribute(int *value, int attribute, void *function) {
    ENTER;
    static const int values[] = {[1] = DECLARED_BYTES, [3] = 8, [4] = 40};
    if (attribute != 1 && attribute != 3 && attribute != 4) LEAVE(INVALID);
    *value = values[attribute];
    LEAVE(0);
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                size_t shared) {
    ENTER;
    *blocks = threads && (int)shared <= shared_bytes ? 3 : 0;
    LEAVE(0);
}

/* Sets what a kernel does. Of kernels that are not here, those that validate keys may refuse. */
static int set_launch(operation *o, void *function, unsigned blocks, void **parameters) {
    if (has_no_kernels()) {
        if (function == &context || is_told("computes-nothing")) return 0;
        void **results = &parameters[(char *)function - validation];
        o->kind = REFUSE;
        o->to = *(void **)results[0];
        o->operations = *(uint32_t *)results[1];
        return 0;
    }
    o->kind = REVERSE;
    o->from = *(void **)parameters[0];
    o->to = *(void **)parameters[1];
    o->operations = *(uint32_t *)parameters[2];
    o->keys = *(uint32_t *)parameters[3];
    return o->operations == blocks ? 0 : INVALID;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, stream *s,
                   void **parameters, void **extra) {
    ENTER;
    int is_block = block_x == 64 && block_y == 1 && block_z == 1;
    if (!has_no_kernels() && (!grid_x || grid_y != 1 || grid_z != 1 || !is_block || extra ||
                              (int)shared > shared_bytes))
        LEAVE(INVALID);
    LEAVE(set_launch(issue(s, NOTHING), function, grid_x, parameters));
}

/* A graph is a list of launches. Of the nodes whose dependencies have been issued, the one that was
 * added last is issued first, so a graph without a dependency that it needs gives wrong results. */
typedef struct node {
    operation launch;
    struct node *next;
    struct node *before[4];
    size_t count;
    int is_issued;
} node;
typedef struct {
    node *first, *last;
} graph;
typedef struct {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
} kernel_node;

int cuGraphCreate(graph **result, unsigned flags) {
    ENTER;
    *result = calloc(1, sizeof **result);
    LEAVE(flags ? INVALID : 0);
}

static int is_in(const graph *g, const node *wanted) {
    for (const node *n = g->first; n; n = n->next)
        if (n == wanted) return 1;
    return 0;
}

int cuGraphAddKernelNode(node **result, graph *g, node **dependencies, size_t count,
                         const kernel_node *k) {
    ENTER;
    if (k->extra || (int)k->shared > shared_bytes || count > 4) LEAVE(INVALID);
    for (size_t i = 0; i < count; i++)
        if (!is_in(g, dependencies[i])) LEAVE(INVALID);
    node *added = *result = calloc(1, sizeof **result);
    while (added->count < count) added->before[added->count++] = *dependencies++;
    *(g->last ? &g->last->next : &g->first) = added;
    g->last = added;
    LEAVE(set_launch(&added->launch, k->function, k->grid[0], k->parameters));
}

int cuGraphExecKernelNodeSetParams(graph *g, node *n, const kernel_node *k) {
    ENTER;
    if (!is_in(g, n) || k->extra) LEAVE(INVALID);
    LEAVE(set_launch(&n->launch, k->function, k->grid[0], k->parameters));
}

/* The executable graph takes the nodes. */
int cuGraphInstantiate_v2(graph **result, graph *g, node **failed, char *log, size_t bytes) {
    ENTER;
    *result = calloc(1, sizeof **result);
    **result = *g;
    g->first = g->last = NULL;
    LEAVE(bytes ? INVALID : 0);
}

int cuGraphLaunch(graph *g, stream *s) {
    ENTER;
    for (node *n = g->first; n; n = n->next) n->is_issued = 0;
    for (node *ready = g->first; ready;) {
        ready = NULL;
        for (node *n = g->first; n; n = n->next) {
            int waits = n->is_issued;
            for (size_t i = 0; i < n->count; i++) waits |= !n->before[i]->is_issued;
            if (!waits) ready = n;
        }
        if (!ready) break;
        operation *o = issue(s, NOTHING), *next = o->next;
        *o = ready->launch;
        o->next = next;
        ready->is_issued = 1;
    }
    LEAVE(0);
}

int cuGraphDestroy(graph *g) {
    ENTER;
    for (node *n = g->first, *next; n; n = next) next = n->next, free(n);
    free(g);
    LEAVE(0);
}
int cuGraphExecDestroy(graph *g) { return cuGraphDestroy(g); }

int cuMemGetInfo_v2(size_t *free, size_t *total) {
    ENTER;
    *free = TOTAL - used;
    *total = TOTAL;
    LEAVE(0);
}

int cuMemAlloc_v2(void **memory, size_t bytes) {
    ENTER;
    if (bytes > TOTAL - used) LEAVE(NO_MEMORY);
    used += bytes;
    *memory = piece(bytes);
    LEAVE(0);
}

int cuMemFree_v2(void *memory) {
    ENTER;
    used -= give_back(memory);
    LEAVE(0);
}

int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    ENTER;
    if (bytes > TOTAL) LEAVE(NO_MEMORY);
    *memory = piece(bytes);
    LEAVE(0);
}

int cuMemFreeHost(void *memory) {
    ENTER;
    give_back(memory);
    LEAVE(0);
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    ENTER;
    LEAVE(memory && bytes && flags == 1 ? 0 : INVALID);
}

int cuMemHostUnregister(void *memory) {
    ENTER;
    LEAVE(memory ? 0 : INVALID);
}

static int copy(void *to, const void *from, size_t bytes, stream *s) {
    ENTER;
    operation *o = issue(s, COPY);
    o->to = to;
    o->from = from;
    o->bytes = bytes;
    LEAVE(0);
}

int cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, stream *s) {
    return copy(to, from, bytes, s);
}
int cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, stream *s) {
    return copy(to, from, bytes, s);
}
int cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes, stream *s) {
    return copy(to, from, bytes, s);
}

int cuMemsetD8_v2(void *to, unsigned char value, size_t bytes) {
    ENTER;
    memset(to, value, bytes);
    LEAVE(0);
}

int cuMemsetD8Async(void *to, unsigned char value, size_t bytes, stream *s) {
    ENTER;
    operation *o = issue(s, ZERO);
    o->to = to;
    o->bytes = bytes;
    LEAVE(value ? INVALID : 0);
}

int cuStreamCreate(stream **result, unsigned flags) {
    ENTER;
    *result = calloc(1, sizeof **result);
    (*result)->next = streams;
    (*result)->context = is_in_other ? &other_context : &context;
    streams = *result;
    LEAVE(flags == 1 || is_cust ? 0 : INVALID);
}

int cuStreamCreateWithPriority(stream **result, unsigned flags, int priority) {
    return priority ? INVALID : cuStreamCreate(result, flags);
}

int cuStreamDestroy_v2(stream *s) {
    ENTER;
    finish(s);
    stream **link = &streams;
    while (*link != s) link = &(*link)->next;
    *link = s->next;
    free(s);
    LEAVE(0);
}

int cuStreamSynchronize(stream *s) {
    AWAIT;
    if (is_one_that("captures")) LEAVE(CAPTURING);
    failed |= is_one_that("fails");
    finish(s);
    LEAVE(failed ? ILLEGAL_ADDRESS : 0);
}

int cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
    ENTER;
    operation *o = issue(s, WAIT);
    o->event = e;
    o->record = e->recorded;
    LEAVE(0);
}

/* Events are never freed, because operations may still refer to them. */
int cuEventCreate(event **result, unsigned flags) {
    ENTER;
    *result = calloc(1, sizeof **result);
    LEAVE(0);
}

int cuEventDestroy_v2(event *e) {
    ENTER;
    LEAVE(0);
}

int cuEventRecord(event *e, stream *s) {
    ENTER;
    e->stream = s;
    operation *o = issue(s, HAPPEN);
    o->event = e;
    o->record = ++e->recorded;
    LEAVE(0);
}

int cuEventSynchronize(event *e) {
    AWAIT;
    if (e->happened < e->recorded) finish(e->stream);
    LEAVE(failed ? fault : 0);
}

int cuEventElapsedTime(float *milliseconds, event *start, event *end) {
    ENTER;
    *milliseconds = start->at <= end->at ? 1.5f : -1.5f;
    LEAVE(start->happened && end->happened ? 0 : NOT_READY);
}
