/* Calls every function of ctru.h rightly and wrongly. `.ci/capi` runs this program under valgrind
 * and with AddressSanitizer, which would report accesses outside of the buffers. Each buffer is an
 * allocation of its own with exactly the bytes that its length says. */

#define _POSIX_C_SOURCE 200809L

#include "sets.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static ctru_engine *engine;

static uint64_t state = 88172645463325252u;

/* Returns a number below `limit` (xorshift64). */
static size_t below(size_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % limit);
}

/* Returns a buffer of its own whose bytes are all 0xa5. */
static uint8_t *buffer(size_t bytes) {
    uint8_t *made = malloc(bytes ? bytes : 1);
    CHECK(made);
    memset(made, 0xa5, bytes);
    return made;
}

static int untouched(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0xa5) return 0;
    return 1;
}

static void single(const struct set *set) {
    uint8_t coins[64], sent[32], received[32];
    uint8_t *pk = buffer(set->pk), *sk = buffer(set->sk), *ct = buffer(set->ct);
    for (int i = 0; i < 64; i++) coins[i] = (uint8_t)i;

    CHECK(set->keypair(pk, sk) == CTRU_OK);
    CHECK(set->encaps(ct, sent, pk) == CTRU_OK);
    CHECK(set->decaps(received, ct, sk) == CTRU_OK);
    CHECK(memcmp(sent, received, 32) == 0);
    CHECK(set->keypair_derand(pk, sk, coins) == CTRU_OK);
    CHECK(set->encaps_derand(ct, sent, pk, coins) == CTRU_OK);
    CHECK(set->decaps(received, ct, sk) == CTRU_OK);
    CHECK(memcmp(sent, received, 32) == 0);
    ct[0] ^= 1;
    CHECK(set->decaps(received, ct, sk) == CTRU_OK);
    CHECK(memcmp(sent, received, 32) != 0);
    if (set->keypair_from_seed) {
        uint8_t *seed = buffer(CTRU_SEED_BYTES);
        CHECK(set->keypair_from_seed(pk, sk, seed) == CTRU_OK);
        CHECK(set->encaps(ct, sent, pk) == CTRU_OK);
        CHECK(set->decaps(received, ct, sk) == CTRU_OK);
        CHECK(memcmp(sent, received, 32) == 0);
        free(seed);
    }

    /* Null pointers: nothing is written. */
    size_t room = set->pk + set->sk + set->ct;
    uint8_t *out = buffer(room), *secret = buffer(32);
    CHECK(set->keypair(NULL, out) == CTRU_ERROR_NULL);
    CHECK(set->keypair(out, NULL) == CTRU_ERROR_NULL);
    CHECK(set->keypair_derand(NULL, out, coins) == CTRU_ERROR_NULL);
    CHECK(set->keypair_derand(out, NULL, coins) == CTRU_ERROR_NULL);
    CHECK(set->keypair_derand(out, out, NULL) == CTRU_ERROR_NULL);
    if (set->keypair_from_seed) {
        CHECK(set->keypair_from_seed(NULL, out, coins) == CTRU_ERROR_NULL);
        CHECK(set->keypair_from_seed(out, NULL, coins) == CTRU_ERROR_NULL);
        CHECK(set->keypair_from_seed(out, out, NULL) == CTRU_ERROR_NULL);
    }
    CHECK(set->encaps(NULL, secret, pk) == CTRU_ERROR_NULL);
    CHECK(set->encaps(out, NULL, pk) == CTRU_ERROR_NULL);
    CHECK(set->encaps(out, secret, NULL) == CTRU_ERROR_NULL);
    CHECK(set->encaps_derand(NULL, secret, pk, coins) == CTRU_ERROR_NULL);
    CHECK(set->encaps_derand(out, NULL, pk, coins) == CTRU_ERROR_NULL);
    CHECK(set->encaps_derand(out, secret, NULL, coins) == CTRU_ERROR_NULL);
    CHECK(set->encaps_derand(out, secret, pk, NULL) == CTRU_ERROR_NULL);
    CHECK(set->decaps(NULL, ct, sk) == CTRU_ERROR_NULL);
    CHECK(set->decaps(secret, NULL, sk) == CTRU_ERROR_NULL);
    CHECK(set->decaps(secret, ct, NULL) == CTRU_ERROR_NULL);

    /* Keys that are none. */
    /* All bytes are a public key of NTRU Prime. */
    memset(pk, 0, set->pk);
    if (!is_sntrup(set)) CHECK(set->encaps(out, secret, pk) == CTRU_ERROR_PUBLIC_KEY);
    memset(pk, 0xff, set->pk);
    if (!is_sntrup(set))
        CHECK(set->encaps_derand(out, secret, pk, coins) == CTRU_ERROR_PUBLIC_KEY);
    memset(sk, 0xff, set->sk);
    /* All bytes are a secret key of a set with X25519. */
    if (set->n) CHECK(set->decaps(secret, ct, sk) == CTRU_ERROR_SECRET_KEY);
    CHECK(untouched(out, room) && untouched(secret, 32));
    free(pk), free(sk), free(ct), free(out), free(secret);
}

