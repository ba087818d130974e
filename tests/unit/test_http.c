/*
 * HTTP against a server of the test's own on the loopback, which says exactly the bytes it is told
 * to. Skipped where there is no libcurl.
 */
#include "memory_search.h"

#include "base/clock.h"
#include "net/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define REQUEST_MAX 8192

static struct http *http;
static struct http_response response;
static pid_t server;
static int port;
static int heard_fd; /* what the server got */

static int set_up(void **state)
{
    char problem[HTTP_PROBLEM_MAX];

    (void)state;
    server = 0;
    heard_fd = -1;
    if (http_open(&http, problem) < 0)
        http = NULL;
    return 0;
}

static void stop_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    if (heard_fd >= 0)
        close(heard_fd);
    server = 0;
    heard_fd = -1;
}

static int tear_down(void **state)
{
    (void)state;
    stop_server();
    http_response_free(&response);
    http_close(http);
    http = NULL;
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* Reads a request whole: its head, and as much of a body as that announces. */
static size_t hear(int connection, char *request)
{
    size_t size = 0;
    size_t wanted = REQUEST_MAX - 1;

    while (size < wanted) {
        ssize_t got = read(connection, request + size, REQUEST_MAX - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
        request[size] = '\0';
        char *end = strstr(request, "\r\n\r\n");
        if (end == NULL)
            continue;
        const char *length = strstr(request, "Content-Length: ");
        wanted = (size_t)(end + 4 - request) +
                 (length != NULL ? strtoul(length + strlen("Content-Length: "), NULL, 10) : 0);
    }
    return size;
}

static void serve(int listener, int heard, const char *answer, size_t size, bool hang)
{
    for (;;) {
        char request[REQUEST_MAX];
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            _exit(1);
        size_t got = hear(connection, request);
        ssize_t ignored = write(heard, request, got);
        ignored = write(connection, answer, size);
        (void)ignored;
        if (hang)
            pause();
        close(connection);
    }
}

static void start_server(const char *answer, size_t size, bool hang)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int heard[2];

    if (http == NULL)
        skip();
    stop_server();
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(pipe2(heard, O_CLOEXEC), 0);
    port = ntohs(address.sin_port);
    server = fork();
    if (server == 0)
        serve(listener, heard[1], answer, size, hang);
    close(listener);
    close(heard[1]);
    heard_fd = heard[0];
}

static void answer_with(const char *answer)
{
    start_server(answer, strlen(answer), false);
}

static struct scratch_path url(const char *path)
{
    struct scratch_path text;

    snprintf(text.text, sizeof text.text, "http://127.0.0.1:%d%s", port, path);
    return text;
}

static void ask(struct http_request request)
{
    struct scratch_path target = url("/x?y=1");

    if (request.url == NULL)
        request.url = target.text;
    if (request.method == NULL)
        request.method = "GET";
    if (request.connect_ms == 0)
        request.connect_ms = 5000;
    if (request.total_ms == 0)
        request.total_ms = 20000;
    if (request.response_max == 0)
        request.response_max = 1024;
    request.no_proxy = true;
    http_perform(http, &request, &response);
}

static void hear_request(char *out)
{
    ssize_t got = read(heard_fd, out, REQUEST_MAX - 1);

    assert_true(got > 0);
    out[got] = '\0';
}

static void assert_body(const char *wanted)
{
    assert_int_equal(response.body.size, strlen(wanted));
    assert_memory_equal(response.body.data, wanted, strlen(wanted));
}

static void test_an_answer_has_status_body_and_headers(void **state)
{
    char request[REQUEST_MAX];

    (void)state;
    answer_with(
        "HTTP/1.1 503 Busy\r\nContent-Length: 5\r\nRetry-After:  17 \r\n"
        "X-Amz-Bucket-Region: eu-west-1\r\nDate: Sun, 15 Nov 2026 07:00:00 GMT\r\n\r\nhello");
    ask((struct http_request){.headers = (const char *const[]){"X-One: 1", "X-Two: b c", NULL}});
    assert_int_equal(response.failure, HTTP_ANSWERED);
    assert_int_equal(response.status, 503);
    assert_string_equal(response.problem, "");
    assert_string_equal(response.retry_after, "17");
    assert_string_equal(response.bucket_region, "eu-west-1");
    assert_string_equal(response.date, "Sun, 15 Nov 2026 07:00:00 GMT");
    assert_body("hello");
    hear_request(request);
    assert_int_equal(strncmp(request, "GET /x?y=1 HTTP/1.1\r\n", 21), 0);
    assert_non_null(strstr(request, "\r\nX-One: 1\r\n"));
    assert_non_null(strstr(request, "\r\nX-Two: b c\r\n"));
    assert_non_null(strstr(request, "\r\nUser-Agent: resource-tracker/"));
}

static void test_bodies_are_sent_as_they_are(void **state)
{
    static const char *const methods[] = {"PUT", "POST"};
    char request[REQUEST_MAX];
    char line[32];

    (void)state;
    answer_with("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    for (size_t i = 0; i < 2; i++) {
        ask((struct http_request){.method = methods[i], .body = "a\0b", .body_size = 3});
        assert_int_equal(response.status, 200);
        ssize_t got = read(heard_fd, request, sizeof request);
        assert_true(got > 3);
        assert_memory_equal(request + got - 3, "a\0b", 3);
        request[got - 3] = '\0';
        snprintf(line, sizeof line, "%s /x?y=1 HTTP/1.1\r\n", methods[i]);
        assert_int_equal(strncmp(request, line, strlen(line)), 0);
        assert_non_null(strstr(request, "Content-Length: 3\r\n"));
        assert_null(strstr(request, "Content-Type"));
        assert_null(strstr(request, "Expect"));
    }
    ask((struct http_request){.method = "PUT"});
    hear_request(request);
    assert_non_null(strstr(request, "Content-Length: 0\r\n"));
}

static void test_head_asks_for_no_body(void **state)
{
    char request[REQUEST_MAX];

    (void)state;
    answer_with("HTTP/1.1 403 No\r\nContent-Length: 999\r\nx-amz-bucket-region: us-east-1\r\n\r\n");
    ask((struct http_request){.method = "HEAD"});
    assert_int_equal(response.failure, HTTP_ANSWERED);
    assert_int_equal(response.status, 403);
    assert_string_equal(response.bucket_region, "us-east-1");
    hear_request(request);
    assert_int_equal(strncmp(request, "HEAD ", 5), 0);
}

static void test_redirects_are_not_followed(void **state)
{
    (void)state;
    answer_with("HTTP/1.1 302 Over there\r\nLocation: http://127.0.0.1:1/\r\n"
                "Content-Length: 0\r\n\r\n");
    ask((struct http_request){.headers = (const char *const[]){"Authorization: Bearer x", NULL}});
    assert_int_equal(response.failure, HTTP_ANSWERED);
    assert_int_equal(response.status, 302);
}

static void test_an_answer_has_a_maximum(void **state)
{
    (void)state;
    answer_with(
        "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n0123456789012345678901234567890123");
    ask((struct http_request){.response_max = 16});
    assert_int_equal(response.failure, HTTP_TOO_LARGE);
    assert_int_equal(response.status, 200);
    assert_true(response.problem[0] != '\0');
}

static void test_half_an_answer_is_none(void **state)
{
    (void)state;
    answer_with("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf");
    ask((struct http_request){.url = NULL});
    assert_int_equal(response.failure, HTTP_NO_CONNECTION);
    assert_int_equal(response.status, 0);
}

static void test_garbage_is_no_answer(void **state)
{
    (void)state;
    answer_with("\x01\x02\x03 garbage\r\n\r\n");
    ask((struct http_request){.url = NULL});
    assert_int_not_equal(response.failure, HTTP_ANSWERED);
    assert_int_equal(response.status, 0);
}

static void test_silence_is_not_waited_for(void **state)
{
    (void)state;
    start_server("", 0, true);
    ask((struct http_request){.total_ms = 150});
    assert_int_equal(response.failure, HTTP_TIMED_OUT);
    start_server("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nand then", 49, true);
    ask((struct http_request){.total_ms = 150});
    assert_int_equal(response.failure, HTTP_TIMED_OUT);
}

static void *hurry_later(void *unused)
{
    (void)unused;
    usleep(100000);
    http_hurry(http, clock_monotonic_ns());
    return NULL;
}

static void test_a_request_under_way_is_cut_off(void **state)
{
    pthread_t thread;

    (void)state;
    start_server("", 0, true);
    uint64_t begin_ns = clock_monotonic_ns();
    assert_int_equal(pthread_create(&thread, NULL, hurry_later, NULL), 0);
    ask((struct http_request){.url = NULL});
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(response.failure, HTTP_TIMED_OUT);
    assert_true(response.problem[0] != '\0');
    /* The request's own limit is 20 s. */
    assert_true(clock_monotonic_ns() - begin_ns < 5 * NS_PER_SEC);
}

/* Those that were done before keep their answers. */
static void test_only_what_is_under_way_is_cut_off(void **state)
{
    struct http_request requests[2];
    struct http_response responses[2] = {0};

    (void)state;
    start_server("", 0, true);
    struct scratch_path target = url("/");
    for (size_t i = 0; i < 2; i++)
        requests[i] = (struct http_request){.method = "GET",
                                            .url = i == 0 ? "http://127.0.0.1:1/" : target.text,
                                            .connect_ms = 20000,
                                            .total_ms = 20000,
                                            .response_max = 10,
                                            .no_proxy = true};
    uint64_t begin_ns = clock_monotonic_ns();
    http_hurry(http, begin_ns + 300 * NS_PER_MS);
    http_perform_all(http, requests, responses, 2);
    uint64_t taken_ns = clock_monotonic_ns() - begin_ns;
    assert_true(taken_ns >= 300 * NS_PER_MS && taken_ns < 5 * NS_PER_SEC);
    assert_int_equal(responses[0].failure, HTTP_NO_CONNECTION);
    assert_int_equal(responses[1].failure, HTTP_TIMED_OUT);
    for (size_t i = 0; i < 2; i++)
        http_response_free(&responses[i]);
}

static int listen_without_waiting(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    port = ntohs(address.sin_port);
    return listener;
}

static void test_after_the_deadline_nothing_is_begun(void **state)
{
    (void)state;
    if (http == NULL)
        skip();
    int listener = listen_without_waiting();
    http_hurry(http, clock_monotonic_ns());
    ask((struct http_request){.url = NULL});
    assert_int_equal(response.failure, HTTP_TIMED_OUT);
    assert_int_equal(response.status, 0);
    assert_true(response.problem[0] != '\0');
    assert_int_equal(accept(listener, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    close(listener);
}

static void test_before_the_deadline_all_is_as_ever(void **state)
{
    (void)state;
    answer_with("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none");
    http_hurry(http, clock_monotonic_ns() + 100 * NS_PER_SEC);
    ask((struct http_request){.url = NULL});
    assert_int_equal(response.failure, HTTP_ANSWERED);
    http_hurry(http, clock_monotonic_ns());
    ask((struct http_request){.url = NULL});
    assert_int_equal(response.failure, HTTP_TIMED_OUT);
    http_hurry(http, 0);
    ask((struct http_request){.url = NULL});
    assert_int_equal(response.failure, HTTP_ANSWERED);
    assert_body("one");
}

static void test_nobody_there(void **state)
{
    (void)state;
    if (http == NULL)
        skip();
    ask((struct http_request){.url = "http://127.0.0.1:1/"});
    assert_int_equal(response.failure, HTTP_NO_CONNECTION);
    ask((struct http_request){.url = "http://name.invalid/", .total_ms = 5000});
    assert_true(response.failure == HTTP_NO_HOST || response.failure == HTTP_TIMED_OUT);
}

static void test_only_http_is_spoken(void **state)
{
    static const char *const urls[] = {"file:///etc/passwd", "gopher://127.0.0.1/", "", "http://",
                                       "ht tp://x/"};

    (void)state;
    if (http == NULL)
        skip();
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        ask((struct http_request){.url = urls[i]});
        assert_int_not_equal(response.failure, HTTP_ANSWERED);
        assert_true(response.problem[0] != '\0');
    }
}

static void test_many_at_once_take_as_long_as_one(void **state)
{
    struct http_request requests[8];
    struct http_response responses[8] = {0};
    struct scratch_path target;

    (void)state;
    start_server("", 0, true);
    target = url("/");
    for (size_t i = 0; i < 8; i++)
        requests[i] = (struct http_request){.method = "GET",
                                            .url = i == 3 ? "http://127.0.0.1:1/" : target.text,
                                            .connect_ms = 300,
                                            .total_ms = 300,
                                            .response_max = 10,
                                            .no_proxy = true};
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    http_perform_all(http, requests, responses, 8);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec <= 2);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(responses[i].failure, i == 3 ? HTTP_NO_CONNECTION : HTTP_TIMED_OUT);
        http_response_free(&responses[i]);
    }
}

