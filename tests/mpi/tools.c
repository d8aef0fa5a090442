/* tools.c - chapter 15: MPI_T, what can be set and what is counted. */
#include "check.h"

#define NAME_BYTES 64
#define TEXT_BYTES 256

static void nothing_works_before_init_thread(void)
{
    int number = 0;

    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_event_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_category_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
}

/* 15.3.3: what a text and its length answer. */
static void texts_are_cut_and_measured(void)
{
    char name[NAME_BYTES] = "untouched";
    int length = 0;
    int full;

    CHECK(MPI_T_cvar_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_SUCCESS);
    full = length;
    CHECK(full > 4);
    length = 0;
    CHECK(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_SUCCESS);
    CHECK(length == full && strcmp(name, "untouched") == 0);
    CHECK(MPI_T_cvar_get_info(0, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_SUCCESS);
    CHECK(strcmp(name, "untouched") == 0);
    length = 3;
    CHECK(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_SUCCESS);
    CHECK(length == full && strlen(name) == 2);
    length = full;
    CHECK(MPI_T_cvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_SUCCESS);
    CHECK((int)strlen(name) == full - 1);
}

static void words_of(MPI_T_enum words, int value)
{
    char name[NAME_BYTES];
    int length = NAME_BYTES;
    int number = 0;
    int item = -1;

    CHECK(MPI_T_enum_get_info(words, &number, name, &length) == MPI_SUCCESS);
    CHECK(number >= 2 && value >= 0 && value < number);
    for (int i = 0; i < number; i++) {
        length = NAME_BYTES;
        CHECK(MPI_T_enum_get_item(words, i, &item, name, &length) == MPI_SUCCESS);
        CHECK(item == i && length == (int)strlen(name) + 1 && strchr(name, '|') == NULL);
    }
    CHECK(MPI_T_enum_get_item(words, number, &item, name, &length) ==
          MPI_T_ERR_INVALID_ITEM);
    CHECK(MPI_T_enum_get_item(words, -1, &item, name, &length) == MPI_T_ERR_INVALID_ITEM);
}

static void every_setting_can_be_read(void)
{
    int number = 0;

    CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number >= 2);
    for (int i = 0; i < number; i++) {
        char name[NAME_BYTES];
        char text[TEXT_BYTES];
        int name_length = NAME_BYTES;
        int text_length = TEXT_BYTES;
        int verbosity = 0;
        int bind = 0;
        int scope = 0;
        int index = -1;
        int count = 0;
        unsigned long long number_read = 0;
        int word_read = -1;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum words = MPI_T_ENUM_NULL;
        MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;

        CHECK(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &words, text,
                                  &text_length, &bind, &scope) == MPI_SUCCESS);
        CHECK(strncmp(name, "WEFT_", 5) == 0 && text_length > 1);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && verbosity == MPI_T_VERBOSITY_USER_BASIC);
        CHECK(scope == MPI_T_SCOPE_LOCAL || scope == MPI_T_SCOPE_ALL_EQ);
        CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS && index == i);
        CHECK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) == MPI_SUCCESS);
        CHECK(count == 1 && handle != MPI_T_CVAR_HANDLE_NULL);
        if (type == MPI_INT) {
            CHECK(MPI_T_cvar_read(handle, &word_read) == MPI_SUCCESS);
            words_of(words, word_read);
        } else {
            CHECK(type == MPI_UNSIGNED_LONG_LONG && words == MPI_T_ENUM_NULL);
            CHECK(MPI_T_cvar_read(handle, &number_read) == MPI_SUCCESS);
        }
        CHECK(MPI_T_cvar_read(handle, NULL) == MPI_T_ERR_INVALID);
        CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
}

/* Words are shown, texts are not: a control variable is a number here. */
static void settings_of_words_are_shown(void)
{
    static const char *const words[] = {"WEFT_LONG", "WEFT_TRANSPORT", "WEFT_CONNECT"};
    int index = -1;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        CHECK(MPI_T_cvar_get_index(words[i], &index) == MPI_SUCCESS);
    }
    CHECK(MPI_T_cvar_get_index("WEFT_NET", &index) == MPI_T_ERR_INVALID_NAME);
}

