/* probe.c - asks the GPU runtimes what they offer, in a process that may crash or hang.
 *
 * A broken driver can end or block the process that opens it. So `sonde
 * doctor` runs itself with the hidden option --probe and reads the answer from
 * a pipe.
 */
#include "doctor.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_PLATFORMS = 32,
    MOST_DEVICES = 64,
    FILL_BYTES = 4096,
};

/* The calls we make, by the types the Khronos header gives them. */
struct opencl {
#define OPENCL_CALLS(X)                                                                               \
    X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext)  \
    X(clReleaseContext) X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clCreateBuffer)            \
    X(clReleaseMemObject) X(clEnqueueWriteBuffer) X(clEnqueueReadBuffer) X(clFinish)
#define X(name) __typeof__(name) *name;
    OPENCL_CALLS(X)
#undef X
};

static bool load_calls(void *library, struct opencl *cl)
{
    bool all = true;
#define X(name) all = (*(void **)&cl->name = dlsym(library, #name)) && all;
    OPENCL_CALLS(X)
#undef X
    return all;
}

static void set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    json_object_set_new(object, key, value ? value : json_string("?"));
}

/* ---- devices ------------------------------------------------------------------- */

/* Write a buffer and read it back; returns how many operations were enqueued. */
static int use_device(const struct opencl *cl, cl_device_id device)
{
    static char bytes[FILL_BYTES];
    cl_int error;
    int operations = 0;
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (!context)
        return 0;
    cl_command_queue queue = cl->clCreateCommandQueue(context, device, 0, &error);
    cl_mem buffer = queue ? cl->clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof bytes, NULL, &error) : NULL;
    if (buffer) {
        operations += cl->clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof bytes, bytes, 0, NULL, NULL) == CL_SUCCESS;
        operations += cl->clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof bytes, bytes, 0, NULL, NULL) == CL_SUCCESS;
        cl->clFinish(queue);
        cl->clReleaseMemObject(buffer);
    }
    if (queue)
        cl->clReleaseCommandQueue(queue);
    cl->clReleaseContext(context);
    return operations;
}

static const char *device_kind(cl_device_type type)
{
    return type & CL_DEVICE_TYPE_GPU           ? "GPU"
           : type & CL_DEVICE_TYPE_CPU         ? "CPU"
           : type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                                               : "other";
}

static json_t *describe_device(const struct opencl *cl, cl_device_id id, int work, int *operations)
{
    json_t *device = json_object();
    char text[512];
    static const struct {
        const char *key;
        cl_device_info what;
    } texts[] = {
        {"name", CL_DEVICE_NAME},
        {"vendor", CL_DEVICE_VENDOR},
        {"driver", CL_DRIVER_VERSION},
        {"version", CL_DEVICE_VERSION},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (cl->clGetDeviceInfo(id, texts[i].what, sizeof text, text, NULL) == CL_SUCCESS)
            set_text(device, texts[i].key, text);
    cl_device_type type = 0;
    cl_ulong memory = 0;
    cl->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    cl->clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    set_text(device, "kind", device_kind(type));
    json_object_set_new(device, "memory_bytes", json_integer((json_int_t)memory));
    if (work)
        *operations += use_device(cl, id);
    return device;
}

static json_t *describe_platforms(const struct opencl *cl, int work, int *operations)
{
    cl_platform_id ids[MOST_PLATFORMS];
    cl_uint count = 0;
    json_t *platforms = json_array();
    if (cl->clGetPlatformIDs(MOST_PLATFORMS, ids, &count) != CL_SUCCESS)
        return platforms;
    for (cl_uint i = 0; i < count && i < MOST_PLATFORMS; i++) {
        json_t *platform = json_object(), *devices = json_array();
        char text[512];
        if (cl->clGetPlatformInfo(ids[i], CL_PLATFORM_NAME, sizeof text, text, NULL) == CL_SUCCESS)
            set_text(platform, "name", text);
        if (cl->clGetPlatformInfo(ids[i], CL_PLATFORM_VERSION, sizeof text, text, NULL) == CL_SUCCESS)
            set_text(platform, "version", text);
        cl_device_id device[MOST_DEVICES];
        cl_uint found = 0;
        if (cl->clGetDeviceIDs(ids[i], CL_DEVICE_TYPE_ALL, MOST_DEVICES, device, &found) != CL_SUCCESS)
            found = 0;
        for (cl_uint k = 0; k < found && k < MOST_DEVICES; k++)
            json_array_append_new(devices, describe_device(cl, device[k], work, operations));
        json_object_set_new(platform, "devices", devices);
        json_array_append_new(platforms, platform);
    }
    return platforms;
}

/* ---- libraries ------------------------------------------------------------------- */

static int find_agent(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    if (info->dlpi_name && strstr(info->dlpi_name, "/libsonde-agent.so"))
        *(bool *)found = true;
    return 0;
}

static void probe_opencl(json_t *answer, int work)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libOpenCL.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        set_text(answer, "opencl_error", dlerror());
        return;
    }
    struct opencl cl = {0};
    struct link_map *map;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        set_text(answer, "opencl_loader", map->l_name);
    if (!load_calls(library, &cl)) {
        set_text(answer, "opencl_error", "it lacks functions of OpenCL 1.2");
        return;
    }
    int operations = 0;
    json_object_set_new(answer, "platforms", describe_platforms(&cl, work, &operations));
    json_object_set_new(answer, "operations", json_integer(operations));
    bool agent = false;
    dl_iterate_phdr(find_agent, &agent);
    json_object_set_new(answer, "agent_loaded", json_boolean(agent));
}

