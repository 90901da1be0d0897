/* The KEMs CTRU-Prime and Streamlined NTRU Prime for C. Made by cbindgen from the
 * sources of crates/ctru-capi; do not edit.
 *
 * Functions return CTRU_OK or one of the codes below. After another code than CTRU_OK no output has
 * been written, apart from `row`. Pointers must point to as many bytes as the text of a function
 * says; a null pointer gives CTRU_ERROR_NULL, unless the text allows it. A call needs at most 192
 * KiB of the stack, and one for batches of sntrup1013 or sntrup1277 240 KiB. */

#ifndef CTRU_H
#define CTRU_H

#include <stddef.h>
#include <stdint.h>

// The set sntrup653 in the functions for batches.
#define CTRU_SNTRUP653 11

// The set sntrup761 in the functions for batches.
#define CTRU_SNTRUP761 12

// The set sntrup857 in the functions for batches.
#define CTRU_SNTRUP857 13

// The set sntrup953 in the functions for batches.
#define CTRU_SNTRUP953 14

// The set sntrup1013 in the functions for batches.
#define CTRU_SNTRUP1013 15

// The set sntrup1277 in the functions for batches.
#define CTRU_SNTRUP1277 16

// The largest number of threads of an engine.
#define CTRU_MAX_THREADS 4096

// The function has done its work.
#define CTRU_OK 0

// A pointer is null.
#define CTRU_ERROR_NULL 1

// The number of bytes of a buffer does not fit the number of operations.
#define CTRU_ERROR_LENGTH 2

// No parameter set has this number.
#define CTRU_ERROR_SET 3

// The bytes are no public key.
#define CTRU_ERROR_PUBLIC_KEY 4

// The bytes are no secret key.
#define CTRU_ERROR_SECRET_KEY 5

// The operating system gives no randomness.
#define CTRU_ERROR_RANDOMNESS 6

// The engine could not start its threads.
#define CTRU_ERROR_ENGINE 7

// The library has a defect: a function stopped in the middle.
#define CTRU_ERROR_INTERNAL 8

// There is not enough memory for a batch.
#define CTRU_ERROR_MEMORY 9

// The threads of the engine belong to another process: a fork does not have them.
#define CTRU_ERROR_FORK 10

// The number of threads is larger than `CTRU_MAX_THREADS`.
#define CTRU_ERROR_THREADS 11

// Bytes of a shared secret.
#define CTRU_SHARED_SECRET_BYTES 32

// Bytes of a seed of a key pair of CTRU-Prime.
#define CTRU_SEED_BYTES 32

// Bytes of the coins of a key pair of CTRU-Prime: the seed of the polynomials, then `z`.
#define CTRU_KEYPAIR_COINS 64

// Bytes from which an encapsulation of CTRU-Prime is derived.
#define CTRU_ENCAPS_COINS 32

// Bytes from which a key pair of CTRU-Prime with X25519 is derived.
#define CTRU_X25519_KEYPAIR_COINS 32

// Bytes from which an encapsulation of CTRU-Prime with X25519 is derived.
#define CTRU_X25519_ENCAPS_COINS 64

// Bytes from which a key pair of NTRU Prime is derived.
#define CTRU_SNTRUP_KEYPAIR_COINS 32

// Bytes from which an encapsulation of NTRU Prime is derived.
#define CTRU_SNTRUP_ENCAPS_COINS 32

// Bytes of a public key of CTRU-Prime-653.
#define CTRU_PRIME_653_PUBLIC_KEY_BYTES 994

// Bytes of a secret key of CTRU-Prime-653.
#define CTRU_PRIME_653_SECRET_KEY_BYTES 1353

// Bytes of a ciphertext of CTRU-Prime-653.
#define CTRU_PRIME_653_CIPHERTEXT_BYTES 898

// Bytes of a public key of CTRU-Prime-761.
#define CTRU_PRIME_761_PUBLIC_KEY_BYTES 1158

// Bytes of a secret key of CTRU-Prime-761.
#define CTRU_PRIME_761_SECRET_KEY_BYTES 1571

