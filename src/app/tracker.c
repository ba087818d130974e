#include "app/tracker.h"

#include "app/run_digest.h"
#include "app/streaming.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/resident.h"
#include "base/sysroot.h"
#include "child/reap.h"
#include "child/signals.h"
#include "child/spawn.h"
#include "collect/collector.h"
#include "collect/job_cgroup.h"
#include "sink/sink.h"
#include "sink/terminal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the end may wait for whoever reads our samples. */
#define FLUSH_DEADLINE_NS (10 * NS_PER_SEC)

struct tracker {
    const struct config *config;
    struct sysroot root;
    struct signals signals;
    struct collectors *collectors;
    struct streaming *streaming; /* NULL: nothing is streamed */
    struct sinks *sinks;
    struct digest *digest; /* NULL: nobody asks for one */
    struct job_cgroup cgroup;
    struct child child;
    struct reaper reaper;
    struct sample sample;

    bool had_children; /* whoever became the tracker by exec had started them */
    pid_t tracked_pid;
    uint64_t interval_ns;
    uint64_t due_ns;      /* next tick of the schedule */
    uint64_t previous_ns; /* last reading */
    uint64_t sample_count;
    double timestamp_secs;
    bool ending;
};

/* --- one sample --- */

/* Somebody may set the clock back; our timestamps then stand still. */
static double next_timestamp(const struct tracker *tracker)
{
    uint64_t whole_secs = clock_ns(CLOCK_REALTIME) / NS_PER_SEC;
    double now = (double)whole_secs;

    return now > tracker->timestamp_secs ? now : tracker->timestamp_secs;
}

/* `resource-tracker | head` is no mishap: of the reader nothing is said there. */
static void complain(struct tracker *tracker)
{
    bool may_lose_reader = tracker->child.pid == 0;

    for (const char *complaint;
         (complaint = sinks_complaint(tracker->sinks, may_lose_reader)) != NULL;) {
        sinks_hide(tracker->sinks);
        log_say("%s", complaint);
    }
}

static void remark(struct tracker *tracker)
{
    for (const char *text; (text = collectors_remark(tracker->collectors)) != NULL;) {
        sinks_hide(tracker->sinks);
        log_detail("%s", text);
    }
}

static void prime(struct tracker *tracker)
{
    struct tick tick = {.now_ns = clock_monotonic_ns(), .priming = true};

    collectors_read(tracker->collectors, &tick, &tracker->sample);
    tracker->previous_ns = tick.now_ns;
    tracker->due_ns = tick.now_ns + tracker->interval_ns;
}

static void take_sample(struct tracker *tracker, uint64_t now_ns)
{
    struct tick tick = {
        .now_ns = now_ns,
        .elapsed_ns = now_ns - tracker->previous_ns,
        .due_ns = tracker->ending ? now_ns : tracker->due_ns,
        .is_last = tracker->ending,
    };
    double *value = tracker->sample.value;

    tracker->timestamp_secs = next_timestamp(tracker);
    collectors_read(tracker->collectors, &tick, &tracker->sample);
    tracker->sample.interval_secs = (double)tick.elapsed_ns / NS_PER_SEC;
    value[METRIC_TIMESTAMP_SECS] = tracker->timestamp_secs;
    if (tracker->tracked_pid > 0)
        value[METRIC_TRACKED_PID] = tracker->tracked_pid;
    if (tracker->sample_count > 0)
        value[METRIC_ACTUAL_INTERVAL] = (double)tick.elapsed_ns / NS_PER_MS;
    sinks_sample(tracker->sinks, &tracker->sample);
    tracker->previous_ns = now_ns;
    tracker->sample_count++;
    remark(tracker);
    complain(tracker);
    /* All that a sample needs has been touched once by now, and all that a start needs for good. */
    if (tracker->sample_count == 1 && !tracker->ending)
        resident_give_back();
    /* Without a command there is nothing left to do when nobody listens. */
    if (tracker->child.pid == 0 && sinks_are_dead(tracker->sinks))
        tracker->ending = true;
}

/* A tick that comes late is taken at once; those that were missed by then are skipped. */
static void take_due_sample(struct tracker *tracker)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (now_ns < tracker->due_ns)
        return;
    if (!sinks_are_full(tracker->sinks))
        take_sample(tracker, now_ns);
    uint64_t missed = (now_ns - tracker->due_ns) / tracker->interval_ns;
    tracker->due_ns += (missed + 1) * tracker->interval_ns;
}

/* --- signals --- */

static void pass_on(struct tracker *tracker, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;

    if (!signal_reached_command(info, tracker->child.pid))
        (void)kill(tracker->child.pid, number);
    /* Ctrl-Z has stopped the command; now it is our turn, or the shell would wait for us. */
    if (number == SIGTSTP) {
        sinks_hide(tracker->sinks);
        signals_stop_self();
    }
}

