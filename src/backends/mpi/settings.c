/* settings.c - what the MPI library says of itself when MPI_Init is over: its version, and from which size on a message waits for its receiver
 * (the eager limit, docs/mpi.md).
 *
 * MPICH's variables are read by MPI_T (MPI 4.0, 15.3), which costs microseconds there. Open MPI's MPI_T_init_thread loads and registers every
 * component that is installed, 0.2 s in each rank: of it the registry is asked that MPI_T_cvar_read reads, where after MPI_Init stand those of
 * the components that are in use, and no others. Where messages go by UCX their limit is UCX's, which no variable of MPI's has.
 */
#include "mpi.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "guest/once.h"

#define LIMIT_MAX ((uint64_t)1 << 40) /* what is more is none */

static void *_Atomic asked_by; /* MPI_Init's caller, from where the library is found */

static void *function(const char *name)
{
    return sonde__mpi_function(name, atomic_load_explicit(&asked_by, memory_order_relaxed));
}

static bool is_limit(int64_t value)
{
    return value > 0 && (uint64_t)value < LIMIT_MAX;
}

static void tell(enum sonde_setting_kind kind, const char *name, uint64_t bytes)
{
    if (bytes)
        sonde_library_says(kind, name, NULL, bytes);
}

/* ---- UCX: a number with k, m or g, of UCX_RNDV_THRESH; else it decides itself ("auto") ------------------------------ */

static void tell_ucx(bool within_host)
{
    static const char name[] = "UCX_RNDV_THRESH";
    const char *text = getenv(name);
    char *end = NULL;
    if (!text || *text < '0' || *text > '9')
        return;
    const uint64_t number = strtoull(text, &end, 10);
    const char unit = *end | 0x20; /* in lower case */
    const uint32_t shift = unit == 'k' ? 10 : unit == 'm' ? 20
                                          : unit == 'g'   ? 30
                                                          : 0;
    end += shift > 0;
    end += (*end | 0x20) == 'b';
    if (*end || number >= LIMIT_MAX >> shift)
        return;
    if (within_host)
        tell(SONDE_SETTING_EAGER_HOST, name, number << shift);
    tell(SONDE_SETTING_EAGER_NETWORK, name, number << shift);
}

/* ---- Open MPI ---------------------------------------------------------------------------------------------------- */

/* opal/mca/base/mca_base_var.h, opal/mca/mca.h (Open MPI 1.7 to 5.0). */
static uint64_t openmpi_limit(const char *name)
{
    int (*find)(const char *, int *);
    int (*get)(int, const void *, int *, const char **);
    const size_t *at = NULL; /* all limits of the kind are of this type */
    int number = -1;
    *(void **)&find = function("mca_base_var_find_by_name");
    *(void **)&get = function("mca_base_var_get_value");
    if (!find || !get || find(name, &number) < 0 || number < 0 || get(number, &at, NULL, NULL) < 0 || !at)
        return 0;
    return is_limit((int64_t)*at) ? *at : 0;
}

/* Which component sends messages. */
static const char *openmpi_sender(void)
{
    enum { TYPE = 40,
           NAME = 84 }; /* three numbers, 16 bytes, three more; 32 bytes, three more; 64 bytes */
    const char *component = function("mca_pml_base_selected_component");
    return component && strncmp(component + TYPE, "pml", 4) == 0 ? component + NAME : "";
}

