/* markdown.h - what a view answered as Markdown, for people on a web page. Any thread. */
#ifndef SONDE_CMDS_DIFF_MARKDOWN_H
#define SONDE_CMDS_DIFF_MARKDOWN_H

#include "views/table.h"

/* Append its sentences and tables. */
void diff_markdown(const struct sonde_view_data *data, struct sonde_text *out);

#endif
