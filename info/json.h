/*
 * json.h - writes JSON, a value after the other, with a line for each.
 *
 * Names are NULL inside a list. A byte of a text that is no part of UTF-8 is written as
 * \udcXX, which Python reads as the same byte of a file's name.
 */
#ifndef WEFT_INFO_JSON_H
#define WEFT_INFO_JSON_H

#include <stdbool.h>
#include <stdio.h>

struct json {
    FILE *to;
    int depth;
    bool is_begun; /* the object or list has a value already */
};

/* `bracket` is '{' or '['; json_end() takes the other one. The last end ends the line. */
void json_begin(struct json *json, const char *name, char bracket);
void json_end(struct json *json, char bracket);

/* NULL is JSON's null. */
void json_text(struct json *json, const char *name, const char *text);
void json_number(struct json *json, const char *name, long long number);
void json_flag(struct json *json, const char *name, bool is_so);

#endif
