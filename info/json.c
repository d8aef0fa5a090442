#include "json.h"

#include <string.h>

/* How many bytes the character at `at` has in UTF-8; 0: it is none. */
static int length_of(const unsigned char *at)
{
    const int length = *at < 0x80                  ? 1
                       : *at >= 0xc2 && *at < 0xe0 ? 2
                       : *at >= 0xe0 && *at < 0xf0 ? 3
                       : *at >= 0xf0 && *at < 0xf5 ? 4
                                                   : 0;

    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) { /* the end of the text is none, too */
            return 0;
        }
    }
    if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
        (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f)) {
        return 0; /* longer than need be, half of a pair, or above all characters */
    }
    return length;
}

static void put_text(FILE *to, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    putc('"', to);
    while (*at != '\0') {
        const int length = length_of(at);

        if (length == 0) {
            fprintf(to, "\\udc%02x", *at++);
        } else if (*at == '"' || *at == '\\') {
            fprintf(to, "\\%c", *at++);
        } else if (*at < ' ' || *at == 0x7f) {
            fprintf(to, "\\u%04x", *at++);
        } else {
            fwrite(at, 1, (size_t)length, to);
            at += length;
        }
    }
    putc('"', to);
}

static void break_line(const struct json *json)
{
    putc('\n', json->to);
    for (int i = 0; i < json->depth; i++) {
        fputs("  ", json->to);
    }
}

/* What stands in front of a value. */
static void lead_in(struct json *json, const char *name)
{
    if (json->is_begun) {
        putc(',', json->to);
    }
    if (json->depth > 0) {
        break_line(json);
    }
    if (name != NULL) {
        put_text(json->to, name);
        fputs(": ", json->to);
    }
    json->is_begun = true;
}

void json_begin(struct json *json, const char *name, char bracket)
{
    lead_in(json, name);
    putc(bracket, json->to);
    json->depth++;
    json->is_begun = false;
}

void json_end(struct json *json, char bracket)
{
    json->depth--;
    if (json->is_begun) {
        break_line(json);
    }
    putc(bracket, json->to);
    json->is_begun = true;
    if (json->depth == 0) {
        putc('\n', json->to);
    }
}

void json_text(struct json *json, const char *name, const char *text)
{
    lead_in(json, name);
    if (text != NULL) {
        put_text(json->to, text);
    } else {
        fputs("null", json->to);
    }
}

void json_number(struct json *json, const char *name, long long number)
{
    lead_in(json, name);
    fprintf(json->to, "%lld", number);
}

void json_flag(struct json *json, const char *name, bool is_so)
{
    lead_in(json, name);
    fputs(is_so ? "true" : "false", json->to);
}
