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
};

#define SET(n, upper, lower)                                                                       \
    {                                                                                              \
        n, CTRU_PRIME_##upper##_PUBLIC_KEY_BYTES, CTRU_PRIME_##upper##_SECRET_KEY_BYTES,           \
            CTRU_PRIME_##upper##_CIPHERTEXT_BYTES, ctru_prime_##lower##_keypair,                   \
            ctru_prime_##lower##_keypair_derand, ctru_prime_##lower##_encaps,                      \
            ctru_prime_##lower##_encaps_derand, ctru_prime_##lower##_decaps                        \
    }

/* The sets of CTRU-Prime, then those with X25519, for which there are no batches. */
static const struct set SETS[] = {
    SET(653, 653, 653),
    SET(761, 761, 761),
    SET(1277, 1277, 1277),
    SET(0, 653_X25519, 653_x25519),
    SET(0, 761_X25519, 761_x25519),
    SET(0, 1277_X25519, 1277_x25519),
};

#endif
