#!/bin/sh
# Builds the native engine with AddressSanitizer and UBSan and runs its tests on it: every vector
# at every split, mutated payloads and streams, odd events, the three wires.
#
#     tools/sanitize.sh [python] [pytest arguments]
#
# Needs gcc with libasan, and Cython, setuptools and the test dependencies in `python`. The built
# tree is a copy, so the checkout keeps its own build.
set -eu

python=${1:-python}
[ $# -gt 0 ] && shift
here=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cp -R "$here/agui_wire" "$here/tests" "$here/setup.py" "$here/pyproject.toml" "$here/README.md" \
    "$here/LICENSE" "$copy/"
rm -f "$copy"/agui_wire/codecs/native/engine.c "$copy"/agui_wire/codecs/native/engine*.so
cd "$copy"

AGUI_WIRE_REQUIRE_NATIVE=1 \
AGUI_WIRE_CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
    "$python" setup.py -q build_ext --inplace

# The interpreter itself is not instrumented: the runtime goes first, its own leaks do not count,
# and objects come from malloc, so that a read past one is seen. AddressSanitizer keeps what was
# freed, so memory is not measured here.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
PYTHONMALLOC=malloc \
    "$python" -X faulthandler -m pytest -q -p no:cacheprovider --timeout 1800 \
    --deselect tests/native/test_memory.py::test_200_rounds_leave_nothing_behind \
    --deselect tests/native/test_memory.py::test_what_a_decoder_still_holds_goes_with_it \
    tests/native "$@"
