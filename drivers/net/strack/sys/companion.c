// SPDX-License-Identifier: GPL-2.0
/*
 * The C half of strack: functions that exist only inline or as macros. Nothing
 * here decides anything.
 */

#include <linux/siphash.h>

#include "companion.h"

u64 strack_c_keyed_hash(u64 key0, u64 key1, const void *data, size_t len)
{
	const siphash_key_t key = { .key = { key0, key1 } };

	return siphash(data, len, &key);
}
