#!/bin/sh
# Runs the tests of the core, and threads that share models, under a sanitizer: tools/sanitize.sh PYTHON address|thread [COUNT]
# Builds the core with clang (or SANITIZE_CXX) into build/sanitize. PYTHON is that of an environment with sureline and its
# tests' requirements. COUNT kinds of models take part in the stress; all if it is left out.
set -eu
cd "$(dirname "$0")/.."
test $# -ge 2 || { echo "usage: tools/sanitize.sh PYTHON address|thread [COUNT]" >&2; exit 2; }
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") sanitizer=$2 count=${3:-34}
case $sanitizer in address) short=asan ;; thread) short=tsan ;; *) echo "The sanitizer is address or thread, not $sanitizer." >&2; exit 2 ;; esac

compiler=${SANITIZE_CXX:-$(command -v clang++ || command -v clang++-19 || command -v clang++-16 || command -v clang++-14 || echo g++)}
command -v "$compiler" >/dev/null ||
  { echo "The sanitizers need clang++ or g++ (Debian, Ubuntu: apt install clang), or SANITIZE_CXX=/path/to/it." >&2; exit 1; }
# The runtime has to be there before Python is: the interpreter itself is not built with it. Those of clang and GCC have
# one interface, and not each runs on each kernel: clang 14's of threads ends at once on Linux 6.
# Both put their own memory at fixed addresses, which some kernels give away at random.
fixed=$(setarch -R true 2>/dev/null && echo "setarch -R" || true)
runtime=
for candidate in "$("$compiler" -print-file-name="libclang_rt.$short-$(uname -m).so")" \
  "$("$compiler" -print-file-name="lib$short.so")" "$(g++ -print-file-name="lib$short.so" 2>/dev/null || true)"; do
  # shellcheck disable=SC2086
  if [ -z "$runtime" ] && [ -f "$candidate" ] && $fixed env LD_PRELOAD="$candidate" "$python" -c '' >/dev/null 2>&1; then
    runtime=$candidate
  fi
done
test -n "$runtime" || {
  echo "There is no shared runtime of the $sanitizer sanitizer that runs here (Debian, Ubuntu: apt install libclang-rt-14-dev for" \
    "clang 14, or g++; Fedora: dnf install compiler-rt lib$short)." >&2
  exit 1
}
"$python" -c 'import cmake, ninja, nanobind' 2>/dev/null ||
  { echo "The sanitizers need more: $python -m pip install cmake ninja 'nanobind>=3.1,<4'" >&2; exit 1; }

build=build/sanitize/$sanitizer
mkdir -p "$build"
tools=$(dirname "$python")
PATH=$tools:$PATH "$tools/cmake" -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=$sanitizer" -DPython_EXECUTABLE="$python" \
  -DSURELINE_OPTIMIZATION=-O1 -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" \
  -DSKBUILD_SABI_COMPONENT=Development.SABIModule -DSKBUILD_SABI_VERSION=3.11 >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
PATH=$tools:$PATH "$tools/cmake" --build "$build" --target _core >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
rm -rf "$build/site"
mkdir -p "$build/site"
cp -R src/sureline "$build/site/"
cp "$build"/_core.*so "$build/site/sureline/"
# Not the installed sureline: this one comes first, also before one that is installed to be edited.
cat >"$build/site/sitecustomize.py" <<'END'
import sys

sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "ScikitBuildRedirectingFinder"]
END

export PYTHONPATH="$build/site:tests:tests/learners" OPENBLAS_NUM_THREADS=1
export ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1" # Python keeps what it needs to the end
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan_suppressions.txt:history_size=4:exitcode=66"
run() {
  # shellcheck disable=SC2086
  $fixed env LD_PRELOAD="$runtime" "$python" "$@" || { echo "The $sanitizer sanitizer: $* failed." >&2; exit 1; }
}
run -c 'import sureline._core as core; print(core.__file__)' | grep -q "$build" || { echo "Another sureline was found." >&2; exit 1; }
# Not the test that forks while threads run: the runtime itself may then wait for ever in the new process.
run -m pytest -q -p no:cacheprovider -p no:xdist tests/test_border.py tests/learners/test_one.py tests/learners/test_budget.py \
  tests/learners/test_groups.py tests/models/test_touched.py \
  --deselect tests/models/test_touched.py::test_a_forked_child_has_pages_of_its_own
run tests/thread_stress.py answers 0 "$count"
run tests/thread_stress.py teachers 0 "$count"
# A caller who changes arrays while they are read has a race of his own. The thread sanitizer would name it, rightly.
test "$sanitizer" = thread || run tests/thread_stress.py arrays 0 "$count"
echo "The $sanitizer sanitizer found nothing."