// Bytes of a ciphertext of CTRU-Prime-761.
#define CTRU_PRIME_761_CIPHERTEXT_BYTES 952

// Bytes of a public key of CTRU-Prime-1277.
#define CTRU_PRIME_1277_PUBLIC_KEY_BYTES 2067

// Bytes of a secret key of CTRU-Prime-1277.
#define CTRU_PRIME_1277_SECRET_KEY_BYTES 2738

// Bytes of a ciphertext of CTRU-Prime-1277.
#define CTRU_PRIME_1277_CIPHERTEXT_BYTES 1597

// Bytes of a public key of CTRU-Prime-653 with X25519.
#define CTRU_PRIME_653_X25519_PUBLIC_KEY_BYTES 1026

// Bytes of a secret key of CTRU-Prime-653 with X25519.
#define CTRU_PRIME_653_X25519_SECRET_KEY_BYTES 32

// Bytes of a ciphertext of CTRU-Prime-653 with X25519.
#define CTRU_PRIME_653_X25519_CIPHERTEXT_BYTES 930

// Bytes of a public key of CTRU-Prime-761 with X25519.
#define CTRU_PRIME_761_X25519_PUBLIC_KEY_BYTES 1190

// Bytes of a secret key of CTRU-Prime-761 with X25519.
#define CTRU_PRIME_761_X25519_SECRET_KEY_BYTES 32

// Bytes of a ciphertext of CTRU-Prime-761 with X25519.
#define CTRU_PRIME_761_X25519_CIPHERTEXT_BYTES 984

// Bytes of a public key of CTRU-Prime-1277 with X25519.
#define CTRU_PRIME_1277_X25519_PUBLIC_KEY_BYTES 2099

// Bytes of a secret key of CTRU-Prime-1277 with X25519.
#define CTRU_PRIME_1277_X25519_SECRET_KEY_BYTES 32

// Bytes of a ciphertext of CTRU-Prime-1277 with X25519.
#define CTRU_PRIME_1277_X25519_CIPHERTEXT_BYTES 1629

// Bytes of a public key of sntrup653.
#define CTRU_SNTRUP653_PUBLIC_KEY_BYTES 994

// Bytes of a secret key of sntrup653.
#define CTRU_SNTRUP653_SECRET_KEY_BYTES 1518

// Bytes of a ciphertext of sntrup653.
#define CTRU_SNTRUP653_CIPHERTEXT_BYTES 897

// Bytes of a public key of sntrup761.
#define CTRU_SNTRUP761_PUBLIC_KEY_BYTES 1158

// Bytes of a secret key of sntrup761.
#define CTRU_SNTRUP761_SECRET_KEY_BYTES 1763

// Bytes of a ciphertext of sntrup761.
#define CTRU_SNTRUP761_CIPHERTEXT_BYTES 1039

// Bytes of a public key of sntrup857.
#define CTRU_SNTRUP857_PUBLIC_KEY_BYTES 1322

// Bytes of a secret key of sntrup857.
#define CTRU_SNTRUP857_SECRET_KEY_BYTES 1999

// Bytes of a ciphertext of sntrup857.
#define CTRU_SNTRUP857_CIPHERTEXT_BYTES 1184

// Bytes of a public key of sntrup953.
#define CTRU_SNTRUP953_PUBLIC_KEY_BYTES 1505

// Bytes of a secret key of sntrup953.
#define CTRU_SNTRUP953_SECRET_KEY_BYTES 2254

// Bytes of a ciphertext of sntrup953.
#define CTRU_SNTRUP953_CIPHERTEXT_BYTES 1349

// Bytes of a public key of sntrup1013.
#define CTRU_SNTRUP1013_PUBLIC_KEY_BYTES 1623

// Bytes of a secret key of sntrup1013.
#define CTRU_SNTRUP1013_SECRET_KEY_BYTES 2417

// Bytes of a ciphertext of sntrup1013.
#define CTRU_SNTRUP1013_CIPHERTEXT_BYTES 1455

// Bytes of a public key of sntrup1277.
#define CTRU_SNTRUP1277_PUBLIC_KEY_BYTES 2067

