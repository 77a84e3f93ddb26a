/* missing.c - what this machine knows of files without symbols, written down for a page. See symbols.h. */
#include <sys/utsname.h>

#include "base/text.h"
#include "symbols.h"

int sonde_symbols_missing(const struct sonde_measurement *m, struct sonde_text *out)
{
    struct utsname here;
    int rc = 0;
    sonde_text_format(out, "%s\n", uname(&here) == 0 ? here.nodename : "");
    for (uint32_t i = 0; i < m->process_count && !rc; i++) {
        struct sonde_symbols symbols = {0};
        rc = sonde_symbols_find(&m->processes[i], NULL, &symbols);
        for (size_t k = 0; k < symbols.notes.count; k++)
            sonde_text_format(out, "%s\n", symbols.notes.items[k].text);
        for (size_t k = 0; k < symbols.partly.count; k++)
            sonde_text_format(out, "%c%s\n", SONDE_SYMBOLS_PARTLY, symbols.partly.items[k]);
        sonde_symbols_fini(&symbols);
    }
    return rc ? rc : out->failed ? SONDE_ENOMEM
                                 : 0;
}
