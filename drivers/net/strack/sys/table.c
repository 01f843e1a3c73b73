// SPDX-License-Identifier: GPL-2.0
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "table.h"

struct strack_table *strack_c_table_alloc(void)
{
	struct strack_table *table = kvzalloc_obj(*table, GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	spin_lock_init(&table->lock);
	get_random_bytes(&table->key, sizeof(table->key));
	return table;
}

void strack_c_table_free(struct strack_table *table)
{
	kvfree(table);
}

/* Ids are random: their low bits are as good as a hash. */
static struct hlist_head *cid_chain(struct strack_table *table, u32 cid)
{
	return &table->by_cid[cid & ((1 << STRACK_TABLE_BITS) - 1)];
}

/* The peer chooses address and id, so only a keyed hash keeps chains short. */
static struct hlist_head *peer_chain(struct strack_table *table, const u8 peer[16], u32 peer_cid)
{
	u64 words[3] = { 0, 0, peer_cid };

	memcpy(words, peer, 16);
	return &table->by_peer[siphash(words, sizeof(words), &table->key) &
			       ((1 << STRACK_TABLE_BITS) - 1)];
}

/*
 * True: the table now owns a reference to @owner. False when the id is taken,
 * choose another; or when the node was in a table before, which happens once.
 */
bool strack_c_table_insert(struct strack_table *table, struct strack_node *node, void *owner)
{
	struct hlist_head *chain = cid_chain(table, node->cid);
	struct strack_node *other;

	spin_lock_bh(&table->lock);
	if (node->owner)
		goto refuse;
	hlist_for_each_entry(other, chain, by_cid) {
		if (other->cid == node->cid)
			goto refuse;
	}
	node->owner = owner;
	hlist_add_head_rcu(&node->by_cid, chain);
	if (node->peer_cid)
		hlist_add_head_rcu(&node->by_peer, peer_chain(table, node->peer, node->peer_cid));
	spin_unlock_bh(&table->lock);
	return true;

refuse:
	spin_unlock_bh(&table->lock);
	return false;
}

static void node_free(struct rcu_head *rcu)
{
	strack_node_release(container_of(rcu, struct strack_node, rcu)->owner);
}

/* True for the one caller that took it out. */
bool strack_c_table_remove(struct strack_table *table, struct strack_node *node)
{
	bool linked;

	spin_lock_bh(&table->lock);
	linked = !hlist_unhashed(&node->by_cid);
	if (linked) {
		hlist_del_init_rcu(&node->by_cid);
		if (!hlist_unhashed(&node->by_peer))
			hlist_del_init_rcu(&node->by_peer);
	}
	spin_unlock_bh(&table->lock);
	if (linked)
		call_rcu(&node->rcu, node_free);
	return linked;
}

/* The caller is in an RCU read-side section. */
void *strack_c_table_find(struct strack_table *table, u32 cid)
{
	struct strack_node *node;

	hlist_for_each_entry_rcu(node, cid_chain(table, cid), by_cid) {
		if (node->cid == cid)
			return node->owner;
	}
	return NULL;
}

/* The caller is in an RCU read-side section. */
void *strack_c_table_find_peer(struct strack_table *table, const u8 peer[16], u32 peer_cid)
{
	struct strack_node *node;

	hlist_for_each_entry_rcu(node, peer_chain(table, peer, peer_cid), by_peer) {
		if (node->peer_cid == peer_cid && !memcmp(node->peer, peer, 16))
			return node->owner;
	}
	return NULL;
}

/* Any one of those left, for clearing out. The caller is in an RCU section. */
void *strack_c_table_first(struct strack_table *table)
{
	struct strack_node *node;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table->by_cid); i++) {
		hlist_for_each_entry_rcu(node, &table->by_cid[i], by_cid)
			return node->owner;
	}
	return NULL;
}
