/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the traffic programs have in common besides the fabric and the transports:
 * numbers of the command line, what is sent, how busy the CPU was.
 */
#ifndef SELFTESTS_PROGRAM_H
#define SELFTESTS_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* A number from the command line; leaves with status 2 if it is none in this range. */
unsigned long number(const char *text, unsigned long least, unsigned long most);

/* Memory that this process and its children share, present from the beginning. */
void *shared(size_t size);

/* A pattern that does not repeat itself. */
void fill_pattern(char *bytes, size_t size);

/* Milliseconds that the CPUs have idled since boot. */
uint64_t idle_ms(void);

#endif /* SELFTESTS_PROGRAM_H */