// Bytes of a secret key of sntrup1277.
#define CTRU_SNTRUP1277_SECRET_KEY_BYTES 3059

// Bytes of a ciphertext of sntrup1277.
#define CTRU_SNTRUP1277_CIPHERTEXT_BYTES 1847

// An engine for batches: a set of threads. Several threads may use it at the same time. The
// calling thread computes batches of one key pair or of up to 8 other operations by itself.
//
// The threads do not exist in a child that `fork` makes. There the functions return
// `CTRU_ERROR_FORK`, and `ctru_engine_free` frees nothing. A child makes an engine of its own.
typedef struct ctru_engine ctru_engine;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes an engine with this number of threads, and writes its pointer to `engine`.
// `ctru_engine_free` frees it. If the number is 0, there are as many threads as the environment
// variable `RAYON_NUM_THREADS` says, or one per core. More than `CTRU_MAX_THREADS`, such as a
// negative number, give `CTRU_ERROR_THREADS`, or `CTRU_ERROR_ENGINE` if the variable says so.
//
// # Safety
// A pointer that is not null points to a writable pointer.
int ctru_engine_new(struct ctru_engine **engine, size_t threads);

// Frees an engine. A null pointer is allowed, and nothing happens.
//
// # Safety
// A pointer that is not null comes from `ctru_engine_new`, has not been freed, and no thread uses
// it any more.
void ctru_engine_free(struct ctru_engine *engine);

// Generates as many key pairs as `sk` has room for. `pk` must have room for as many. `set` is 653,
// 761 or 1277 for CTRU-Prime, and a constant such as `CTRU_SNTRUP761` for NTRU Prime.
//
// # Safety
// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
// bytes as the number after them says.
int ctru_engine_keypair(const struct ctru_engine *engine,
                        int set,
                        uint8_t *pk,
                        size_t pk_bytes,
                        uint8_t *sk,
                        size_t sk_bytes);

// Generates as many key pairs as `sk` has room for, from `coins`, which have 64 bytes for each key
// pair of CTRU-Prime, and 32 for each of NTRU Prime. With another set of CTRU-Prime, the same
// coins give related key pairs. The other arguments are those of `ctru_engine_keypair`.
//
// # Safety
// `engine` comes from `ctru_engine_new` or is null. Other pointers are null or point to as many
// bytes as the number after them says.
int ctru_engine_keypair_derand(const struct ctru_engine *engine,
                               int set,
                               uint8_t *pk,
                               size_t pk_bytes,
                               uint8_t *sk,
                               size_t sk_bytes,
                               const uint8_t *coins,
                               size_t coins_bytes);

// Encapsulates as many shared secrets as `ss` has room for. `ct` must have room for as many
// ciphertexts. `pk` holds one key for all, or one for each. `set` is as in `ctru_engine_keypair`.
//
// After `CTRU_ERROR_PUBLIC_KEY`, `row` has the number of the first key that is none, from 0. It
// may be null.
//
// # Safety
// `engine` comes from `ctru_engine_new` or is null. `row` is null or points to a writable number.
// Other pointers are null or point to as many bytes as the number after them says.
int ctru_engine_encaps(const struct ctru_engine *engine,
                       int set,
                       uint8_t *ct,
                       size_t ct_bytes,
                       uint8_t *ss,
                       size_t ss_bytes,
                       const uint8_t *pk,
                       size_t pk_bytes,
                       size_t *row);

// Encapsulates as many shared secrets as `ss` has room for, from 32 bytes of `coins` for each. The
// other arguments are those of `ctru_engine_encaps`.
//
// # Safety
// `engine` comes from `ctru_engine_new` or is null. `row` is null or points to a writable number.
// Other pointers are null or point to as many bytes as the number after them says.
int ctru_engine_encaps_derand(const struct ctru_engine *engine,
                              int set,
                              uint8_t *ct,
                              size_t ct_bytes,
                              uint8_t *ss,
                              size_t ss_bytes,
                              const uint8_t *pk,
                              size_t pk_bytes,
                              const uint8_t *coins,
                              size_t coins_bytes,
                              size_t *row);

