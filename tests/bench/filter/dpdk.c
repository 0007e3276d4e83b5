// DPDK's tables of prefixes with one list in them, for `bench filter`: rte_fib and rte_lpm, of either family.
//
// It reads words of 64 bits, lowest byte first: the family (4 or 6), how many prefixes, kinds of sources, and sources of
// each kind there are; the prefixes, each as its address in two words, the higher first, and its length; the sources, each
// in two words. An IPv4 address is the lower of both. For each table it prints a line, words apart by blanks: its name
// (no blanks), nanoseconds for each prefix, bytes of memory, and of each kind of sources the nanoseconds for one and how
// many were found. What cannot be made has a line of its name, a dash, and the reason.

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>

enum { BURST = 32, LISTED = 1 };

struct prefix { uint8_t six[16]; uint32_t four; uint8_t length; };
struct source { uint8_t six[16]; uint32_t four; };

static uint64_t family, prefix_count, kinds, source_count;
static struct prefix *prefixes;
/// Bursts are read where they lie: so addresses stand alone.
static uint8_t (*sixes)[16];
static uint32_t *fours;

static uint64_t word(void)
{
	uint64_t word;
	if (fread(&word, sizeof word, 1, stdin) != 1) {
		fprintf(stderr, "the input ends too early\n");
		exit(1);
	}
	return word;
}

static void put(uint8_t bytes[16], uint64_t high, uint64_t low)
{
	for (int at = 0; at < 8; at++) {
		bytes[at] = high >> (56 - 8 * at);
		bytes[8 + at] = low >> (56 - 8 * at);
	}
}

static void *room(uint64_t count, size_t size)
{
	void *room = calloc(count + 1, size);
	if (!room) {
		fprintf(stderr, "there is no memory\n");
		exit(1);
	}
	return room;
}

static void read_all(void)
{
	family = word(), prefix_count = word(), kinds = word(), source_count = word();
	prefixes = room(prefix_count, sizeof *prefixes);
	sixes = room(kinds * source_count, sizeof *sixes);
	fours = room(kinds * source_count, sizeof *fours);
	for (uint64_t at = 0; at < prefix_count; at++) {
		uint64_t high = word(), low = word();
		put(prefixes[at].six, high, low);
		prefixes[at].four = low;
		prefixes[at].length = word();
	}
	for (uint64_t at = 0; at < kinds * source_count; at++) {
		uint64_t high = word(), low = word();
		put(sixes[at], high, low);
		fours[at] = low;
	}
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static uint64_t memory(void)
{
	uint64_t sum = 0;
	struct rte_malloc_socket_stats stats;
	for (int socket = 0; socket < 8; socket++)
		if (rte_malloc_get_socket_stats(socket, &stats) == 0)
			sum += stats.heap_allocsz_bytes;
	return sum;
}

/// A table, how a prefix comes in, and how many of so many sources from one on are found.
struct table {
	const char *name;
	void *(*make)(void);
	int (*add)(void *table, const struct prefix *prefix);
	uint64_t (*look)(void *table, uint64_t first);
	void (*drop)(void *table);
};

/// So many blocks of 256 below the first level: each prefix longer than 24 bits may need one for every eight bits.
static uint32_t blocks(void)
{
	uint64_t blocks = 1024;
	for (uint64_t at = 0; at < prefix_count; at++)
		if (prefixes[at].length > 24)
			blocks += (prefixes[at].length - 17) / 8;
	return blocks < 1 << 20 ? blocks : 1 << 20;
}

static void *make_fib6(void)
{
	struct rte_fib6_conf conf = { .type = RTE_FIB6_TRIE, .max_routes = 2 * prefix_count + 1024,
		.trie = { .nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = blocks() } };
	return rte_fib6_create("fib6", SOCKET_ID_ANY, &conf);
}

static void *make_fib6_wide(void)
{
	void *fib = make_fib6();
	if (fib && rte_fib6_select_lookup(fib, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512)) {
		rte_fib6_free(fib);
		rte_errno = ENOTSUP;
		return NULL;
	}
	return fib;
}

static int add_fib6(void *fib, const struct prefix *prefix)
{
	return rte_fib6_add(fib, (const void *)prefix->six, prefix->length, LISTED);
}

static uint64_t look_fib6(void *fib, uint64_t first)
{
	uint64_t found = 0, hops[BURST];
	for (uint64_t at = 0; at < source_count; at += BURST) {
		uint64_t count = source_count - at < BURST ? source_count - at : BURST;
		rte_fib6_lookup_bulk(fib, (void *)(sixes + first + at), hops, count);
		for (uint64_t one = 0; one < count; one++)
			found += hops[one] == LISTED;
	}
	return found;
}

static void drop_fib6(void *fib) { rte_fib6_free(fib); }

static void *make_lpm6(void)
{
	struct rte_lpm6_config config = { .max_rules = prefix_count + 1024, .number_tbl8s = blocks() };
	return rte_lpm6_create("lpm6", SOCKET_ID_ANY, &config);
}

static int add_lpm6(void *lpm, const struct prefix *prefix)
{
	return rte_lpm6_add(lpm, (const void *)prefix->six, prefix->length, LISTED);
}

static uint64_t look_lpm6(void *lpm, uint64_t first)
{
	uint64_t found = 0;
	uint32_t hop;
	for (uint64_t at = first; at < first + source_count; at++)
		found += rte_lpm6_lookup(lpm, (const void *)sixes[at], &hop) == 0;
	return found;
}

static uint64_t look_lpm6_bulk(void *lpm, uint64_t first)
{
	uint64_t found = 0;
	int32_t hops[BURST];
	for (uint64_t at = 0; at < source_count; at += BURST) {
		uint64_t count = source_count - at < BURST ? source_count - at : BURST;
		rte_lpm6_lookup_bulk_func(lpm, (void *)(sixes + first + at), hops, count);
		for (uint64_t one = 0; one < count; one++)
			found += hops[one] == LISTED;
	}
	return found;
}

static void drop_lpm6(void *lpm) { rte_lpm6_free(lpm); }

static void *make_fib(void)
{
	struct rte_fib_conf conf = { .type = RTE_FIB_DIR24_8, .max_routes = 2 * prefix_count + 1024,
		.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = blocks() } };
	return rte_fib_create("fib", SOCKET_ID_ANY, &conf);
}

