/* loads.ts - what the time line asks for beside its lanes: the routines that are highlighted, and the critical paths that are drawn. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { stepsOf, type PathHeader, type Steps } from "../../model/path.js";
import { request, RequestError } from "../../model/requests.js";
import type { Rows } from "../../model/timeline/lanes.js";
import type { Hit } from "../../model/types.js";
import { useShared } from "../context.js";

const PATHS_MOST = 16;

/** The routine that is highlighted; where there is none, all that the search finds. */
export function useRoutines(): Set<string> {
  const { requests, address } = useShared(), { routine, find } = address.options;
  const [found, setFound] = useState<string[]>([]);
  useEffect(() => {
    setFound([]);
    if (routine || !find) return;
    let wanted = true;
    requests.json<{ hits: Hit[] }>(request("find", null, { text: find, limit: 10000 })).then(({ hits }) => wanted && setFound(hits.map((hit) => hit.label)), () => undefined);
    return () => {
      wanted = false;
    };
  }, [routine, find]);
  return useMemo(() => new Set(routine ? [routine] : found), [routine, found]);
}

/** The critical path through all ranks; where these do not wait for each other, those of the processes that have open rows. */
export function usePaths(wanted: boolean, rows: Rows): { steps: Steps[]; error: Error | null } {
  const { requests, run } = useShared(), [steps, setSteps] = useState(new Map<number, Steps>()), [error, setError] = useState<Error | null>(null);
  const [job, setJob] = useState<Steps | null | undefined>(run.processes.length > 1 ? undefined : null); /* null: there is none */
  const shown = [...new Set([...rows.pinned, ...rows.rest].flatMap(({ node }) => (node.kind !== "host" && node.process?.traced ? [node.process.process] : [])))].slice(0, PATHS_MOST);
  const none = (failed: Error) => failed instanceof RequestError && failed.status === 404; /* it has no trace, there are no such ranks */
  useEffect(() => {
    let current = true;
    setError(null);
    if (wanted && job === undefined)
      requests.columns<PathHeader>(request("path", null, { job: true })).then((answer) => current && setJob(stepsOf(answer)), (failed: Error) => current && (none(failed) ? setJob(null) : setError(failed)));
    return () => {
      current = false;
    };
  }, [requests, wanted, job]);
  useEffect(() => {
    let current = true;
    if (!wanted) setSteps(new Map());
    for (const process of wanted && job === null ? shown : [])
      requests.columns<PathHeader>(request("path", null, { process })).then(
        (answer) => current && setSteps((before) => (before.has(process) ? before : new Map(before).set(process, stepsOf(answer)))),
        (failed: Error) => current && !none(failed) && setError(failed),
      );
    return () => {
      current = false;
    };
  }, [requests, wanted, job, shown.join()]);
  return { steps: useMemo(() => (job ? (wanted ? [job] : []) : [...steps.values()]), [wanted, job, steps]), error };
}
