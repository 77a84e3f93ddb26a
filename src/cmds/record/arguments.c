/* arguments.c - which arguments of the program are stored as *** (--hide-arguments).
 *
 * Rather too much than too little is hidden: what a pattern with wildcards may have
 * been meant for is not to be told from the argument alone (-pSECRET, -token SECRET).
 */
#include "record.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN "***"
#define SPACES " \t\n\r"

enum match {
    NONE,
    LITERAL,
    WILD,
};

/* The first of the patterns, which commas separate, that matches all of `text`. */
static enum match matches(const char *patterns, const char *text)
{
    for (const char *at = patterns; *at;) {
        const size_t length = strcspn(at, ",");
        char *pattern = strndup(at, length);
        const bool found = !pattern || (length && fnmatch(pattern, text, FNM_CASEFOLD) == 0); /* without memory: hide */
        const bool wild = !pattern || strpbrk(pattern, "*?[\\");
        free(pattern);
        if (found)
            return wild ? WILD : LITERAL;
        at += length + (at[length] == ',');
    }
    return NONE;
}

static enum match matches_name(const char *patterns, const char *name)
{
    const enum match whole = matches(patterns, name);
    return whole ? whole : matches(patterns, name + strspn(name, "-"));
}

enum shown {
    ALL,
    NAME_ONLY,
    NAME_AND_NEXT,
    NOTHING,
    NOTHING_AND_NEXT,
};

static enum shown judge_word(const char *patterns, const char *word, size_t *name_bytes)
{
    enum shown shown = ALL;
    *name_bytes = strcspn(word, "=");
    char *name = strndup(word, *name_bytes);
    const enum match by_name = name ? matches_name(patterns, name) : WILD;
    free(name);
    if (word[*name_bytes]) {
        const bool a_name = strcspn(word, SPACES) >= *name_bytes;
        return by_name && a_name ? NAME_ONLY : (by_name || matches(patterns, word) ? NOTHING : ALL);
    }
    if (by_name && word[0] == '-') /* a value is never part of --word, but may be of -p */
        shown = by_name == LITERAL || word[1] == '-' ? NAME_AND_NEXT : NOTHING_AND_NEXT;
    else if (by_name)
        shown = NOTHING;
    return shown;
}

/* An argument with spaces may be a command of its own (sh -c): one word of it to hide, and all of it is. */
static bool has_word_to_hide(const char *patterns, const char *argument)
{
    bool hide = false;
    size_t unused;
    char *copy = strdup(argument), *rest = NULL;
    for (char *word = copy ? strtok_r(copy, SPACES "\"'`;", &rest) : NULL; word && !hide;
         word = strtok_r(NULL, SPACES "\"'`;", &rest))
        hide = judge_word(patterns, word, &unused) != ALL;
    free(copy);
    return hide || !copy;
}

void record_arguments_show(const char *patterns, int argc, char **argv, void (*put)(void *user, const char *text), void *user)
{
    bool hide_next = false;
    for (int i = 0; i < argc; i++) {
        const bool hide = hide_next;
        size_t name_bytes = 0;
        enum shown shown = i && patterns ? judge_word(patterns, argv[i], &name_bytes) : ALL; /* the program's name stays */
        hide_next = shown == NAME_AND_NEXT || shown == NOTHING_AND_NEXT; /* also of one that is hidden itself */
        if (i && patterns && shown == ALL && strpbrk(argv[i], SPACES) && has_word_to_hide(patterns, argv[i]))
            shown = NOTHING;
        char *text = NULL;
        if (!hide && shown == NAME_ONLY && asprintf(&text, "%.*s=" HIDDEN, (int)name_bytes, argv[i]) < 0)
            text = NULL;
        put(user, text ? text : (!hide && (shown == ALL || shown == NAME_AND_NEXT) ? argv[i] : HIDDEN));
        free(text);
    }
}
