/* team.c - `mpirun sonde report`: the processes of an MPI job read one measurement together (base/team.h).
 *
 * Sonde is built without MPI: the library is opened only where a launcher of MPI has started this very process, and is
 * the one that belongs to the launcher. Libraries differ in what their handles are: Open MPI's are addresses of its objects, MPICH's
 * (and those of its children, Intel MPI among them) are numbers, the same since its ABI of 2013.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/parallel.h"
#include "base/rank.h"
#include "base/team.h"
#include "cmds/command.h"
#include "report.h"

enum {
    MESSAGE_MOST = 1 << 30, /* MPI counts with an int */
    FUNNELED = 1,           /* MPI_THREAD_FUNNELED, in all of them: one thread of several calls MPI */
};

typedef uintptr_t handle;

static struct {
    void *library;
    handle world, byte, ignore; /* MPI_COMM_WORLD, MPI_BYTE, MPI_STATUS_IGNORE */
    int (*init_thread)(int *, char ***, int, int *);
    int (*finalize)(void);
    int (*abort)(handle, int);
    int (*comm_rank)(handle, int *);
    int (*comm_size)(handle, int *);
    int (*send)(const void *, int, handle, int, int, handle);
    int (*receive)(void *, int, handle, int, int, handle, handle);
    int (*broadcast)(void *, int, handle, int, handle);
    int (*library_version)(char *, int *);
    struct sonde_team team;
    int terminal; /* standard error, as it was */
} mpi = {.terminal = STDERR_FILENO};

/* ---- the library --------------------------------------------------------------------------------------- */

static const struct {
    const char *rank;        /* a launcher sets it for each process, */
    const char *identity[3]; /* with what tells its jobs apart */
    const char *names[4];
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}, {"libmpi.so.40", "libmpi.so"}},  /* Open MPI */
    {"PMI_RANK", {"PMI_FD", "PMI_PORT", "PMI_JOBID"}, {"libmpich.so.12", "libmpi.so.12", "libmpi.so"}},      /* MPICH, Intel MPI, Slurm with PMI */
    {"PMIX_RANK", {"PMIX_NAMESPACE"}, {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"}},      /* Slurm with PMIx */
};

/* The value of a variable in an environment as /proc has it; NULL: it has none. */
static const char *value_in(const struct sonde_text *environment, const char *variable)
{
    const size_t length = strlen(variable);
    for (size_t at = 0; at < environment->length; at += strlen(environment->bytes + at) + 1)
        if (strncmp(environment->bytes + at, variable, length) == 0 && environment->bytes[at + length] == '=')
            return environment->bytes + at + length + 1;
    return NULL;
}

static bool is_same(const struct sonde_text *environment, const char *variable)
{
    const char *here = getenv(variable), *there = value_in(environment, variable);
    return here && there ? strcmp(here, there) == 0 : here == there;
}

/* All of a file of /proc: words, each with a NUL after it. False: it cannot be read. */
static bool read_words(const char *path, struct sonde_text *words)
{
    char block[4096];
    FILE *file = fopen(path, "re");
    for (size_t got; file && (got = fread(block, 1, sizeof block, file)) > 0;)
        sonde_text_add_bytes(words, block, got);
    const bool read = file && !ferror(file) && !words->failed;
    if (file)
        fclose(file);
    return read;
}

/* Has the parent the same rank of the same job, so that it, and not we, is the launcher's process? Of a parent that has ended nothing is known; one
 * that cannot be read is a launcher of another user's. */
static bool is_child_of_rank(size_t launcher)
{
    const long parent = getppid();
    struct sonde_text environment = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/environ", parent);
    bool same = parent == 1;
    if (!same && read_words(path, &environment)) {
        same = is_same(&environment, launchers[launcher].rank);
        for (int i = 0; i < 3 && launchers[launcher].identity[i]; i++)
            same &= is_same(&environment, launchers[launcher].identity[i]);
    }
    sonde_text_fini(&environment);
    return same;
}

/* The launcher that started this very process as one of several; -1: none. */
static int find_launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && sonde_rank_read().size > 1; i++)
        if (getenv(launchers[i].rank))
            return is_child_of_rank(i) ? -1 : (int)i;
    return -1;
}

static void *open_library(int launcher)
{
    const char *given = getenv("SONDE_MPI");
    void *library = given ? dlopen(given, RTLD_NOW | RTLD_GLOBAL) : NULL; /* its plugins look for it */
    for (int i = 0; !given && i < 4 && launchers[launcher].names[i] && !library; i++)
        library = dlopen(launchers[launcher].names[i], RTLD_NOW | RTLD_GLOBAL);
    return library;
}

