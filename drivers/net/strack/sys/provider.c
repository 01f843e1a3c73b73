// SPDX-License-Identifier: GPL-2.0
/*
 * Providers of network namespaces; see provider.h.
 */
#include <linux/export.h>
#include <linux/rwsem.h>
#include <net/net_namespace.h>

#include "family.h"
#include "provider.h"

/*
 * Guards strack_net.provider and strack_provider.net. Taken for writing by those
 * who register, for reading by socket(2) where there is a provider; in process
 * context, outside of all locks of sockets, and outside of what a provider's
 * create() takes.
 */
static DECLARE_RWSEM(strack_provider_sem);

/*
 * Makes @sock if the namespace has a provider. -ENOENT if it has none: who asks has
 * looked without the lock, and it may be gone.
 */
int strack_provider_create(struct strack_net *sn, struct socket *sock, int family)
{
	struct strack_provider *provider;
	int err = -ENOENT;

	down_read(&strack_provider_sem);
	provider = sn->provider;
	if (provider)
		err = provider->ops->create(provider, sn->net, sock, family);
	up_read(&strack_provider_sem);
	return err;
}

static void strack_provider_part(struct strack_net *sn)
{
	struct strack_provider *provider = sn->provider;

	WRITE_ONCE(sn->provider, NULL);
	if (provider)
		provider->net = NULL;
}

/* The namespace ends. */
void strack_provider_net_exit(struct strack_net *sn)
{
	down_write(&strack_provider_sem);
	strack_provider_part(sn);
	up_write(&strack_provider_sem);
}

int strack_provider_register(struct strack_provider *provider, struct net *net)
{
	struct strack_net *sn = strack_net_of(net);
	int err = 0;

	down_write(&strack_provider_sem);
	if (sn->provider && sn->provider != provider) {
		err = -EBUSY;
	} else if (!sn->provider) {
		if (provider->net)
			strack_provider_part(strack_net_of(provider->net));
		provider->net = net;
		WRITE_ONCE(sn->provider, provider);
	}
	up_write(&strack_provider_sem);
	return err;
}
EXPORT_SYMBOL_GPL(strack_provider_register);

void strack_provider_replace(struct strack_provider *provider, struct strack_provider *next)
{
	down_write(&strack_provider_sem);
	next->net = provider->net;
	provider->net = NULL;
	if (next->net)
		WRITE_ONCE(strack_net_of(next->net)->provider, next);
	up_write(&strack_provider_sem);
}
EXPORT_SYMBOL_GPL(strack_provider_replace);

void strack_provider_unregister(struct strack_provider *provider)
{
	down_write(&strack_provider_sem);
	if (provider->net)
		strack_provider_part(strack_net_of(provider->net));
	up_write(&strack_provider_sem);
}
EXPORT_SYMBOL_GPL(strack_provider_unregister);

unsigned int strack_provider_netns(struct strack_provider *provider)
{
	unsigned int inode;

	down_read(&strack_provider_sem);
	inode = provider->net ? provider->net->ns.inum : 0;
	up_read(&strack_provider_sem);
	return inode;
}
EXPORT_SYMBOL_GPL(strack_provider_netns);
