/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Providers: who makes the sockets of a network namespace, if that is not the
 * engine of this module.
 *
 * The choice is made once, in socket(2), by the namespace of the caller. A provider
 * makes a socket that is its own from top to bottom: its struct proto, its struct
 * proto_ops, its state. So there is nothing between the socket layer and the engine
 * that the engine's sockets would have to pass, and the whole seam is this file and
 * one comparison with NULL. A table of operations below the family instead would
 * have had to cover poll(), wake-ups, memory and locking, which is most of what a
 * socket is, and providers have little of it in common.
 *
 * Sockets that the kernel makes for itself are always the engine's. A device that
 * provides sockets for one namespace may be carried by such sockets in the same.
 *
 * A socket belongs to its maker until it is closed. Sockets that were there before
 * a provider came, or that remain when it has gone, are not touched.
 */
#ifndef _STRACK_PROVIDER_H
#define _STRACK_PROVIDER_H

#include <linux/types.h>

struct net;
struct socket;
struct strack_provider;

/**
 * struct strack_provider_ops - what a provider does
 * @create: makes a stream socket, as &net_proto_family.create does, of address
 *	family @family. The module of its proto_ops is held as long as the socket
 *	has a file, that of its proto as long as there is a struct sock. Process
 *	context, with strack_provider_sem held for reading
 */
struct strack_provider_ops {
	int (*create)(struct strack_provider *provider, struct net *net, struct socket *sock,
		      int family);
};

/**
 * struct strack_provider - one provider, part of an object of its module's
 * @ops: what it does
 * @net: namespace that it is registered for, or NULL; it holds no reference, and
 *	loses its registration with the namespace. Guarded by strack_provider_sem
 */
struct strack_provider {
	const struct strack_provider_ops *ops;
	struct net *net;
};

/*
 * Process context all of them. The namespace that @provider had before it has no
 * longer; -EBUSY, and no change, if @net has another provider.
 */
int strack_provider_register(struct strack_provider *provider, struct net *net);
/* @next takes over the namespace that @provider has, if it has one. */
void strack_provider_replace(struct strack_provider *provider, struct strack_provider *next);
/* When it returns, create() is not running and will not be called. */
void strack_provider_unregister(struct strack_provider *provider);
/* Inode number of its namespace, zero without one. */
unsigned int strack_provider_netns(struct strack_provider *provider);

#endif /* _STRACK_PROVIDER_H */