int doctor_probe(enum doctor_work work)
{
    /* What a driver prints must not mix with the answer. */
    int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 1;
    json_t *answer = json_object();
    if (work == DOCTOR_LOOK_CUDA || work == DOCTOR_WORK_CUDA)
        doctor_probe_cuda(answer, work == DOCTOR_WORK_CUDA);
    else
        probe_opencl(answer, work == DOCTOR_WORK_OPENCL);
    int failed = json_dumpfd(answer, out, 0);
    close(out);
    json_decref(answer);
    return failed ? 1 : 0;
}

/* ---- the asking side ---------------------------------------------------------------- */

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Read `fd` to its end into a new buffer; false when the time is over. */
static bool read_all(int fd, uint64_t until_ms, char **text, size_t *length)
{
    size_t room = 0;
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (now >= until_ms || poll(&ready, 1, (int)(until_ms - now)) == 0)
            return false;
        if (*length + 4096 > room) {
            char *grown = realloc(*text, room += 65536);
            if (!grown)
                return false;
            *text = grown;
        }
        ssize_t n = read(fd, *text + *length, room - *length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        *length += (size_t)n;
    }
}

static pid_t spawn_probe(enum doctor_work work, char **environment, int out)
{
    char *argv[] = {"sonde", "doctor", "--probe", (char *)(uintptr_t)doctor_work_names[work], NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environment ? environment : environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

json_t *doctor_run_probe(enum doctor_work work, char **environment, unsigned seconds, char *why, size_t why_size)
{
    int ends[2];
    char *text = NULL;
    size_t length = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        snprintf(why, why_size, "%s", strerror(errno));
        return NULL;
    }
    pid_t pid = spawn_probe(work, environment, ends[1]);
    close(ends[1]);
    bool whole = pid > 0 && read_all(ends[0], now_ms() + 1000 * (uint64_t)seconds, &text, &length);
    close(ends[0]);
    int status = 0;
    if (pid > 0) {
        if (!whole)
            kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    json_t *answer = whole ? json_loadb(text, length, 0, NULL) : NULL;
    free(text);
    if (pid < 0)
        snprintf(why, why_size, "the probe could not be started");
    else if (!whole)
        snprintf(why, why_size, "the driver did not answer within %u s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(why, why_size, "the driver crashed (%s)", strsignal(WTERMSIG(status)));
    else if (!answer)
        snprintf(why, why_size, "the driver terminated the probe (status %d)", WEXITSTATUS(status));
    if (answer && WIFSIGNALED(status))
        json_object_set_new(answer, "crashed_at_exit", json_string(strsignal(WTERMSIG(status))));
    return answer;
}
