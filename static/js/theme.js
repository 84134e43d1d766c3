// Theme: auto, light, dark. Blocking in <head>, so nothing flashes; no inline script, so the policy stays strict.
(() => {
  const root = document.documentElement, order = ["auto", "light", "dark"];
  const asked = new URLSearchParams(location.search).get("theme");
  const kept = () => { try { return localStorage.theme; } catch { return null; } };
  const set = (theme) => { root.dataset.theme = theme; try { localStorage.theme = theme; } catch { /* private mode */ } };
  const first = order.includes(asked) ? asked : kept();
  set(order.includes(first) ? first : "auto");

  const label = () => document.querySelectorAll("[data-theme-toggle]").forEach((button) => {
    const words = button.dataset.words.split("|");
    button.setAttribute("aria-label", `${words[0]}: ${words[1 + order.indexOf(root.dataset.theme)]}`);
    button.title = button.getAttribute("aria-label");
    button.hidden = false;
  });
  addEventListener("DOMContentLoaded", label);
  addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-toggle]")) return;
    set(order[(order.indexOf(root.dataset.theme) + 1) % order.length]);
    label();
  });
})();
