#!/bin/sh
# Feeds the reader of model files with made-up files: fuzz/run_model.sh PYTHON RUNS [SEED]
# Builds the core with clang's address and undefined behaviour checkers, and lets atheris (pip install atheris) think of
# the files, see fuzz/model_fuzz.py. PYTHON is that of an environment with sureline in it.
set -eu
cd "$(dirname "$0")/.."
test $# -ge 2 || { echo "usage: fuzz/run_model.sh PYTHON RUNS [SEED]" >&2; exit 2; }
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") runs=$2 seed=${3:-1}
compiler=${FUZZ_CXX:-clang++}
command -v "$compiler" >/dev/null || { echo "Fuzzing needs clang++ (Debian, Ubuntu: apt install clang), or FUZZ_CXX=/path/to/it." >&2; exit 1; }
packages=$("$python" -c 'import atheris, cmake, ninja, nanobind; print(atheris.path())') ||
  { echo "Fuzzing the reader of models needs more: $python -m pip install atheris cmake ninja nanobind" >&2; exit 1; }

build=build/fuzz/model
mkdir -p "$build"
# Not the checks of the types of objects and functions, which the library of atheris has no code for.
cmake=$(dirname "$python")/cmake
PATH=$(dirname "$python"):$PATH "$cmake" -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="-g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr,function -fno-sanitize-recover=all" \
  -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" \
  -DSKBUILD_SABI_COMPONENT=Development.SABIModule -DSKBUILD_SABI_VERSION=3.11 >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
PATH=$(dirname "$python"):$PATH "$cmake" --build "$build" --target _core >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
rm -rf "$build/site"
mkdir -p "$build/site"
cp -R src/sureline "$build/site/"
cp "$build"/_core.*so "$build/site/sureline/"

# -S: not the installed sureline, which a .pth file may lead to.
export PYTHONPATH="$build/site:$packages" LD_PRELOAD="$packages/asan_with_fuzzer.so"
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
exec "$python" -S fuzz/model_fuzz.py -atheris_runs="$runs" -seed="$seed" -detect_leaks=0 -rss_limit_mb=4096 \
  -verbosity=0 -print_final_stats=1 -artifact_prefix="$build-"
