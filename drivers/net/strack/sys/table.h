/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connections of a network namespace, found by the id in every packet or,
 * for a repeated INIT, by the peer's address and id.
 *
 * Readers hold nothing but RCU. A node belongs to an object that the table
 * holds one reference to; removal gives that reference back after a grace
 * period, so what a reader finds is alive until it leaves its RCU section.
 */
#ifndef _STRACK_TABLE_H
#define _STRACK_TABLE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/siphash.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define STRACK_TABLE_BITS	12

/**
 * struct strack_node - what an object has in the table
 * @by_cid: chain of @cid
 * @by_peer: chain of @peer and @peer_cid
 * @rcu: gives the table's reference back
 * @owner: the object, as Rust's Arc::into_raw() returned it; NULL before it was in a table
 * @cid: our id
 * @peer_cid: the peer's id
 * @peer: the peer's address
 */
struct strack_node {
	struct hlist_node by_cid;
	struct hlist_node by_peer;
	struct rcu_head rcu;
	void *owner;
	u32 cid;
	u32 peer_cid;
	u8 peer[16];
};

/**
 * struct strack_table - chains by id and by peer
 * @lock: taken by writers only, process context and softirq, innermost
 * @key: of the hash of peers
 * @by_cid: chains
 * @by_peer: chains
 */
struct strack_table {
	spinlock_t lock;
	siphash_key_t key;
	struct hlist_head by_cid[1 << STRACK_TABLE_BITS];
	struct hlist_head by_peer[1 << STRACK_TABLE_BITS];
};

struct strack_table *strack_c_table_alloc(void);
void strack_c_table_free(struct strack_table *table);
bool strack_c_table_insert(struct strack_table *table, struct strack_node *node, void *owner);
bool strack_c_table_remove(struct strack_table *table, struct strack_node *node);
void *strack_c_table_find(struct strack_table *table, u32 cid);
void *strack_c_table_find_peer(struct strack_table *table, const u8 peer[16], u32 peer_cid);
void *strack_c_table_first(struct strack_table *table);

/* offered by Rust (sys/table.rs): drops the table's reference */
void strack_node_release(void *owner);

#endif /* _STRACK_TABLE_H */