static void hand_on_ended_child(void *context, pid_t pid, const struct rusage *rusage)
{
    struct tracker *tracker = context;

    collectors_child_ended(tracker->collectors, pid, rusage);
}

static void take_signals(struct tracker *tracker)
{
    struct signalfd_siginfo info;

    while (!tracker->ending && signals_next(&tracker->signals, &info)) {
        if (info.ssi_signo == SIGCHLD) {
            reaper_collect(&tracker->reaper, hand_on_ended_child, tracker);
            tracker->ending = tracker->reaper.command_ended;
        } else if (tracker->child.pid > 0) {
            pass_on(tracker, &info);
        } else {
            tracker->ending = true;
        }
    }
}

/* --- the loop --- */

static void wait_for_tick_or_signal(struct tracker *tracker)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct timespec left = clock_timespec(tracker->due_ns > now_ns ? tracker->due_ns - now_ns : 0);
    struct pollfd signal_fd = {.fd = tracker->signals.fd, .events = POLLIN};

    if (ppoll(&signal_fd, 1, &left, NULL) > 0)
        take_signals(tracker);
}

static struct run_end how_it_ended(const struct tracker *tracker)
{
    int status = tracker->reaper.wait_status;
    bool has_command = tracker->child.pid > 0;

    return (struct run_end){
        .has_command = has_command,
        .has_exit_code = has_command && WIFEXITED(status),
        .exit_code = WEXITSTATUS(status),
        .signal = has_command && WIFSIGNALED(status) ? WTERMSIG(status) : 0,
        .deadline_ns = clock_monotonic_ns() + FLUSH_DEADLINE_NS,
    };
}

static void sample_until_the_end(struct tracker *tracker)
{
    while (!tracker->ending) {
        wait_for_tick_or_signal(tracker);
        if (!tracker->ending)
            take_due_sample(tracker);
    }
    sinks_expect_last(tracker->sinks);
    /* Summary and report count it even when nobody reads the samples any more. */
    if (tracker->digest != NULL || !sinks_are_dead(tracker->sinks))
        take_sample(tracker, clock_monotonic_ns());
    run_digest_describe(tracker->digest, &tracker->root);
    struct run_end how = how_it_ended(tracker);
    sinks_end(tracker->sinks, &how);
    complain(tracker);
}

/* --- start and end --- */

static int start_collecting(struct tracker *tracker)
{
    struct collect_context context = {
        .root = &tracker->root,
        .tracked_pid = tracker->tracked_pid,
        .tracked_is_ours = tracker->child.pid > 0,
        .had_children = tracker->had_children,
        .pss_mode = tracker->config->pss,
        .cgroup = &tracker->cgroup,
        .interval_ns = tracker->interval_ns,
        .no_gpu = tracker->config->no_gpu,
        .gpu_detail = tracker->config->gpu_detail,
    };
    int error = collectors_open(&context, &tracker->collectors);

    if (error < 0)
        log_say("cannot start: %s", strerror(-error));
    return error;
}

/* Forked before the collectors open their files, so that it is ready when they are. */
static int hold_command(struct tracker *tracker)
{
    reaper_adopt_orphans();
    tracker->had_children = reaper_has_children();
    int error = child_hold(&tracker->child, tracker->config->command, &tracker->signals);
    if (error < 0) {
        log_say("cannot start a process for %s: %s", tracker->config->command[0], strerror(-error));
        return error;
    }
    tracker->tracked_pid = tracker->child.pid;
    tracker->reaper.command = tracker->child.pid;
    return 0;
}

/* Asked for but not possible: the run goes on with the next best source of CPU time. */
static void make_cgroup(struct tracker *tracker)
{
    if (!tracker->config->cgroup)
        return;
    int error = job_cgroup_open(&tracker->cgroup, tracker->child.pid);
    if (error < 0)
        log_say(
            "option --cgroup: cannot make a cgroup for the command: %s; the run goes on without",
            error == -ENODEV ? "no cgroup2 file system is mounted" : strerror(-error));
}

/* Lets the command go and, while it starts, looks up what can wait. Returns exec's result. */
static int release_command(struct tracker *tracker)
{
    int error = child_release(&tracker->child);

    collectors_describe(tracker->collectors);
    return error < 0 ? error : child_exec_result(&tracker->child);
}

static int run_command(struct tracker *tracker)
{
    const char *name = tracker->config->command[0];

    if (hold_command(tracker) < 0) {
        sinks_cancel(tracker->sinks);
        return STATUS_CANNOT_START;
    }
    make_cgroup(tracker);
    if (start_collecting(tracker) < 0) {
        sinks_cancel(tracker->sinks);
        return STATUS_CANNOT_START;
    }
    prime(tracker);
    int error = release_command(tracker);
    if (error < 0) {
        log_say("cannot run %s: %s", name, strerror(-error));
        sinks_cancel(tracker->sinks);
        return child_exec_status(error);
    }
    streaming_set_pid(tracker->streaming, tracker->tracked_pid);
    sinks_begin(tracker->sinks);
    run_digest_limits(tracker->digest, &tracker->root, 0);
    sample_until_the_end(tracker);
    return reaper_exit_status(&tracker->reaper);
}

