/* failure.tsx - what went wrong, in Sonde's words, in the place of what was asked for. */
import { Component, type ComponentChildren } from "preact";
import { RequestError } from "../model/requests.js";

export function Failure({ error }: { error: Error }) {
  const problem = error instanceof RequestError ? error.problem : null;
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      {problem?.why && <p>{problem.why}</p>}
      {problem?.hint && <p>{problem.hint}</p>}
      {problem?.more.map((line) => <p key={line}>{line}</p>)}
    </div>
  );
}

/** A page that fails leaves the others alone. */
export class Guard extends Component<{ children: ComponentChildren }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static override getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div class="failure" role="alert">
        <p>This page of the viewer failed, which is a mistake of Sonde's: {error.message}</p>
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </div>
    );
  }
}
