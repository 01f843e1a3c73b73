/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that a device has lent to the transport: packets refer to it until the last
 * of them is gone, whatever becomes of the device meanwhile.
 */
#ifndef _VSTELLAR_LOAN_H
#define _VSTELLAR_LOAN_H

#include <linux/types.h>

struct ubuf_info;
struct vstellar_vdpa;

/* What a device has lent. The functions are for its work, or who has stopped that. */
struct vstellar_bank;
/* Memory that was lent at once. */
struct vstellar_loan;

struct vstellar_bank *vstellar_c_bank_new(void);
/* the end of the device's interest in it; loans that are out keep it */
void vstellar_c_bank_put(struct vstellar_bank *bank);
/* from now on @vs is told of loans that come back */
void vstellar_c_bank_open(struct vstellar_bank *bank, struct vstellar_vdpa *vs);
/* it is not, and is not called any more when this returns; what came back is forgotten */
void vstellar_c_bank_close(struct vstellar_bank *bank);
/* bytes of loans that are out */
u64 vstellar_c_bank_lent(const struct vstellar_bank *bank);

/* A loan of an endpoint, or NULL. It is nobody's but the caller's. */
struct vstellar_loan *vstellar_c_loan_new(struct vstellar_bank *bank, u32 endpoint);
/* it was not made */
void vstellar_c_loan_cancel(struct vstellar_loan *loan);
/* what packets refer to */
struct ubuf_info *vstellar_loan_ubuf(struct vstellar_loan *loan);

/* What has become of a loan. */
struct vstellar_loan_state {
	u64 number;	/* of no other loan of the device */
	u64 bytes;
	u32 endpoint;
	bool out;	/* packets refer to it */
	bool copied;	/* the kernel has copied some of it, whether or not it is out */
};

/* @bytes were lent, not zero. If it is out it comes back later, otherwise it is gone. */
void vstellar_c_loan_make(struct vstellar_loan *loan, u64 bytes,
			  struct vstellar_loan_state *state);
/* Takes one that came back; false if there is none. */
bool vstellar_c_loan_take(struct vstellar_bank *bank, struct vstellar_loan_state *state);

#endif /* _VSTELLAR_LOAN_H */