// Decapsulates as many ciphertexts as `ss` has room for shared secrets. `sk` holds one key for
// all, or one for each. `set` is as in `ctru_engine_keypair`.
//
// After `CTRU_ERROR_SECRET_KEY`, `row` has the number of the first key that is none, from 0. It
// may be null.
//
// # Safety
// `engine` comes from `ctru_engine_new` or is null. `row` is null or points to a writable number.
// Other pointers are null or point to as many bytes as the number after them says.
int ctru_engine_decaps(const struct ctru_engine *engine,
                       int set,
                       uint8_t *ss,
                       size_t ss_bytes,
                       const uint8_t *ct,
                       size_t ct_bytes,
                       const uint8_t *sk,
                       size_t sk_bytes,
                       size_t *row);

// Returns the text of a code. It lives as long as the program.
const char *ctru_strerror(int code);

// Generates a key pair of CTRU-Prime-653: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_prime_653_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of CTRU-Prime-653 that
// `coins` determine: 64 secret, uniform bytes, which
// must be used once. With another set they give a related key pair.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_prime_653_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Generates the key pair of CTRU-Prime-653 that `seed`
// determines: 32 secret, uniform bytes, the short form of a secret key, and the form
// of PKCS#8 files. The same bytes give an unrelated key pair for another set.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the seed.
int ctru_prime_653_keypair_from_seed(uint8_t *pk, uint8_t *sk, const uint8_t *seed);

