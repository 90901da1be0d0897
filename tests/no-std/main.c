/* Runs the library, and marks its secrets for valgrind's memcheck as uninitialised memory. Memcheck
   reports every branch and every address that depends on uninitialised memory. Without valgrind,
   the marks have no effect.

   Each of the six sets of CTRU-Prime and each of the three hybrids generates one key. A set unpacks
   the key four times: to read it, to check it, and for each of two decapsulations; a hybrid for
   each of two decapsulations. Each of the six sets of NTRU Prime unpacks and inverts two
   polynomials. So 42 polynomials are unpacked and 21 inverted, which `.ci/memcheck` checks.

   Valgrind does not support AVX-512. It has the same source as AVX2, except for the operations of
   vectors, the files avx512.rs of codec, sample and short, and the hashes. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

/* The unwinding tables of the prebuilt `core` refer to this function. It is never called, because
   panics do not unwind here. */
void rust_eh_personality(void) { abort(); }

typedef void mark(const uint8_t *bytes, size_t length);

static void hide(const uint8_t *bytes, size_t length) {
    VALGRIND_MAKE_MEM_UNDEFINED(bytes, length);
}
static void reveal(const uint8_t *bytes, size_t length) {
    VALGRIND_MAKE_MEM_DEFINED(bytes, length);
}

#define KEM(name) uint32_t name(const uint8_t seeds[96], mark *hide, mark *reveal);
KEM(ctru_kem_653_mixed_radix) KEM(ctru_kem_653_packed13)
KEM(ctru_kem_761_mixed_radix) KEM(ctru_kem_761_packed13)
KEM(ctru_kem_1277_mixed_radix) KEM(ctru_kem_1277_packed13)
KEM(ctru_hybrid_653) KEM(ctru_hybrid_761) KEM(ctru_hybrid_1277)
KEM(ctru_sntrup653) KEM(ctru_sntrup761) KEM(ctru_sntrup857)
KEM(ctru_sntrup953) KEM(ctru_sntrup1013) KEM(ctru_sntrup1277)

#define MATH(name) uint32_t name(uint8_t coin, uint8_t message);
MATH(ctru_math_653) MATH(ctru_math_761) MATH(ctru_math_1277)

#define BACKEND(name) uint32_t ctru_use_##name(void);
BACKEND(portable) BACKEND(neon) BACKEND(sse2) BACKEND(avx2) BACKEND(avx512)

#define USE(name) if (strcmp(argument, #name) == 0) return ctru_use_##name()

/* Selects the backend that `argument` names. Returns 0 on success. */
static uint32_t use_backend(const char *argument) {
    USE(portable);
    USE(neon);
    USE(sse2);
    USE(avx2);
    USE(avx512);
    return 1;
}

static int passed, failed;

static void report(const char *name, uint32_t result) {
    result ? failed++ : passed++;
    printf("%s %s\n", name, result ? "failed" : "ok");
}

#define RUN_KEM(name) memset(seeds, 0x5a, sizeof seeds); report(#name, name(seeds, hide, reveal))
#define RUN_MATH(name) report(#name, name(0x3b, 0xc5))

int main(int argc, char **argv) {
    uint8_t seeds[96];
    if (argc > 1 && use_backend(argv[1])) {
        printf("this machine has no backend %s\n", argv[1]);
        return 1;
    }
    RUN_KEM(ctru_kem_653_mixed_radix);
    RUN_KEM(ctru_kem_653_packed13);
    RUN_KEM(ctru_kem_761_mixed_radix);
    RUN_KEM(ctru_kem_761_packed13);
    RUN_KEM(ctru_kem_1277_mixed_radix);
    RUN_KEM(ctru_kem_1277_packed13);
    RUN_KEM(ctru_hybrid_653);
    RUN_KEM(ctru_hybrid_761);
    RUN_KEM(ctru_hybrid_1277);
    RUN_KEM(ctru_sntrup653);
    RUN_KEM(ctru_sntrup761);
    RUN_KEM(ctru_sntrup857);
    RUN_KEM(ctru_sntrup953);
    RUN_KEM(ctru_sntrup1013);
    RUN_KEM(ctru_sntrup1277);
    RUN_MATH(ctru_math_653);
    RUN_MATH(ctru_math_761);
    RUN_MATH(ctru_math_1277);
    printf("%d passed, %d failed\n", passed, failed);

    /* Memcheck must report this branch on a secret. If it does not, the marks do not work. */
    if (argc > 2 && strcmp(argv[2], "--leak") == 0) {
        uint8_t secret = (uint8_t)argc;
        hide(&secret, 1);
        if (secret > 1) {
            puts("leaked");
        }
    }
    return failed;
}
