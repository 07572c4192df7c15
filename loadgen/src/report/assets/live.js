// Shows what the command tells, as it happens. All that it tells is text, and none of it becomes HTML.
"use strict";

(() => {
  const { number, said, elapsed, lineColour, swatch } = look;
  const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400]; // of an axis of seconds
  const ROOM = 70; // least width of the name of a round in a chart, in pixels

  const ms = (us) => (us == null ? null : us / 1000);
  // The lines of each chart: name, colour, and value of a second as `past.rs` tells it.
  const LINES = {
    rates: [["answers", 0, (second) => second[0]], ["errors", 1, (second) => second[1]]],
    latencies: [["p50", 0, (second) => ms(second[2])], ["p95", 2, (second) => ms(second[3])], ["p99", 3, (second) => ms(second[4])]],
    loads: [["planned", 7, (second) => second[5]]],
  };

  // What was told: a place on the axis for each second, and an empty one between two rounds.
  const x = [];
  const values = Object.fromEntries(Object.entries(LINES).map(([id, lines]) => [id, lines.map(() => [])]));
  const rounds = []; // { number, target, start, rate, failed }
  const plots = {};
  let drawn = 0; // places in the charts
  let id = null;
  let now = {};

  const at = (element) => document.getElementById(element);

  // ---- What happened so far

  const place = (value) => {
    x.push(x.length);
    for (const [chart, lines] of Object.entries(LINES)) {
      lines.forEach(([, , of], i) => values[chart][i].push(value ? of(value) : null));
    }
  };

  const learn = ({ round, second, over }) => {
    if (round) {
      if (x.length) place(null);
      rounds.push({ number: round[0], target: round[1], start: x.length, rate: null, failed: null });
    }
    if (second) place(second);
    if (over && rounds.length) [rounds.at(-1).rate, rounds.at(-1).failed] = over;
  };

  // ---- Charts

  const roundAt = (index) => rounds.findLast(({ start }) => start <= index);

  const read = (chart, index) => {
    const i = index ?? x.length - 1;
    const round = roundAt(i);
    const where = document.createElement("b");
    if (index != null && round) where.textContent = `${round.target}, round ${round.number}, ${elapsed(i - round.start)}`;
    const unit = chart === "latencies" ? "ms" : chart === "loads" ? (now.round?.unit ?? "") : "per s";
    const items = LINES[chart].map(([name, line], n) => {
      const item = document.createElement("span");
      item.append(swatch(line), `${name} ${said(values[chart][n][i], unit)}`);
      return item;
    });
    at(chart).querySelector(".readout").replaceChildren(...(where.textContent ? [where] : []), ...items);
  };

  // Names each round at its start, where there is room.
  const mark = (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.fillStyle = ctx.strokeStyle = look.colour("soft");
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    let free = -Infinity;
    for (const { target, start } of rounds) {
      const left = u.valToPos(start, "x", true);
      if (left < bbox.left || left < free || left > bbox.left + bbox.width - 30 * devicePixelRatio) continue;
      if (start > 0) {
        ctx.beginPath();
        ctx.moveTo(left, bbox.top);
        ctx.lineTo(left, bbox.top + bbox.height);
        ctx.setLineDash([3, 3]);
        ctx.stroke();
      }
      ctx.fillText(target, left + 4, bbox.top + 12 * devicePixelRatio);
      free = left + Math.max(ROOM * devicePixelRatio, ctx.measureText(target).width + 12);
    }
    ctx.restore();
  };

  const draw = (chart) => {
    const where = at(chart).querySelector(".plot");
    plots[chart]?.destroy();
    const axis = look.axis();
    plots[chart] = new uPlot(
      {
        width: where.clientWidth,
        height: where.clientHeight,
        legend: { show: false },
        cursor: { points: { size: 7 }, drag: { x: true, y: false } },
        // The names of rounds are above the lines.
        scales: { x: { time: false }, y: { range: (_, __, high) => [0, high > 0 ? high * 1.25 : 1] } },
        axes: [
          // Whole seconds, so that no label occurs twice.
          { ...axis, incrs: STEPS, values: (_, splits) => splits.map((split) => elapsed(split)) },
          { ...axis, size: 56, values: (_, splits) => splits.map((split) => number.format(split)) },
        ],
        series: [
          {},
          ...LINES[chart].map(([label, line]) => ({
            label,
            stroke: lineColour(line),
            width: 2,
            points: { show: () => x.length < 30 },
            paths: chart === "loads" ? uPlot.paths.stepped({ align: -1 }) : undefined,
          })),
        ],
        hooks: { setCursor: [(u) => read(chart, u.cursor.idx)], draw: [mark] },
      },
      [x, ...values[chart]],
      where,
    );
  };

  const redraw = () => {
    Object.keys(LINES).forEach(draw);
    drawn = x.length;
  };

  const update = () => {
    for (const [chart, plot] of Object.entries(plots)) {
      // A part of the time that a viewer looks at stays.
      const { min, max } = plot.scales.x;
      const isWhole = min == null || (min <= 0 && max >= drawn - 1);
      plot.setData([x, ...values[chart]], isWhole);
      if (!isWhole) plot.redraw();
      if (plot.cursor.idx == null || plot.cursor.left < 0) read(chart, null);
    }
    drawn = x.length;
  };

  // ---- Tables

  const shown = new Map();

  // Shows rows of texts in the table of a section, which is hidden without rows. Text in an object is emphasized.
  const table = (section, rows) => {
    const told = JSON.stringify(rows);
    if (shown.get(section) === told) return;
    shown.set(section, told);
    at(section).hidden = rows.length === 0;
    at(section).querySelector("tbody").replaceChildren(
      ...rows.map((cells) => {
        const row = document.createElement("tr");
        cells.forEach((text, i) => {
          const cell = row.appendChild(document.createElement(i ? "td" : "th"));
          if (!i) cell.scope = "row";
          cell.textContent = text?.bad ?? text ?? "–";
          if (text?.bad) cell.className = "bad";
        });
        return row;
      }),
    );
  };

  const whole = new Intl.NumberFormat("en");
  const count = (n) => (n > 0 ? { bad: whole.format(n) } : "0");
  const rounded = (value) => (value == null ? "–" : number.format(value));
  const newestFirst = (all) => all.toReversed();

  const states = {
    quiet: () => "no figures yet",
    working: (requests) => `${number.format(requests)} requests/s`,
    late: (seconds) => ({ bad: `silent for ${elapsed(seconds)}` }),
    lost: () => ({ bad: "lost" }),
  };

  const show = () => {
    const { doing, place: [round, of] = [0, 0], left_s: left, phase, round: current, usage = [], workers = [], more_workers: more = 0, notes = [] } = now;
    const parts = [];
    if (current && phase) parts.push(`${current.target}, round ${round} of ${of}: ${phase}${current.left_s == null ? "" : `, ${elapsed(current.left_s)} left`}`);
    else parts.push([doing || "starting", of > 1 ? `round ${round} of ${of}` : ""].filter(Boolean).join(", "));
    if (left != null && of > 1) parts.push(`about ${elapsed(left)} left in all`);
    at("doing").textContent = parts.join("; ");
    at("progress").hidden = now.done == null;
    at("progress").value = now.done ?? 0;

    const [rates, latencies] = [values.rates, values.latencies];
    at("rate").textContent = rounded(rates[0].at(-1));
    ["p50", "p95", "p99"].forEach((name, i) => (at(name).textContent = rounded(latencies[i].at(-1))));
    at("failed").textContent = whole.format(current?.failed ?? 0);
    at("failed").className = current?.failed ? "bad" : "";
    at("load").textContent = rounded(current?.load);
    at("planned").textContent = current?.unit ? `planned ${current.unit}` : "planned load";
    at("loads").querySelector(".unit").textContent = current?.unit ?? "";
    if (at("change") && current?.unit) {
      at("unit").textContent = current.unit;
      at("level").step = current.unit === "users" ? 1 : "any";
      at("level").disabled = false;
    }

    const step = ({ name, answered, p50_us, p95_us, p99_us, failed }) =>
      [name, rounded(answered), rounded(ms(p50_us)), rounded(ms(p95_us)), rounded(ms(p99_us)), count(failed)];
    table("steps", (current?.steps ?? []).map(step));
    table("errors", (current?.errors ?? []).map(({ kind, count: n, example }) => [kind, whole.format(n), example]));
    const over = rounds.filter(({ rate }) => rate != null);
    table("rounds", newestFirst(over).map(({ number: n, target, rate, failed }) => [String(n), target, rounded(rate), count(failed)]));
    table("usage", usage.map(({ name, cpu_percent, memory_bytes }) => [name, rounded(Math.round(cpu_percent)), whole.format(Math.round(memory_bytes / 2 ** 20))]));
    const listed = workers.map(({ number: n, host, state, figure }) => [String(n), host ?? "this host", states[state](figure)]);
    table("workers", more ? [...listed, [`and ${whole.format(more)} more`, "", ""]] : listed);
    const log = at("notes").querySelector("pre");
    const text = notes.join("\n");
    at("notes").hidden = !text;
    if (log.textContent !== text) {
      log.textContent = text;
      log.scrollTop = log.scrollHeight;
    }
  };

  // ---- The command

  const lost = (text) => {
    at("lost").hidden = !text;
    at("lost").textContent = text;
  };

  // The connection ends with this page, so that loadgen waits until the browser has the report.
  const becomeReport = async () => {
    const isThere = await fetch("/report.html", { method: "HEAD" }).then(({ ok }) => ok, () => false);
    if (isThere) return location.replace("/report.html");
    source.close();
    lost("loadgen has ended. The report is in the folder of the run.");
  };

  const source = new EventSource("/events");
  source.onerror = () => {
    const again = source.readyState === EventSource.CLOSED ? "" : " Trying again …";
    lost(`The connection to loadgen is lost: it was ended, or cannot be reached.${again}`);
  };
  source.onmessage = ({ data }) => {
    const told = JSON.parse(data);
    // Another command has the port now: what is shown here is of the one before.
    if (id != null && told.id !== id) return location.reload();
    id = told.id;
    lost("");
    told.past.forEach(learn);
    now = told.now;
    show();
    update();
    if (told.ended === "report") becomeReport();
    if (told.ended === "nothing") {
      source.close();
      lost("loadgen has ended, and has no report.");
    }
  };

  // ---- Controls

  const token = new URLSearchParams(location.hash.slice(1)).get("control");
  const ask = async (request) => {
    at("answer").textContent = "…";
    try {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const answer = await fetch("/control", { method: "POST", headers, body: JSON.stringify(request) });
      at("answer").textContent = await answer.text();
    } catch {
      at("answer").textContent = "loadgen cannot be reached; nothing was changed.";
    }
  };
  if (token && at("controls")) {
    at("controls").hidden = false;
    at("stop").addEventListener("click", () => ask("stop"));
    at("change")?.addEventListener("submit", (event) => {
      event.preventDefault();
      const level = at("level").valueAsNumber;
      ask(now.round?.unit === "requests/s" ? { rate: level } : { users: level });
    });
  }

  redraw();
  look.onTheme(redraw);
  const sizes = new ResizeObserver(() => {
    for (const [chart, plot] of Object.entries(plots)) {
      const { clientWidth: width, clientHeight: height } = at(chart).querySelector(".plot");
      if (width && plot.width !== width) plot.setSize({ width, height });
    }
  });
  sizes.observe(document.querySelector(".charts"));
})();
