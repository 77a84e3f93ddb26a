/* wasi.ts - the system that sonde.wasm finds: one folder that can be read, a clock, nothing else.
 *
 * The calls are those of WASI preview 1 (https://github.com/WebAssembly/WASI, phases/snapshot/docs.md), where structures and numbers
 * are defined. Everything is in memory, so that no call waits. */
import type { Container, PackedFile } from "./container.js";

const SUCCESS = 0, BADF = 8, INVAL = 28, ISDIR = 31, NOENT = 44, NOSYS = 52, NOTDIR = 54, ROFS = 69;
const DIRECTORY = 3, REGULAR = 4, DEVICE = 2;
const ROOT = 3; // the descriptor of "/", the first after the standard ones
const RIGHTS = (1n << 29n) - 1n; // all: what cannot be done fails by itself

type Entry = { folder: true; names: string[] } | { folder: false; file: PackedFile };
type Descriptor = { entry: Entry; path: string; at: number };

/** A program ended by itself (proc_exit), which sonde.wasm does only when it cannot go on. */
export class Exit extends Error {
  constructor(status: number) {
    super(`the program ended with status ${status}`);
  }
}

/** Parts of a path without those that lead nowhere. What leads upwards stays: it is in the measurement's own path, too. */
function normal(path: string): string {
  return path.split("/").filter((part) => part !== "" && part !== ".").join("/");
}

/** Files and folders by path, among them all folders above the measurement. */
function tree(container: Container): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const put = (path: string, entry: Entry): void => {
    if (entries.has(path)) return;
    entries.set(path, entry);
    if (path === "") return;
    const slash = path.lastIndexOf("/");
    const above = slash < 0 ? "" : path.slice(0, slash);
    put(above, { folder: true, names: [] });
    const parent = entries.get(above)!;
    if (parent.folder) parent.names.push(path.slice(slash + 1));
  };
  const root = normal(container.path);
  put(root, { folder: true, names: [] });
  for (const [name, file] of container.files) put(normal(`${root}/${name}`), { folder: false, file });
  return entries;
}

export class Wasi {
  memory!: WebAssembly.Memory; // the module's, set before its first call
  readonly imports: Record<string, (...values: never[]) => number | void>;
  private readonly entries: Map<string, Entry>;
  private readonly open: (Descriptor | undefined)[] = [];

  constructor(container: Container, private readonly log: (line: string) => void = (line) => console.warn(line)) {
    this.entries = tree(container);
    this.open[ROOT] = { entry: this.entries.get("")!, path: "", at: 0 };
    this.imports = this.calls();
  }

  private get view(): DataView {
    return new DataView(this.memory.buffer); // anew each time: the memory may have grown
  }