// Encapsulates to the public key `pk` of CTRU-Prime-653:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_653_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of CTRU-Prime-653
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_prime_653_encaps_derand(uint8_t *ct, uint8_t *ss, const uint8_t *pk, const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of CTRU-Prime-653:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_653_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of CTRU-Prime-761: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_prime_761_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of CTRU-Prime-761 that
// `coins` determine: 64 secret, uniform bytes, which
// must be used once. With another set they give a related key pair.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_prime_761_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Generates the key pair of CTRU-Prime-761 that `seed`
// determines: 32 secret, uniform bytes, the short form of a secret key, and the form
// of PKCS#8 files. The same bytes give an unrelated key pair for another set.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the seed.
int ctru_prime_761_keypair_from_seed(uint8_t *pk, uint8_t *sk, const uint8_t *seed);

// Encapsulates to the public key `pk` of CTRU-Prime-761:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_761_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of CTRU-Prime-761
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_prime_761_encaps_derand(uint8_t *ct, uint8_t *ss, const uint8_t *pk, const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of CTRU-Prime-761:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_761_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of CTRU-Prime-1277: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_prime_1277_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of CTRU-Prime-1277 that
// `coins` determine: 64 secret, uniform bytes, which
// must be used once. With another set they give a related key pair.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_prime_1277_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Generates the key pair of CTRU-Prime-1277 that `seed`
// determines: 32 secret, uniform bytes, the short form of a secret key, and the form
// of PKCS#8 files. The same bytes give an unrelated key pair for another set.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the seed.
int ctru_prime_1277_keypair_from_seed(uint8_t *pk, uint8_t *sk, const uint8_t *seed);

// Encapsulates to the public key `pk` of CTRU-Prime-1277:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_1277_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of CTRU-Prime-1277
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_prime_1277_encaps_derand(uint8_t *ct,
                                  uint8_t *ss,
                                  const uint8_t *pk,
                                  const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of CTRU-Prime-1277:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_1277_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of CTRU-Prime-653 with X25519: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_prime_653_x25519_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of CTRU-Prime-653 with X25519 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the secret key.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_prime_653_x25519_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of CTRU-Prime-653 with X25519:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_653_x25519_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of CTRU-Prime-653 with X25519
// the shared secret that `coins` determine: 64 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_prime_653_x25519_encaps_derand(uint8_t *ct,
                                        uint8_t *ss,
                                        const uint8_t *pk,
                                        const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of CTRU-Prime-653 with X25519:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_653_x25519_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of CTRU-Prime-761 with X25519: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_prime_761_x25519_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of CTRU-Prime-761 with X25519 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the secret key.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_prime_761_x25519_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of CTRU-Prime-761 with X25519:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_761_x25519_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of CTRU-Prime-761 with X25519
// the shared secret that `coins` determine: 64 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_prime_761_x25519_encaps_derand(uint8_t *ct,
                                        uint8_t *ss,
                                        const uint8_t *pk,
                                        const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of CTRU-Prime-761 with X25519:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_761_x25519_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of CTRU-Prime-1277 with X25519: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_prime_1277_x25519_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of CTRU-Prime-1277 with X25519 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the secret key.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_prime_1277_x25519_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of CTRU-Prime-1277 with X25519:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_1277_x25519_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of CTRU-Prime-1277 with X25519
// the shared secret that `coins` determine: 64 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_prime_1277_x25519_encaps_derand(uint8_t *ct,
                                         uint8_t *ss,
                                         const uint8_t *pk,
                                         const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of CTRU-Prime-1277 with X25519:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_prime_1277_x25519_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of sntrup653: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_sntrup653_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of sntrup653 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the seed of a key file.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_sntrup653_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of sntrup653:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup653_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of sntrup653
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_sntrup653_encaps_derand(uint8_t *ct, uint8_t *ss, const uint8_t *pk, const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of sntrup653:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup653_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of sntrup761: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_sntrup761_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of sntrup761 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the seed of a key file.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_sntrup761_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of sntrup761:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup761_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of sntrup761
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_sntrup761_encaps_derand(uint8_t *ct, uint8_t *ss, const uint8_t *pk, const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of sntrup761:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup761_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of sntrup857: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_sntrup857_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of sntrup857 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the seed of a key file.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_sntrup857_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of sntrup857:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup857_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of sntrup857
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_sntrup857_encaps_derand(uint8_t *ct, uint8_t *ss, const uint8_t *pk, const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of sntrup857:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup857_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of sntrup953: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_sntrup953_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of sntrup953 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the seed of a key file.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_sntrup953_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of sntrup953:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup953_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of sntrup953
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_sntrup953_encaps_derand(uint8_t *ct, uint8_t *ss, const uint8_t *pk, const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of sntrup953:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup953_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of sntrup1013: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_sntrup1013_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of sntrup1013 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the seed of a key file.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_sntrup1013_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of sntrup1013:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup1013_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of sntrup1013
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_sntrup1013_encaps_derand(uint8_t *ct,
                                  uint8_t *ss,
                                  const uint8_t *pk,
                                  const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of sntrup1013:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup1013_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

// Generates a key pair of sntrup1277: `pk`, then `sk`.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has.
int ctru_sntrup1277_keypair(uint8_t *pk, uint8_t *sk);

// Generates the key pair of sntrup1277 that
// `coins` determine: 32 secret, uniform bytes, which
// must be used once. They are the seed of a key file.
//
// # Safety
// Pointers that are not null point to as many writable bytes as each key has, and to the
// readable bytes of the coins.
int ctru_sntrup1277_keypair_derand(uint8_t *pk, uint8_t *sk, const uint8_t *coins);

// Encapsulates to the public key `pk` of sntrup1277:
// writes the ciphertext to `ct` and the shared secret, 32 bytes, to `ss`.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup1277_encaps(uint8_t *ct, uint8_t *ss, const uint8_t *pk);

// Encapsulates to the public key `pk` of sntrup1277
// the shared secret that `coins` determine: 32 secret,
// uniform bytes, which must be used once.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have, and to the
// readable bytes of the coins.
int ctru_sntrup1277_encaps_derand(uint8_t *ct,
                                  uint8_t *ss,
                                  const uint8_t *pk,
                                  const uint8_t *coins);

// Decapsulates `ct` with the secret key `sk` of sntrup1277:
// writes the shared secret, 32 bytes, to `ss`. A ciphertext that encapsulation did not
// make is no error: it gives a secret that nobody else knows.
//
// # Safety
// Pointers that are not null point to as many bytes as the values have.
int ctru_sntrup1277_decaps(uint8_t *ss, const uint8_t *ct, const uint8_t *sk);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CTRU_H */
