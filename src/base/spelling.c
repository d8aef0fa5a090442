#include "base/spelling.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { LONGEST = 63 };

static int least(int a, int b, int c)
{
    const int least_of_two = a < b ? a : b;

    return least_of_two < c ? least_of_two : c;
}

static bool is_same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/*
 * `row[j]` is the distance of the first i letters of `a` from the first j of `b`; `above`
 * and `top` are the same for one and two letters less of `a`.
 */
int weft_edit_distance(const char *a, const char *b)
{
    const int length_a = (int)strnlen(a, LONGEST + 1);
    const int length_b = (int)strnlen(b, LONGEST + 1);
    int rows[3][LONGEST + 1];

    if (length_a > LONGEST || length_b > LONGEST) {
        return length_a > length_b ? length_a : length_b;
    }
    for (int j = 0; j <= length_b; j++) {
        rows[0][j] = j;
    }
    for (int i = 1; i <= length_a; i++) {
        const int *top = rows[(i + 1) % 3];
        const int *above = rows[(i + 2) % 3];
        int *row = rows[i % 3];

        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1,
                           above[j - 1] + !is_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2]) &&
                is_same(a[i - 2], b[j - 1])) {
                row[j] = least(row[j], top[j - 2] + 1, row[j]);
            }
        }
    }
    return rows[length_a % 3][length_b];
}
