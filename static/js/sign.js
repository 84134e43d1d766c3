// How long a signer looked at each piece of evidence. It opens beside this page; its time counts while this page is not
// in front after it was opened from here, and is kept for this tab until the layer is signed.
(() => {
  const table = document.querySelector("[data-evidence]"), field = document.querySelector("[data-seconds]");
  if (!table) return;
  const key = `seconds:${table.dataset.evidence}`, MOST_S = 30 * 60;
  const read = (text) => { try { return JSON.parse(text) || {}; } catch { return {}; } };
  const spent = { ...read(sessionStorage.getItem(key)), ...read(field?.value || "{}") };
  const [s, min] = document.body.dataset.units.split("|");
  let open = null;

  const said = (seconds) => (seconds < 60 ? `${seconds} ${s}` : `${Math.floor(seconds / 60)} ${min}`);
  const show = () => {
    document.querySelectorAll("[data-opened]").forEach((part) => { part.hidden = false; });
    for (const cell of table.querySelectorAll("[data-spent]")) {
      const seconds = spent[cell.dataset.spent];
      if (seconds) { cell.textContent = said(seconds); cell.classList.remove("faint"); }
    }
    document.querySelector("[data-opened-count]").textContent = table.querySelectorAll("[data-spent]:not(.faint)").length;
    const note = document.querySelector("[data-unopened]");
    if (note) { note.textContent = note.dataset.some; note.hidden = false; }
    if (field) field.value = JSON.stringify(spent);
    sessionStorage.setItem(key, JSON.stringify(spent));
  };
  const close = () => {
    if (!open) return;
    const seconds = Math.min(MOST_S, Math.max(1, Math.round((Date.now() - open.at) / 1000)));
    spent[open.item] = (spent[open.item] || 0) + seconds;
    open = null;
    show();
  };
  table.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-item]");
    if (!link) return;
    close();
    open = { item: link.dataset.item, at: Date.now() };
  });
  addEventListener("focus", close);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) close(); });
  field?.form.addEventListener("submit", () => { close(); sessionStorage.removeItem(key); });
  show();
})();