static int watch(struct tracker *tracker)
{
    tracker->tracked_pid = tracker->config->pid;
    if (start_collecting(tracker) < 0) {
        sinks_cancel(tracker->sinks);
        return STATUS_CANNOT_START;
    }
    prime(tracker);
    streaming_set_pid(tracker->streaming, tracker->tracked_pid);
    sinks_begin(tracker->sinks);
    collectors_describe(tracker->collectors);
    run_digest_limits(tracker->digest, &tracker->root, tracker->tracked_pid);
    sample_until_the_end(tracker);
    return 0;
}

/* The report takes the place of what is there. The file for the samples is by now, by any name. */
static bool would_replace_samples(const struct sink_options *wanted)
{
    struct stat output;
    struct stat report;

    return wanted->output != NULL && wanted->report != NULL && stat(wanted->output, &output) == 0 &&
           stat(wanted->report, &report) == 0 && S_ISREG(output.st_mode) &&
           output.st_dev == report.st_dev && output.st_ino == report.st_ino;
}

static int open_sinks(struct tracker *tracker)
{
    const struct config *config = tracker->config;
    enum sample_place place = sample_place(config);
    struct sink_options wanted = {
        .run = &config->run,
        .format = (enum output_format)config->format,
        .columns = (enum csv_columns)config->csv_columns,
        .output = place == SAMPLES_TO_PATH ? config->output : NULL,
        .output_fd = place == SAMPLES_TO_STDOUT ? STDOUT_FILENO : STDERR_FILENO,
        .quiet = config->quiet,
        .stream = streaming_options(tracker->streaming),
        .digest = tracker->digest,
        .summary = summary_mode_of(config),
        .live = config->summary != SUMMARY_NONE && has_idle_terminal(config) &&
                terminal_is_capable(STDERR_FILENO),
        .report = config->report,
    };
    const char *culprit = NULL;

    int error = sinks_open(&wanted, &tracker->sinks, &culprit);
    const char *option = culprit != NULL && culprit == config->report ? "report" : "output";
    if (error == -ENXIO)
        log_say("option --%s: %s has no reader yet; start its reader first", option, culprit);
    else if (error < 0)
        log_say("option --%s: cannot write to %s: %s", option, culprit, strerror(-error));
    if (error == 0 && would_replace_samples(&wanted)) {
        log_say("options --output and --report: %s and %s are one file; give another to one of "
                "them",
                wanted.output, wanted.report);
        sinks_cancel(tracker->sinks);
        error = -EINVAL;
    }
    return error;
}

static int open_digest(struct tracker *tracker)
{
    int error = run_digest_open(tracker->config, &tracker->digest);

    if (error < 0)
        log_say("cannot start: %s", strerror(-error));
    return error;
}

static int open_sysroot(struct tracker *tracker)
{
    const struct config *config = tracker->config;
    const char *culprit = NULL;

    int error = sysroot_open(&tracker->root, config->procfs, config->sysfs, &culprit);
    if (error < 0)
        log_say("option --%s: cannot open %s: %s", culprit == config->procfs ? "procfs" : "sysfs",
                culprit, strerror(-error));
    return error;
}

static int open_signals(struct tracker *tracker)
{
    int error = signals_open(&tracker->signals, tracker->config->command != NULL);

    if (error < 0)
        log_say("cannot take over signals: %s", strerror(-error));
    return error;
}

int tracker_run(const struct config *config, char *const *environment)
{
    struct tracker tracker = {
        .config = config,
        .root = {.proc_fd = -1, .sys_fd = -1},
        .signals.fd = -1,
        .child = {.hold_fd = -1, .result_fd = -1},
        .interval_ns = config->interval_ns,
    };
    int status = STATUS_CANNOT_START;

    if (open_sysroot(&tracker) == 0 && open_signals(&tracker) == 0 && open_digest(&tracker) == 0) {
        streaming_open(config, &tracker.root, environment, &tracker.streaming);
        if (open_sinks(&tracker) == 0)
            status = config->command != NULL ? run_command(&tracker) : watch(&tracker);
    }
    bool sinks_closed = sinks_close(tracker.sinks);
    run_digest_close(tracker.digest);
    job_cgroup_close(&tracker.cgroup);
    /* With a thread stuck in a library, unloading that library could hang us too. */
    if (!collectors_stop(tracker.collectors) || !sinks_closed)
        _exit(status);
    streaming_close(tracker.streaming);
    collectors_close(tracker.collectors);
    child_close(&tracker.child);
    signals_close(&tracker.signals);
    sysroot_close(&tracker.root);
    return status;
}
