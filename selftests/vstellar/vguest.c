// SPDX-License-Identifier: GPL-2.0
/*
 * vguest TEST DEVICE [MIB]: one thing that a guest, or the machine that it runs on, does
 * to /dev/vhost-vdpa-N, right or wrong. Exits with 0 if the device took it as it
 * should, else says what it did instead.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "vguest.h"

#define BLOCK		(2ul << 20)
#define STEPS		(VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER)
#define CONTROL		VIRTIO_VSTELLAR_VQ_CTRL

static const char *path;
static size_t ram = 16ul << 20;
static int failures;

#define expect(got, want) expect_at(__LINE__, #got, got, want)

static void expect_at(int line, const char *what, long got, long want)
{
	if (got == want)
		return;
	printf("line %d: %s is %ld, not %ld\n", line, what, got, want);
	failures++;
}

static void must(int err, const char *what)
{
	if (!err)
		return;
	printf("%s: %s\n", what, strerror(-err));
	exit(1);
}

static void open_device(struct guest *g)
{
	must(guest_open(g, path), path);
	must(guest_memory(g, ram), "memory");
}

/* Kilobytes that this process has pinned. */
static long pinned_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

/* --- configuration -------------------------------------------------------- */

static void test_config(void)
{
	struct virtio_vstellar_config config;
	struct vhost_vdpa_config beyond = { .off = sizeof(config) + 1, .len = 1 };
	uint32_t id;
	struct guest g;

	open_device(&g);
	expect(guest_config(&g, &config), 0);
	expect(le32toh(config.magic), VIRTIO_VSTELLAR_MAGIC);
	expect(le16toh(config.revision), VIRTIO_VSTELLAR_REVISION);
	expect(le16toh(config.db_stride), VIRTIO_VSTELLAR_DB_STRIDE);
	expect(le32toh(config.pin_block_shift), 21);
	expect(le32toh(config.status), 0);
	expect(ioctl(g.fd, VHOST_VDPA_GET_CONFIG_SIZE, &id), 0);
	expect(id, sizeof(config));
	expect(ioctl(g.fd, VHOST_VDPA_GET_CONFIG, &beyond), -1);
	expect(ioctl(g.fd, VHOST_VDPA_GET_VQS_COUNT, &id), 0);
	expect(id, VIRTIO_VSTELLAR_NVQS);
	guest_close(&g);
}

static void test_features(void)
{
	const uint64_t version = 1ull << VIRTIO_F_VERSION_1;
	struct guest g;

	open_device(&g);
	/* steps that are not taken are seen by reading them back */
	expect(guest_status(&g, STEPS), 0);
	expect(guest_status(&g, STEPS | VIRTIO_CONFIG_S_FEATURES_OK), 0);
	expect(guest_get_status(&g), STEPS);
	expect(guest_status(&g, STEPS | VIRTIO_CONFIG_S_DRIVER_OK), 0);
	expect(guest_get_status(&g), STEPS);

	expect(guest_features(&g, GUEST_FEATURES & ~version), -EINVAL);
	expect(guest_features(&g, version), -EINVAL);
	expect(guest_features(&g, GUEST_FEATURES | 1ull << VIRTIO_F_RING_PACKED), -EINVAL);
	expect(guest_features(&g, GUEST_FEATURES | 1ull << VIRTIO_RING_F_INDIRECT_DESC), -EINVAL);
	expect(guest_features(&g, GUEST_FEATURES | 1ull << VIRTIO_VSTELLAR_F_SHM_DB), -EINVAL);
	/* a machine without an IOMMU: its addresses are what is mapped */
	expect(guest_features(&g, GUEST_MANDATORY), 0);
	expect(guest_features(&g, GUEST_FEATURES), 0);
	expect(guest_status(&g, STEPS | VIRTIO_CONFIG_S_FEATURES_OK), 0);
	expect(guest_get_status(&g), STEPS | VIRTIO_CONFIG_S_FEATURES_OK);
	expect(guest_features(&g, GUEST_MANDATORY), -EBUSY);
	/* from the beginning */
	expect(guest_status(&g, 0), 0);
	expect(guest_get_status(&g), 0);
	expect(guest_features(&g, GUEST_MANDATORY), 0);
	guest_close(&g);
}

