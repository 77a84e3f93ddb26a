/* options.c - the option parser: every type, every form, every mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmds/command.h"

struct values {
    int flag, other, choice;
    int64_t number;
    double real;
    uint64_t size, time;
    const char *text;
};

static const char *const colors[] = {"red", "green", NULL};
#define AT(field) offsetof(struct values, field)
static const struct sonde_option table[] = {
    {.name = "flag", .letter = 'f', .type = SONDE_OPTION_FLAG, .offset = AT(flag)},
    {.name = "other", .letter = 'g', .type = SONDE_OPTION_FLAG, .offset = AT(other), .value = 7},
    {.name = "number", .letter = 'n', .type = SONDE_OPTION_INT, .argument = "N", .offset = AT(number), .low = 1, .high = 9},
    {.name = "real", .type = SONDE_OPTION_REAL, .argument = "X", .offset = AT(real)},
    {.name = "size", .type = SONDE_OPTION_SIZE, .argument = "SIZE", .offset = AT(size)},
    {.name = "time", .type = SONDE_OPTION_DURATION, .argument = "TIME", .offset = AT(time)},
    {.name = "text", .letter = 't', .type = SONDE_OPTION_STRING, .argument = "TEXT", .offset = AT(text)},
    {.name = "choice", .type = SONDE_OPTION_CHOICE, .argument = "COLOR", .offset = AT(choice), .choices = colors},
    {0},
};
static const struct sonde_command mixing = {.name = "mixing", .usage = "", .options = table, .operands_max = -1};
static const struct sonde_command running = {
    .name = "running",
    .usage = "",
    .options = table,
    .operands_max = -1,
    .operand = SONDE_OPERAND_PROGRAM,
};

/* Splits at spaces; the words stay in `words` for the caller to look at. */
static char *words[32], buffer[512];

static int parse(const struct sonde_command *command, const char *line, struct values *values)
{
    int count = 0;
    memset(values, 0, sizeof *values);
    strncpy(buffer, line, sizeof buffer - 1);
    for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
        words[count++] = word;
    words[count] = NULL;
    return sonde_options_parse(command, count, words, values);
}

static void forms(void **state)
{
    struct values v;
    (void)state;
    assert_int_equal(parse(&mixing, "a --flag b -n 3 c", &v), 3);
    assert_int_equal(v.flag, 1);
    assert_int_equal(v.number, 3);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[2], "c");
    assert_null(words[3]);
    assert_int_equal(parse(&mixing, "-fgn5 --text=x=y --choice green", &v), 0);
    assert_true(v.flag == 1 && v.other == 7 && v.number == 5 && v.choice == 1);
    assert_string_equal(v.text, "x=y");
    assert_int_equal(parse(&mixing, "-tvalue - -- --flag -n", &v), 3);
    assert_string_equal(v.text, "value");
    assert_string_equal(words[0], "-");
    assert_string_equal(words[1], "--flag");
    assert_int_equal(v.flag, 0);
    assert_int_equal(parse(&mixing, "--text --flag", &v), 0);
    assert_string_equal(v.text, "--flag");
}

static void program_ends_options(void **state)
{
    struct values v;
    (void)state;
    assert_int_equal(parse(&running, "-f prog -g -- --help", &v), 4);
    assert_true(v.flag == 1 && v.other == 0);
    assert_string_equal(words[2], "--");
    assert_int_equal(parse(&running, "-- -prog -g", &v), 2);
    assert_string_equal(words[0], "-prog");
}

