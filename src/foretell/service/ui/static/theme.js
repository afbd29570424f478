// The theme, loaded in the head so that no page flashes.
"use strict";
(() => {
  const root = document.documentElement;
  const words = { auto: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };
  let theme = localStorage.getItem("foretell-theme");
  if (!(theme in words)) theme = "auto";

  const show = () => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    const button = document.querySelector("[data-theme-toggle]");
    if (button) button.textContent = words[theme];
    document.dispatchEvent(new CustomEvent("theme"));
  };
  show();
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.querySelector("[data-theme-toggle]")?.addEventListener("click", () => {
      const names = Object.keys(words);
      theme = names[(names.indexOf(theme) + 1) % names.length];
      localStorage.setItem("foretell-theme", theme);
      show();
    });
  });
})();
