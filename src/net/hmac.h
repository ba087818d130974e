/*
 * HMAC-SHA-256 over libsodium's SHA-256. Its own HMAC, like whatever else it has, drags that whole
 * library into the binary (250 kB), since each of its files leads to its start-up code.
 */
#ifndef NET_HMAC_H
#define NET_HMAC_H

#include <stddef.h>

#define HMAC_SIZE 32

void hmac_sha256(const unsigned char *key, size_t key_size, const void *data, size_t size,
                 unsigned char *ret_mac);

#endif