static void tables_in_a_row(void **state)
{
    static const struct sonde_option first[] = {
        {.name = "flag", .letter = 'f', .type = SONDE_OPTION_FLAG, .offset = AT(flag), .value = 5},
        {.more = table},
    };
    struct sonde_command both = mixing;
    const struct sonde_option *o = first;
    struct values v;
    int count = 0;
    (void)state;
    both.options = first;
    assert_int_equal(parse(&both, "--flag -n 3 -t x a", &v), 1); /* of two of one name the first */
    assert_true(v.flag == 5 && v.number == 3 && strcmp(v.text, "x") == 0);
    assert_int_equal(parse(&both, "--flags", &v), SONDE_PARSE_ERROR);
    for (; o->name; o = sonde_option_next(o))
        count++;
    assert_int_equal(count, 1 + (int)(sizeof table / sizeof *table) - 1);
}

static void mistakes(void **state)
{
    static const char *const lines[] = {
        "--fla",
        "--flags",
        "-z",
        "--flag=1",
        "--number",
        "-n",
        "--number x",
        "--number 0",
        "--number 10",
        "--number 3x",
        "--number 99999999999999999999",
        "--real nan",
        "--real 1e999",
        "--size -1",
        "--size 1Q",
        "--size 1e30",
        "--size",
        "--time 5y",
        "--time -1s",
        "--time x",
        "--choice blue",
        "--choice",
        "-fz",
    };
    struct values v;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(parse(&mixing, lines[i], &v), SONDE_PARSE_ERROR);
    assert_int_equal(parse(&mixing, "a --help", &v), SONDE_PARSE_HELP);
    assert_int_equal(parse(&mixing, "-fh", &v), SONDE_PARSE_HELP);
    assert_int_equal(parse(&running, "a --help", &v), 2);
}

static void operand_counts(void **state)
{
    struct sonde_command exact = mixing;
    struct values v;
    (void)state;
    exact.operands_min = 1;
    exact.operands_max = 2;
    assert_int_equal(parse(&exact, "", &v), SONDE_PARSE_ERROR);
    assert_int_equal(parse(&exact, "a", &v), 1);
    assert_int_equal(parse(&exact, "a b c", &v), SONDE_PARSE_ERROR);
}

static void units(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
    } sizes[] = {
        {"0", 0},
        {"17", 17},
        {"1k", 1024},
        {"1K", 1024},
        {"1.5M", 3u << 19},
        {"2G", 2ull << 30},
        {"1T", 1ull << 40},
        {"4KiB", 4096},
        {"4kB", 4096},
        {"10B", 10},
    };
    static const struct {
        const char *text;
        uint64_t value;
    } times[] = {
        {"2", 2000000000},
        {"0", 0},
        {"1.5s", 1500000000},
        {"250ms", 250000000},
        {"3us", 3000},
        {"7ns", 7},
        {"2m", 120000000000},
        {"1h", 3600000000000},
        {"0.1s", 100000000},
    };
    uint64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(sonde_parse_size(sizes[i].text, &value), SONDE_OK);
        assert_int_equal(value, sizes[i].value);
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(sonde_parse_duration(times[i].text, &value), SONDE_OK);
        assert_int_equal(value, times[i].value);
    }
}

static const char *nearest(const char *word)
{
    static const char *const known[] = {"summary", "kernels", "critical", "statistics", "api", "memory", NULL};
    static struct sonde_nearest n;
    n = (struct sonde_nearest){.word = word};
    for (size_t i = 0; known[i]; i++)
        sonde_nearest_try(&n, known[i]);
    return n.known;
}

static void suggestions(void **state)
{
    static const struct { const char *word, *known; } cases[] = {
        {"kernals", "kernels"},
        {"kernel", "kernels"},
        {"KERNELS", "kernels"},
        {"krenels", "kernels"},
        {"crit", "critical"},
        {"stat", "statistics"},
        {"sumary", "summary"},
        {"aip", "api"},
        {"memroy", "memory"},
        {"frobnicate", ""},
        {"x", ""},
        {"", ""},
        {"a word that is much longer than any that the program could possibly know of", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(nearest(cases[i].word), cases[i].known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(program_ends_options),
        cmocka_unit_test(tables_in_a_row),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(operand_counts),
        cmocka_unit_test(units),
        cmocka_unit_test(suggestions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
