/* advice.tsx - what to change, most to save first: a card each. */
import { changed, formatAddress, moved } from "../../model/address.js";
import { BLAME_COLUMNS, SHOWN_ON, type Card } from "../../model/report/summary.js";
import { useShared } from "../context.js";
import { Failure } from "../failure.jsx";
import { PAGES } from "../pages.js";
import { Length } from "../parts/bar.jsx";
import { TimesDiffer } from "../parts/times.jsx";
import { pageOf, usePlaces } from "../places.js";

export function AdviceCards({ cards, failed }: { cards: Card[]; failed: Error | null }) {
  const { address } = useShared();
  return (
    <section aria-label="Advice">
      <div class="heading">
        <h2>Advice</h2>
        <a href={formatAddress(changed(moved(address, "tables"), { view: "advice" }))}>All advice</a>
      </div>
      <ol class="cards">
        {cards.map((card, i) => (
          <li key={i} class="card">
            <AdviceCard card={card} />
          </li>
        ))}
      </ol>
      <TimesDiffer here="Advice" />
      {failed && <Failure error={failed} />}
    </section>
  );
}

function AdviceCard({ card }: { card: Card }) {
  const { address, views } = useShared(), { openFrame } = usePlaces();
  const { more } = card, named = more ? SHOWN_ON[more.rule] : undefined, frame = more?.frames[0];
  const options = more?.rule === "host_code" ? BLAME_COLUMNS : {};
  const shownOn = named && (pageOf(named) === named || views.some((view) => view.name === named)) ? named : null;
  return (
    <>
      <h3>{card.title}</h3>
      <p class="saving">
        {card.shareValue !== null && <Length share={card.shareValue} />}
        <span>
          saves up to <strong>{card.saving}</strong>, {card.share} of the run
        </span>
      </p>
      <p class="where">{card.where}</p>
      {more && <p>{capital(more.change)}.</p>}
      {more && <p class="quiet">{capital(more.evidence)}.</p>}
      {more && (
        <p class="links">
          {shownOn && <a href={formatAddress(changed(moved(address, pageOf(shownOn)), pageOf(shownOn) === "tables" ? { view: shownOn } : options))}>{titleOf(shownOn)}</a>}
          {frame?.name && (
            <button type="button" class="link" onClick={() => void openFrame(frame, options).catch(() => undefined)}>
              {frame.name} in the profile
            </button>
          )}
        </p>
      )}
    </>
  );
}

function titleOf(name: string): string {
  const page = PAGES.find((one) => one.name === name);
  return page ? `Look at the ${page.title.toLowerCase()}` : `Look at the table ${name}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
