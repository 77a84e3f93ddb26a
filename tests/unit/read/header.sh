#!/bin/sh
# header.sh INCLUDE LIBRARY - read.h compiles alone as strict C17 and as C++, and the library exports what it declares, in the
# version that it says, and nothing else.
set -eu
include=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#include <sonde/read.h>\nint main(void) { return sonde_read_version() == 0; }\n' > "$work/a.c"
cp "$work/a.c" "$work/a.cc"
cc -std=c17 -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only "$work/a.c"
if command -v c++ > /dev/null; then
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only "$work/a.cc"
fi
grep -o 'sonde_read_[a-z_]*(' "$include/sonde/read.h" | tr -d '(' | sort -u > "$work/declared"
nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | sed 's/@@SONDE_1$//' | sort -u > "$work/exported"
test -s "$work/declared"
diff "$work/declared" "$work/exported"