static void what_no_setting_is(void)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_cvar_handle stale;
    int number = 0;
    int index = 0;
    int value = 0;

    CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_num(NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("WEFT_LOGS", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_index(NULL, &index) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_handle_alloc(number, NULL, &handle, &value) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_read(handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_write(handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_handle_alloc(0, NULL, &handle, &value) == MPI_SUCCESS);
    stale = handle;
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(stale, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &value, NULL, NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, NULL, NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
}

static MPI_T_cvar_handle setting(const char *name)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int index = -1;
    int count = 0;

    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS);
    return handle;
}

/* The log level at any time; what is read at the start, not once that has passed. */
static void write_settings(int is_open)
{
    MPI_T_cvar_handle log = setting("WEFT_LOG");
    MPI_T_cvar_handle checksum = setting("WEFT_CHECKSUM");
    const int bad = 99;
    const int negative = -1;
    const int on = 1;
    int level = -1;
    int other;
    int seen = -1;

    CHECK(MPI_T_cvar_read(log, &level) == MPI_SUCCESS);
    other = level == 0 ? 1 : 0;
    CHECK(MPI_T_cvar_write(log, &other) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(log, &seen) == MPI_SUCCESS && seen == other);
    CHECK(MPI_T_cvar_write(log, &level) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_write(log, &bad) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_write(log, &negative) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_write(log, NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_write(checksum, &on) ==
          (is_open ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_SUCCESS));
    CHECK(MPI_T_cvar_read(checksum, &seen) == MPI_SUCCESS && seen == on);
    CHECK(MPI_T_cvar_handle_free(&log) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_free(&checksum) == MPI_SUCCESS);
}

static void every_category_is_found(void)
{
    int number = 0;
    int cvars_seen = 0;
    int pvars_seen = 0;
    int below_seen = 0;
    int count = -1;
    int stamp = -1;

    CHECK(MPI_T_category_changed(&stamp) == MPI_SUCCESS);
    CHECK(MPI_T_category_get_num(&number) == MPI_SUCCESS && number > 2);
    for (int i = 0; i < number; i++) {
        char name[NAME_BYTES];
        char text[TEXT_BYTES];
        int name_length = NAME_BYTES;
        int text_length = TEXT_BYTES;
        int cvars = -1;
        int pvars = -1;
        int below = -1;
        int indices[256];
        int index = -1;

        CHECK(MPI_T_category_get_info(i, name, &name_length, text, &text_length, &cvars,
                                      &pvars, &below) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS && index == i);
        CHECK(cvars + pvars + below > 0);
        CHECK(MPI_T_category_get_cvars(i, 256, indices) == MPI_SUCCESS);
        CHECK(MPI_T_category_get_pvars(i, 256, indices) == MPI_SUCCESS);
        for (int v = 0; v < pvars; v++) {
            CHECK(indices[v] >= 0 && (v == 0 || indices[v] > indices[v - 1]));
        }
        CHECK(MPI_T_category_get_categories(i, 256, indices) == MPI_SUCCESS);
        for (int c = 0; c < below; c++) {
            CHECK(indices[c] > i && indices[c] < number);
        }
        CHECK(MPI_T_category_get_num_events(i, &count) == MPI_SUCCESS && count == 0);
        CHECK(MPI_T_category_get_events(i, 256, indices) == MPI_SUCCESS);
        cvars_seen += cvars;
        pvars_seen += pvars;
        below_seen += below;
    }
    CHECK(MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count == cvars_seen);
    CHECK(MPI_T_pvar_get_num(&count) == MPI_SUCCESS && count == pvars_seen);
    CHECK(below_seen < number);
    CHECK(MPI_T_category_changed(&count) == MPI_SUCCESS && count == stamp);

    CHECK(MPI_T_category_get_index("nothing", &count) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_cvars(-1, 0, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_pvars(number, 0, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_categories(number, 0, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_events(number, 0, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_num_events(number, &count) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_cvars(0, 3, NULL) == MPI_T_ERR_INVALID);
}

static void there_are_no_events(void)
{
    MPI_T_event_registration registration = NULL;
    MPI_T_event_instance event = NULL;
    MPI_T_source_order order;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Count time = 0;
    int number = -1;
    char buffer[8];

    CHECK(MPI_T_event_get_num(&number) == MPI_SUCCESS && number == 0);
    CHECK(MPI_T_event_get_num(NULL) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_source_get_num(&number) == MPI_SUCCESS && number == 0);
    CHECK(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &order, &time, &time, &info) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_source_get_timestamp(0, &time) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_index("send", &number) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                               NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_handle_set_info(registration, info) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_get_info(registration, &info) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_free(registration, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, info, NULL,
                                        NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, info) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_set_dropped_handler(registration, NULL) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_read(event, 0, buffer) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_copy(event, buffer) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(event, &time) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_source(event, &number) == MPI_T_ERR_INVALID_HANDLE);
}

static void look_at_everything(void)
{
    texts_are_cut_and_measured();
    every_setting_can_be_read();
    settings_of_words_are_shown();
    what_no_setting_is();
    every_category_is_found();
    there_are_no_events();
}

int main(int argc, char **argv)
{
    int provided = -1;

    nothing_works_before_init_thread();
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_SINGLE);
    look_at_everything();
    write_settings(0);

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided >= MPI_THREAD_SINGLE);
    look_at_everything();
    write_settings(1);
    CHECK(MPI_T_finalize() == MPI_SUCCESS); /* one is left */
    look_at_everything();
    CHECK(MPI_Finalize() == MPI_SUCCESS);

    look_at_everything();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    nothing_works_before_init_thread();
    CHECK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    look_at_everything();
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    return 0;
}
