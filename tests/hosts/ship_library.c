/* ship_library.c - a library of the user's, which --ship has to send along. */
int ship_answer(void);

int ship_answer(void)
{
    return 42;
}
