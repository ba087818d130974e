#include "net/hmac.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BLOCK_SIZE 64
#define INNER_PAD 0x36
#define OUTER_PAD 0x5c

_Static_assert(HMAC_SIZE == crypto_hash_sha256_BYTES, "a MAC is a hash");

/*
 * The two functions that libsodium's hashes and codecs need of the rest of it. With these here the
 * linker does not look for them there, and the rest stays out.
 */
void sodium_memzero(void *const memory, const size_t size)
{
    memset(memory, 0, size);
    /* Somebody might look: the compiler must not leave it out. */
    __asm__ __volatile__("" : : "r"(memory) : "memory");
}

void sodium_misuse(void)
{
    abort();
}

/* RFC 2104: a key that is longer than a block is hashed first. */
static void make_block(const unsigned char *key, size_t key_size, unsigned char *ret_block)
{
    memset(ret_block, 0, BLOCK_SIZE);
    if (key_size > BLOCK_SIZE)
        crypto_hash_sha256(ret_block, key, key_size);
    else
        memcpy(ret_block, key, key_size);
}

static void hash_behind(unsigned char *block, unsigned char pad, const void *data, size_t size,
                        unsigned char *ret_hash)
{
    crypto_hash_sha256_state state;

    for (size_t i = 0; i < BLOCK_SIZE; i++)
        block[i] ^= pad;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, block, BLOCK_SIZE);
    crypto_hash_sha256_update(&state, data, size);
    crypto_hash_sha256_final(&state, ret_hash);
    sodium_memzero(&state, sizeof state);
}

void hmac_sha256(const unsigned char *key, size_t key_size, const void *data, size_t size,
                 unsigned char *ret_mac)
{
    unsigned char block[BLOCK_SIZE];
    unsigned char inner[HMAC_SIZE];

    make_block(key, key_size, block);
    hash_behind(block, INNER_PAD, data, size, inner);
    hash_behind(block, INNER_PAD ^ OUTER_PAD, inner, sizeof inner, ret_mac);
    sodium_memzero(block, sizeof block);
    sodium_memzero(inner, sizeof inner);
}