static bool find_functions(void)
{
    const struct {
        void *function;
        const char *name;
    } wanted[] = {
        {&mpi.init_thread, "MPI_Init_thread"},
        {&mpi.finalize, "MPI_Finalize"},
        {&mpi.abort, "MPI_Abort"},
        {&mpi.comm_rank, "MPI_Comm_rank"},
        {&mpi.comm_size, "MPI_Comm_size"},
        {&mpi.send, "MPI_Send"},
        {&mpi.receive, "MPI_Recv"},
        {&mpi.broadcast, "MPI_Bcast"},
        {&mpi.library_version, "MPI_Get_library_version"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(mpi.library, wanted[i].name);
        if (!found)
            return false;
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return true;
}

static bool find_handles(void)
{
    char version[8192] = ""; /* the longest is 8,192 (MPICH) */
    int length = 0;
    mpi.library_version(version, &length);
    if (strstr(version, "Open MPI")) {
        mpi.world = (handle)dlsym(mpi.library, "ompi_mpi_comm_world");
        mpi.byte = (handle)dlsym(mpi.library, "ompi_mpi_byte");
    } else if (strstr(version, "MPICH") || strstr(version, "Intel(R) MPI")) {
        mpi.world = 0x44000000;
        mpi.byte = 0x4c00010d;
        mpi.ignore = 1;
    }
    return mpi.world && mpi.byte;
}

/* ---- messages: an error within MPI ends the job ---------------------------------------------------------------- */

static void send(uint32_t to, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += MESSAGE_MOST)
        mpi.send((const char *)bytes + at, size - at < MESSAGE_MOST ? (int)(size - at) : MESSAGE_MOST, mpi.byte, (int)to, 0, mpi.world);
}

static void receive(uint32_t from, void *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += MESSAGE_MOST)
        mpi.receive((char *)bytes + at, size - at < MESSAGE_MOST ? (int)(size - at) : MESSAGE_MOST, mpi.byte, (int)from, 0, mpi.world, mpi.ignore);
}

static void broadcast(uint32_t from, void *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += MESSAGE_MOST)
        mpi.broadcast((char *)bytes + at, size - at < MESSAGE_MOST ? (int)(size - at) : MESSAGE_MOST, mpi.byte, (int)from, mpi.world);
}

static void fail(const char *why)
{
    dprintf(mpi.terminal, "sonde report: process %u of %u: %s\n", mpi.team.rank, mpi.team.size, why);
    mpi.abort(mpi.world, SONDE_EXIT_FAILED);
}

/* ---- joining --------------------------------------------------------------------------------------------------- */

/* Processes of one host share its processors, where the launcher has not divided these. */
static void divide_processors(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const long processes = getenv(sizes[i]) ? strtol(getenv(sizes[i]), NULL, 10) : 0;
        const long each = processes > 0 ? sysconf(_SC_NPROCESSORS_ONLN) / processes : 0;
        char number[32];
        if (processes <= 0)
            continue;
        snprintf(number, sizeof number, "%ld", each < 1 ? 1 : each);
        if (each < (long)sonde_parallel_threads())
            setenv("SONDE_THREADS", number, 0);
        return;
    }
}

