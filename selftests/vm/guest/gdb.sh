#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# gdb.sh - where the modules lie in memory, as commands for a gdb outside
#
# A module's sections are placed when it is loaded, so this is to be asked again after
# each time.

for file in $STRACK_SYMBOLS; do
	sections=/sys/module/$(basename "$file" .ko)/sections
	[ -d "$sections" ] || continue
	printf 'add-symbol-file %s' "$file"
	for section in .text .rodata .data .bss; do
		[ ! -e "$sections/$section" ] || printf ' -s %s %s' $section "$(cat "$sections/$section")"
	done
	echo
done
