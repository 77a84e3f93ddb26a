/* frames.h - a calling context, every frame of it. Any thread; rules of views/table.h. */
#ifndef SONDE_SERVE_FRAMES_H
#define SONDE_SERVE_FRAMES_H

#include "views/query.h"
#include "views/table.h"

/* LIST: the frames of the context at tree node `leaf`, innermost first, and the leaf itself; 0: none. */
extern const struct sonde_view_columns sonde__context_frames;
void sonde__cell_context(struct sonde_view_table *t, const struct sonde_query *q, uint32_t leaf);

#endif
