# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# machine.sh - the inner guest's machine: image boots it, and nested.sh goes on with it
#
# IMAGE is the directory that image makes.

MEMORY=256 # MiB

qemu() {
	LD_LIBRARY_PATH=$IMAGE/qemu/lib exec "$IMAGE/qemu/qemu-system-x86_64" -L "$IMAGE/qemu/share" "$@"
}

# start_machine DIRECTORY ARGUMENT...: QEMU as it is distributed, process PID. What is
# written to file descriptor 4 is run by the shell in there, which answers at 6; its end
# is QEMU's. Descriptor 5 leads to the monitor, which answers in DIRECTORY/monitor.out.
#
# While the guest is busy its clock counts instructions, 64 ns each: emulated twice, it
# would do nothing else but serve its timer. The processor is an old one, for which the
# kernel has less to do.
start_machine() {
	local dir="$1"
	shift
	mkfifo "$dir/shell.in" "$dir/shell.out" "$dir/monitor.in"
	touch "$dir/monitor.out"
	qemu -M q35,memory-backend=memory -accel tcg -icount shift=6 -cpu qemu64 -smp 1 \
		-m "$MEMORY" -object "memory-backend-memfd,id=memory,size=${MEMORY}M,share=on" \
		-nodefaults -no-user-config -display none -nic none -no-reboot -serial "file:$dir/console.log" \
		-monitor "pipe:$dir/monitor" \
		-chardev stdio,id=shell,signal=off \
		-device virtio-serial-pci -device virtserialport,chardev=shell,nr=1 \
		-device pcie-root-port,id=root,chassis=1,slot=1 \
		"$@" <"$dir/shell.in" >"$dir/shell.out" 2>"$dir/qemu.log" &
	# shellcheck disable=SC2034 # for who sources this
	PID=$!
	# 4 for reading, too, so that writing to it once QEMU has ended is no error
	exec 4<>"$dir/shell.in" 6<"$dir/shell.out" 5<>"$dir/monitor.in"
}
