import { describe, expect, it } from "vitest";
import { linksOfPartners, partnersOf, partnerWords, placeOfPartner, type Partner, type Partners } from "../src/model/timeline/partners.js";
import type { Interval } from "../src/model/timeline/intervals.js";
import type { Process } from "../src/model/types.js";

const process = (number: number, origin_ns: number) => ({ process: number, origin_ns, lanes: [{ lane: 1, traces: { messages: { rows: 3, from_ns: 0, to_ns: 9 } } }, { lane: 2, traces: {} }, { lane: 3, kind: "queue", name: "NCCL pg 0x1 rank 0 of 2", traces: {} }, { lane: 4, kind: "queue", name: null, traces: {} }] }) as unknown as Process;
const PROCESSES = [process(0, 1000), process(1, 5000)];
const partner = (more: Partial<Partner>): Partner => ({ process: 1, rank: 7, lane: 1, name: "MPI_Send", begin_ns: 5040, end_ns: 5041, kind: "receive", bytes: 4000, tag: 3, decided: false, waited: false, ...more });
const answer = (...partners: Partner[]): Partners => ({ process: 0, lane: 1, name: "MPI_Recv", begin_ns: 1010, end_ns: 1045, wait_ns: 30, partners, left_out: 0 });

describe("the partners of a call of MPI", () => {
  it("are asked for of a range on a thread with messages, and of nothing else", () => {
    const range = { lane: "0:1", track: 1, begin: 10, end: 45, kind: "range", merged: false } as Interval;
    expect(partnersOf(range, PROCESSES[0]!)).toBe("partners?process=0&lane=1&begin=1010");
    for (const other of [{ ...range, track: 0 }, { ...range, kind: "call" }, { ...range, lane: "0:2" }, { ...range, merged: true }] as Interval[]) expect(partnersOf(other, PROCESSES[0]!)).toBeNull();
  });

  it("are asked for of a collective on a communicator's lane, and of no other operation", () => {
    const collective = { lane: "0:3", track: 0, begin: 10, end: 45, kind: "order", merged: false } as Interval;
    expect(partnersOf(collective, PROCESSES[0]!)).toBe("partners?process=0&lane=3&begin=1010");
    for (const other of [{ ...collective, lane: "0:4" }, { ...collective, lane: "0:1" }, { ...collective, merged: true }] as Interval[]) expect(partnersOf(other, PROCESSES[0]!)).toBeNull();
    expect(partnerWords(partner({ tag: null, name: "Send float32" }), 0)).toBe("receives 4.00 kB of it");
  });

  it("are pointed at from where something is sent to where it was received", () => {
    expect(linksOfPartners(answer(partner({ decided: true })), PROCESSES)).toEqual([{ from: { lane: "1:1", time: 40 }, to: { lane: "0:1", time: 45 }, strong: true, other: "from" }]);
    expect(linksOfPartners(answer(partner({ kind: "send" })), PROCESSES)).toEqual([{ from: { lane: "0:1", time: 10 }, to: { lane: "1:1", time: 41 }, strong: false, other: "to" }]);
  });

  it("of what all do together have an arrow where one waited for the other", () => {
    expect(linksOfPartners(answer(partner({ kind: "barrier" })), PROCESSES)).toEqual([]);
    expect(linksOfPartners(answer(partner({ kind: "barrier", decided: true })), PROCESSES)).toEqual([{ from: { lane: "1:1", time: 40 }, to: { lane: "0:1", time: 40 }, strong: true, other: "from" }]);
    expect(linksOfPartners(answer(partner({ kind: "barrier", waited: true })), PROCESSES)).toEqual([{ from: { lane: "0:1", time: 10 }, to: { lane: "1:1", time: 10 }, strong: true, other: "to" }]);
  });

  it("are told in words, and have a place on the axis of the run", () => {
    expect(partnerWords(partner({ decided: true }), 30)).toBe("receives 4.00 kB of it, tag 3; waited 30 ns for it");
    expect(partnerWords(partner({ kind: "send", waited: true }), 0)).toBe("sends it 4.00 kB, tag 3; it waited for this");
    expect(partnerWords(partner({ kind: "barrier" }), 0)).toBe("barrier");
    expect(placeOfPartner(partner({}), PROCESSES)).toEqual({ lane: "1:1", begin: 40, end: 41 });
    expect(placeOfPartner(partner({ process: 9 }), PROCESSES)).toBeNull();
  });
});
