/* container.ts - the files of a measurement, one after the other in a buffer, as src/format/pack.c writes them
 * (docs/developers/viewer.md, "The container"). */

export interface PackedFile {
  size: number;
  onDisk: number; // bytes that it takes there: less, where it has holes
  bytes: Uint8Array; // its begin; behind that are zeros up to its size, or what nobody reads
}

export interface Container {
  path: string; // of the measurement, as it was given to `sonde view`
  files: Map<string, PackedFile>; // by their path within it
}

const MAGIC = "SNDPACK1";

class Reader {
  private readonly view: DataView;
  private at = 0;

  constructor(private readonly buffer: ArrayBuffer) {
    this.view = new DataView(buffer);
  }

  u32(): number {
    this.need(4);
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  u64(): number {
    const low = this.u32();
    const value = low + this.u32() * 2 ** 32;
    if (!Number.isSafeInteger(value)) throw new Error("the measurement in this page is damaged");
    return value;
  }

  /** Padded to 8 bytes. */
  bytes(length: number): Uint8Array {
    const padded = Math.ceil(length / 8) * 8;
    this.need(padded);
    this.at += padded;
    return new Uint8Array(this.buffer, this.at - padded, length);
  }

  text(length: number): string {
    return new TextDecoder().decode(this.bytes(length));
  }

  private need(bytes: number): void {
    if (bytes > this.buffer.byteLength - this.at) throw new Error("the measurement in this page is damaged");
  }
}

export function unpack(buffer: ArrayBuffer): Container {
  const reader = new Reader(buffer);
  if (reader.text(MAGIC.length) !== MAGIC) throw new Error("there is no measurement in this page that this version of Sonde can read");
  const count = reader.u32();
  const path = reader.u32();
  const container: Container = { path: reader.text(path), files: new Map() };
  for (let i = 0; i < count; i++) {
    const [name, size, stored, onDisk] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
    container.files.set(reader.text(name), { size, onDisk, bytes: reader.bytes(stored) });
  }
  return container;
}
