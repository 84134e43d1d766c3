// Sliders beside number fields: the field is what is sent, the slider moves it (by orders of magnitude where that is how
// the number matters). A field is marked wrong as soon as its sentence arrives with the result.
(() => {
  const STEPS = 1000;
  const places = (slider) => Number(slider.dataset.places || 0);
  const fieldOf = (slider) => document.getElementById(slider.dataset.moves);
  const isLog = (slider) => slider.hasAttribute("data-log");
  const ends = (slider) => [Number(slider.dataset.least), Number(slider.dataset.most)];

  const toField = (slider) => {
    const [least, most] = ends(slider), share = slider.valueAsNumber / STEPS;
    const value = isLog(slider) ? least * (most / least) ** share : least + (most - least) * share;
    return String(Number(value.toFixed(places(slider))));
  };
  const toSlider = (slider, value) => {
    const [least, most] = ends(slider), held = Math.min(most, Math.max(least, value));
    return Math.round(STEPS * (isLog(slider) ? Math.log(held / least) / Math.log(most / least) : (held - least) / (most - least)));
  };
  const follow = (slider) => {
    const field = fieldOf(slider), value = Number(field.value);
    if (field.value !== "" && Number.isFinite(value)) slider.value = toSlider(slider, value);
    slider.setAttribute("aria-valuetext", field.value);
  };
  const sliders = () => document.querySelectorAll("[data-moves]");

  addEventListener("input", (event) => {
    const slider = event.target.closest?.("[data-moves]");
    if (slider) {
      const field = fieldOf(slider);
      field.value = toField(slider);
      slider.setAttribute("aria-valuetext", field.value);
      field.dispatchEvent(new Event("input", { bubbles: true }));
      return;
    }
    sliders().forEach((one) => { if (fieldOf(one) === event.target) follow(one); });
  });
  addEventListener("DOMContentLoaded", () => sliders().forEach((slider) => {
    Object.assign(slider, { min: 0, max: STEPS, step: 1, hidden: false });
    follow(slider);
  }));
  addEventListener("live:swapped", () => document.querySelectorAll("[data-error-of]").forEach((slot) => {
    const wrong = slot.textContent.trim() !== "", field = document.getElementById(slot.dataset.errorOf);
    field?.toggleAttribute("aria-invalid", false);
    if (wrong) field?.setAttribute("aria-invalid", "true");
  }));
})();
