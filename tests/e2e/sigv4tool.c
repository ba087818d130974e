/*
 * Our S3 addresses, signatures and gzip for the tests to compare with those of others.
 *
 * sigv4tool sign: one case a line, eight words: URI, region, endpoint, access key, secret key,
 * session token, Unix time, body. All but the time are hexadecimal; "-" is an empty text, and for
 * the endpoint none. Answers one line a case: "refused", or host, URL and headers, separated by
 * tabs. sigv4tool gzip: compresses standard input.
 */
#include "hexword.h"

#include "net/gzip.h"
#include "net/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX ((size_t)64 << 20)

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "sigv4tool: %s\n", what);
    exit(1);
}

static size_t decode(char *word)
{
    ssize_t size = hexword_decode(word);

    if (size < 0)
        die("not a hexadecimal digit");
    return (size_t)size;
}

static void copy(char *out, size_t size, const char *text)
{
    if (strlen(text) >= size)
        die("too long for its place");
    memcpy(out, text, strlen(text) + 1);
}

static void answer(char *const *words)
{
    static struct s3_signed made;
    static struct s3_target target;
    struct s3_credentials credentials = {0};
    struct s3_uri uri;
    const char *endpoint = strcmp(words[2], "-") == 0 ? NULL : words[2];

    for (size_t i = 0; i < 6; i++)
        decode(words[i]);
    size_t body_size = decode(words[7]);
    copy(credentials.access_key, sizeof credentials.access_key, words[3]);
    copy(credentials.secret_key, sizeof credentials.secret_key, words[4]);
    copy(credentials.session_token, sizeof credentials.session_token, words[5]);
    if (s3_uri_parse(words[0], &uri) < 0 || s3_target_make(&uri, words[1], endpoint, &target) < 0 ||
        s3_sign_put(&target, &credentials, strtoull(words[6], NULL, 10), words[7], body_size,
                    &made) < 0) {
        puts("refused");
        return;
    }
    printf("%s\t%s", target.host, target.url);
    for (const char *const *header = made.headers; *header != NULL; header++)
        printf("\t%s", *header);
    putchar('\n');
}

static void sign_all(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;

    while ((size = getline(&line, &capacity, stdin)) > 0) {
        char *words[8];
        char *rest = line;

        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < 8; i++) {
            words[i] = strsep(&rest, " ");
            if (words[i] == NULL)
                die("a case has eight words");
        }
        answer(words);
    }
    free(line);
}

static void gzip(void)
{
    char *data = malloc(INPUT_MAX);
    struct buf out;

    if (data == NULL || buf_init(&out, 64, INPUT_MAX) < 0)
        die("no memory");
    size_t size = fread(data, 1, INPUT_MAX, stdin);
    if (gzip_compress(data, size, &out) < 0)
        die("gzip_compress failed");
    if (fwrite(out.data, 1, out.size, stdout) != out.size)
        die("cannot write");
    buf_free(&out);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "sign") == 0)
        sign_all();
    else if (argc == 2 && strcmp(argv[1], "gzip") == 0)
        gzip();
    else
        die("usage: sigv4tool sign|gzip");
    return fflush(stdout) == 0 ? 0 : 1;
}
