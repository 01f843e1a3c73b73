/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The C headers of which bindings are made for Rust. Which of their items are
 * wanted stands in bindings_parameters.
 */

#include "../../../../include/uapi/linux/virtio_vstellar.h"

#include "queues.h"
