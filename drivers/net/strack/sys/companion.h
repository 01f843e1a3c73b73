/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STRACK_COMPANION_H
#define _STRACK_COMPANION_H

#include <linux/types.h>
#include <net/sock.h>

u64 strack_c_keyed_hash(u64 key0, u64 key1, const void *data, size_t len);

#endif /* _STRACK_COMPANION_H */
