/*
 * p2p_fixture.h - messages over the fake transport: we are rank 0 of a communicator of
 * eight, the test is everyone else.
 */
#ifndef WEFT_TEST_P2P_FIXTURE_H
#define WEFT_TEST_P2P_FIXTURE_H

#include "unit.h"

#include "fake_transport.h"
#include "p2p/internal.h"

#define FIXTURE_JOB UINT32_C(0x8badf00d)

enum { FIXTURE_RANKS = 8, FIXTURE_CONTEXT = 16, FIXTURE_SHARES = 4 };

extern struct weft_comm fixture_comm;
extern struct weft_job fixture_job;

/* For each test; the teardown also asks the fake what it has noticed. */
int fixture_open(void **state);
/* With a network, by which all peers are reached, if it is not NULL. */
int fixture_open_over(void **state, const struct weft_packet_ops *net);
/* The same, and with another one, which takes whom the first does not. */
int fixture_open_over_two(void **state, const struct weft_packet_ops *net,
                          const struct weft_packet_ops *second);
int fixture_close(void **state);

/* A header as rank `source` of the communicator would send it. */
struct weft_header fixture_header(enum weft_packet kind, uint32_t source, int tag);
bool fixture_is_ordered(const struct weft_header *header);

/* What peers do. */
void arrive_eager(uint32_t from, int tag, const void *data, size_t len);
/* Without a share; or with one of the peer's, whose generation begins and is returned.
 */
void arrive_announced(uint32_t from, int tag, const void *data, uint64_t length,
                      uint64_t request);
uint32_t arrive_with_share(uint32_t from, int tag, const void *data, uint64_t length,
                           uint64_t request, uint32_t number);
/* A control packet, as long as its kind is. */
void arrive_answer(uint32_t from, enum weft_packet kind, union weft_pkt_control answer);
void arrive_data(uint32_t from, uint64_t request, const uint8_t *message, uint64_t offset,
                 uint64_t length);

/* What a rank shows to the node: ourselves, rank 0, or a peer. */
struct weft_node_area *area_of(uint32_t rank);
struct weft_copy_share *share_of(uint32_t rank, uint32_t number);
uint8_t *stage_of(uint32_t rank, uint32_t number);

/* How many of ours can be taken: FIXTURE_SHARES and none unless a test says otherwise. */
void limit_shares(uint32_t count);
void limit_stages(uint32_t count);
/* Those that are taken: a bit each. */
uint32_t shares_used(void);
uint32_t stages_used(void);

/* Is every peer inside MPI? They are unless a test says otherwise. */
void set_peers_inside(bool is_inside);

/* With what words the job was ended meanwhile, or NULL if it was not. */
const char *rejection_in(void (*act)(void *argument), void *argument);

/*
 * Hands a packet over as it is. Returns with what words the job was ended, or NULL if it
 * was not.
 */
const char *rejection_of(uint32_t from, const struct weft_header *header,
                         const void *data, size_t len);

/* What we do; a call that fails fails the test. */
struct weft_request *start_send(int dest, int tag, const void *data, size_t bytes,
                                enum weft_send_mode mode);
struct weft_request *start_recv(int source, int tag, void *buffer, size_t bytes);

/* `count` elements of a committed type, all of them, at `buffer`. */
struct weft_data elements_at(const void *buffer, uint64_t count,
                             struct weft_datatype *type);
struct weft_request *start_send_data(int dest, int tag, struct weft_data data);
struct weft_request *start_recv_data(int source, int tag, struct weft_data data);

/* What a peer calls the transfer of a request; 0: it has none. */
uint64_t transfer_name(const struct weft_request *request);

/* The request must be complete with `rc`; gives it back. */
void end_request(struct weft_request *request, enum weft_rc rc);
/* The same for a receive, with what it must have got. */
void end_recv(struct weft_request *request, int source, int tag, uint64_t bytes);

/* The answer in a packet, what precedes a chunk of a message, and what an announcement
 * says. */
union weft_pkt_control answer_in(const struct fake_packet *packet);
struct weft_pkt_data data_in(const struct fake_packet *packet);
struct weft_pkt_announce announce_in(const struct fake_packet *packet);

/* Bytes that tell position and message. */
void fill_pattern(uint8_t *bytes, size_t len, unsigned seed);
void assert_pattern(const uint8_t *bytes, size_t len, unsigned seed);

/* From here on lines to standard error are kept; what was said then, until the next. */
void start_listening(void);
const char *stop_listening(void);

/* Unmatched messages of rank 7 until the store is full. */
void fill_store(void);

#endif
