/* json.h - any view as JSON: the one place that writes it.
 *
 * Names are those of the columns, in their order; what a person reads besides the tables is left out.
 * Any thread.
 */
#ifndef SONDE_VIEWS_JSON_H
#define SONDE_VIEWS_JSON_H

#include "base/text.h"
#include "view.h"

/* Append what `view` answered, and a newline. out->failed: no memory. */
void sonde_view_json(const struct sonde_view *view, const struct sonde_view_data *data, struct sonde_text *out);

#endif
