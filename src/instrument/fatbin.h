/* fatbin.h - the PTX within what a program hands to the driver as code.
 *
 * That is PTX text, a cubin (ELF), a fat binary, or the wrapper that nvcc makes around one. A fat binary holds entries, each of
 * machine code or PTX for one architecture, mostly compressed. NVIDIA has not published the format: the fields below are those
 * that fat binaries of CUDA 12 and 13 have in all of nvcc's ways to make them (tests/unit/instrument/fatbin.c has some of each).
 *
 *   wrapper: u32 0x466243b1, u32 version, pointer to the fat binary, pointer
 *   fat binary: u32 0xba55ed50, u16 1, u16 bytes of this header, u64 bytes of all entries
 *   entry: u16 kind (1 PTX, 2 ELF), u16, u32 bytes of this header, u64 bytes behind it (padded), u32 of these compressed (0: they are
 *     not), u32, u16 minor, u16 major, u32 architecture (90), u32, u32, u64 flags (1 << 13 LZ4 block, 1 << 15 zstd), u64, u64 bytes
 *     when decompressed
 *
 * Threads: any. The image is the caller's, and as long as its own header says.
 */
#ifndef SONDE_INSTRUMENT_FATBIN_H
#define SONDE_INSTRUMENT_FATBIN_H

#include <stddef.h>
#include <stdint.h>

struct sonde_image_ptx {
    char *text;       /* NUL-terminated; NULL: there is none */
    size_t bytes;     /* without the NUL */
    size_t room;
    const char *why;  /* there is none, for a user: "it holds machine code only" */
};

/* Find the PTX that a device of compute capability `target` (90) could run, the newest where there are several; of text, that text.
 * To be released in each case. */
void sonde__image_ptx(const void *image, uint32_t target, struct sonde_image_ptx *out);
void sonde__image_release(struct sonde_image_ptx *p);

#endif
