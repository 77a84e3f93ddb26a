/* arrow.h - making arrays of the Arrow C data interface, which own their memory. Any thread.
 *
 * A schema or an array whose making failed is released as a whole: each function leaves it so that release works.
 */
#ifndef SONDE_READ_ARROW_H
#define SONDE_READ_ARROW_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/error.h>
#include <sonde/read.h>

/* Memory of a buffer, aligned to 64 bytes as Arrow wants it; free() gives it back. NULL: no memory. */
void *sonde__arrow_memory(size_t bytes);

/* Texts are copied; those that are NULL or empty are left out of the metadata. 0 or SONDE_ENOMEM. */
struct sonde__arrow_about { const char *definition, *unit; };
int sonde__arrow_schema(struct ArrowSchema *schema, const char *name, const char *format, bool nullable, int64_t children,
                        const struct sonde__arrow_about *about);
/* The dictionary of a column of format i: texts. */
int sonde__arrow_schema_dictionary(struct ArrowSchema *schema);

/* An array of `length` whose buffers are given later: `buffers` of them, and `children` zeroed ones. 0 or SONDE_ENOMEM. */
int sonde__arrow_array(struct ArrowArray *array, int64_t length, int64_t buffers, int64_t children);
/* A dictionary, zeroed, to be made by the caller. */
void sonde__arrow_array_dictionary(struct ArrowArray *array);
/* The array owns `memory` (of malloc) from here on, also where it is its only user. */
void sonde__arrow_buffer(struct ArrowArray *array, int index, void *memory);

/* Buffer 0 from a byte for each value: 1 unknown. None is, or `unknown` NULL: no buffer. 0 or SONDE_ENOMEM. */
int sonde__arrow_unknown(struct ArrowArray *array, const uint8_t *unknown);
/* The bits of bytes that are 0 or 1; 0 or SONDE_ENOMEM. */
int sonde__arrow_bits(struct ArrowArray *array, int index, const uint8_t *bytes);

/* Texts that become an array of format U. */
struct sonde__arrow_texts { /* ready when zeroed */
    int64_t *offsets; /* [count + 1] */
    char *bytes;
    size_t count, capacity, length, room;
    int failed;
};
/* `text` NULL: unknown, for which the caller keeps a byte. */
void sonde__arrow_text(struct sonde__arrow_texts *texts, const char *text);
/* Into an array of three buffers, which takes the memory. 0 or SONDE_ENOMEM; `texts` is given back in either case. */
int sonde__arrow_texts_end(struct sonde__arrow_texts *texts, struct ArrowArray *array);
void sonde__arrow_texts_fini(struct sonde__arrow_texts *texts);

/* Another one of the same columns: the schema a copy, the array of the same memory, which goes with the last of them. 0 or
 * SONDE_ENOMEM. */
int sonde__arrow_copy(const struct ArrowSchema *from, struct ArrowSchema *to);
int sonde__arrow_share(const struct ArrowArray *from, struct ArrowArray *to);

/* Both, and zeroed. */
void sonde__arrow_release(struct ArrowSchema *schema, struct ArrowArray *array);

#endif
