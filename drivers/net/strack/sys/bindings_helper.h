/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C headers of which bindings are made for Rust. Which of their items are
 * wanted stands in bindings_parameters.
 */

#include <linux/errqueue.h>
#include <linux/hrtimer.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/sysctl.h>
#include <linux/udp.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/net_namespace.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#include "../../../../include/uapi/linux/strack.h"

#include "companion.h"
#include "family.h"
#include "table.h"
#include "udp.h"

#ifdef CONFIG_STRACK_KUNIT_TEST
#include "tests/helpers.h"
#endif
