/*
 * The two steps of AWS Signature Version 4 that AWS publishes examples for; s3_sign_put() is made
 * of them. Pure; keys are the caller's to wipe.
 */
#ifndef NET_SIGV4_H
#define NET_SIGV4_H

#include "net/s3.h"

#define SIGV4_KEY_SIZE 32
#define SIGV4_HEX_SIZE 65 /* 64 digits and a NUL */

/* `date_stamp` is YYYYMMDD; `ret_key` has SIGV4_KEY_SIZE bytes. */
void sigv4_signing_key(const struct s3_credentials *credentials, const char *date_stamp,
                       const char *region, const char *service, unsigned char *ret_key);

/* `ret_hex` has SIGV4_HEX_SIZE bytes. */
void sigv4_signature(const unsigned char *key, const char *string_to_sign, char *ret_hex);

#endif