static int add_fib(void *fib, const struct prefix *prefix)
{
	return rte_fib_add(fib, prefix->four, prefix->length, LISTED);
}

static uint64_t look_fib(void *fib, uint64_t first)
{
	uint64_t found = 0, hops[BURST];
	for (uint64_t at = 0; at < source_count; at += BURST) {
		uint64_t count = source_count - at < BURST ? source_count - at : BURST;
		rte_fib_lookup_bulk(fib, fours + first + at, hops, count);
		for (uint64_t one = 0; one < count; one++)
			found += hops[one] == LISTED;
	}
	return found;
}

static void drop_fib(void *fib) { rte_fib_free(fib); }

static void *make_lpm(void)
{
	struct rte_lpm_config config = { .max_rules = prefix_count + 1024, .number_tbl8s = blocks() };
	return rte_lpm_create("lpm", SOCKET_ID_ANY, &config);
}

static int add_lpm(void *lpm, const struct prefix *prefix)
{
	return rte_lpm_add(lpm, prefix->four, prefix->length, LISTED);
}

static uint64_t look_lpm(void *lpm, uint64_t first)
{
	uint64_t found = 0;
	uint32_t hop;
	for (uint64_t at = first; at < first + source_count; at++)
		found += rte_lpm_lookup(lpm, fours[at], &hop) == 0;
	return found;
}

static void drop_lpm(void *lpm) { rte_lpm_free(lpm); }

static const struct table SIX[] = {
	{ "rte_fib6,32-at-a-time", make_fib6, add_fib6, look_fib6, drop_fib6 },
	{ "rte_fib6,32-at-a-time,AVX-512", make_fib6_wide, add_fib6, look_fib6, drop_fib6 },
	{ "rte_lpm6", make_lpm6, add_lpm6, look_lpm6, drop_lpm6 },
	{ "rte_lpm6,32-at-a-time", make_lpm6, add_lpm6, look_lpm6_bulk, drop_lpm6 },
	{ 0 },
};
static const struct table FOUR[] = {
	{ "rte_fib,32-at-a-time", make_fib, add_fib, look_fib, drop_fib },
	{ "rte_lpm", make_lpm, add_lpm, look_lpm, drop_lpm },
	{ 0 },
};

static void measure(const struct table *of)
{
	uint64_t before = memory();
	double begun = now();
	void *table = of->make();
	if (!table) {
		printf("%s - %s\n", of->name, rte_strerror(rte_errno));
		return;
	}
	for (uint64_t at = 0; at < prefix_count; at++) {
		int error = of->add(table, &prefixes[at]);
		if (error) {
			printf("%s - prefix %" PRIu64 " of %" PRIu64 ": %s\n", of->name, at + 1, prefix_count,
			       rte_strerror(-error));
			of->drop(table);
			return;
		}
	}
	printf("%s %.1f %" PRIu64, of->name, (now() - begun) / (prefix_count + 1), memory() - before);
	for (uint64_t kind = 0; kind < kinds; kind++) {
		/* Once for the caches, once for the clock. */
		of->look(table, kind * source_count);
		double begun = now();
		uint64_t found = of->look(table, kind * source_count);
		printf(" %.2f %" PRIu64, (now() - begun) / source_count, found);
	}
	printf("\n");
	of->drop(table);
}

int main(int count, char **words)
{
	char *processor = count > 1 ? words[1] : "0";
	char *eal[] = { words[0], "--no-huge", "--no-shconf", "-m", "2048", "--no-pci", "--no-telemetry",
		"--log-level=error", "-l", processor, "--force-max-simd-bitwidth=512" };
	if (rte_eal_init(sizeof eal / sizeof *eal, eal) < 0) {
		fprintf(stderr, "DPDK does not start: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	read_all();
	for (const struct table *table = family == 6 ? SIX : FOUR; table->name; table++)
		measure(table);
	return 0;
}