/* In many pieces, so that the buffer grows, and moves, with the secret in it. */
#define SECRET_BODY_SIZE 300000
enum { SENT, RECEIVED };

/* An answer of a good size with a secret in it; the server alone keeps it. */
static void answer_with_a_secret(void)
{
    static char answer[SECRET_BODY_SIZE + 100];
    int head = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                        SECRET_BODY_SIZE);

    memset(answer + head, '.', SECRET_BODY_SIZE);
    needle_write(RECEIVED, answer + head + 10);
    start_server(answer, (size_t)head + SECRET_BODY_SIZE, false);
    sodium_memzero(answer, sizeof answer);
}

/* Of what is sent nothing stays, of what is received only the response, until it is freed. */
static void test_secrets_are_wiped(void **state)
{
    static char header[64] = "Authorization: ";

    (void)state;
    skip_under_sanitizers();
    answer_with_a_secret();
    needle_write(SENT, header + strlen("Authorization: "));
    ask((struct http_request){.headers = (const char *const[]){header, NULL},
                              .response_max = 2 * SECRET_BODY_SIZE});
    assert_int_equal(response.failure, HTTP_ANSWERED);
    assert_int_equal(response.body.size, SECRET_BODY_SIZE);
    sodium_memzero(header, sizeof header);
    assert_int_equal(needle_copies(SENT), 0);
    assert_int_equal(needle_copies(RECEIVED), 1);
    http_response_free(&response);
    assert_int_equal(needle_copies(RECEIVED), 0);
}

static void test_a_response_can_be_used_again(void **state)
{
    (void)state;
    answer_with("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nRetry-After: 1\r\n\r\none");
    ask((struct http_request){.url = NULL});
    assert_body("one");
    ask((struct http_request){.url = "http://127.0.0.1:1/"});
    assert_int_equal(response.body.size, 0);
    assert_string_equal(response.retry_after, "");
    ask((struct http_request){.response_max = 2});
    assert_int_equal(response.failure, HTTP_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_answer_has_status_body_and_headers),
        TEST(test_bodies_are_sent_as_they_are),
        TEST(test_head_asks_for_no_body),
        TEST(test_redirects_are_not_followed),
        TEST(test_an_answer_has_a_maximum),
        TEST(test_half_an_answer_is_none),
        TEST(test_garbage_is_no_answer),
        TEST(test_silence_is_not_waited_for),
        TEST(test_a_request_under_way_is_cut_off),
        TEST(test_only_what_is_under_way_is_cut_off),
        TEST(test_after_the_deadline_nothing_is_begun),
        TEST(test_before_the_deadline_all_is_as_ever),
        TEST(test_nobody_there),
        TEST(test_only_http_is_spoken),
        TEST(test_many_at_once_take_as_long_as_one),
        TEST(test_secrets_are_wiped),
        TEST(test_a_response_can_be_used_again),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
