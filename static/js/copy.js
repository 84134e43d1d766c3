// Copy buttons: shown only where they can work; the text itself can always be selected.
(() => {
  const setUp = () => navigator.clipboard && document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
  addEventListener("DOMContentLoaded", setUp);
  addEventListener("live:swapped", setUp);
  addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).dataset.text);
    const word = button.textContent;
    button.textContent = button.dataset.done;
    document.getElementById("announcer").textContent = button.dataset.done;
    setTimeout(() => { button.textContent = word; }, 2000);
  });
})();