static void tell_openmpi(void)
{
    static const char tcp[] = "btl_tcp_eager_limit", *const within[] = {"btl_vader_eager_limit", "btl_sm_eager_limit", tcp};
    static const char *const others[] = {"btl_openib_eager_limit", "btl_ugni_eager_limit", "btl_usnic_eager_limit"};
    const char *sender = openmpi_sender();
    bool other = false;
    if (strncmp(sender, "ucx", 4) == 0)
        tell_ucx(true);
    if (strncmp(sender, "ob1", 4) != 0)
        return;
    for (size_t i = 0; i < sizeof within / sizeof *within; i++) {
        const uint64_t bytes = openmpi_limit(within[i]);
        tell(SONDE_SETTING_EAGER_HOST, within[i], bytes);
        if (bytes)
            break;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        other |= openmpi_limit(others[i]) != 0;
    if (!other) /* else it is not known which of them reaches whom */
        tell(SONDE_SETTING_EAGER_NETWORK, tcp, openmpi_limit(tcp));
}

/* ---- MPI_T ------------------------------------------------------------------------------------------------------- */

struct tools {
    int (*init)(int, int *), (*fini)(void);
    int (*index)(const char *, int *);
    int (*info)(int, char *, int *, int *, mpi_handle *, void **, char *, int *, int *, int *);
    int (*open)(int, void *, void **, int *), (*close)(void **);
    int (*read)(void *, void *);
};

static bool find_tools(struct tools *t)
{
    const struct {
        void *function;
        const char *name;
    } wanted[] = {
        {&t->init, "PMPI_T_init_thread"},
        {&t->fini, "PMPI_T_finalize"},
        {&t->index, "PMPI_T_cvar_get_index"},
        {&t->info, "PMPI_T_cvar_get_info"},
        {&t->open, "PMPI_T_cvar_handle_alloc"},
        {&t->close, "PMPI_T_cvar_handle_free"},
        {&t->read, "PMPI_T_cvar_read"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!(*(void **)wanted[i].function = function(wanted[i].name)))
            return false;
    return true;
}

/* One number that is bound to no object; -1: there is none of that name. */
static int64_t variable(const struct tools *t, const char *name)
{
    int index = -1, level, binding, scope, name_bytes = 0, text_bytes = 0, count = 0;
    char no_name[1], no_text[1]; /* of 0 bytes nothing is written (15.3.3) */
    mpi_handle type = 0;
    void *enumeration = NULL, *handle = NULL;
    union {
        int32_t narrow;
        int64_t wide;
    } value = {.wide = 0};
    if (t->index(name, &index) || t->info(index, no_name, &name_bytes, &level, &type, &enumeration, no_text, &text_bytes, &binding, &scope))
        return -1;
    const uint64_t bytes = sonde__mpi_bytes(type, 1);
    if ((bytes != sizeof value.narrow && bytes != sizeof value.wide) || t->open(index, NULL, &handle, &count))
        return -1;
    const bool known = count == 1 && !t->read(handle, &value);
    t->close(&handle);
    return !known ? -1 : bytes == sizeof value.narrow ? value.narrow
                                                      : value.wide;
}

/* By the way that MPICH sends, which its version names; of several the first that is a limit. */
static const struct {
    const char *device;
    enum sonde_setting_kind kind;
    const char *names[2];
} mpich[] = {
    {"ch3:nemesis", SONDE_SETTING_EAGER_HOST, {"MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ", "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"}},
    {"ch3:nemesis", SONDE_SETTING_EAGER_NETWORK, {"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"}},
    {"ch3:sock", SONDE_SETTING_EAGER_HOST, {"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"}},
    {"ch3:sock", SONDE_SETTING_EAGER_NETWORK, {"MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE"}},
    {"ch4:ofi", SONDE_SETTING_EAGER_NETWORK, {"MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE"}},
};

/* "MPICH Device:\tch4:ucx". One that was built with several sends by one of them, which is not said. */
static bool is_device(const char *version, const char *device)
{
    const char *at = strstr(version, "Device:");
    const size_t length = strlen(device);
    at = at ? at + 7 + strspn(at + 7, " \t") : "";
    return strncmp(at, device, length) == 0 && (at[length] == '\n' || !at[length]);
}

static void tell_mpich(const char *version)
{
    struct tools t;
    int level;
    if (is_device(version, "ch4:ucx"))
        tell_ucx(strstr(version, "Version:\t4.0") != NULL); /* later ones may send by themselves within a host */
    if (!find_tools(&t) || t.init(0, &level)) /* MPI_THREAD_SINGLE is 0 there; inits are counted */
        return;
    for (size_t i = 0; i < sizeof mpich / sizeof *mpich; i++) {
        const char *const *name = mpich[i].names, *const *end = name + 2;
        int64_t value = -1;
        if (!is_device(version, mpich[i].device))
            continue;
        while (name < end && *name && !is_limit(value = variable(&t, *name)))
            name++;
        if (is_limit(value))
            tell(mpich[i].kind, *name, (uint64_t)value);
    }
    t.fini();
}

/* ---- all of it ----------------------------------------------------------------------------------------------------- */

void sonde__mpi_settings(const void *caller)
{
    static struct sonde_once done; /* one of the two functions calls the other in some libraries */
    int (*version)(char *, int *);
    char text[8192] = ""; /* as in objects.c */
    int length = 0;
    if (!sonde__mpi_ready(caller) || !sonde__once(&done))
        return;
    atomic_store_explicit(&asked_by, (void *)(uintptr_t)caller, memory_order_relaxed);
    *(void **)&version = function("PMPI_Get_library_version");
    if (!version || version(text, &length) || length <= 0 || (size_t)length >= sizeof text)
        return;
    text[length] = 0;
    if (sonde__mpi_layout()->handle_bytes == 4)
        tell_mpich(text);
    else
        tell_openmpi();
    text[strcspn(text, ",\n")] = 0;
    sonde_library_says(SONDE_SETTING_VERSION, NULL, text, 0);
}
