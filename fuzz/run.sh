#!/bin/sh
# Feeds a parser with made-up input: fuzz/run.sh TARGET RUNS [SEED]
# Builds fuzz/TARGET_fuzz.cpp with clang's libFuzzer and its address and undefined behaviour checkers. The first inputs
# are the lines of fuzz/seeds/TARGET.txt, in which \n, \t, \r and \0NNN (octal) stand for those characters.
set -eu
cd "$(dirname "$0")/.."
test $# -ge 2 || { echo "usage: fuzz/run.sh TARGET RUNS [SEED]" >&2; exit 2; }
target=$1 runs=$2 seed=${3:-1}
test -f "fuzz/${target}_fuzz.cpp" || { echo "There is no fuzz/${target}_fuzz.cpp." >&2; exit 2; }
compiler=${FUZZ_CXX:-clang++}
command -v "$compiler" >/dev/null || { echo "Fuzzing needs clang++ (Debian, Ubuntu: apt install clang), or FUZZ_CXX=/path/to/it." >&2; exit 1; }

build=build/fuzz
corpus=$build/$target.corpus
rm -rf "$corpus"
mkdir -p "$corpus"
"$compiler" -std=c++20 -g -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  -Isrc/core "fuzz/${target}_fuzz.cpp" src/core/text/*.cpp -o "$build/$target"
if [ -f "fuzz/seeds/$target.txt" ]; then
  n=0
  while IFS= read -r line; do
    n=$((n + 1))
    printf '%b' "$line" >"$corpus/$n"
  done <"fuzz/seeds/$target.txt"
fi
# At fixed addresses a run can be repeated, and clang 14's sanitizers do not stumble over where things lie.
fixed=$(setarch -R true 2>/dev/null && echo "setarch -R" || true)
# Not by exec: the peak of memory would be that of whoever called this.
$fixed "$build/$target" -runs="$runs" -seed="$seed" -max_len=2048 -timeout=2 -rss_limit_mb=2048 -print_final_stats=1 \
  -verbosity=0 -artifact_prefix="$build/$target-" "$corpus"
