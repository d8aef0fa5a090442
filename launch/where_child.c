/*
 * where_child.c - what the child does that reads debug information (where.h).
 */
#include "where.h"

#include <string.h>
#include <sys/socket.h>

static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) {
            *text = '?';
        }
    }
}

void where_serve(int fd)
{
    void *library = where_load();
    struct where_question question;

    while (recv(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question)) {
        char text[WHERE_TEXT] = "?";

        if (library != NULL && question.pid != 0) {
            where_say_stack(library, question.pid, text);
        } else if (library != NULL) {
            where_say_place(&question, text);
        }
        make_printable(text);
        if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
            return;
        }
    }
}
