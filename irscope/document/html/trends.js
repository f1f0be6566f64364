// The filter of the page of trends, and its theme. The page is complete without this script.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  document.querySelector(".theme").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const filter = document.getElementById("filter");
  const moved = document.getElementById("moved");
  const shown = document.getElementById("shown");
  const kernels = [...document.querySelectorAll(".kernel")];

  function apply() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const kernel of kernels) {
      const named = words.every((word) => kernel.dataset.name.includes(word));
      kernel.hidden = !named || (moved.checked && !("moved" in kernel.dataset));
      count += !kernel.hidden;
    }
    shown.textContent = ` ${count} of ${kernels.length}`;
  }
  filter.addEventListener("input", apply);
  moved.addEventListener("change", apply);
  apply();
})();
