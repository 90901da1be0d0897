/* Runs the functions of ctru.h with secrets that memcheck takes for uninitialised memory, and
 * follows into all that is computed from them. Memcheck reports each branch and each address that
 * depends on a secret. Only what is public is revealed: public keys, ciphertexts, and the shared
 * secrets at the end. With the argument --leak, the program also branches on a secret, which
 * memcheck must report. */

#include "sets.h"

#include <valgrind/memcheck.h>

#define HIDE(bytes, count) (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, count)
#define REVEAL(bytes, count) (void)VALGRIND_MAKE_MEM_DEFINED(bytes, count)

/* Enough operations for one group that the engine computes together, and for one left over. */
enum { COUNT = 9, SEEDS = 2 };

static uint8_t pk[COUNT * 2304], sk[COUNT * 3072], ct[COUNT * 2048];
static uint8_t coins[COUNT * 64], sent[COUNT * 32], received[COUNT * 32];

/* Makes the coins secret, and different for each seed and each row. */
static void hide_coins(size_t seed) {
    for (size_t i = 0; i < sizeof coins; i++) coins[i] = (uint8_t)((i + 59 * seed) * 167 + i / 64);
    HIDE(coins, sizeof coins);
}

/* Reveals the parts of `count` secret keys that are public: the public key, and its hash at the end
 * of a key of NTRU Prime. The secret keys of sets with X25519 have none. */
static void reveal_public_part(const struct set *set, size_t count) {
    size_t others = set->sk - set->pk - 32, secret = is_sntrup(set) ? others / 3 * 2 : others;
    for (size_t i = 0; set->n && i < count; i++) {
        uint8_t *key = sk + i * set->sk;
        REVEAL(key + secret, set->pk);
        if (is_sntrup(set)) REVEAL(key + set->sk - 32, 32);
    }
}

/* Changes every `step`-th ciphertext, from the first one, so that it is rejected. */
static void alter(const struct set *set, size_t count, size_t step) {
    for (size_t i = 0; i < count; i += step) ct[i * set->ct] ^= 1;
}

/* Checks that both sides have the same secrets, but for every `step`-th one. */
static void check_secrets(size_t count, size_t step) {
    REVEAL(sent, count * 32);
    REVEAL(received, count * 32);
    for (size_t i = 0; i < count; i++)
        CHECK((memcmp(sent + i * 32, received + i * 32, 32) != 0) == (step && i % step == 0));
}

static void single(const struct set *set, size_t seed) {
    hide_coins(seed);
    CHECK(set->keypair_derand(pk, sk, coins) == CTRU_OK);
    REVEAL(pk, set->pk);
    reveal_public_part(set, 1);
    CHECK(set->encaps_derand(ct, sent, pk, coins) == CTRU_OK);
    REVEAL(ct, set->ct);
    CHECK(set->decaps(received, ct, sk) == CTRU_OK);
    check_secrets(1, 0);
    alter(set, 1, 1);
    CHECK(set->decaps(received, ct, sk) == CTRU_OK);
    check_secrets(1, 1);
    if (set->keypair_from_seed) CHECK(set->keypair_from_seed(pk, sk, coins) == CTRU_OK);
}

/* Runs a batch with one key, or with one for each operation. Accepted and rejected ciphertexts
 * alternate in the second batch, among those that the engine computes together and in the one left
 * over. */
static void batch(ctru_engine *engine, const struct set *set, size_t keys, size_t seed) {
    size_t pks = keys * set->pk, sks = keys * set->sk, cts = COUNT * set->ct;
    hide_coins(seed);
    CHECK(ctru_engine_keypair_derand(engine, set->n, pk, pks, sk, sks, coins,
                                     keys * seed_bytes(set)) == 0);
    REVEAL(pk, pks);
    reveal_public_part(set, keys);
    CHECK(ctru_engine_encaps_derand(engine, set->n, ct, cts, sent, sizeof sent, pk, pks, coins,
                                    COUNT * 32, NULL) == 0);
    REVEAL(ct, cts);
    CHECK(ctru_engine_decaps(engine, set->n, received, sizeof received, ct, cts, sk, sks, NULL)
          == 0);
    check_secrets(COUNT, 0);
    alter(set, COUNT, 2);
    CHECK(ctru_engine_decaps(engine, set->n, received, sizeof received, ct, cts, sk, sks, NULL)
          == 0);
    check_secrets(COUNT, 2);
}

int main(int count, char **arguments) {
    ctru_engine *engine = NULL;
    CHECK(ctru_engine_new(&engine, 1) == CTRU_OK);
    for (size_t seed = 0; seed < SEEDS; seed++) {
        for (size_t i = 0; i < ALL_SETS; i++) single(&SETS[i], seed);
        for (size_t i = 0; i < BATCH_SETS; i++) {
            batch(engine, &SETS[i], 1, seed);
            batch(engine, &SETS[i], COUNT, seed);
        }
    }
    ctru_engine_free(engine);
    if (count > 1 && strcmp(arguments[1], "--leak") == 0) {
        hide_coins(0);
        if (coins[0] & 1) puts("leaked");
    }
    return 0;
}
