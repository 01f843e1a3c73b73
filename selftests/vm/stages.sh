# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# stages.sh - what test and test-debug are made of: stages, one after the other, each
# with its log and its tally ("PASSED FAILED SKIPPED"), and the closing line. Sourced
# after lib.sh; $logs is the directory of the logs.

# begin_logs DIRECTORY
begin_logs() {
	logs=$1
	rm -rf "$logs"
	mkdir -p "$logs"
	aside=()
}

# count NAME PASSED FAILED SKIPPED
count() {
	echo "$2 $3 $4" >"$logs/$1.tally"
}

skip() {
	echo "ok $1 # SKIP $2"
	count "$1" 0 0 1
}

# stage NAME COMMAND...: with a headline, its time, and a log
stage() {
	local name=$1 start=$SECONDS
	shift
	printf '\n# %s\n' "$name"
	"$@" 2>&1 | tee "$logs/$name.log" || :
	# a stage that did not get as far as to count has failed
	if [ ! -s "$logs/$name.tally" ]; then
		echo "not ok $name: ended without a result"
		count "$name" 0 1 0
	fi
	local passed failed skipped
	read -r passed failed skipped <"$logs/$name.tally"
	echo "# $name: $passed passed, $failed failed, $skipped skipped in $((SECONDS - start)) s"
}

# stage_aside NAME COMMAND...: the same, beside the stages that follow; what it says is
# kept until await_stages
stage_aside() {
	stage "$@" >"$logs/$1.aside" 2>&1 &
	aside+=("$1:$!")
}

# await_stages: waits for the stages that run aside, and lets them speak
await_stages() {
	local one
	for one in "${aside[@]}"; do
		wait "${one#*:}" || :
		cat "$logs/${one%:*}.aside"
	done
	aside=()
}

# lint NAME CHECK...: these checks, or all of the usual ones
lint() {
	local name=$1
	shift
	# shellcheck disable=SC2154 # of lib.sh
	LINT_TALLY=$logs/$name.tally "$vm/lint" "$@"
}

# runner NAME OPTION...: the runner's self-test
runner() {
	local name=$1
	shift
	# shellcheck disable=SC2154 # of lib.sh
	"$vm/selftest" "$@" | tee "$logs/$name.out" || :
	awk '/^1\.\./ { plan = substr($0, 4) } /^ok / { ok++ } /^not ok / { bad++ }
		END {
			if (ok + bad != plan || !plan)
				bad++
			print ok + 0, bad + 0, 0
		}' "$logs/$name.out" >"$logs/$name.tally"
}

# kselftests NAME MODE OPTION...: in a guest
kselftests() {
	local name=$1 mode=$2
	shift 2
	"$vm/run" -m "$mode" -o "$logs/$name" "$@" | tee "$logs/$name.first" || :
	cp "$logs/$name/tally" "$logs/$name.tally"
}

# failures VERDICT: the script of each failure, a line for each; none for what is no
# script of ours (a guest that does not boot, the module that does not unload)
failures() {
	sed -n 's/^not ok \([a-z_0-9.-]*\.sh\): .*/\1/p' "$1" | while read -r script; do
		find selftests/strack selftests/vstellar selftests/fabric -name "$script"
	done
}

# kselftests_twice NAME MODE OPTION...
#
# In real time an emulated guest is at the mercy of its host: a CPU that is taken
# away for tens of milliseconds breaks what a test is sure of. A script that failed
# is therefore run once more, in a guest of its own, and what it says then counts;
# that it took a second try is said. What the kernel logged is never forgiven.
kselftests_twice() {
	local name=$1 mode=$2 scripts=() options=() passed failed skipped retried again
	kselftests "$@"
	read -r passed failed skipped <"$logs/$name.tally"
	failures "$logs/$name.first" >"$logs/$name.retried"
	mapfile -t scripts < <(sort -u "$logs/$name.retried")
	retried=$(wc -l <"$logs/$name.retried")
	if [ "$failed" -eq 0 ] || [ ${#scripts[@]} -eq 0 ] ||
		grep -qE 'the kernel logged|Kernel panic|Oops' "$logs/$name.first"; then
		return
	fi
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -T ]; do
		options+=("$1")
		shift
	done
	echo "# once more: ${scripts[*]}"
	"$vm/run" -b -m "$mode" -o "$logs/$name-again" "${options[@]}" -T "${scripts[@]}" || :
	read -r _ again _ <"$logs/$name-again/tally"
	[ "$again" -le "$retried" ] || again=$retried
	echo "# $((retried - again)) of $failed failures passed on the second try"
	count "$name" $((passed + retried - again)) $((failed - retried + again)) "$skipped"
}

# conclude [NOTE]: what failed, a note, and the closing line; its exit code says whether
# all passed
conclude() {
	local passed failed skipped
	read -r passed failed skipped < <(cat "$logs"/*.tally |
		awk '{ p += $1; f += $2; s += $3 } END { if (!p) f++; print p + 0, f + 0, s + 0 }')
	printf '\n'
	if [ "$failed" -ne 0 ]; then
		echo "# what failed:"
		grep -ahE '^not ok ' "$logs"/*.log | grep -avE '^not ok [0-9]+' | sort -u | head -n 100 || :
		sed -n 's/^test \(.*\) \.\.\. FAILED$/not ok cargo: \1/p' "$logs/cargo.log" 2>/dev/null || :
		echo "# logs: $logs"
	fi
	[ -z "${1:-}" ] || echo "# $1"
	give_back "$OUT"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
