/* metrics_text.c - see metrics_text.h. */
#include "metrics_text.h"

/* A label's value: UTF-8, on one line, with quotes and backslashes escaped. */
static void add_value(struct sonde_text *out, const char *value)
{
    struct sonde_text clean = {0};
    sonde_text_add_clean(&clean, value);
    out->failed |= clean.failed;
    for (const char *c = sonde_text_get(&clean); *c; c++) {
        if (*c == '"' || *c == '\\')
            sonde_text_add(out, "\\");
        sonde_text_add_bytes(out, c, 1);
    }
    sonde_text_fini(&clean);
}

void sonde__openmetrics_label(struct sonde_text *out, const char *separator, const char *name, const char *value)
{
    sonde_text_format(out, "%s%s=\"", separator, name);
    add_value(out, value);
    sonde_text_add(out, "\"");
}

void sonde__openmetrics_family(struct sonde_text *out, enum sonde_metrics_form form, const char *name, const char *type, const char *unit, const char *help)
{
    const bool classic = form == SONDE_METRICS_CLASSIC;
    const char *end = classic && *type == 'c' ? "_total" : "";
    sonde_text_format(out, "# TYPE %s%s %s\n", name, end, type);
    if (unit && !classic)
        sonde_text_format(out, "# UNIT %s %s\n", name, unit);
    sonde_text_format(out, "# HELP %s%s %s\n", name, end, help);
}