/* A buffer for `count` values of `size` bytes. At times it has a wrong length or is null. */
struct argument {
    uint8_t *at;
    size_t bytes;
    int wrong;
};

static struct argument argument(size_t size, size_t count) {
    struct argument made = {NULL, size * count, 0};
    switch (below(12)) {
    case 0: made.bytes -= 1; break;
    case 1: made.bytes += 1; break;
    case 2: made.bytes += size; break;
    case 3: made.bytes = below(made.bytes); break;
    case 4: made.wrong = 1; return made;
    }
    made.wrong = made.bytes != size * count;
    made.at = buffer(made.bytes);
    return made;
}

/* What `row` holds unless a function writes to it. */
enum { ROW = 99 };

/* Calls a function of an engine with arguments of which some are wrong. Returns its code. */
static int misuse(const struct set *set, const uint8_t *pk, const uint8_t *sk) {
    size_t count = 1 + below(2), call = below(5), row = ROW;
    int n = below(16) ? set->n : (int)below(2000), wrong = n != set->n;
    ctru_engine *used = below(32) ? engine : NULL;
    struct argument a, b, c, d = {NULL, 0, 0};
    int code, outputs = 2;
    switch (call) {
    case 0:
        a = argument(set->pk, count), b = argument(set->sk, count), c = d;
        code = ctru_engine_keypair(used, n, a.at, a.bytes, b.at, b.bytes);
        break;
    case 1:
        a = argument(set->pk, count), b = argument(set->sk, count);
        c = argument(seed_bytes(set), count);
        code = ctru_engine_keypair_derand(used, n, a.at, a.bytes, b.at, b.bytes, c.at, c.bytes);
        break;
    case 2:
        a = argument(set->ct, count), b = argument(32, count), c = argument(set->pk, count);
        if (c.at && !c.wrong)
            for (size_t i = 0; i < count; i++) memcpy(c.at + i * set->pk, pk, set->pk);
        code = ctru_engine_encaps(used, n, a.at, a.bytes, b.at, b.bytes, c.at, c.bytes, &row);
        break;
    case 3:
        a = argument(set->ct, count), b = argument(32, count), c = argument(set->pk, 1);
        d = argument(32, count);
        if (c.at && !c.wrong) memcpy(c.at, pk, set->pk);
        code = ctru_engine_encaps_derand(used, n, a.at, a.bytes, b.at, b.bytes, c.at, c.bytes,
                                         d.at, d.bytes, &row);
        break;
    default:
        a = argument(32, count), b = argument(set->ct, count), c = argument(set->sk, 1);
        if (c.at && !c.wrong) memcpy(c.at, sk, set->sk);
        code = ctru_engine_decaps(used, n, a.at, a.bytes, b.at, b.bytes, c.at, c.bytes, &row);
        outputs = 1;
    }
    wrong |= a.wrong | b.wrong | c.wrong | d.wrong | !used;
    CHECK(code >= CTRU_OK && code < CTRU_ERROR_INTERNAL);
    CHECK((row < count) == (code == CTRU_ERROR_PUBLIC_KEY || code == CTRU_ERROR_SECRET_KEY));
    CHECK(row < count || row == ROW);
    /* Two wrong lengths can fit each other. All right arguments must work. */
    CHECK(wrong || code == CTRU_OK);
    if (code != CTRU_OK) {
        CHECK(!a.at || untouched(a.at, a.bytes));
        CHECK(outputs == 1 || !b.at || untouched(b.at, b.bytes));
    }
    free(a.at), free(b.at), free(c.at), free(d.at);
    return code;
}

