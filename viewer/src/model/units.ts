/* units.ts - numbers as people read them, as the report writes them: three digits and a unit. */

/** 248 µs, 1.39 s, 1 h 04 min. */
export function formatTime(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return "-";
  const size = Math.abs(ns);
  if (size / 1e9 >= 999.5) return (ns < 0 ? "-" : "") + long(Math.floor(size / 1e9 + 0.5));
  return scaled(ns, ["ns", "µs", "ms", "s"]);
}

/** 33.6 MB: powers of 1,000. */
export function formatBytes(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined || !Number.isFinite(bytes) ? "-" : scaled(bytes, ["B", "kB", "MB", "GB", "TB", "PB"]);
}

/** 189 G: of counts that are too large to be read. */
export function formatMany(count: number): string {
  return scaled(count, ["", "k", "M", "G", "T", "P"]).trim();
}

/** 81.2 %; what is more than nothing is never "0.0 %". */
export function formatShare(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return "-";
  const percent = 100 * share;
  return percent > 0 && percent < 0.05 ? "<0.1 %" : `${percent.toFixed(1)} %`;
}

export function formatCount(count: number | null | undefined): string {
  return count === null || count === undefined || !Number.isFinite(count) ? "-" : Math.round(count).toLocaleString("en-US");
}

function long(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}

function scaled(number: number, units: string[]): string {
  let value = number, unit = 0;
  while (Math.abs(value) >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? Math.round(value) : digits(value)} ${units[unit]}`;
}

/** Decimals that leave three digits; what rounds up to the next power of ten loses one. */
function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}
