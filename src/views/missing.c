/* missing.c - the warning above the summary: more than 1 % of what happened is missing, why, and what mends it. */
#include "base/number.h"
#include "base/kinds.h"
#include "summary.h"

/* What is lost, for what reason, and what to do; by cause, `enum sonde_drop`. */
static const struct { const char *why, *mend; } causes[SONDE_DROP_COUNT] = {
    [SONDE_DROP_CHANNEL_FULL] = {"buffer full", "record with --memory 1G"},
    [SONDE_DROP_TRACE_FULL] = {"trace buffer full", "record with --memory 1G, or --profile"},
    [SONDE_DROP_DISK_FULL] = {"disk full", "record to another disk with -o, or with --profile"},
    [SONDE_DROP_MAX_SIZE] = {"--max-size was reached", "record with a larger --max-size, or with --profile"},
    [SONDE_DROP_AFTER_EXIT] = {"enqueued during the program's exit", ""},
    [SONDE_DROP_REENTRANT] = {"made by signal handlers inside other API calls", ""},
    [SONDE_DROP_AGENT_OFF] = {"Sonde had switched itself off", "see the view ledger"},
    [SONDE_DROP_PAGE] = {"this page holds the beginning", "sonde view with a larger --html-limit, or without --html"},
};

static int heaviest(const struct sonde_ledger *ledger, bool operation)
{
    int most = -1;
    for (int i = 0; i < SONDE_DROP_COUNT; i++)
        if (ledger->dropped[i] && sonde_drop_loses_operation((enum sonde_drop)i) == operation &&
            (most < 0 || ledger->dropped[i] > ledger->dropped[most]))
            most = i;
    return most;
}

static void warn(struct sonde_view_item *item)
{
    item->tone = SONDE_TONE_WARNING;
}

/* More than 1 % of `all`. */
static bool is_much(uint64_t part, uint64_t all)
{
    return part && part > all / 100;
}

static void warn_lost(struct sonde_view_data *out, const struct sonde_query *q, uint64_t lost, uint64_t all, bool operation)
{
    const int cause = heaviest(&q->totals.ledger, operation);
    const char *why = cause >= 0 ? causes[cause].why : NULL, *mend = cause >= 0 ? causes[cause].mend : "";
    char number[SONDE_NUMBER_MAX], total[SONDE_NUMBER_MAX], share[SONDE_NUMBER_MAX];
    warn(sonde_view_say(out, false, "warning: %s of %s operations (%s) are %s: %s%s%s", sonde_number_count(number, lost),
                        sonde_number_count(total, all), sonde_number_percent(share, (double)lost, (double)all),
                        operation ? "not included in any number below" : "missing from the trace",
                        why ? why : "completions without a submission, or the reverse", *mend ? "; " : "", mend));
}

void sonde_summary_missing(const struct sonde_query *q, struct sonde_view_data *out)
{
    const struct sonde_totals *t = &q->totals;
    const uint64_t seen = t->ledger.seen;
    const uint64_t lost = t->dropped_operations + t->ledger.unmatched;
    char number[SONDE_NUMBER_MAX], share[SONDE_NUMBER_MAX];
    if (is_much(lost, seen))
        warn_lost(out, q, lost, seen, true);
    if (is_much(t->dropped_trace_rows, seen))
        warn_lost(out, q, t->dropped_trace_rows, seen, false);
    if (is_much(t->in_flight, seen))
        warn(sonde_view_say(out, false,
                            "warning: %s operations (%s) had not completed, as far as is known, when the program ended",
                            sonde_number_count(number, t->in_flight),
                            sonde_number_percent(share, (double)t->in_flight, (double)seen)));
    if (is_much(t->ledger.unplaced, seen))
        warn(sonde_view_say(out, false,
                            "warning: %s operations belong to no known API call and are not included in any number below",
                            sonde_number_count(number, t->ledger.unplaced)));
    if (t->damaged_chunks)
        warn(sonde_view_say(out, false,
                            t->damaged_chunks == 1 ? "warning: a part of the measurement is damaged and left out"
                                                   : "warning: parts of the measurement are damaged and left out"));
}
