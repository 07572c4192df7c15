// What the report and the live page have in common: numbers in words, colours, and the theme.
"use strict";

const look = (() => {
  const COLOURS = 8; // --line-0 to --line-7 of report.css

  // ---- Words and numbers

  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const said = (value, unit) => (value == null ? "–" : `${number.format(value)} ${unit}`);

  // A time since a start: 5 s, 1:30 or 1:00:00.
  const elapsed = (s) => {
    if (s < 60) return `${s} s`;
    const [hours, minutes, seconds] = [Math.floor(s / 3600), Math.floor(s / 60) % 60, s % 60];
    const padded = (n) => String(n).padStart(2, "0");
    return hours ? `${hours}:${padded(minutes)}:${padded(seconds)}` : `${minutes}:${padded(seconds)}`;
  };

  // ---- Colours, as the style has them in the theme of the moment

  const colour = (name) => {
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--${name})`;
    const resolved = getComputedStyle(probe).color;
    probe.remove();
    return resolved;
  };
  const lineColour = (line) => colour(`line-${line % COLOURS}`);
  const isDashed = (line) => line >= COLOURS;

  const swatch = (line) => {
    const mark = document.createElement("span");
    mark.className = isDashed(line) ? "swatch dashed" : "swatch";
    mark.style.color = `var(--line-${line % COLOURS})`;
    return mark;
  };

  // How the axes of all charts look.
  const axis = () => ({
    stroke: colour("soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 },
    font: "12px system-ui, sans-serif",
  });

  // ---- The theme

  const isDark = () => {
    const asked = document.documentElement.dataset.theme;
    return asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };

  const button = document.getElementById("theme");
  const showTheme = () => button.setAttribute("aria-pressed", isDark());
  showTheme();

  // Calls `redraw` whenever the theme has changed.
  const onTheme = (redraw) => {
    const changed = () => {
      showTheme();
      redraw();
    };
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      changed();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  };

  return { number, said, elapsed, colour, lineColour, isDashed, swatch, axis, onTheme };
})();
