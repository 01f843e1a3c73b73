/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C headers of which bindings are made for Rust. Which of their items are
 * wanted stands in bindings_parameters.
 */

#include <linux/errno.h>
#include <linux/poll.h>
#include <linux/socket.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

#include "../../../../include/uapi/linux/strack.h"
#include "../../../../include/uapi/linux/virtio_vstellar.h"
#include "../../../../include/uapi/linux/vstellar.h"

#include "area.h"
#include "loan.h"
#include "netlink.h"
#include "socket.h"
#include "vdpa.h"
