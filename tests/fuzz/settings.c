/* settings.c - files of settings: any bytes as lines. */
#include "fuzz.h"

#include "base/settings_file.h"

struct seen {
    int line;
    size_t bytes;
};

static void on_line(void *arg, int line, const char *name, const char *value)
{
    struct seen *seen = arg;

    demand(line > seen->line, "lines out of order");
    demand((name == NULL) == (value == NULL), "half a line");
    demand(name == NULL || (name[0] != '\0' && strpbrk(name, " \t\n=#") != name),
           "no name");
    seen->line = line;
    if (name != NULL) {
        seen->bytes += strlen(name) + strlen(value);
        (void)weft_setting_nearest(name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t *text = input_block(&in, size);
    struct seen seen = {0, 0};

    weft_settings_parse((const char *)text, size, on_line, &seen);
    demand(seen.bytes <= size, "more than there is");
    free(text);
    return 0;
}
