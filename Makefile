# SPDX-License-Identifier: GPL-2.0
#
# The front door. Each target is one script; `make help` lists them. Building
# happens in a Debian root of its own and outside this directory, booting in a
# guest: see selftests/vm/README.md.
#
# The kernel's own build starts from Kbuild, never from here.

MAKEFLAGS += --no-print-directory --no-builtin-rules
VM := selftests/vm

help:
	@echo 'STrack: a reliable multipath transport as a socket family'
	@echo
	@echo '  make demo         the transport in a fabric with four paths, one of which dies'
	@echo '  make test         everything that CI runs; ends with the number of passed and failed'
	@echo '  make test-debug   the tests of the modules on a kernel with KASAN, lockdep, kmemleak and'
	@echo '                    more; the first time it takes 10 to 40 minutes more, to build that'
	@echo '  make test-nested  a virtual machine in the guest, which has a virtual device; 2 minutes, more on a busy machine'
	@echo
	@echo '  make setup        build root, kernel and guest image (the others do this by themselves)'
	@echo '  make update       the same, and a newer kernel if Debian has one'
	@echo '  make modules      the kernel modules for the stock kernel, to out/modules'
	@echo '                    KDIR=TREE: with this kernel tree (built with Rust) and this system'
	@echo '  make userspace    the programs and libraries, to out/bin'
	@echo '  make install      all of it onto this machine (PREFIX, DESTDIR, INSTALL_MOD_STRIP)'
	@echo '  make shell        a shell in a guest that has all of it'
	@echo '  make shell-debug  the same, on the kernel of test-debug'
	@echo '  make lint         formatting, clippy, checkpatch, shellcheck'
	@echo '  make bench-veth   what a byte costs, beside TCP, over one virtual cable'
	@echo '  make bench-fabric what it makes of a fabric whose spines are slow, lossy, late or dead, beside'
	@echo '                    TCP, DCTCP and MPTCP; 20 minutes, ARGS=--quick: less of it, 3 minutes'
	@echo '  make bench-vstellar  what a virtual device costs, beside none, and beside pinning all memory; half an hour'
	@echo '  make -C selftests run_tests    the tests on this machine, with the modules loaded'
	@echo '  make clean        what was built from this checkout'
	@echo '  make distclean    that and the cache ($${STRACK_CACHE:-/var/cache/strack})'
	@echo
	@echo 'Needed: Debian 12 or newer, or Ubuntu 24.04 or newer, on x86-64; root or sudo; 8 GiB of disk.'
	@echo 'ARGS="..." passes arguments to the script behind demo, the benches, shell, lint, test-debug and test-nested.'

setup:
	@$(VM)/setup

update:
	@$(VM)/setup --update

test:
	@$(VM)/test

test-debug:
	@$(VM)/test-debug $(ARGS)

test-nested:
	@$(VM)/test-nested $(ARGS)

lint:
	@$(VM)/lint $(ARGS)

ifdef KDIR
ifneq ($(words $(CURDIR) $(KDIR)),2)
$(error the kernel's build cannot do with a space in $(CURDIR) or in KDIR=$(KDIR))
endif
modules:
	@[ -e $(KDIR)/rust/libkernel.rmeta ] || { \
		echo "error: $(KDIR) has no compiled Rust crates (rust/libkernel.rmeta):" \
			"distributions' headers lack them, give the tree that this kernel was built in" >&2; exit 1; }
	@mkdir -p out/kbuild
	+@$(MAKE) -C $(KDIR) M=$(CURDIR) MO=$(CURDIR)/out/kbuild modules
	@mkdir -p out/modules
	@find out/kbuild -name '*.ko' -exec cp -t out/modules {} +
else
modules:
	@$(VM)/build modules
	@ls out/modules/*.ko
endif

userspace:
	@$(VM)/build userspace
	@ls out/bin

install:
	@$(VM)/install

shell:
	@$(VM)/run -i $(ARGS)

shell-debug:
	@$(VM)/run -k debug -i $(ARGS)

demo:
	@selftests/fabric/measure demo $(ARGS)

bench-veth:
	@selftests/fabric/measure bench-veth $(ARGS)

bench-fabric:
	@selftests/fabric/measure bench-fabric $(ARGS)

bench-vstellar:
	@selftests/fabric/measure bench-vstellar $(ARGS)

clean:
	@$(VM)/clean

distclean:
	@$(VM)/clean --cache

.PHONY: help setup update test test-debug test-nested lint modules userspace install shell shell-debug demo bench-veth bench-fabric bench-vstellar clean distclean
