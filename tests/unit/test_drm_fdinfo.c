#include "collect/drm_fdinfo.h"

#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "pos:\t0\nflags:\t02100002\n"
#define CLIENT "drm-driver:\tx\ndrm-client-id:\t5\ndrm-pdev:\t0000:03:00.0\n"
#define KIB UINT64_C(1024)

static bool parse(const char *text, struct drm_fdinfo *ret_info)
{
    /* In memory of its very size, so that reading behind the end is seen. */
    size_t size = strlen(text);
    char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, text, size);
    bool fine = drm_fdinfo_parse(scan_over(exact, size), ret_info);
    free(exact);
    return fine;
}

static const struct drm_engine *engine(const struct drm_fdinfo *info, const char *name)
{
    for (size_t i = 0; i < info->engine_count; i++)
        if (strcmp(info->engines[i].name, name) == 0)
            return &info->engines[i];
    fail_msg("no engine %s", name);
    return NULL;
}

static uint64_t vram_of(const char *lines)
{
    char text[1024];
    struct drm_fdinfo info;

    snprintf(text, sizeof text, CLIENT "%s", lines);
    assert_true(parse(text, &info));
    return info.vram_bytes;
}

static void test_amdgpu(void **state)
{
    struct drm_fdinfo info;

    (void)state;
    assert_true(parse(HEAD "drm-driver:\tamdgpu\ndrm-client-id:\t41\ndrm-pdev:\t0000:03:00.0\n"
                           "pasid:\t32771\ndrm-memory-vram:\t524288 KiB\ndrm-memory-gtt: \t8 KiB\n"
                           "drm-engine-gfx:\t5000 ns\ndrm-engine-compute:\t0 ns\n",
                      &info));
    assert_string_equal(info.pci_address, "0000:03:00.0");
    assert_int_equal(info.client_id, 41);
    assert_int_equal(info.vram_bytes, 524288 * KIB);
    assert_int_equal(info.engine_count, 2);
    assert_int_equal(engine(&info, "gfx")->busy, 5000);
    assert_true(engine(&info, "gfx")->has_busy);
    assert_false(engine(&info, "gfx")->has_total_cycles);
    assert_int_equal(engine(&info, "gfx")->capacity, 1);
}

static void test_xe(void **state)
{
    struct drm_fdinfo info;

    (void)state;
    assert_true(parse(HEAD "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\n"
                           "drm-total-vram0:\t23992 KiB\ndrm-shared-vram0:\t16 MiB\n"
                           "drm-resident-vram0:\t20 MiB\ndrm-resident-vram1:\t4096\n"
                           "drm-cycles-vcs:\t28257900\ndrm-total-cycles-vcs:\t7655183225\n"
                           "drm-engine-capacity-vcs:\t2\n",
                      &info));
    assert_int_equal(info.vram_bytes, 20 * KIB * KIB + 4096);
    assert_int_equal(info.engine_count, 1);
    assert_int_equal(engine(&info, "vcs")->busy, 28257900);
    assert_int_equal(engine(&info, "vcs")->total_cycles, 7655183225);
    assert_int_equal(engine(&info, "vcs")->capacity, 2);
}

static void test_i915(void **state)
{
    struct drm_fdinfo info;

    (void)state;
    assert_true(parse(HEAD "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t7\n"
                           "drm-total-system0:\t4 MiB\ndrm-resident-local0:\t1 MiB\n"
                           "drm-engine-video:\t9288864723 ns\ndrm-engine-capacity-video:\t2\n"
                           "drm-engine-video-enhance:\t1 ns\n",
                      &info));
    assert_int_equal(info.vram_bytes, KIB * KIB);
    assert_int_equal(engine(&info, "video")->busy, 9288864723);
    assert_int_equal(engine(&info, "video-enhance")->busy, 1);
}

static void test_resident_memory_is_preferred(void **state)
{
    (void)state;
    assert_int_equal(vram_of("drm-total-vram: 9 KiB\ndrm-memory-vram: 7 KiB\n"
                             "drm-resident-vram: 5 KiB\n"),
                     5 * KIB);
    assert_int_equal(vram_of("drm-total-vram: 9 KiB\ndrm-memory-vram: 7 KiB\n"), 7 * KIB);
    assert_int_equal(vram_of("drm-total-vram: 9 KiB\n"), 9 * KIB);
    assert_int_equal(vram_of("drm-resident-vram: lots\ndrm-memory-vram: 7 KiB\n"), 7 * KIB);
}

/* A device without memory of its own tells of the system's; one that tells nothing is unknown. */
static void test_no_memory_and_no_word_about_it(void **state)
{
    (void)state;
    assert_int_equal(vram_of("drm-resident-system0: 5 KiB\n"), 0);
    assert_int_equal(vram_of("drm-total-gtt: 5 KiB\ndrm-resident-vrams: 1 KiB\n"), 0);
    assert_int_equal(vram_of("drm-engine-gfx: 5 ns\n"), COUNTER_UNKNOWN);
    assert_int_equal(vram_of("drm-total-cycles-rcs: 5\n"), COUNTER_UNKNOWN);
}

