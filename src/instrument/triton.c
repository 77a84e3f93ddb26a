/* triton.c - see triton.h. */
#include "triton.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "guest/file.h"
#include "guest/memory.h"

#define FILE_MAX  ((size_t)256 << 20)
#define LISTED    (32u << 10) /* bytes of folder entries at a time */

/* ---- machine code ----------------------------------------------------------------------------------- */

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The last byte that a header of the file, or a section, speaks of. */
static uint64_t length_of(const Elf64_Ehdr *e)
{
    uint64_t end = later(e->e_phoff + (uint64_t)e->e_phnum * e->e_phentsize, e->e_shoff + (uint64_t)e->e_shnum * e->e_shentsize);
    for (unsigned i = 0; e->e_shentsize == sizeof(Elf64_Shdr) && i < e->e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, (const char *)e + e->e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type != SHT_NOBITS)
            end = later(end, s.sh_offset + s.sh_size);
    }
    return end;
}

struct sonde_cubin sonde__cubin(const void *image)
{
    Elf64_Ehdr head;
    if (strncmp(image, ELFMAG "\2", EI_CLASS + 1) != 0) /* ELFCLASS64 */
        return (struct sonde_cubin){0};
    memcpy(&head, image, sizeof head);
    if (head.e_machine != EM_CUDA || head.e_shoff > FILE_MAX)
        return (struct sonde_cubin){0};
    const uint64_t bytes = length_of(image);
    return bytes <= FILE_MAX ? (struct sonde_cubin){XXH3_64bits(image, bytes), bytes} : (struct sonde_cubin){0};
}

/* ---- the cache ---------------------------------------------------------------------------------------------- */

/* Is that file the cubin? */
static bool is_cubin(int folder, const char *name, const struct sonde_cubin *cubin)
{
    struct sonde_file file = sonde__file_get(folder, name, cubin->bytes);
    const bool same = file.bytes && file.size == cubin->bytes && XXH3_64bits(file.bytes, file.size) == cubin->hash;
    sonde__file_put(&file);
    return same;
}

static int open_cache(void)
{
    char path[PATH_MAX];
    const char *cache = getenv("TRITON_CACHE_DIR"), *home = getenv("TRITON_HOME");
    home = home && *home ? home : getenv("HOME");
    const int n = cache && *cache ? snprintf(path, sizeof path, "%s", cache) : snprintf(path, sizeof path, "%s/.triton/cache", home ? home : "");
    return n > 0 && (size_t)n < sizeof path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* In a folder of the cache; true: it was there. */
static bool look_in(int cache, const char *folder, const struct sonde_cubin *cubin, const char *kernel, struct sonde_image_ptx *out)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s/%s.cubin", folder, kernel) >= (int)sizeof name || !is_cubin(cache, name, cubin))
        return false;
    snprintf(name, sizeof name, "%s/%s.ptx", folder, kernel); /* shorter than the other */
    const struct sonde_file file = sonde__file_get(cache, name, FILE_MAX);
    if (file.bytes)
        *out = (struct sonde_image_ptx){.text = file.bytes, .bytes = strlen(file.bytes), .room = file.size + 1};
    return file.bytes != NULL;
}

struct listed { /* getdents64(2) */
    uint64_t inode;
    int64_t next;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

/* readdir() would call the program's malloc. */
void sonde__triton_ptx(const struct sonde_cubin *cubin, const char *kernel, struct sonde_image_ptx *out)
{
    const int cache = cubin->bytes && !strchr(kernel, '/') ? open_cache() : -1;
    char *list = cache >= 0 ? sonde__pages_get(LISTED) : NULL;
    bool found = false;
    for (long got; list && !found && (got = syscall(SYS_getdents64, cache, list, LISTED)) > 0;)
        for (long at = 0; at < got && !found; at += ((struct listed *)(list + at))->bytes) {
            const struct listed *entry = (const struct listed *)(list + at);
            found = entry->name[0] != '.' && entry->type != DT_REG && look_in(cache, entry->name, cubin, kernel, out);
        }
    sonde__pages_put(list, list ? LISTED : 0);
    if (cache >= 0)
        syscall(SYS_close, cache);
}
