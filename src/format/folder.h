/* folder.h - what a measurement's folder holds, by name (docs/developers/format.md has what is in the files), and how
 * its folders and files are made: for their owner alone.
 *
 *     NAME.sonde/                    sonde record makes it, sonde report reads it
 *         manifest.json              what ran, when, with which settings
 *         .job, rank-N.json          of a parallel job whose ranks were each recorded: which one, and what each rank says of itself
 *         code/HASH.cubin.zst        code that was loaded onto devices
 *         HOST-PID-N/                a process; N tells programs of one number apart
 *             live.sonde             while it runs, and until it is sealed
 *             data.sonde
 *
 * A name with .tmp is being written: it becomes the one without.
 *
 * Any thread, also within a program that is measured.
 */
#ifndef SONDE_FORMAT_FOLDER_H
#define SONDE_FORMAT_FOLDER_H

#include <stddef.h>

#define SONDE_FOLDER_SUFFIX  ".sonde"
#define SONDE_PART_SUFFIX    ".tmp"

#define SONDE_MANIFEST_FILE  "manifest.json"
#define SONDE_PROBE_FILE     ".probe" /* zeros that try the room; gone before the program starts */

#define SONDE_JOB_FILE        ".job"
#define SONDE_RANK_FILE_BEGIN "rank-"
#define SONDE_RANK_FILE_END   ".json"

#define SONDE_CODE_FOLDER    "code"
#define SONDE_PACKED_SUFFIX  ".zst"
#define SONDE_CUBIN_SUFFIX   ".cubin" SONDE_PACKED_SUFFIX /* the backend names its code .cubin, the agent packs it */

#define SONDE_PROCESS_FORMAT "%s-%d-%d" /* host, process, N */
#define SONDE_LIVE_FILE      "live.sonde"
#define SONDE_DATA_FILE      "data.sonde"
#define SONDE_PROCESS_FILES  SONDE_LIVE_FILE, SONDE_DATA_FILE /* all of them: one makes a folder a process's, --force removes them */

/* Each returns -1, with errno, when it fails. Whatever the umask, folders have mode 0700 and files 0600. */
int sonde_folder_make(const char *path);
/* A descriptor, closed by exec; flags as open has them (O_CREAT is added). A file that was there has mode 0600 then, too. */
int sonde_file_make(const char *path, int flags);
/* The whole file is written as `part`, in the same folder, which then becomes `path`: a kill leaves the old file or the new one. */
int sonde_file_replace(const char *path, const char *part, const void *bytes, size_t size);

#endif