/* Checks that a batch with keys that are none says which of them is the first. */
static void rows(const struct set *set) {
    enum { COUNT = 9, REFUSED = 5 };
    uint8_t *pk = buffer(COUNT * set->pk), *sk = buffer(COUNT * set->sk);
    uint8_t *ct = buffer(COUNT * set->ct), *ss = buffer(COUNT * 32);
    size_t pks = COUNT * set->pk, sks = COUNT * set->sk, cts = COUNT * set->ct, row = ROW;
    CHECK(ctru_engine_keypair(engine, set->n, pk, pks, sk, sks) == CTRU_OK);
    for (int i = REFUSED; i < COUNT; i += 2) {
        memset(pk + i * set->pk, 0xff, set->pk);
        memset(sk + i * set->sk, 0xff, set->sk);
    }
    if (!is_sntrup(set)) {
        CHECK(ctru_engine_encaps(engine, set->n, ct, cts, ss, COUNT * 32, pk, pks, &row)
              == CTRU_ERROR_PUBLIC_KEY);
        CHECK(row == REFUSED);
        row = ROW;
    }
    CHECK(ctru_engine_decaps(engine, set->n, ss, COUNT * 32, ct, cts, sk, sks, &row)
          == CTRU_ERROR_SECRET_KEY);
    CHECK(row == REFUSED);
    CHECK(ctru_engine_decaps(engine, set->n, ss, COUNT * 32, ct, cts, sk, sks, NULL)
          == CTRU_ERROR_SECRET_KEY);
    CHECK(untouched(ct, cts) && untouched(ss, COUNT * 32));
    free(pk), free(sk), free(ct), free(ss);
}

/* Checks that a child refuses the engine of its parent, instead of waiting for threads that it does
 * not have. */
static void after_fork(const struct set *set) {
    uint8_t *pk = buffer(set->pk), *sk = buffer(set->sk);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        CHECK(ctru_engine_keypair(engine, set->n, pk, set->pk, sk, set->sk) == CTRU_ERROR_FORK);
        CHECK(untouched(pk, set->pk) && untouched(sk, set->sk));
        ctru_engine_free(engine);
        ctru_engine *own = NULL;
        CHECK(ctru_engine_new(&own, 1) == CTRU_OK);
        CHECK(ctru_engine_keypair(own, set->n, pk, set->pk, sk, set->sk) == CTRU_OK);
        ctru_engine_free(own);
        /* After an exit, valgrind would count as lost what threads of the parent own. */
        raise(SIGKILL);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    free(pk), free(sk);
}

/* Calls the functions that run on the stacks which musl gives to threads: those of all sets but the
 * largest one of NTRU Prime and the last one, alone. */
static void *on_smallest_stack(void *unused) {
    for (size_t i = 0; i + 1 < ALL_SETS; i++)
        if (SETS[i].n != CTRU_SNTRUP1277) single(&SETS[i]);
    return unused;
}

/* Calls all functions with the batches that the calling thread computes by itself: those of the two
 * largest sets of NTRU Prime, which need more, if `larger` is not null, or else all others. */
