/*
 * The machinery behind the fake NVML, and the functions that every version has.
 *
 *   gpus=8                       how many there are; those beyond it are lost
 *   frozen=1                     their number is what it was at nvmlInit, as in the real library
 *   count=4000000000             what nvmlDeviceGetCount says instead
 *   init=9                       what nvmlInit returns
 *   hang=FUNCTION ...            does not return until the file no longer says so
 *   slow=FUNCTION:MS ...         takes that long
 *   fail=FUNCTION:CODE ...       returns that; FUNCTION* is every one that begins so
 *   gpu0.hang gpu0.slow gpu0.fail gpu0.mig0.fail ...    the same of one device only
 *   gpu0.lost=1                  every call on it (and its instances) says that it is lost
 *   gpu0.mig=3                   so many MIG instances: gpu0.mig0, gpu0.mig1, gpu0.mig2
 */
#ifndef FAKES_NVML_BARE_H
#define FAKES_NVML_BARE_H

#include <sys/wait.h>

#include <time.h>

#include "nvml_script.h"

#define GPUS_MAX 1024
#define MIG_MAX 7
#define NOT_MIG MIG_MAX

/* A handle is the address of one of these. */
struct fake_device {
    unsigned gpu;
    unsigned mig;
};

static struct fake_device fake_devices[GPUS_MAX][MIG_MAX + 1];
static unsigned init_count;
static unsigned gpus_at_init;

static inline unsigned gpu_count(void)
{
    u64 count = script_number("frozen", 0) != 0 ? gpus_at_init : script_number("gpus", 1);

    return count < GPUS_MAX ? (unsigned)count : GPUS_MAX;
}

/* --- what a device says --- */

struct key {
    char text[96];
};

static inline struct key device_key(const struct fake_device *device, const char *name)
{
    struct key key;

    if (device->mig == NOT_MIG)
        snprintf(key.text, sizeof key.text, "gpu%u.%s", device->gpu, name);
    else
        snprintf(key.text, sizeof key.text, "gpu%u.mig%u.%s", device->gpu, device->mig, name);
    return key;
}

static inline const char *device_text(const struct fake_device *device, const char *name)
{
    return script_get(device_key(device, name).text);
}

static inline u64 device_number(const struct fake_device *device, const char *name, u64 fallback)
{
    return script_number(device_key(device, name).text, fallback);
}

static inline struct fake_device *device_at(unsigned gpu, unsigned mig)
{
    struct fake_device *device = &fake_devices[gpu][mig];

    *device = (struct fake_device){gpu, mig};
    return device;
}

static inline unsigned mig_count(unsigned gpu)
{
    u64 count = device_number(device_at(gpu, NOT_MIG), "mig", 0);

    return count < MIG_MAX ? (unsigned)count : MIG_MAX;
}

static inline int check_device(const struct fake_device *device)
{
    const struct fake_device *first = &fake_devices[0][0];

    if (device < first || device >= first + GPUS_MAX * (MIG_MAX + 1))
        return NVML_INVALID_ARGUMENT;
    if (device->gpu >= gpu_count() ||
        device_number(device_at(device->gpu, NOT_MIG), "lost", 0) != 0)
        return NVML_GPU_IS_LOST;
    if (device->mig != NOT_MIG && device->mig >= mig_count(device->gpu))
        return NVML_NOT_FOUND;
    return NVML_OK;
}

/* --- calls --- */

struct call {
    const struct fake_device *device;
    int code;
};

static inline bool call_lists(const struct call *call, const char *list, const char *function,
                              u64 *ret_number)
{
    return script_lists(list, function, ret_number) ||
           (call->device != NULL &&
            script_lists(device_key(call->device, list).text, function, ret_number));
}

static inline void sleep_unlocked(unsigned ms)
{
    pthread_mutex_unlock(&script_lock);
    usleep(ms * 1000);
    pthread_mutex_lock(&script_lock);
    script_load();
}

/* Takes the lock; `handle` is NULL in functions that are not about a device. */
static inline struct call call_begin(const char *function, void *handle)
{
    struct call call = {.device = handle};
    u64 number;

    pthread_mutex_lock(&script_lock);
    script_load();
    log_call(function);
    int code = handle != NULL ? check_device(handle) : NVML_OK;
    if (code == NVML_INVALID_ARGUMENT)
        call.device = NULL;
    while (call_lists(&call, "hang", function, &number))
        sleep_unlocked(10);
    if (call_lists(&call, "slow", function, &number))
        sleep_unlocked((unsigned)number);
    if (init_count == 0 && strcmp(function, "nvmlInit_v2") != 0)
        call.code = NVML_UNINITIALIZED;
    else if (call_lists(&call, "fail", function, &number))
        call.code = (int)number;
    else
        call.code = handle != NULL && code == NVML_OK ? check_device(handle) : code;
    return call;
}

static inline void call_end(const struct call *call)
{
    (void)call;
    pthread_mutex_unlock(&script_lock);
}

/* Opens a function: from here on the script is ours, until it returns. */
#define CALL(handle)                                                                               \
    __attribute__((cleanup(call_end))) const struct call call = call_begin(__func__, handle);      \
    if (call.code != NVML_OK)                                                                      \
    return call.code

/* The same, on a device; NULL is no handle. */
#define DEVICE_CALL(handle, ret)                                                                   \
    if ((handle) == NULL || (ret) == NULL)                                                         \
        return NVML_INVALID_ARGUMENT;                                                              \
    CALL(handle)

/* What NVML only knows of whole GPUs. */
#define WHOLE_GPU_CALL(handle, ret)                                                                \
    DEVICE_CALL(handle, ret);                                                                      \
    if (call.device->mig != NOT_MIG)                                                               \
    return NVML_NOT_SUPPORTED

/* --- functions --- */

/* As the real one does to have device nodes made: a program of its own, which it waits for. */
static inline bool run_a_program(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        usleep(20 * 1000);
        _exit(7);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
}

int nvmlInit_v2(void)
{
    CALL(NULL);
    int code = (int)script_number("init", NVML_OK);
    if (script_number("forks", 0) != 0 && !run_a_program())
        return NVML_DRIVER_NOT_LOADED;
    if (code == NVML_OK) {
        if (init_count++ == 0)
            gpus_at_init = (unsigned)script_number("gpus", 1);
    }
    return code;
}

int nvmlShutdown(void)
{
    CALL(NULL);
    init_count--;
    return NVML_OK;
}

int nvmlDeviceGetCount_v2(unsigned *ret)
{
    CALL(NULL);
    if (ret == NULL)
        return NVML_INVALID_ARGUMENT;
    *ret = (unsigned)script_number("count", gpu_count());
    return NVML_OK;
}

/* As in the real library, there is no handle of a GPU that is lost. */
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **ret)
{
    CALL(NULL);
    if (ret == NULL || index >= gpu_count())
        return NVML_INVALID_ARGUMENT;
    int code = check_device(device_at(index, NOT_MIG));
    if (code == NVML_OK)
        code = (int)device_number(device_at(index, NOT_MIG), "handle", NVML_OK);
    if (code == NVML_OK)
        *ret = device_at(index, NOT_MIG);
    return code;
}

#endif