/* All come to the same answer: the first says it. */
static void be_silent(void)
{
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    mpi.terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (nowhere < 0)
        return;
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

/* Each does all of it, then. */
static void say_apart(const char *why)
{
    if (sonde_rank_read().rank == 1)
        sonde_say("%s: each of %u processes reads and prints for itself", why, sonde_rank_read().size);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = sonde_hash_mix(hash, (unsigned char)*text);
    return sonde_hash_mix(hash, 0);
}

/* Are all of them the same Sonde, and asked the same? */
static bool are_alike(void)
{
    uint64_t mine = mix_text(0, SONDE_VERSION), theirs;
    struct sonde_text words = {0};
    bool alike = read_words("/proc/self/cmdline", &words);
    for (size_t at = strlen(sonde_text_get(&words)) + 1; at < words.length; at += strlen(words.bytes + at) + 1) /* but for its path */
        mine = mix_text(mine, words.bytes + at);
    sonde_text_fini(&words);
    if (mpi.team.rank)
        send(0, &mine, sizeof mine);
    for (uint32_t rank = 1; rank < mpi.team.size && !mpi.team.rank; rank++) {
        receive(rank, &theirs, sizeof theirs);
        alike &= theirs == mine;
    }
    broadcast(0, &alike, sizeof alike);
    return alike;
}

int report_join_team(void)
{
    const int launcher = find_launcher();
    int rank = 0, size = 1, level;
    if (launcher < 0 || (getenv("SONDE_MPI") && strcmp(getenv("SONDE_MPI"), "off") == 0))
        return SONDE_EXIT_OK;
    void *library = open_library(launcher);
    if (!library) {
        say_apart("there is no MPI library here");
        return SONDE_EXIT_OK;
    }
    mpi.library = library;
    if (!find_functions() || !find_handles()) {
        mpi.library = NULL;
        say_apart("this MPI library is neither Open MPI nor MPICH");
        return SONDE_EXIT_OK;
    }
    if (mpi.init_thread(NULL, NULL, FUNNELED, &level) || mpi.comm_rank(mpi.world, &rank) || mpi.comm_size(mpi.world, &size) || size < 2) {
        say_apart("the MPI library is not the launcher's");
        return SONDE_EXIT_OK;
    }
    mpi.team = (struct sonde_team){(uint32_t)rank, (uint32_t)size, send, receive, broadcast, fail};
    divide_processors();
    if (rank)
        be_silent();
    sonde_team_join(&mpi.team);
    if (are_alike())
        return SONDE_EXIT_OK;
    sonde_say("the %u processes are not all asked the same, or not all of version " SONDE_VERSION, mpi.team.size);
    report_leave_team();
    return SONDE_EXIT_FAILED;
}

void report_leave_team(void)
{
    fflush(stdout);
    if (mpi.library)
        mpi.finalize();
}

/* ---- agreeing ---------------------------------------------------------------------------------------------------- */

bool report_first(bool here)
{
    if (sonde_team_size() > 1)
        broadcast(0, &here, sizeof here);
    return here;
}

/* What one of them found where the measurement is said to be. */
struct opened {
    int code;
    bool live; /* it is being written: the next to look finds something else */
    uint64_t digest;
    char host[64];
    struct sonde_diag diag;
};

enum verdict {
    TOGETHER,
    ALONE,
    FAILED,
};

static struct opened look(const struct sonde_measurement *m, int code, const struct sonde_diag *diag)
{
    struct opened o = {.code = code, .diag = *diag};
    gethostname(o.host, sizeof o.host - 1);
    for (uint32_t i = 0; m && i < m->process_count; i++) {
        const struct sonde_process *p = &m->processes[i];
        o.live |= !p->sealed;
        o.digest = mix_text(o.digest, p->name);
        o.digest = sonde_hash_mix(sonde_hash_mix(o.digest, p->disk_bytes), p->trace_count);
    }
    return o;
}

/* Of the first, who hears of all others. */
static enum verdict judge(const struct sonde_measurement *m, const struct opened *mine, struct sonde_diag *diag)
{
    enum verdict verdict = mine->code ? FAILED : (mine->live ? ALONE : TOGETHER);
    for (uint32_t rank = 1; rank < mpi.team.size; rank++) {
        struct opened theirs;
        receive(rank, &theirs, sizeof theirs);
        if (verdict == FAILED)
            continue;
        verdict = theirs.live ? ALONE : verdict;
        if (theirs.code)
            *diag = theirs.diag;
        else if (theirs.digest != mine->digest && verdict == TOGETHER)
            sonde_diag_set(diag, SONDE_EINVALID, m->path, "not all processes find the same at");
        else
            continue;
        sonde_diag_hint(diag, "so it is on %s, where process %u of %u runs; all of them read the same folder",
                        theirs.host, rank, mpi.team.size);
        verdict = FAILED;
    }
    return verdict;
}

int report_agree(const struct sonde_measurement *m, int code, struct sonde_diag *diag)
{
    enum verdict verdict = TOGETHER;
    if (sonde_team_size() == 1)
        return code;
    const struct opened mine = look(m, code, diag);
    if (mpi.team.rank)
        send(0, &mine, sizeof mine);
    else
        verdict = judge(m, &mine, diag);
    broadcast(0, &verdict, sizeof verdict);
    if (verdict == FAILED)
        return code ? code : SONDE_EINVALID;
    if (verdict == TOGETHER)
        return 0;
    sonde_say("%s is being written, or was left so: one process of %u reads it", m->path, mpi.team.size);
    sonde_team_join(NULL);
    if (mpi.team.rank) { /* nothing is left to do here */
        report_leave_team();
        exit(SONDE_EXIT_OK);
    }
    return 0;
}
