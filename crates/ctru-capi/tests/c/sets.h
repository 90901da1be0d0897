/* The parameter sets, and the functions of each, for the programs of this folder. */

#ifndef SETS_H
#define SETS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctru.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct set {
    int n;
    size_t pk, sk, ct;
    int (*keypair)(uint8_t *, uint8_t *);
    int (*keypair_derand)(uint8_t *, uint8_t *, const uint8_t *);
    int (*encaps)(uint8_t *, uint8_t *, const uint8_t *);
    int (*encaps_derand)(uint8_t *, uint8_t *, const uint8_t *, const uint8_t *);
    int (*decaps)(uint8_t *, const uint8_t *, const uint8_t *);
    /* Null unless the set is one of CTRU-Prime alone. */
    int (*keypair_from_seed)(uint8_t *, uint8_t *, const uint8_t *);
};

#define SET(n, upper, lower, from_seed)                                                            \
    {                                                                                              \
        n, CTRU_##upper##_PUBLIC_KEY_BYTES, CTRU_##upper##_SECRET_KEY_BYTES,                       \
            CTRU_##upper##_CIPHERTEXT_BYTES, ctru_##lower##_keypair,                               \
            ctru_##lower##_keypair_derand, ctru_##lower##_encaps, ctru_##lower##_encaps_derand,    \
            ctru_##lower##_decaps, from_seed                                                       \
    }

/* The sets of CTRU-Prime and of NTRU Prime, then those with X25519, for which there are no batches. */
static const struct set SETS[] = {
    SET(653, PRIME_653, prime_653, ctru_prime_653_keypair_from_seed),
    SET(761, PRIME_761, prime_761, ctru_prime_761_keypair_from_seed),
    SET(1277, PRIME_1277, prime_1277, ctru_prime_1277_keypair_from_seed),
    SET(CTRU_SNTRUP653, SNTRUP653, sntrup653, NULL),
    SET(CTRU_SNTRUP761, SNTRUP761, sntrup761, NULL),
    SET(CTRU_SNTRUP857, SNTRUP857, sntrup857, NULL),
    SET(CTRU_SNTRUP953, SNTRUP953, sntrup953, NULL),
    SET(CTRU_SNTRUP1013, SNTRUP1013, sntrup1013, NULL),
    SET(CTRU_SNTRUP1277, SNTRUP1277, sntrup1277, NULL),
    SET(0, PRIME_653_X25519, prime_653_x25519, NULL),
    SET(0, PRIME_761_X25519, prime_761_x25519, NULL),
    SET(0, PRIME_1277_X25519, prime_1277_x25519, NULL),
};

/* The sets for which there are batches come first; then those with X25519. */
enum { BATCH_SETS = 9, ALL_SETS = sizeof SETS / sizeof *SETS };

/* Returns whether a set is one of NTRU Prime. */
static inline int is_sntrup(const struct set *set) {
    return set->n >= CTRU_SNTRUP653 && set->n <= CTRU_SNTRUP1277;
}

/* Returns the bytes of the seed of a key pair in a batch. */
static inline size_t seed_bytes(const struct set *set) {
    return is_sntrup(set) ? CTRU_SNTRUP_KEYPAIR_COINS : CTRU_KEYPAIR_COINS;
}

#endif
