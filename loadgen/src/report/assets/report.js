// Draws the charts of the page from the JSON in it. Everything else is there without this script.
"use strict";

(() => {
  const { targets, charts } = JSON.parse(document.getElementById("charts").textContent);
  const { number, said, elapsed, lineColour, isDashed, swatch } = look;
  const SHOWN_AT_FIRST = 8; // of each chart
  const ROWS_AT_MOST = 2000; // of a chart's table
  const FEW = 30; // points of a line that are each marked
  const TICK = 56; // least distance of two times on an axis, in pixels
  const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]; // between them

  // What is drawn: the numbers of targets that are chosen, and a plot for each figure that was seen.
  const chosen = new Set(charts.flatMap(({ lines }) => lines.slice(0, SHOWN_AT_FIRST).map((line) => line.target)));
  const plots = new Map();

  // ---- Words

  // How many seconds a point of a chart over time covers.
  const width = (chart) => (chart.x[1] ?? 1) - chart.x[0];

  const roundOf = (chart, x) => chart.marks.findLast(([start]) => start <= x) ?? [0, 1];

  // A share of requests as people write percentiles: 99.9 % for 3.
  const percentile = (x) => {
    const share = 100 * (1 - 10 ** -x);
    return `${share.toFixed(Math.max(0, Math.ceil(x - 1.001)) + (x % 1 ? 1 : 0)).replace(/\.0+$/, "")} %`;
  };

  // What a place on the horizontal axis is.
  const places = {
    percentile: (_, x) => percentile(x),
    latency: (chart, x) => `${number.format(x)}–${number.format(x + (chart.x[1] ?? 1))} ms`,
    time: (chart, x) => {
      const [start, round] = roundOf(chart, x);
      const time = `${elapsed(x - start)} to ${elapsed(x - start + width(chart))}`;
      return chart.marks.length > 1 ? `round ${round}, ${time}` : time;
    },
    throughput: (_, x) => `${number.format(x)} responses/s`,
  };

  // ---- Charts

  // All lines as long as the axis.
  const padded = (chart) => [
    chart.x,
    ...chart.lines.map(({ values }) => chart.x.map((_, i) => values[i] ?? null)),
  ];

  // Latencies that differ by more than two orders need a logarithmic scale.
  const isWide = (chart) => {
    if (chart.over !== "percentile" && chart.over !== "throughput") return false;
    const all = chart.lines.flatMap(({ values }) => values).filter((value) => value > 0);
    return all.reduce((a, b) => Math.max(a, b), 0) > 100 * all.reduce((a, b) => Math.min(a, b), Infinity);
  };

  // Of a distribution only what most requests took is shown at first: the rest is a drag away.
  const shownAtFirst = (chart) => {
    const [first, last] = [chart.x[0], chart.x.at(-1)];
    if (chart.over === "time" && chart.x.length <= FEW) return [first - 0.5 * width(chart), last + 0.5 * width(chart)];
    if (chart.over !== "latency") return first === last ? [first - 1, first + 1] : [first, last];
    const end = (values) => {
      let sum = 0;
      return values.findIndex((value) => (sum += value) >= 90);
    };
    const ends = chart.lines.map(({ values }) => (end(values) < 0 ? values.length - 1 : end(values)));
    return [0, chart.x[Math.min(chart.x.length - 1, Math.max(...ends) + 2)]];
  };

  // The times that an axis shows: the start of each round and, where there is room, times in it.
  const ticks = (u, chart, low, high) => {
    const pixels = u.bbox.width / devicePixelRatio / (high - low);
    const step = TIMES.find((time) => time * pixels >= TICK) ?? Infinity;
    const end = chart.x.at(-1) + width(chart);
    const all = chart.marks.flatMap(([start], i) => {
      const next = chart.marks[i + 1]?.[0] ?? Infinity;
      const last = Math.min(end, next - TICK / pixels, high);
      const inside = [];
      for (let x = start + step * Math.max(1, Math.ceil((low - start) / step)); x <= last; x += step) inside.push(x);
      return [start, ...inside];
    });
    return all.filter((x) => x >= low && x <= high);
  };

  // What the axis says at one of these times: the time since the round's start, and which round starts.
  const tick = (u, chart, x, low, high) => {
    const [start, round] = roundOf(chart, x);
    if (x !== start) return elapsed(x - start);
    if (chart.marks.length === 1) return elapsed(0);
    const next = chart.marks.find(([other]) => other > start)?.[0] ?? chart.x.at(-1) + width(chart);
    const room = ((next - start) * u.bbox.width) / devicePixelRatio / (high - low);
    return room > TICK ? `${elapsed(0)}\nround ${round}` : room > 14 ? String(round) : "";
  };

  const axes = (chart) => {
    const style = look.axis();
    const x = { ...style };
    if (chart.over === "percentile") {
      x.splits = () => [0, 0.30103, 1, 2, 3, 4, 5, 6].filter((split) => split <= chart.x.at(-1));
      x.values = (_, splits) => splits.map((split) => percentile(split));
    } else if (chart.over === "time") {
      x.splits = (u, _, low, high) => ticks(u, chart, low, high);
      x.values = (u, splits) => splits.map((split) => tick(u, chart, split, u.scales.x.min, u.scales.x.max));
    } else {
      const unit = chart.over === "latency" ? " ms" : "/s";
      x.values = (_, splits) => splits.map((split) => `${number.format(split)}${unit}`);
    }
    // Of a logarithmic scale only the powers of ten.
    const powers = (_, __, low, high) => {
      const first = Math.ceil(Math.log10(low) - 1e-9);
      const last = Math.floor(Math.log10(high) + 1e-9);
      return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
    };
    const label = { label: chart.unit, labelSize: 18, labelGap: 2, labelFont: style.font };
    const y = { ...style, ...label, size: 50, splits: isWide(chart) ? powers : undefined, values: (_, splits) => splits.map((s) => (s == null ? "" : number.format(s))) };
    return [x, y];
  };

  // Which points of a line get a dot: all of a few, and otherwise those that no line joins to another.
  const marked = (chart, values) => {
    const known = values.flatMap((value, i) => (value == null ? [] : [i]));
    if (chart.over === "throughput" || (chart.over === "time" && known.length <= FEW)) return known;
    return known.filter((i) => values[i - 1] == null && values[i + 1] == null);
  };

  const series = (chart) => [
    {},
    ...chart.lines.map(({ target }) => ({
      label: targets[target],
      show: chosen.has(target),
      stroke: lineColour(target),
      width: chart.over === "latency" ? 1 : 2,
      dash: isDashed(target) ? [6, 4] : undefined,
      spanGaps: chart.over === "throughput",
      points: { show: chart.over !== "latency", size: 7, fill: lineColour(target), filter: (u, i) => marked(chart, u.data[i]) },
      paths: chart.over === "latency" ? uPlot.paths.stepped({ align: 1 }) : undefined,
    })),
  ];

  // Whose lines there are, and what the cursor is on, in words: for the eye, and for screen readers.
  const read = (figure, chart, i) => {
    const isOn = i != null && chart.x[i] != null;
    const where = document.createElement("b");
    where.textContent = isOn ? places[chart.over](chart, chart.x[i]) : "";
    const values = chart.lines
      .filter(({ target }) => chosen.has(target))
      .map(({ target, values }) => {
        const item = document.createElement("span");
        item.append(swatch(target), targets[target], isOn ? ` ${said(values[i], chart.unit)}` : "");
        return item;
      });
    figure.querySelector(".readout").replaceChildren(...(isOn ? [where] : []), ...values);
  };

  const draw = (figure) => {
    const chart = charts[figure.dataset.chart];
    const place = figure.querySelector(".plot");
    plots.get(figure)?.destroy();
    const [min, max] = shownAtFirst(chart);
    const plot = new uPlot(
      {
        width: place.clientWidth,
        height: place.clientHeight,
        legend: { show: false },
        cursor: { points: { size: 7 }, drag: { x: true, y: false } },
        scales: {
          x: { time: false, min, max },
          y: isWide(chart) ? { distr: 3 } : { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] },
        },
        axes: axes(chart),
        series: series(chart),
        hooks: { setCursor: [(u) => read(figure, chart, u.cursor.idx)] },
      },
      padded(chart),
      place,
    );
    plots.set(figure, plot);
  };

  // ← and → go from place to place, Home and End to the ends, Escape shows all again.
  const walk = (figure, event) => {
    const plot = plots.get(figure);
    const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!plot || !(event.key in steps)) return;
    event.preventDefault();
    const [first, last] = plot.series[0].idxs;
    const from = plot.cursor.idx ?? (steps[event.key] > 0 ? first - 1 : last + 1);
    const to = Math.min(last, Math.max(first, from + steps[event.key]));
    plot.setCursor({ left: plot.valToPos(plot.data[0][to], "x"), top: plot.over.clientHeight / 2 });
  };

  // ---- A chart's figures as a table

  const cell = (row, kind, text) => {
    const added = row.appendChild(document.createElement(kind));
    added.textContent = text;
    return added;
  };

  const tabulate = (figure) => {
    const chart = charts[figure.dataset.chart];
    const place = figure.querySelector(".scroll");
    if (place.firstChild) return;
    place.classList.add("tall");
    place.setAttribute("role", "region");
    place.setAttribute("aria-label", `Figures of ${figure.querySelector("figcaption").textContent.trim()}`);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const name of [" ", ...chart.lines.map(({ target }) => targets[target])]) {
      cell(head, name === " " ? "td" : "th", name).scope = "col";
    }
    const body = table.createTBody();
    chart.x.slice(0, ROWS_AT_MOST).forEach((x, i) => {
      const values = chart.lines.map(({ values }) => values[i]);
      if (values.every((value) => value == null)) return;
      const row = body.insertRow();
      cell(row, "th", places[chart.over](chart, x)).scope = "row";
      values.forEach((value) => cell(row, "td", said(value, chart.unit)));
    });
    place.append(table);
  };

  // ---- What people switch

  const choose = (target, on) => {
    on ? chosen.add(target) : chosen.delete(target);
    for (const [figure, plot] of plots) {
      charts[figure.dataset.chart].lines.forEach((line, i) => {
        if (line.target === target) plot.setSeries(i + 1, { show: on });
      });
    }
    figures.forEach((figure) => read(figure, charts[figure.dataset.chart], plots.get(figure)?.cursor.idx));
  };

  const redraw = () => [...plots.keys()].forEach(draw);
  look.onTheme(redraw);

  const figures = [...document.querySelectorAll("figure[data-chart]")];

  for (const box of document.querySelectorAll(".chooser input")) {
    const target = Number(box.value);
    box.checked = chosen.has(target);
    box.parentElement.querySelector(".swatch").replaceWith(swatch(target));
    box.addEventListener("change", () => choose(target, box.checked));
  }

  // Charts are drawn when they come into sight, so that a page with many opens at once.
  const sight = new IntersectionObserver(
    (entries) => {
      for (const { target: figure, isIntersecting } of entries) {
        if (isIntersecting && !plots.has(figure)) draw(figure);
      }
    },
    { rootMargin: "300px" },
  );
  const sizes = new ResizeObserver((entries) => {
    for (const { target: place } of entries) {
      const plot = plots.get(place.closest("figure"));
      if (plot && place.clientWidth && plot.width !== place.clientWidth) {
        plot.setSize({ width: place.clientWidth, height: place.clientHeight });
      }
    }
  });
  for (const figure of figures) {
    const place = figure.querySelector(".plot");
    read(figure, charts[figure.dataset.chart], null);
    sight.observe(figure);
    sizes.observe(place);
    place.addEventListener("keydown", (event) => walk(figure, event));
    figure.querySelector("details").addEventListener("toggle", () => tabulate(figure));
  }

  // On paper all charts are there, and light.
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.printed = document.documentElement.dataset.theme ?? "";
    document.documentElement.dataset.theme = "light";
    figures.forEach(draw);
  });
  addEventListener("afterprint", () => {
    const { printed } = document.documentElement.dataset;
    delete document.documentElement.dataset.printed;
    if (printed) document.documentElement.dataset.theme = printed;
    else delete document.documentElement.dataset.theme;
    redraw();
  });
})();
