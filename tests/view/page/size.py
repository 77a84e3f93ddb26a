"""size.py FOLDER - the page's code, with WebAssembly, is 2 MB at most."""
import os
import sys

LIMIT = 2_000_000
FILES = ["index.html", "viewer.js", "viewer.css", "worker.js", "sonde.wasm"]

folder = sys.argv[1]
sizes = {name: os.path.getsize(os.path.join(folder, name)) for name in FILES if os.path.exists(os.path.join(folder, name))}
print("\n".join(f"{size:>9,} {name}" for name, size in sizes.items()) + f"\n{sum(sizes.values()):>9,} of {LIMIT:,} bytes")
left_out = [name for name in FILES if name not in sizes]
if sum(sizes.values()) > LIMIT or "viewer.js" in left_out:
    sys.exit(1)
if left_out:
    print("skipped: without " + ", ".join(left_out))
    sys.exit(77)
