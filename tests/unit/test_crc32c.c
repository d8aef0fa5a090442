/* test_crc32c.c - every way to the checksum against one bit at a time. */
#include "unit.h"

#include "base/crc32c.h"

enum { BYTES = 20000, ALIGNMENTS = 9, ROUNDS = 300 };

static uint8_t bytes[BYTES + ALIGNMENTS];

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    return x ^ (x >> 29);
}

static int fill(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)mix(i + 1);
    }
    return 0;
}

static uint32_t by_bit(uint32_t crc, const uint8_t *p, size_t len)
{
    crc = ~crc;
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) {
            crc = (crc >> 1) ^ (UINT32_C(0x82f63b78) & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static void assert_same(const uint8_t *p, size_t len, uint32_t before)
{
    const uint32_t right = by_bit(before, p, len);

    for (unsigned way = WEFT_CRC32C_TABLE; way < WEFT_CRC32C_METHODS; way++) {
        if (weft_crc32c_has((enum weft_crc32c_method)way)) {
            assert_int_equal(weft_crc32c_by((enum weft_crc32c_method)way, before, p, len),
                             right);
        }
    }
    assert_int_equal(weft_crc32c_more(before, p, len), right);
}

/* RFC 3720, B.4, and the usual check value. */
static void known_checksums_come_out(void **state)
{
    static const uint8_t zeros[32];

    (void)state;
    assert_int_equal(weft_crc32c("123456789", 9), 0xe3069283);
    assert_int_equal(weft_crc32c(zeros, sizeof(zeros)), 0x8a9136aa);
    assert_int_equal(weft_crc32c(zeros, 0), 0);
}

static void all_ways_agree_at_every_short_length_and_alignment(void **state)
{
    (void)state;
    for (size_t at = 0; at < ALIGNMENTS; at++) {
        for (size_t len = 0; len < 800; len++) {
            assert_same(bytes + at, len, (uint32_t)mix(len));
        }
    }
}

static void all_ways_agree_around_the_blocks(void **state)
{
    const size_t sizes[] = {383,  384,  385,  511,  512,  513,  767,  768, 1023,
                            1024, 1025, 3071, 3072, 3073, 3456, 6144, 9599};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_same(bytes + i % ALIGNMENTS, sizes[i], 0);
    }
}

static void all_ways_agree_on_random_lengths(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        const uint64_t r = mix(round);

        assert_same(bytes + r % ALIGNMENTS, (size_t)(r >> 8) % BYTES,
                    (uint32_t)(r >> 32));
    }
}

static void a_checksum_goes_on_where_it_stopped(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < 5000; cut += 37) {
        assert_int_equal(
            weft_crc32c_more(weft_crc32c(bytes, cut), bytes + cut, 5000 - cut),
            weft_crc32c(bytes, 5000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_checksums_come_out),
        cmocka_unit_test(all_ways_agree_at_every_short_length_and_alignment),
        cmocka_unit_test(all_ways_agree_around_the_blocks),
        cmocka_unit_test(all_ways_agree_on_random_lengths),
        cmocka_unit_test(a_checksum_goes_on_where_it_stopped),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