static void *on_small_stack(void *larger) {
    enum { MOST = 8 };
    ctru_engine *used = NULL;
    for (size_t i = 0; i < ALL_SETS; i++) single(&SETS[i]);
    CHECK(ctru_engine_new(&used, 1) == CTRU_OK);
    for (size_t i = 0; i < BATCH_SETS; i++) {
        const struct set *set = &SETS[i];
        int is_larger = set->n == CTRU_SNTRUP1013 || set->n == CTRU_SNTRUP1277;
        if (is_larger != !!larger) continue;
        size_t pks = MOST * set->pk, sks = MOST * set->sk, cts = MOST * set->ct, sss = MOST * 32;
        uint8_t *pk = buffer(pks), *sk = buffer(sks), *ct = buffer(cts);
        uint8_t *sent = buffer(sss), *received = buffer(sss), coins[MOST * 64];
        for (size_t k = 0; k < sizeof coins; k++) coins[k] = (uint8_t)(k * 167 + k / 64);
        CHECK(ctru_engine_keypair(used, set->n, pk, pks, sk, sks) == CTRU_OK);
        CHECK(ctru_engine_keypair_derand(used, set->n, pk, set->pk, sk, set->sk, coins,
                                         seed_bytes(set)) == CTRU_OK);
        CHECK(ctru_engine_encaps(used, set->n, ct, cts, sent, sss, pk, pks, NULL) == CTRU_OK);
        CHECK(ctru_engine_encaps_derand(used, set->n, ct, cts, sent, sss, pk, pks, coins, sss,
                                        NULL) == CTRU_OK);
        CHECK(ctru_engine_decaps(used, set->n, received, sss, ct, cts, sk, sks, NULL) == CTRU_OK);
        CHECK(memcmp(sent, received, sss) == 0);
        free(pk), free(sk), free(ct), free(sent), free(received);
    }
    ctru_engine_free(used);
    return larger;
}

/* Checks that a stack of so many KiB suffices, of which the header or the README speaks. */
static void small_stack(size_t kib, void *(*work)(void *), void *argument) {
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, kib << 10) == 0);
    CHECK(pthread_create(&thread, &attributes, work, argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
}

int main(int count, char **arguments) {
    int misuses = count > 1 ? atoi(arguments[1]) : 10000, seen[CTRU_ERROR_INTERNAL] = {0};
    CHECK(strcmp(ctru_strerror(CTRU_OK), "success") == 0);
    CHECK(strcmp(ctru_strerror(-1), "unknown code") == 0);
    for (size_t i = 0; i < ALL_SETS; i++) single(&SETS[i]);

    small_stack(128, on_smallest_stack, NULL);
    small_stack(192, on_small_stack, NULL);
    small_stack(240, on_small_stack, &misuses);
    CHECK(ctru_engine_new(NULL, 1) == CTRU_ERROR_NULL);
    CHECK(ctru_engine_new(&engine, CTRU_MAX_THREADS + 1) == CTRU_ERROR_THREADS);
    CHECK(ctru_engine_new(&engine, (size_t)-1) == CTRU_ERROR_THREADS);
    CHECK(engine == NULL);
    CHECK(ctru_engine_new(&engine, 1) == CTRU_OK);
    uint8_t text[4096], secret[32];
    CHECK(ctru_engine_encaps(engine, SETS[0].n, text, SETS[0].ct, secret, sizeof secret, text,
                             (size_t)-1, NULL) == CTRU_ERROR_LENGTH);
    for (size_t i = 0; i < BATCH_SETS; i++) {
        const struct set *set = &SETS[i];
        uint8_t *pk = buffer(set->pk), *sk = buffer(set->sk);
        CHECK(set->keypair(pk, sk) == CTRU_OK);
        for (int k = 0; k < misuses / BATCH_SETS + 1; k++) seen[misuse(set, pk, sk)]++;
        free(pk), free(sk);
        rows(set);
    }
    after_fork(&SETS[0]);
    ctru_engine_free(engine);
    ctru_engine_free(NULL);
    for (int code = 0; code < CTRU_ERROR_INTERNAL; code++)
        printf("%6d %s\n", seen[code], ctru_strerror(code));
    CHECK(seen[CTRU_OK] && seen[CTRU_ERROR_NULL] && seen[CTRU_ERROR_LENGTH]);
    return 0;
}
