# SPDX-License-Identifier: GPL-2.0
#
# How the programs of a directory of tests are built: statically, because a guest
# has only what its image was given, and into OUTPUT. Included by a Makefile that
# has set PROGS, and NAME-y to the sources of each.
OUTPUT ?= .
CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -MMD
override CFLAGS += -I../../include/uapi
override LDFLAGS += -static
override LDLIBS += -pthread

all: $(addprefix $(OUTPUT)/,$(PROGS))

$(OUTPUT)/%.o: %.c | $(OUTPUT)
	$(CC) $(CFLAGS) -c -o $@ $<

define program
$(OUTPUT)/$(1): $(addprefix $(OUTPUT)/,$(addsuffix .o,$($(1)-y)))
	$$(CC) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS)
endef
$(foreach p,$(PROGS),$(eval $(call program,$(p))))

$(OUTPUT):
	mkdir -p $@

clean:
	rm -f $(addprefix $(OUTPUT)/,$(PROGS)) $(OUTPUT)/*.o $(OUTPUT)/*.d

-include $(wildcard $(OUTPUT)/*.d)

.PHONY: all clean
.SECONDARY:
