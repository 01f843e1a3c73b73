/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stream content that tells where it belongs: byte i of a stream depends on i
 * and on a seed, so that what is lost, doubled, moved or of another stream is
 * seen, and the message says which.
 */
#ifndef SELFTESTS_PATTERN_H
#define SELFTESTS_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline uint64_t pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + index;

	x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 29;
}

static inline void pattern_fill(uint8_t *data, size_t len, uint64_t seed, uint64_t position)
{
	while (len) {
		uint64_t word = pattern_word(seed, position / 8);
		size_t skip = position % 8, n = 8 - skip;

		if (n > len)
			n = len;
		memcpy(data, (uint8_t *)&word + skip, n);
		data += n;
		position += n;
		len -= n;
	}
}

/* Offset of the first wrong byte, or @len. */
static inline size_t pattern_check(const uint8_t *data, size_t len, uint64_t seed,
				   uint64_t position)
{
	size_t done = 0;

	while (done < len) {
		uint64_t word = pattern_word(seed, (position + done) / 8);
		size_t skip = (position + done) % 8, n = 8 - skip;

		if (n > len - done)
			n = len - done;
		if (memcmp(data + done, (uint8_t *)&word + skip, n)) {
			while (data[done] == ((uint8_t *)&word)[skip]) {
				done++;
				skip++;
			}
			return done;
		}
		done += n;
	}
	return len;
}

/* Says what is known about wrong content at @position of a stream. */
static inline void pattern_explain(const uint8_t *data, size_t len, uint64_t seed,
				   uint64_t position)
{
	uint64_t start = position > 1 << 22 ? position - (1 << 22) : 0;

	fprintf(stderr, "wrong content at byte %llu", (unsigned long long)position);
	if (len < 16) {
		fputc('\n', stderr);
		return;
	}
	for (uint64_t at = start; at < position + (1 << 22); at++) {
		if (pattern_check(data, 16, seed, at) == 16) {
			fprintf(stderr, ": byte %llu of the stream is there\n",
				(unsigned long long)at);
			return;
		}
	}
	fputs(": it is nothing of this stream nearby\n", stderr);
}

#endif /* SELFTESTS_PATTERN_H */
