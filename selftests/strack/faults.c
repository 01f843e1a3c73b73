// SPDX-License-Identifier: GPL-2.0
/* fail_nth, fail_rate: the kernel's fault injection; see faults.h. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>

#include "faults.h"

#define DEBUGFS		"/sys/kernel/debug"
#define FAIL_NTH	"/proc/self/fail-nth"
/* "times" counts down from here with each fault, whatever asked for it. */
#define TIMES		1000000000
#define MAX_WORKERS	512

const char *const fault_names[FAULT_KINDS] = { "none", "slab", "page", "copy", "move" };

static const char *const dirs[FAULT_KINDS] = {
	[FAULT_SLAB] = "failslab",
	[FAULT_PAGE] = "fail_page_alloc",
	[FAULT_COPY] = "fail_usercopy",
	[FAULT_MOVE] = "fail_skb_realloc",
};

static struct {
	char path[96], value[48];
} saved[64];

static unsigned int saved_count;
static pid_t owner;

static bool have[FAULT_KINDS];
/* Open all the time: when allocations fail at a rate, so does open(). */
static int probability_fd[FAULT_KINDS];
static long times_seen[FAULT_KINDS];
static int nth_fd = -1;
static int worker_fd[MAX_WORKERS];
static unsigned int workers;

static void setting_path(char *path, size_t size, enum fault_kind kind, const char *name)
{
	snprintf(path, size, DEBUGFS "/%s/%s", dirs[kind], name);
}

static void put_back(void)
{
	if (getpid() != owner)
		return;
	while (saved_count--)
		write_text(saved[saved_count].path, saved[saved_count].value);
}

static void save(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		ktap_bail("%s: %s", path, strerror(errno));
	for (unsigned int i = 0; i < saved_count; i++) {
		if (!strcmp(saved[i].path, path)) {
			close(fd);
			return;
		}
	}
	if (saved_count == ARRAY_SIZE(saved))
		ktap_bail("too many settings");
	n = read(fd, saved[saved_count].value, sizeof(saved[0].value) - 1);
	close(fd);
	if (n <= 0)
		ktap_bail("%s: cannot be read", path);
	snprintf(saved[saved_count++].path, sizeof(saved[0].path), "%s", path);
}

static void set(enum fault_kind kind, const char *name, const char *value)
{
	char path[96];

	if (!have[kind])
		return;
	setting_path(path, sizeof(path), kind, name);
	save(path);
	if (write_text(path, value))
		ktap_bail("%s=%s: %s", path, value, strerror(errno));
}

static void set_number(enum fault_kind kind, const char *name, unsigned long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%#lx", value);
	set(kind, name, text);
}

static void set_all(const char *name, unsigned long value)
{
	for (enum fault_kind kind = FAULT_SLAB; kind < FAULT_KINDS; kind++)
		set_number(kind, name, value);
}

/* Faults of that kind since the last time this was asked. */
static unsigned int news(enum fault_kind kind)
{
	long before = times_seen[kind];
	char path[96];

	if (!have[kind])
		return 0;
	setting_path(path, sizeof(path), kind, "times");
	times_seen[kind] = read_long(path, -1);
	if (times_seen[kind] < 0)
		ktap_bail("cannot count faults: %s", strerror(errno));
	return before - times_seen[kind];
}

static enum fault_kind kind_of_news(void)
{
	enum fault_kind found = FAULT_NONE;

	for (enum fault_kind kind = FAULT_SLAB; kind < FAULT_KINDS; kind++)
		if (news(kind))
			found = kind;
	return found;
}

void faults_init(void)
{
	char path[96];

	if (access(FAIL_NTH, W_OK))
		ktap_skip_all("this kernel has no fault injection (CONFIG_FAULT_INJECTION)");
	for (enum fault_kind kind = FAULT_SLAB; kind < FAULT_KINDS; kind++) {
		setting_path(path, sizeof(path), kind, "probability");
		probability_fd[kind] = open(path, O_WRONLY | O_CLOEXEC);
		have[kind] = probability_fd[kind] >= 0;
	}
	if (!have[FAULT_SLAB] || !have[FAULT_PAGE])
		ktap_skip_all("no failslab or no fail_page_alloc in " DEBUGFS);

	owner = getpid();
	atexit(put_back);
	set_all("probability", 0);
	set_all("times", TIMES);
	set_all("space", 0);
	set_all("verbose", 0);
	set_all("interval", 1);
	faults_marked_only(false);
	for (enum fault_kind kind = FAULT_SLAB; kind <= FAULT_PAGE; kind++)
		set(kind, "ignore-gfp-wait", "N");
	set(FAULT_PAGE, "ignore-gfp-highmem", "N");
	set(FAULT_PAGE, "min-order", "0");
	for (enum fault_kind kind = FAULT_SLAB; kind < FAULT_KINDS; kind++)
		times_seen[kind] = TIMES;
	nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	if (nth_fd < 0)
		ktap_bail(FAIL_NTH ": %s", strerror(errno));
}

/* --- who called ---------------------------------------------------------- */

