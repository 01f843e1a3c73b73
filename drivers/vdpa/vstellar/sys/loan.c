// SPDX-License-Identifier: GPL-2.0
/*
 * Loans; see loan.h.
 *
 * A loan is what packets refer to beside the pages that have their bytes: a struct
 * ubuf_info, as io_uring has one. The pages have references of the packets, so that
 * blocks are unpinned, memory is unmapped and devices are removed without a look at
 * what is lent. When the last packet has let go, in whatever context, the device hears
 * of it if it is still there and at work, and has its entries completed by its work.
 *
 * References:
 *
 *	packets, and who makes it	-> loan
 *	device, loan			-> bank
 *	loan				-> module, whose code ends it
 *
 * A bank knows its device only from the time that a driver is at work with it until
 * the reset.
 */
#include <linux/module.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "loan.h"
#include "vdpa.h"

struct vstellar_bank {
	refcount_t ref;
	atomic64_t lent;
	u64 next; /* number of the next loan; by the device's work alone */
	/*
	 * Guards what follows. Taken by who ends a loan, in any context, with whatever
	 * locks packets are freed under, and by the device; innermost but for those of
	 * workqueues.
	 */
	spinlock_t lock;
	struct vstellar_vdpa *vs; /* to be told, or NULL */
	struct list_head back;	  /* loans that it was not told of yet */
};

struct vstellar_loan {
	struct ubuf_info ubuf;
	struct vstellar_bank *bank;
	struct list_head link; /* in vstellar_bank.back */
	u64 number;
	u64 bytes; /* zero until it is made, or if it never was */
	u32 endpoint;
	bool copied;
};

static void vstellar_bank_unref(struct vstellar_bank *bank)
{
	if (refcount_dec_and_test(&bank->ref))
		kfree(bank);
}

/* --- the end of a loan ---------------------------------------------------- */

static void vstellar_loan_free(struct vstellar_loan *loan)
{
	vstellar_bank_unref(loan->bank);
	kfree(loan);
	module_put(THIS_MODULE);
}

/* Any context. */
static void vstellar_loan_end(struct vstellar_loan *loan)
{
	struct vstellar_bank *bank = loan->bank;
	unsigned long flags;

	atomic64_sub(loan->bytes, &bank->lent);
	spin_lock_irqsave(&bank->lock, flags);
	if (bank->vs && loan->bytes) {
		/* it is whoever takes it from there who frees it */
		list_add_tail(&loan->link, &bank->back);
		loan = NULL;
		vstellar_c_work_queue(bank->vs);
	}
	spin_unlock_irqrestore(&bank->lock, flags);
	if (loan)
		vstellar_loan_free(loan);
}

/*
 * A packet lets go of a loan; with @success if it was not copied. Any context. The
 * grace period in which a module is freed waits for who has just put the last loan.
 */
static void vstellar_loan_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool success)
{
	struct vstellar_loan *loan = container_of(ubuf, struct vstellar_loan, ubuf);

	guard(rcu)();
	if (!success)
		WRITE_ONCE(loan->copied, true);
	if (refcount_dec_and_test(&ubuf->refcnt))
		vstellar_loan_end(loan);
}

static const struct ubuf_info_ops vstellar_loan_ops = {
	.complete = vstellar_loan_complete,
};

/* --- the device's side ---------------------------------------------------- */

struct vstellar_bank *vstellar_c_bank_new(void)
{
	struct vstellar_bank *bank = kzalloc_obj(*bank, GFP_KERNEL);

	if (!bank)
		return NULL;
	refcount_set(&bank->ref, 1);
	spin_lock_init(&bank->lock);
	INIT_LIST_HEAD(&bank->back);
	return bank;
}

void vstellar_c_bank_put(struct vstellar_bank *bank)
{
	vstellar_c_bank_close(bank);
	vstellar_bank_unref(bank);
}

void vstellar_c_bank_open(struct vstellar_bank *bank, struct vstellar_vdpa *vs)
{
	spin_lock_irq(&bank->lock);
	bank->vs = vs;
	spin_unlock_irq(&bank->lock);
}

void vstellar_c_bank_close(struct vstellar_bank *bank)
{
	struct vstellar_loan *loan, *next;
	LIST_HEAD(back);

	spin_lock_irq(&bank->lock);
	bank->vs = NULL;
	list_splice_init(&bank->back, &back);
	spin_unlock_irq(&bank->lock);
	list_for_each_entry_safe(loan, next, &back, link)
		vstellar_loan_free(loan);
}

u64 vstellar_c_bank_lent(const struct vstellar_bank *bank)
{
	return atomic64_read(&bank->lent);
}

struct vstellar_loan *vstellar_c_loan_new(struct vstellar_bank *bank, u32 endpoint)
{
	struct vstellar_loan *loan;

	/* there is always the other way, so that memory is not worth a search for it */
	loan = kzalloc_obj(*loan, GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
	if (!loan)
		return NULL;
	loan->ubuf.ops = &vstellar_loan_ops;
	/* bytes may change under who reads them, and a clone in a queue is no copy */
	loan->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&loan->ubuf.refcnt, 1);
	refcount_inc(&bank->ref);
	loan->bank = bank;
	loan->number = bank->next++;
	loan->endpoint = endpoint;
	/* a device is at work, which has one as well */
	__module_get(THIS_MODULE);
	return loan;
}

void vstellar_c_loan_cancel(struct vstellar_loan *loan)
{
	vstellar_loan_complete(NULL, &loan->ubuf, true);
}

struct ubuf_info *vstellar_loan_ubuf(struct vstellar_loan *loan)
{
	return &loan->ubuf;
}

static void vstellar_loan_tell(const struct vstellar_loan *loan,
			       struct vstellar_loan_state *state)
{
	*state = (struct vstellar_loan_state) {
		.number = loan->number,
		.bytes = loan->bytes,
		.endpoint = loan->endpoint,
		.copied = READ_ONCE(loan->copied),
	};
}

void vstellar_c_loan_make(struct vstellar_loan *loan, u64 bytes, struct vstellar_loan_state *state)
{
	/* the caller's reference is what keeps it, so that nobody else looks at this yet */
	loan->bytes = bytes;
	atomic64_add(bytes, &loan->bank->lent);
	vstellar_loan_tell(loan, state);
	if (!refcount_dec_and_test(&loan->ubuf.refcnt)) {
		state->out = true;
		return;
	}
	/* no packet is left: it was copied, or has gone far already */
	state->copied = READ_ONCE(loan->copied);
	atomic64_sub(bytes, &loan->bank->lent);
	vstellar_loan_free(loan);
}

bool vstellar_c_loan_take(struct vstellar_bank *bank, struct vstellar_loan_state *state)
{
	struct vstellar_loan *loan;

	spin_lock_irq(&bank->lock);
	loan = list_first_entry_or_null(&bank->back, struct vstellar_loan, link);
	if (loan)
		list_del(&loan->link);
	spin_unlock_irq(&bank->lock);
	if (!loan)
		return false;
	vstellar_loan_tell(loan, state);
	vstellar_loan_free(loan);
	return true;
}