static void test_sizes_that_are_none(void **state)
{
    static const char *const lines[] = {
        "drm-resident-vram:\n",
        "drm-resident-vram: KiB\n",
        "drm-resident-vram: -1 KiB\n",
        "drm-resident-vram: 1 GiB\n",
        "drm-resident-vram: 1 kib\n",
        "drm-resident-vram: 99999999999999999999 KiB\n",
        "drm-resident-vram: 18446744073709551615\n",
        "drm-resident-vram: 18446744073709551615 KiB\n",
        "drm-resident-vram: 18014398509481984 KiB\n",
        "drm-resident-vram0: 18446744073709551614\ndrm-resident-vram1: 1\n",
        "drm-total-gtt: 5 KiB\ndrm-resident-vram: 1 GiB\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_int_equal(vram_of(lines[i]), COUNTER_UNKNOWN);
    assert_true(vram_of("drm-resident-vram: 18446744073709551614\n") == UINT64_MAX - 1);
}

static void test_texts_of_other_files_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        HEAD,
        HEAD "eventfd-count: 5\n",
        "drm-driver:\tamdgpu\n",
        "drm-driver:\tamdgpu\ndrm-client-id:\t4\n",
        "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n",
        "drm-client-id:\t4\ndrm-pdev:\t0000:03:00.0\n",
        "drm-driver:\ndrm-client-id:\t4\ndrm-pdev:\t0000:03:00.0\n",
        "drm-driver:\tvc4\ndrm-client-id:\t4\ndrm-pdev:\tgpu\n",
        "drm-driver:\tamdgpu\ndrm-client-id:\tfour\ndrm-pdev:\t0000:03:00.0\n",
        " drm-driver:\tamdgpu\n drm-client-id:\t4\n drm-pdev:\t0000:03:00.0\n",
        "drm-driver\ndrm-client-id\ndrm-pdev\n",
    };
    struct drm_fdinfo info = {.client_id = 77};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(parse(texts[i], &info));
    assert_int_equal(info.client_id, 77);
}

static void test_hostile_engines_are_passed_over(void **state)
{
    static const char text[] =
        CLIENT "drm-engine-: 5 ns\n"
               "drm-engine-a-name-that-is-longer-than-any-driver-would-give: 5 ns\n"
               "drm-engine-nul\0nul: 5 ns\n"
               "drm-engine-nothing:\n"
               "drm-engine-word: busy ns\n"
               "drm-engine-unit: 5 us\n"
               "drm-engine-minus: -5 ns\n"
               "drm-engine-huge: 99999999999999999999 ns\n"
               "drm-engine-capacity-good: 0\n"
               "drm-engine-capacity-: 5\n"
               "drm-cycles-: 5\n"
               "drm-engine-good: 5 ns\n"
               "drm-engine-%s\x1b[31m: 6 ns\n";
    struct drm_fdinfo info;
    size_t busy = 0;

    (void)state;
    assert_true(drm_fdinfo_parse(scan_over(text, sizeof text - 1), &info));
    for (size_t i = 0; i < info.engine_count; i++)
        busy += info.engines[i].has_busy;
    assert_int_equal(busy, 2);
    assert_int_equal(engine(&info, "good")->busy, 5);
    assert_int_equal(engine(&info, "good")->capacity, 1);
    assert_int_equal(engine(&info, "%s\x1b[31m")->busy, 6);
}

static void test_more_engines_than_there_can_be(void **state)
{
    char text[8192] = CLIENT;
    struct drm_fdinfo info;

    (void)state;
    for (int i = 0; i < 100; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "drm-engine-e%d: %d ns\n", i, i);
    assert_true(parse(text, &info));
    assert_int_equal(info.engine_count, DRM_ENGINES_MAX);
    assert_int_equal(engine(&info, "e15")->busy, 15);
}

static void test_a_text_cut_anywhere(void **state)
{
    static const char text[] =
        HEAD CLIENT "drm-resident-vram0:\t20 MiB\ndrm-cycles-rcs:\t28\n"
                    "drm-total-cycles-rcs:\t76\ndrm-engine-capacity-rcs:\t2\n"
                    "drm-engine-gfx:\t123 ns\n";
    char cut[sizeof text];

    (void)state;
    for (size_t size = 0; size < sizeof text; size++) {
        struct drm_fdinfo info;
        memcpy(cut, text, size);
        cut[size] = '\0';
        if (parse(cut, &info))
            assert_true(info.engine_count <= 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amdgpu),
        cmocka_unit_test(test_xe),
        cmocka_unit_test(test_i915),
        cmocka_unit_test(test_resident_memory_is_preferred),
        cmocka_unit_test(test_no_memory_and_no_word_about_it),
        cmocka_unit_test(test_sizes_that_are_none),
        cmocka_unit_test(test_texts_of_other_files_are_refused),
        cmocka_unit_test(test_hostile_engines_are_passed_over),
        cmocka_unit_test(test_more_engines_than_there_can_be),
        cmocka_unit_test(test_a_text_cut_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