/*
 * Where the kernel's function begins and the next one begins, as its own list
 * has it; false if there is no such function.
 */
static bool function_range(const char *name, unsigned long *start, unsigned long *end)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long at;
	char word[256];

	*start = 0;
	*end = ULONG_MAX;
	if (!file)
		return false;
	while (fscanf(file, "%lx %*c %255s%*[^\n]", &at, word) == 2)
		if (!strcmp(word, name))
			*start = at;
	rewind(file);
	while (*start && fscanf(file, "%lx %*c %255s%*[^\n]", &at, word) == 2)
		if (at > *start && at < *end)
			*end = at;
	fclose(file);
	return *start && *end != ULONG_MAX;
}

/* Where modules are: all lie within half a GiB, and the kernel itself elsewhere. */
static unsigned long modules_start(void)
{
	FILE *file = fopen("/proc/modules", "re");
	unsigned long at = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %*s %*s %*s %*s %lx", &at) != 1)
		at = 0;
	fclose(file);
	return at & ~((1UL << 29) - 1);
}

bool faults_know_callers(void)
{
	return !access(DEBUGFS "/failslab/require-start", W_OK) && modules_start();
}

void faults_in_modules(const char *spared)
{
	unsigned long start = modules_start(), from = 0, to = 0;

	if (!start)
		ktap_bail("cannot tell where modules are");
	if (spared && !function_range(spared, &from, &to))
		ktap_bail("cannot tell where %s() is", spared);
	set_all("require-start", start);
	set_all("require-end", start + (1UL << 29));
	set_all("reject-start", from);
	set_all("reject-end", to);
}

void faults_everywhere(void)
{
	if (access(DEBUGFS "/failslab/require-start", W_OK))
		return;
	set_all("require-start", 0);
	set_all("require-end", ULONG_MAX);
	set_all("reject-start", 0);
	set_all("reject-end", 0);
}

/* --- one fault ----------------------------------------------------------- */

void faults_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	if (write(nth_fd, text, len) != len)
		ktap_bail(FAIL_NTH ": %s", strerror(errno));
}

enum fault_kind faults_disarm(void)
{
	char left[16] = "";
	bool taken = pread(nth_fd, left, sizeof(left) - 1, 0) > 0 && atoi(left) == 0;
	enum fault_kind kind;

	/* What is left of n may be taken by this very read or write. */
	while (!taken && write(nth_fd, "0", 1) != 1)
		;
	kind = kind_of_news();
	return taken ? kind : FAULT_NONE;
}

static bool is_worker(const char *pid)
{
	char path[64], comm[32] = "";
	FILE *file;
	bool yes;

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	yes = fgets(comm, sizeof(comm), file) && !strncmp(comm, "kworker/", 8);
	fclose(file);
	return yes;
}

void faults_arm_workers(unsigned int n)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[64];

	if (!proc)
		ktap_bail("/proc: %s", strerror(errno));
	while ((entry = readdir(proc)) && workers < MAX_WORKERS) {
		if (!isdigit(entry->d_name[0]) || !is_worker(entry->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%.16s/fail-nth", entry->d_name);
		worker_fd[workers] = open(path, O_RDWR | O_CLOEXEC);
		if (worker_fd[workers] >= 0 && dprintf(worker_fd[workers], "%u", n) > 0)
			workers++;
	}
	closedir(proc);
	if (!workers)
		ktap_bail("found no workers");
}

enum fault_kind faults_disarm_workers(void)
{
	while (workers) {
		workers--;
		/* one that has left since needs nothing */
		if (write(worker_fd[workers], "0", 1) != 1 && errno != ESRCH)
			ktap_bail("fail-nth of a worker: %s", strerror(errno));
		close(worker_fd[workers]);
	}
	return kind_of_news();
}

/* --- a rate -------------------------------------------------------------- */

/*
 * Each so-many-th rather than some at random: two in a row are never hit, which
 * would fail the kernel's own fallbacks, and it says so in its log.
 */
void faults_rate(unsigned int slab, unsigned int page)
{
	kind_of_news();
	set_number(FAULT_SLAB, "interval", slab);
	set_number(FAULT_PAGE, "interval", page);
	for (enum fault_kind kind = FAULT_SLAB; kind <= FAULT_PAGE; kind++)
		if (write(probability_fd[kind], "100", 3) != 3)
			ktap_bail("probability: %s", strerror(errno));
}

unsigned int faults_rate_end(void)
{
	for (enum fault_kind kind = FAULT_SLAB; kind <= FAULT_PAGE; kind++)
		while (write(probability_fd[kind], "0", 1) != 1)
			;
	return news(FAULT_SLAB) + news(FAULT_PAGE);
}

void faults_mark_process(bool marked)
{
	if (write_text("/proc/self/make-it-fail", marked ? "1" : "0"))
		ktap_bail("make-it-fail: %s", strerror(errno));
}

void faults_marked_only(bool only)
{
	for (enum fault_kind kind = FAULT_SLAB; kind < FAULT_KINDS; kind++)
		set(kind, "task-filter", only ? "Y" : "N");
}
