/* SPDX-License-Identifier: GPL-2.0 */
/* socket_matrix: shared by the runner and the helpers, not by the cases. */
#ifndef SELFTESTS_STRACK_SM_RUN_H
#define SELFTESTS_STRACK_SM_RUN_H

#define SM_LOCAL_V4	"198.18.0.1"
#define SM_LOCAL_V6	"2001:db8:1::1"
#define SM_BLACKHOLE_V4	"198.51.100.1"
#define SM_BLACKHOLE_V6	"2001:db8:ffff::1"

/* Failed checks of the case that runs in this process. */
extern int sm_failures;

#endif /* SELFTESTS_STRACK_SM_RUN_H */
