// Polite polling: asks whether the page's live part changed (204: it did not), slower when nobody moves, not at all while hidden.
// Also keeps ages counting, says changes (and only changes) to screen readers, and gives focus and open details back after a swap.
(() => {
  const IDLE_AFTER_MS = 5 * 60e3, IDLE_FACTOR = 4;
  const live = () => document.querySelector("[data-live]");
  const asOf = () => document.querySelector("[data-as-of]");
  let touched = Date.now(), timer = 0;

  const age = (seconds) => {
    const [s, min, h, d] = document.body.dataset.units.split("|");
    const two = (n) => String(n).padStart(2, "0");
    if (seconds < 60) return `${seconds} ${s}`;
    const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
    if (minutes < 60) return `${minutes} ${min}`;
    if (hours < 24) return `${hours} ${h} ${two(minutes % 60)} ${min}`;
    return hours % 24 && days < 7 ? `${days} ${d} ${hours % 24} ${h}` : `${days} ${d}`;
  };
  // The portal's clock counts, not this machine's: the answer's Date header tells the difference.
  let skew = Date.parse(document.body.dataset.now) - Date.now();
  const tick = () => document.querySelectorAll("time[data-age]").forEach((time) => {
    const text = age(Math.max(0, Math.round((Date.now() + skew - Date.parse(time.dateTime)) / 1000)));
    if (time.textContent !== text) time.textContent = text;
  });

  const schedule = () => {
    clearTimeout(timer);
    const part = live();
    if (!part || document.hidden) return;
    const idle = Date.now() - touched > IDLE_AFTER_MS;
    timer = setTimeout(ask, Number(part.dataset.every) * 1000 * (idle ? IDLE_FACTOR : 1));
  };
  const ask = () => {
    const part = live();
    if (part && !document.hidden) htmx.trigger(part, "ask");
  };
  const answered = (response) => {
    const stamp = asOf(), date = Date.parse(response.getResponseHeader("Date") || "");
    if (date) skew = date - Date.now();
    if (stamp) { stamp.dateTime = new Date(Date.now() + skew).toISOString(); stamp.closest(".pulse").classList.remove("is-late"); }
    tick();
  };
  const late = () => asOf()?.closest(".pulse").classList.add("is-late");

  // What can hold the focus, told apart by where it leads or what it says, and by its place among its likes.
  const name = (element) => element.getAttribute("href") ?? element.textContent.trim();
  const likes = (part, named) => [...part.querySelectorAll("a[href], button, summary, [tabindex]")].filter((element) => name(element) === named);

  let before = null;
  const remember = () => {
    const active = document.activeElement, part = live();
    before = {
      said: part?.querySelector("[data-say]")?.textContent,
      focus: part?.contains(active) && active !== part ? [name(active), likes(part, name(active)).indexOf(active)] : null,
      open: [...(part?.querySelectorAll("details[open][id]") ?? [])].map((details) => details.id),
    };
  };
  const restore = () => {
    const part = live();
    if (!part || !before) return;
    const said = part.querySelector("[data-say]")?.textContent;
    if (said && said !== before.said) document.getElementById("announcer").textContent = said;
    before.open.forEach((id) => { const details = document.getElementById(id); if (details) details.open = true; });
    if (before.focus) likes(part, before.focus[0])[before.focus[1]]?.focus({ preventScroll: true });
    before = null;
  };

  // A field moved before htmx listened, or given back by the browser on a reload, would stand beside the answer to another question.
  const isMoved = (field) => {
    if (field.matches("select")) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((one) => one.defaultSelected));
    return field.matches("[type=checkbox], [type=radio]") ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
  };
  addEventListener("load", () => document.querySelectorAll('form[hx-trigger^="input"]').forEach((form) => {
    const moved = [...form.querySelectorAll("input[name], select")].find(isMoved);
    moved?.dispatchEvent(new Event("input", { bubbles: true }));
  }));

  const isPoll = (event) => event.detail.elt?.matches?.("[data-live]");
  addEventListener("htmx:afterRequest", (event) => {
    if (!isPoll(event)) return;
    event.detail.successful ? answered(event.detail.xhr) : late();
    schedule();
  });
  addEventListener("htmx:beforeSwap", (event) => {
    const xhr = event.detail.xhr;
    if (xhr.status === 200 && xhr.getResponseHeader("X-Live") !== "part") {
      // Signed out meanwhile: the sign-in page answered. Load the page anew, which leads there and back.
      event.detail.shouldSwap = false;
      // Only where nothing is being filled in: a form must not lose what was typed.
      if (event.detail.target === live()) location.reload();
      return;
    }
    remember();
  });
  addEventListener("htmx:afterSettle", () => { restore(); tick(); dispatchEvent(new Event("live:swapped")); schedule(); });
  addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  for (const kind of ["pointerdown", "keydown", "wheel"]) addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
  addEventListener("DOMContentLoaded", () => { tick(); setInterval(tick, 5000); schedule(); });
})();
