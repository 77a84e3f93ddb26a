#!/bin/sh
# host.sh COMMAND...: odd ranks run on another host, as far as they can see: of another name, and with clocks that began 5,000 s earlier.
[ $((${OMPI_COMM_WORLD_RANK:-$RANK} % 2)) = 1 ] || exec "$@"
exec unshare --uts --time --monotonic 5000 --boottime 5000 --fork sh -c 'hostname beta && exec "$@"' sh "$@"