static void test_queues(void)
{
	struct vhost_vring_addr odd = { .index = CONTROL, .desc_user_addr = GUEST_IOVA + 8 };
	struct vhost_vring_state large = { .index = VIRTIO_VSTELLAR_NVQS, .num = 8 };
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	/* not while it is in use; not beyond the last; no ring of odd address */
	odd.avail_user_addr = odd.used_user_addr = GUEST_IOVA;
	expect(ioctl(g.fd, VHOST_SET_VRING_ADDR, &odd), -1);
	expect(ioctl(g.fd, VHOST_SET_VRING_NUM, &large), -1);
	expect(guest_status(&g, 0), 0);
	expect(ioctl(g.fd, VHOST_SET_VRING_ADDR, &odd), -1);
	/* larger than a control queue may be: it does not become ready */
	expect(guest_features(&g, GUEST_FEATURES), 0);
	expect(guest_queue_setup(&g, CONTROL, 256), 0);
	expect(guest_queue_enable(&g, CONTROL, true), 0);
	expect(guest_status(&g, STEPS | VIRTIO_CONFIG_S_FEATURES_OK), 0);
	expect(guest_status(&g, STEPS | VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK), 0);
	guest_offer(&g, CONTROL, 0);
	guest_kick(&g, CONTROL);
	expect(guest_wait(&g, CONTROL, 300), -ETIME);
	expect(guest_get_status(&g) & VIRTIO_CONFIG_S_NEEDS_RESET, 0);
	guest_close(&g);
}

/* --- memory --------------------------------------------------------------- */

