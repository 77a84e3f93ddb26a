/* settings.c - what a library says of itself (sonde/backend.h): a row for each. */
#include "store.h"

#include <string.h>

#include "agent/state/state.h"
#include "table.h"

void sonde_library_says(enum sonde_setting_kind kind, const char *name, const char *text, uint64_t value)
{
    if (!sonde_enter() || !sonde__agent_here())
        return;
    const struct sonde_row_setting said = {
        .kind = kind,
        .name = name ? sonde_string(name, strlen(name)) : 0,
        .text = text ? sonde_string(text, strlen(text)) : 0,
        .value = text ? 0 : value,
    };
    uint32_t id = 0;
    sonde__lock(&sonde__agent.table_lock);
    struct sonde_row_setting *row = ROW_ADD(SETTING, struct sonde_row_setting, &id);
    if (row) {
        *row = said;
        sonde__row_commit(SONDE_TABLE_SETTING);
    }
    sonde__unlock(&sonde__agent.table_lock);
}