  private text(at: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.memory.buffer, at, length));
  }

  private find(fd: number, path: string): { path: string; entry: Entry | undefined } {
    const whole = normal(`${this.open[fd]?.path ?? ""}/${path}`);
    return { path: whole, entry: this.entries.get(whole) };
  }

  private stat(entry: Entry, inode: number, to: number): number {
    const view = this.view;
    for (let i = 0; i < 64; i += 8) view.setBigUint64(to + i, 0n, true);
    view.setBigUint64(to, entry.folder ? 0n : BigInt(entry.file.onDisk), true); // where others have a device (src/wasm/system.c)
    view.setBigUint64(to + 8, BigInt(inode), true);
    view.setUint8(to + 16, entry.folder ? DIRECTORY : REGULAR);
    view.setBigUint64(to + 24, 1n, true);
    view.setBigUint64(to + 32, entry.folder ? 0n : BigInt(entry.file.size), true);
    return SUCCESS;
  }

  /** Into the buffers at `list`, from byte `at` of the file; how many bytes. */
  private read(file: PackedFile, at: number, list: number, count: number): number {
    const view = this.view;
    const memory = new Uint8Array(this.memory.buffer);
    let done = 0;
    for (let i = 0; i < count; i++) {
      const to = view.getUint32(list + 8 * i, true);
      const room = view.getUint32(list + 8 * i + 4, true);
      const length = Math.max(0, Math.min(room, file.size - at - done));
      const part = file.bytes.subarray(at + done, at + done + length);
      memory.set(part, to);
      memory.fill(0, to + part.length, to + length);
      done += length;
    }
    return done;
  }

  private readInto(fd: number, list: number, count: number, result: number, at: number | null): number {
    const descriptor = this.open[fd];
    if (!descriptor) return BADF;
    if (descriptor.entry.folder) return ISDIR;
    const done = this.read(descriptor.entry.file, at ?? descriptor.at, list, count);
    if (at === null) descriptor.at += done;
    this.view.setUint32(result, done, true);
    return SUCCESS;
  }

  private list(fd: number, to: number, room: number, cookie: bigint, result: number): number {
    const descriptor = this.open[fd];
    if (!descriptor) return BADF;
    if (!descriptor.entry.folder) return NOTDIR;
    let used = 0;
    for (let i = Number(cookie); i < descriptor.entry.names.length && used < room; i++) {
      const name = descriptor.entry.names[i]!;
      const bytes = new TextEncoder().encode(name);
      const record = new Uint8Array(24 + bytes.length);
      const fields = new DataView(record.buffer);
      fields.setBigUint64(0, BigInt(i + 1), true);
      fields.setBigUint64(8, BigInt(i + 1), true);
      fields.setUint32(16, bytes.length, true);
      fields.setUint8(20, this.find(fd, name).entry?.folder ? DIRECTORY : REGULAR);
      record.set(bytes, 24);
      const part = record.subarray(0, room - used); // one that is cut tells that there are more
      new Uint8Array(this.memory.buffer).set(part, to + used);
      used += part.length;
    }
    this.view.setUint32(result, used, true);
    return SUCCESS;
  }

  private write(fd: number, list: number, count: number, result: number): number {
    if (fd !== 1 && fd !== 2) return this.open[fd] ? ROFS : BADF;
    let text = "";
    let done = 0;
    for (let i = 0; i < count; i++) {
      const length = this.view.getUint32(list + 8 * i + 4, true);
      text += this.text(this.view.getUint32(list + 8 * i, true), length);
      done += length;
    }
    if (text.trim()) this.log(text.trimEnd());
    this.view.setUint32(result, done, true);
    return SUCCESS;
  }

  private seek(fd: number, offset: bigint, from: number, result: number): number {
    const descriptor = this.open[fd];
    if (!descriptor) return BADF;
    if (descriptor.entry.folder) return ISDIR;
    const base = [0, descriptor.at, descriptor.entry.file.size][from];
    if (base === undefined || base + Number(offset) < 0) return INVAL;
    descriptor.at = base + Number(offset);
    this.view.setBigUint64(result, BigInt(descriptor.at), true);
    return SUCCESS;
  }

  private openPath(at: number, name: string, flags: number, result: number): number {
    const { path, entry } = this.find(at, name);
    if (flags & ~2) return ROFS; // to be made, to be emptied
    if (!entry) return NOENT;
    if (flags & 2 && !entry.folder) return NOTDIR;
    let fd = ROOT + 1;
    while (this.open[fd]) fd++;
    this.open[fd] = { entry, path, at: 0 };
    this.view.setUint32(result, fd, true);
    return SUCCESS;
  }

  private status(fd: number, to: number): number {
    const view = this.view;
    const descriptor = this.open[fd];
    if (!descriptor && fd > 2) return BADF;
    view.setUint8(to, descriptor ? (descriptor.entry.folder ? DIRECTORY : REGULAR) : DEVICE);
    view.setUint16(to + 2, 0, true);
    view.setBigUint64(to + 8, RIGHTS, true);
    view.setBigUint64(to + 16, RIGHTS, true);
    return SUCCESS;
  }

  private none(count: number, bytes: number): number {
    this.view.setUint32(count, 0, true);
    this.view.setUint32(bytes, 0, true);
    return SUCCESS;
  }

  private calls(): Record<string, (...values: never[]) => number | void> {
    return {
      args_get: () => SUCCESS,
      args_sizes_get: (count: number, bytes: number) => this.none(count, bytes),
      environ_get: () => SUCCESS,
      environ_sizes_get: (count: number, bytes: number) => this.none(count, bytes),
      clock_time_get: (_clock: number, _precision: bigint, to: number) => {
        this.view.setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true);
        return SUCCESS;
      },
      random_get: (to: number, bytes: number) => {
        crypto.getRandomValues(new Uint8Array(this.memory.buffer, to, bytes));
        return SUCCESS;
      },
      proc_exit: (status: number) => {
        throw new Exit(status);
      },
      fd_prestat_get: (fd: number, to: number) => {
        if (fd !== ROOT) return BADF;
        this.view.setUint32(to, 0, true); // a folder
        this.view.setUint32(to + 4, 1, true);
        return SUCCESS;
      },
      fd_prestat_dir_name: (fd: number, to: number) => {
        if (fd !== ROOT) return BADF;
        this.view.setUint8(to, "/".charCodeAt(0));
        return SUCCESS;
      },
      fd_fdstat_get: (fd: number, to: number) => this.status(fd, to),
      fd_fdstat_set_flags: () => SUCCESS,
      fd_filestat_get: (fd: number, to: number) => {
        const descriptor = this.open[fd];
        return descriptor ? this.stat(descriptor.entry, fd + 1, to) : BADF;
      },
      path_filestat_get: (fd: number, _flags: number, name: number, length: number, to: number) => {
        const { entry } = this.find(fd, this.text(name, length));
        return entry ? this.stat(entry, 1, to) : NOENT;
      },
      path_open: (fd: number, _lookup: number, name: number, length: number, flags: number, _rights: bigint, _inherited: bigint, _fdflags: number, result: number) =>
        this.openPath(fd, this.text(name, length), flags, result),
      fd_readdir: (fd: number, to: number, room: number, cookie: bigint, result: number) => this.list(fd, to, room, cookie, result),
      fd_read: (fd: number, list: number, count: number, result: number) => this.readInto(fd, list, count, result, null),
      fd_pread: (fd: number, list: number, count: number, offset: bigint, result: number) => this.readInto(fd, list, count, result, Number(offset)),
      fd_seek: (fd: number, offset: bigint, from: number, result: number) => this.seek(fd, offset, from, result),
      fd_write: (fd: number, list: number, count: number, result: number) => this.write(fd, list, count, result),
      fd_close: (fd: number) => {
        if (!this.open[fd]) return BADF;
        this.open[fd] = undefined;
        return SUCCESS;
      },
    };
  }

  /** What the module imports: a call that is not there fails as one that the system does not know. */
  importsOf(module: WebAssembly.Module): WebAssembly.Imports {
    const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
      (imports[from] ??= {})[name] = (this.imports[name] ?? (() => NOSYS)) as WebAssembly.ImportValue;
    return imports;
  }
}
