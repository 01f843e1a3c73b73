/* SPDX-License-Identifier: GPL-2.0 */
/* One line of numbers about a connection, the same names for both families. */
#ifndef SELFTESTS_INFO_H
#define SELFTESTS_INFO_H

#include <linux/tcp.h>

#include "strack.h"

#ifndef IPPROTO_TCP
#define IPPROTO_TCP 6
#endif

static inline int strack_info_get(int fd, struct strack_info *info)
{
	socklen_t len = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return getsockopt(fd, SOL_STRACK, STRACK_INFO, info, &len);
}

static inline void info_print_tcp(FILE *out, int fd)
{
	struct tcp_info t = { };
	socklen_t len = sizeof(t);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &len);
	fprintf(out, "state=%u mss=%u cwnd=%u srtt_us=%u rto_us=%u retransmits=%u sent=%llu acked=%llu",
		t.tcpi_state, t.tcpi_snd_mss, t.tcpi_snd_cwnd, t.tcpi_rtt, t.tcpi_rto,
		t.tcpi_total_retrans, (unsigned long long)t.tcpi_bytes_sent,
		(unsigned long long)t.tcpi_bytes_acked);
}

static inline void info_print_strack(FILE *out, int fd)
{
	struct strack_info i;

	if (strack_info_get(fd, &i)) {
		fprintf(out, "info=%s", strerrorname_np(errno));
		return;
	}
	fprintf(out, "state=%u mss=%u cwnd=%llu srtt_us=%llu rto_us=%llu retransmits=%llu sent=%llu",
		i.sti_state, i.sti_mss, i.sti_cwnd, i.sti_srtt_ns / 1000, i.sti_rto_ns / 1000,
		i.sti_retransmits, i.sti_bytes_sent);
	fprintf(out, " acked=%llu fast=%llu timeouts=%llu spurious=%llu duplicates=%llu ooo=%u",
		i.sti_bytes_acked, i.sti_fast_retransmits, i.sti_timeouts, i.sti_spurious,
		i.sti_duplicates, i.sti_ooo_high_water);
	fprintf(out, " paths=%u paths_bad=%u base_port=%u inflight=%llu credit=%u snd_window=%u",
		i.sti_paths, i.sti_paths_bad, i.sti_entropy_base, i.sti_inflight, i.sti_credit,
		i.sti_snd_window);
	fprintf(out, " packets_sent=%llu packets_received=%llu received=%llu retries=%u",
		i.sti_packets_sent, i.sti_packets_received, i.sti_bytes_received, i.sti_retries);
}

/* Without line end, so that the caller can add to it. */
static inline void info_print(FILE *out, int fd, bool tcp)
{
	if (tcp)
		info_print_tcp(out, fd);
	else
		info_print_strack(out, fd);
}

#endif /* SELFTESTS_INFO_H */
