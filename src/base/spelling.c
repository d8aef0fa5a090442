#include "base/spelling.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

static int least(int a, int b, int c)
{
    const int least_of_two = a < b ? a : b;

    return least_of_two < c ? least_of_two : c;
}

/*
 * `row[j]` is the distance of what has been read of `a` from the first j letters of `b`;
 * `corner` is the one before it in the row above.
 */
int weft_edit_distance(const char *a, const char *b)
{
    const int length_a = (int)strnlen(a, LONGEST + 1);
    const int length_b = (int)strnlen(b, LONGEST + 1);
    int row[LONGEST + 1];

    if (length_a > LONGEST || length_b > LONGEST) {
        return length_a > length_b ? length_a : length_b;
    }
    for (int j = 0; j <= length_b; j++) {
        row[j] = j;
    }
    for (int i = 1; i <= length_a; i++) {
        int corner = row[0];

        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            const int above = row[j];
            const int is_other =
                tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]);

            row[j] = least(above + 1, row[j - 1] + 1, corner + is_other);
            corner = above;
        }
    }
    return row[length_b];
}
