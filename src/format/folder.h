/* folder.h - what a measurement's folder holds, by name (docs/developers/format.md has what is in the files).
 *
 *     NAME.sonde/                    sonde record makes it, sonde report reads it
 *         manifest.json              what ran, when, with which settings
 *         code/HASH.cubin.zst        code that was loaded onto devices
 *         HOST-PID-N/                a process; N tells programs of one number apart
 *             live.sonde             while it runs, and until it is sealed
 *             data.sonde
 *
 * A name with .tmp is being written: it becomes the one without.
 */
#ifndef SONDE_FORMAT_FOLDER_H
#define SONDE_FORMAT_FOLDER_H

#define SONDE_FOLDER_SUFFIX  ".sonde"
#define SONDE_PART_SUFFIX    ".tmp"

#define SONDE_MANIFEST_FILE  "manifest.json"
#define SONDE_PROBE_FILE     ".probe" /* zeros that try the room; gone before the program starts */

#define SONDE_CODE_FOLDER    "code"
#define SONDE_PACKED_SUFFIX  ".zst"
#define SONDE_CUBIN_SUFFIX   ".cubin" SONDE_PACKED_SUFFIX /* the backend names its code .cubin, the agent packs it */

#define SONDE_PROCESS_FORMAT "%s-%d-%d" /* host, process, N */
#define SONDE_LIVE_FILE      "live.sonde"
#define SONDE_DATA_FILE      "data.sonde"
#define SONDE_PROCESS_FILES  SONDE_LIVE_FILE, SONDE_DATA_FILE /* all of them: one makes a folder a process's, --force removes them */

#endif