static void test_map(void)
{
	uint8_t *ro, *private;
	struct guest g;
	int sealed;

	open_device(&g);
	expect(guest_map(&g, GUEST_IOVA, BLOCK, g.ram, VHOST_ACCESS_RW), 0);
	expect(guest_map(&g, GUEST_IOVA, BLOCK, g.ram, VHOST_ACCESS_RW), -EFAULT);
	expect(guest_map(&g, GUEST_IOVA + BLOCK + 8, BLOCK, g.ram, VHOST_ACCESS_RW), -EFAULT);
	expect(guest_map(&g, 1ull << 63, BLOCK, g.ram, VHOST_ACCESS_RW), -EFAULT);
	expect(guest_unmap(&g, GUEST_IOVA, BLOCK), 0);
	/* what was unmapped can be mapped, and what was not mapped be unmapped */
	expect(guest_map(&g, GUEST_IOVA, BLOCK, g.ram, VHOST_ACCESS_RW), 0);
	expect(guest_unmap(&g, 0, 1ull << 40), 0);
	expect(guest_unmap(&g, 0, 1ull << 40), 0);

	/* a file that was sealed against writing, by who may write to it */
	sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(ftruncate(sealed, BLOCK), "ftruncate");
	must(fcntl(sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), "seal");
	ro = mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, sealed, 0);
	expect(guest_map(&g, GUEST_IOVA, BLOCK, ro, VHOST_ACCESS_RW), -EFAULT);
	expect(guest_map(&g, GUEST_IOVA, BLOCK, ro, VHOST_ACCESS_RO), 0);
	expect(guest_unmap(&g, GUEST_IOVA, BLOCK), 0);
	munmap(ro, BLOCK);
	close(sealed);

	/* and the other way round: it cannot be sealed while the device may write */
	sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	must(ftruncate(sealed, BLOCK), "ftruncate");
	ro = mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, sealed, 0);
	expect(guest_map(&g, GUEST_IOVA, BLOCK, ro, VHOST_ACCESS_RW), 0);
	munmap(ro, BLOCK);
	expect(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE), -1);
	expect(guest_unmap(&g, GUEST_IOVA, BLOCK), 0);
	/* the mapping lets go of the file a moment later */
	for (int i = 0; i < 500 && fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE); i++)
		usleep(10000);
	expect(fcntl(sealed, F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
	close(sealed);

	/* private memory is left out, and nobody is told; the device has no access then */
	private = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(guest_map(&g, GUEST_IOVA, BLOCK, private, VHOST_ACCESS_RW), 0);
	munmap(private, BLOCK);
	expect(pinned_kb(), 0);
	guest_close(&g);
}

/* Nothing is mapped: no address means anything, not even a physical one. */
static void test_nomap(void)
{
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	expect(guest_unmap(&g, GUEST_IOVA, ram), 0);
	guest_offer(&g, CONTROL, 0);
	guest_kick(&g, CONTROL);
	expect(guest_wait(&g, CONTROL, 300), -ETIME);
	expect(guest_get_status(&g) & VIRTIO_CONFIG_S_NEEDS_RESET, VIRTIO_CONFIG_S_NEEDS_RESET);
	guest_close(&g);
}

/* Only what was used is pinned, and for as long as it is mapped. */
static void test_pinned(void)
{
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	expect(guest_hello(&g), VIRTIO_VSTELLAR_OK);
	/* the rings and the buffers are in the first block */
	expect(pinned_kb(), BLOCK >> 10);
	expect(guest_unmap(&g, GUEST_IOVA, ram), 0);
	expect(pinned_kb(), 0);
	guest_close(&g);
	expect(pinned_kb(), 0);
}

/* Uses more of the memory than may be pinned: what was not used for long makes room. */
static void use_all(long most_kb)
{
	struct virtio_vstellar_stats stats;
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	expect(guest_hello(&g), VIRTIO_VSTELLAR_OK);
	for (size_t at = 0; at < 3 * ram && !failures; at += BLOCK) {
		g.command = at % ram + GUEST_FREE;
		expect(guest_command(&g, VIRTIO_VSTELLAR_CMD_DEV_STATS, NULL, NULL, 0, &stats,
				     sizeof(stats)), VIRTIO_VSTELLAR_OK);
		expect(pinned_kb() <= most_kb, 1);
	}
	expect(le64toh(stats.evictions) > 0, 1);
	expect(le64toh(stats.pinned_peak) <= most_kb * 1024ul, 1);
	expect(le64toh(stats.pin_failures), 0);
	guest_close(&g);
	expect(pinned_kb(), 0);
}

/* The quota of the device is two blocks. */
static void test_quota(void)
{
	use_all(2 * BLOCK >> 10);
}

/* So is the limit of this process, which is allowed no more. */
static void test_limit(void)
{
	const struct rlimit limit = { .rlim_cur = 2 * BLOCK, .rlim_max = 2 * BLOCK };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = {};

	must(setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	must(syscall(SYS_capset, &header, caps), "capset");
	use_all(2 * BLOCK >> 10);
}

/* --- commands ------------------------------------------------------------- */

static void test_hello(void)
{
	struct virtio_vstellar_hello hello = { .revision = htole32(VIRTIO_VSTELLAR_REVISION) };
	struct virtio_vstellar_hello_resp resp;
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	expect(guest_hello(&g), VIRTIO_VSTELLAR_OK);
	hello.reserved = 1;
	expect(guest_command(&g, VIRTIO_VSTELLAR_CMD_HELLO, NULL, &hello, sizeof(hello), &resp,
			     sizeof(resp)), VIRTIO_VSTELLAR_INVAL);
	expect(guest_command(&g, 0x7777, NULL, NULL, 0, NULL, 0), VIRTIO_VSTELLAR_NOTSUPP);
	guest_close(&g);
}

struct chain {
	const char *what;
	uint16_t flags, next;
	uint32_t len;
	uint64_t addr;
	uint16_t head;
};

/* Each breaks the queue, and nothing else. */
static void test_chains(void)
{
	static const struct chain chains[] = {
		{ "loop", VRING_DESC_F_NEXT, 0, 16, GUEST_IOVA + GUEST_FREE, 0 },
		{ "beyond the table", VRING_DESC_F_NEXT, 64, 16, GUEST_IOVA + GUEST_FREE, 0 },
		{ "head beyond the table", 0, 0, 16, GUEST_IOVA + GUEST_FREE, 64 },
		{ "indirect", VRING_DESC_F_INDIRECT, 0, 16, GUEST_IOVA + GUEST_FREE, 0 },
		{ "no byte", 0, 0, 0, GUEST_IOVA + GUEST_FREE, 0 },
		{ "wraps", 0, 0, 16, UINT64_MAX - 4, 0 },
		{ "unknown flag", 0x8000, 0, 16, GUEST_IOVA + GUEST_FREE, 0 },
	};
	struct guest g;

	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
		const struct chain *c = &chains[i];

		must(guest_start(&g, path, ram), "start");
		*guest_desc(&g, CONTROL, 0) = (struct vring_desc) {
			.addr = htole64(c->addr), .len = htole32(c->len),
			.flags = htole16(c->flags), .next = htole16(c->next),
		};
		guest_offer(&g, CONTROL, c->head);
		guest_kick(&g, CONTROL);
		guest_wait(&g, CONTROL, 300);
		if (!(guest_get_status(&g) & VIRTIO_CONFIG_S_NEEDS_RESET)) {
			printf("%s: taken\n", c->what);
			failures++;
		}
		guest_close(&g);
	}
}

/* --- load ----------------------------------------------------------------- */

static struct guest loaded;
static int stop;

static void *kick_all(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (int i = 0; i < VIRTIO_VSTELLAR_NVQS; i++)
			guest_kick(&loaded, i);
	return NULL;
}

static void restart(struct guest *g)
{
	static const unsigned int sizes[] = { 64, 8, 256 };

	must(guest_status(g, 0), "reset");
	must(guest_status(g, STEPS), "status");
	must(guest_features(g, GUEST_FEATURES), "features");
	must(guest_status(g, STEPS | VIRTIO_CONFIG_S_FEATURES_OK), "status");
	for (int i = 0; i < VIRTIO_VSTELLAR_NVQS; i++) {
		must(guest_queue_setup(g, i, sizes[i]), "queue");
		must(guest_queue_enable(g, i, true), "queue");
	}
	must(guest_status(g, STEPS | VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK),
	     "status");
}

/* Reset while commands are on their way and everything is kicked all the time. */
static void test_reset(void)
{
	pthread_t thread;

	must(guest_start(&loaded, path, ram), "start");
	pthread_create(&thread, NULL, kick_all, NULL);
	for (int i = 0; i < 200 && !failures; i++) {
		expect(guest_hello(&loaded), VIRTIO_VSTELLAR_OK);
		/* one more, whose answer is not waited for */
		guest_offer(&loaded, CONTROL, 0);
		restart(&loaded);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	guest_close(&loaded);
}

/* The machine takes memory away while it is in use, and gives it back. */
static void test_unmap(void)
{
	pthread_t thread;

	must(guest_start(&loaded, path, ram), "start");
	pthread_create(&thread, NULL, kick_all, NULL);
	for (int i = 0; i < 200 && !failures; i++) {
		guest_offer(&loaded, CONTROL, 0);
		guest_kick(&loaded, CONTROL);
		expect(guest_unmap(&loaded, GUEST_IOVA, ram), 0);
		expect(pinned_kb(), 0);
		expect(guest_map(&loaded, GUEST_IOVA, ram, loaded.ram, VHOST_ACCESS_RW), 0);
		restart(&loaded);
		expect(guest_hello(&loaded), VIRTIO_VSTELLAR_OK);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	guest_close(&loaded);
}

/* A suspended device takes nothing, and misses nothing. */
static void test_suspend(void)
{
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	expect(guest_hello(&g), VIRTIO_VSTELLAR_OK);
	for (int i = 0; i < 20 && !failures; i++) {
		expect(ioctl(g.fd, VHOST_VDPA_SUSPEND), 0);
		/* the command of before once more */
		guest_offer(&g, CONTROL, 0);
		guest_kick(&g, CONTROL);
		expect(guest_wait(&g, CONTROL, 20), -ETIME);
		expect(ioctl(g.fd, VHOST_VDPA_RESUME), 0);
		expect(guest_wait(&g, CONTROL, 20000) > 0, 1);
	}
	guest_close(&g);
}

/* At work until somebody ends it. */
static void test_hold(void)
{
	struct guest g;

	must(guest_start(&g, path, ram), "start");
	expect(guest_hello(&g), VIRTIO_VSTELLAR_OK);
	puts("ready");
	fflush(stdout);
	pause();
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "config", test_config },
	{ "features", test_features },
	{ "queues", test_queues },
	{ "map", test_map },
	{ "nomap", test_nomap },
	{ "pinned", test_pinned },
	{ "quota", test_quota },
	{ "limit", test_limit },
	{ "hello", test_hello },
	{ "chains", test_chains },
	{ "reset", test_reset },
	{ "unmap", test_unmap },
	{ "suspend", test_suspend },
	{ "hold", test_hold },
};

int main(int argc, char **argv)
{
	if (argc != 3 && argc != 4) {
		fputs("usage: vguest TEST DEVICE [MIB]\n", stderr);
		return 2;
	}
	path = argv[2];
	if (argc == 4)
		ram = strtoul(argv[3], NULL, 0) << 20;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(tests[i].name, argv[1]) == 0) {
			tests[i].run();
			return failures != 0;
		}
	}
	fprintf(stderr, "vguest: there is no test '%s'\n", argv[1]);
	return 2;
}
