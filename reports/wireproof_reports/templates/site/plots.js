"use strict";
/* Pictures by plotly; whatever they show stands in the tables below them as well. */

const MOST = 40;
const MOST_SERIES = 24; /* of all vendors at once; with more of them a picture begins with one */
/* The ninth series has the first one's colour again, with another mark, line or pattern. */
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "x", "star", "cross", "triangle-down", "pentagon", "hexagram", "bowtie", "hourglass"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
const PATTERNS = ["", "/", ".", "x", "-", "|", "+", "\\"];
const EVERY = "*"; /* asked for, where nothing asked means the first one */
const LABELS = { maker: "Vendor", grammar: "Protocol" }; /* chosen apart from the same of the picture above */
const MARK_PX = 7; /* of a bar or whisker, below which neighbours cannot be told apart */
const ROOMY = { letter: 7, bars: 220 }; /* pixels: of a letter, and of what lies beside the labels */
const NARROW = { letter: 6.2, bars: 90, line: 13, below: 600 };
const look = (at, series) => ({ color: series[at % series.length], turn: Math.floor(at / series.length) });
function barLook(at, ink) {
  const { color, turn } = look(at, ink.series);
  const isFramed = turn >= PATTERNS.length;
  return { color, pattern: { shape: PATTERNS[turn % PATTERNS.length], fgcolor: ink.ink }, line: { color: ink.ink, width: isFramed ? 2 : 0 } };
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: of("ink"), line: of("line"), paper: of("paper"), series: ["accent", "good", "bad", "other", "known", "fault", "open", "soft"].map(of), good: of("good"), bad: of("bad"), open: of("open"), none: of("faint") };
}

/* The width below which labels are cut, or neighbours cannot be told apart; the picture scrolls. */
function widthOf(traces, layout) {
  if (isNamedAtSide(layout)) {
    const size = layout.yaxis.tickfont ? NARROW : ROOMY;
    return size.letter * Math.max(...traces.flatMap((trace) => trace.y).flatMap((text) => text.split("<br>")).map((text) => text.length)) + size.bars;
  }
  const upright = traces.filter((trace) => trace.type === "bar" && trace.orientation !== "h");
  const whiskers = traces.filter((trace) => trace.error_y);
  const side = upright.length ? upright : whiskers;
  const series = side === whiskers || side.some((trace) => trace.offsetgroup) ? side.length : 2;
  return MARK_PX * series * unique(side.flatMap((trace) => trace.x)).length;
}

const isNamedAtSide = (layout) => Boolean(layout.yaxis && layout.yaxis.type === "category");

/* In a narrow window long labels would push all bars out of sight: each part gets a line. */
function fold(traces, layout) {
  const parts = traces.flatMap((trace) => trace.y).map((text) => text.split(" · ").length);
  const lines = Math.max(1, ...parts);
  for (const trace of traces) trace.y = trace.y.map((text) => text.replaceAll(" · ", "<br>"));
  layout.height += (lines - 1) * NARROW.line * unique(traces.flatMap((trace) => trace.y)).length;
  layout.yaxis.tickfont = { size: 11 };
}

/* Draws a picture, and again when its choice or the colours change. */
function picture(place, { title, words, choices, make }) {
  const { made, state } = wireproof;
  const figure = made("div", { class: "plot", role: "img", "aria-label": `${title}. ${words}` });
  const note = made("p", { class: "help" }, words);
  const head = made("h3", {}, title);
  const tools = made("div", { class: "tools" });
  const number = document.querySelectorAll(".plot").length;
  const selects = Object.keys(choices || {}).map((name) => {
    const select = made("select", { id: `p-${number}-${name}` });
    const pair = made("span", { class: "pair" }, made("label", { for: select.id }, LABELS[name] || name[0].toUpperCase() + name.slice(1)), select);
    const entry = { name, select, pair, wanted: state.get(name) };
    select.addEventListener("change", () => { entry.wanted = select.value; state.set({ [name]: select.value }); draw(); });
    tools.append(pair);
    return entry;
  });
  /* What can be chosen may depend on what is chosen before it: vendors are those of a protocol. */
  function choose() {
    const chosen = {};
    for (const { name, select, pair, wanted } of selects) {
      const values = typeof choices[name] === "function" ? choices[name](chosen) : choices[name];
      select.replaceChildren(...values.map((value) => made("option", { value }, value && value !== EVERY ? value : "all")));
      select.value = values.includes(wanted) ? wanted : values[0];
      pair.hidden = values.length < 2;
      chosen[name] = values.length ? select.value.replace(EVERY, "") : undefined;
    }
    return chosen;
  }
  function draw() {
    const ink = colours();
    const { traces, layout } = make(choose(), ink);
    if (isNamedAtSide(layout) && innerWidth < NARROW.below) fold(traces, layout);
    figure.hidden = note.hidden = head.hidden = !traces.length;
    figure.style.setProperty("--height", layout.height ? `${layout.height}px` : "26rem");
    figure.style.setProperty("--width", `${Math.round(traces.length ? widthOf(traces, layout) : 0)}px`);
    if (!traces.length) { Plotly.purge(figure); return; }
    const whole = {
      font: { color: ink.ink, family: "system-ui, sans-serif", size: 13 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      colorway: ink.series, margin: { l: 60, r: 20, t: 30, b: 60 }, hovermode: "closest", legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      ...layout,
      xaxis: { gridcolor: ink.line, zerolinecolor: ink.line, automargin: true, ...layout.xaxis }, yaxis: { gridcolor: ink.line, zerolinecolor: ink.line, automargin: true, ...layout.yaxis },
    };
    if (whole.barmode !== "group") for (const trace of traces) if (trace.type === "bar") trace.width = Math.min(0.8, unique((trace.orientation === "h" ? trace.y : trace.x)).length / 8);
    Plotly.react(figure, traces, whole, { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d"] });
  }
  place.append(head, tools, made("div", { class: "wide" }, figure), note);
  draw();
  document.addEventListener("wireproof-theme", draw);
  addEventListener("hashchange", () => {
    for (const entry of selects) entry.wanted = state.get(entry.name) || entry.wanted;
    draw();
  });
}

/* The vendors in the rows of what was chosen before. */
const vendorsIn = (rows, key) => (chosen) => vendorsOf(rows.filter((row) => row[key] === chosen[key]));

/* All vendors first where they fit into one picture, else one of them. */
function vendorsOf(rows) {
  const vendors = unique(rows.map((row) => row.vendor));
  return unique(rows.map(who)).length > MOST_SERIES ? [...vendors, EVERY] : ["", ...vendors];
}

const unique = (values) => [...new Set(values)];
/* plotly reads marks such as <b> in texts; those of the data stay what they are. */
const plain = (text) => String(text).replaceAll("<", "‹").replaceAll("%{", "% {");
const who = (row) => plain(`${row.vendor} ${row.version}`.trim());
/* Of one vendor alone the version says enough, and is not cut in a narrow window. */
const namesOf = (rows) => (unique(rows.map((row) => row.vendor)).length > 1 ? who : (row) => plain(row.version) || who(row));
const DAY = 86_400_000;
const share = (part, whole) => (whole ? part / whole : null);

/* All leading digits from the first to the last that was seen, those between them too. */
function binned(seen) {
  const [first, last] = [Math.min(...seen), Math.max(...seen)];
  const all = seen.includes(0) ? [0] : [];
  for (let power = 1; power <= last; power *= 10) {
    for (let digit = 1; digit < 10; digit += 1) {
      if (digit * power >= first && digit * power <= last) all.push(digit * power);
    }
  }
  return all;
}

function spoken(microseconds) {
  if (microseconds < 1000) return `${microseconds} µs`;
  return microseconds < 1_000_000 ? `${microseconds / 1000} ms` : `${microseconds / 1_000_000} s`;
}

wireproof.pictures.levels = function levels(place) {
  const rows = wireproof.rows("levels");
  const names = ["must", "should", "may", "observed"];
  picture(place, {
    title: "Share of cases that conform, day by day",
    words: "One line a version; all clause groups together. A point is a day with runs.",
    choices: { protocol: unique(rows.map((row) => row.protocol)), level: names, vendor: vendorsIn(rows, "protocol") },
    make(chosen, ink) {
      const own = rows.filter((row) => row.protocol === chosen.protocol && (!chosen.vendor || row.vendor === chosen.vendor) && row.day);
      const called = namesOf(own);
      const traces = unique(own.map(called)).map((name) => {
        const mine = own.filter((row) => called(row) === name);
        const days = unique(mine.map((row) => row.day)).sort();
        const sums = days.map((day) => mine.filter((row) => row.day === day).reduce((sum, row) => [sum[0] + row[`${chosen.level}_conforming`], sum[1] + row[`${chosen.level}_asserted`]], [0, 0]));
        return { name, x: days, y: sums.map(([good, all]) => share(good, all)), text: sums.map(([good, all]) => `${good} of ${all}`), mode: "lines+markers", hovertemplate: "%{fullData.name}<br>%{x}: %{text}<extra></extra>" };
      }).filter((trace) => trace.y.some((value) => value !== null));
      traces.forEach((trace, at) => {
        const { color, turn } = look(at, ink.series);
        Object.assign(trace, { line: { color, dash: DASHES[turn % DASHES.length] }, marker: { color, symbol: SYMBOLS[turn % SYMBOLS.length], size: 8 } });
      });
      const days = unique(traces.flatMap((trace) => trace.x)).length;
      const xaxis = { type: "date", tickformat: "%Y-%m-%d", ...(days < 12 ? { dtick: DAY } : {}) };
      return { traces, layout: { yaxis: { tickformat: ".0%", rangemode: "tozero", range: [0, 1.03] }, xaxis } };
    },
  });
  const steps = wireproof.rows("regressions");
  if (steps.length) picture(place, {
    title: "What changed from one version to the next",
    words: "How many cases regressed, were fixed, or became unstable; changed cases are not counted.",
    choices: { protocol: unique(steps.map((row) => row.protocol)), maker: ({ protocol }) => unique(steps.filter((row) => row.protocol === protocol).map((row) => row.vendor)) },
    make(chosen, ink) {
      const own = steps.filter((row) => row.protocol === chosen.protocol && row.vendor === chosen.maker && row.kind !== "changed");
      const at = (row) => plain(`${row.before} → ${row.after}`);
      const fill = { regressed: ink.bad, fixed: ink.good, unstable: ink.open, settled: ink.none };
      const places = unique(own.map(at));
      const traces = unique(own.map((row) => row.kind)).map((kind) => ({ type: "bar", name: kind, x: places, y: places.map((each) => own.filter((row) => at(row) === each && row.kind === kind).length), marker: { color: fill[kind] || ink.none } }));
      return { traces, layout: { barmode: "stack", xaxis: { type: "category" }, yaxis: { rangemode: "tozero" } } };
    },
  });
};

wireproof.pictures.flaky = function flaky(place) {
  const rows = wireproof.rows("flaky");
  picture(place, {
    title: "How often flaky cases do not conform",
    words: `Share of runs with its Wilson interval (95 %); the ${MOST} least certain first.`,
    make(chosen, ink) {
      const own = rows.slice(0, MOST).reverse();
      if (!own.length) return { traces: [], layout: {} };
      const trace = {
        type: "scatter", mode: "markers", x: own.map((row) => row.share), y: own.map((row) => `${plain(row.case)} · ${who(row)}`), marker: { color: ink.bad, size: 9 },
        error_x: { type: "data", symmetric: false, array: own.map((row) => row.high - row.share), arrayminus: own.map((row) => row.share - row.low), color: ink.none },
        text: own.map((row) => `${row.runs} runs`), hovertemplate: "%{y}<br>%{x:.1%} of %{text}<extra></extra>",
      };
      return { traces: [trace], layout: { height: 160 + 26 * own.length, xaxis: { tickformat: ".0%", range: [0, 1] }, yaxis: { type: "category" } } };
    },
  });
};

wireproof.pictures.causes = function causes(place) {
  const rows = wireproof.rows("causes");
  picture(place, {
    title: "Root causes by reach",
    words: `How many versions show a cause; the ${MOST} that reach furthest.`,
    make(chosen, ink) {
      const own = rows.slice(0, MOST).reverse();
      const label = (row) => plain([row.clause, row.field, row.value].filter(Boolean).join(" · "));
      const trace = { type: "bar", orientation: "h", x: own.map((row) => row.versions), y: own.map(label), marker: { color: ink.bad }, text: own.map((row) => `${row.vendors} vendors, ${row.cases} results`), textposition: "none", hovertemplate: "%{y}<br>%{x} versions, %{text}<extra></extra>" };
      return { traces: own.length ? [trace] : [], layout: { height: 160 + 24 * own.length, xaxis: { rangemode: "tozero", tickformat: ",d" }, yaxis: { type: "category" } } };
    },
  });
};

wireproof.pictures.durations = function durations(place) {
  const rows = wireproof.rows("durations");
  picture(place, {
    title: "Durations of cases by interface",
    words: "Milliseconds, p50 with whiskers up to p99; p95 as a dot. The scale is logarithmic.",
    choices: { protocol: unique(rows.map((row) => row.protocol)), vendor: vendorsIn(rows, "protocol") },
    make(chosen, ink) {
      const own = rows.filter((row) => row.protocol === chosen.protocol && (!chosen.vendor || row.vendor === chosen.vendor));
      const ms = (value) => value / 1000;
      const called = namesOf(own);
      const traces = unique(own.map(called)).flatMap((name, at) => {
        const mine = own.filter((row) => called(row) === name);
        const x = mine.map((row) => plain(row.interface));
        const { color, turn } = look(at, ink.series);
        const sign = SYMBOLS[turn % SYMBOLS.length];
        const marker = (symbol) => ({ symbol, size: 9, color });
        const whiskers = { type: "data", symmetric: false, array: mine.map((row) => ms(row.p99_us - row.p50_us)), arrayminus: mine.map(() => 0) };
        return [
          { name, legendgroup: name, offsetgroup: name, x, y: mine.map((row) => ms(row.p50_us)), mode: "markers", marker: marker(sign), error_y: whiskers, hovertemplate: `${name}<br>%{x}: p50 %{y:.2f} ms<extra></extra>` },
          { name: `${name}, p95`, legendgroup: name, offsetgroup: name, showlegend: false, x, y: mine.map((row) => ms(row.p95_us)), mode: "markers", marker: marker(`${sign}-open`), hovertemplate: "%{x}: p95 %{y:.2f} ms<extra></extra>" },
        ];
      });
      return { traces, layout: { scattermode: "group", yaxis: { type: "log", ticksuffix: " ms" }, xaxis: { type: "category" } } };
    },
  });
  picture(place, {
    title: "Distribution of durations",
    words: "Cases by the leading digit of their duration.",
    choices: { interface: unique(rows.map((row) => row.interface)), vendor: vendorsIn(rows, "interface") },
    make(chosen, ink) {
      const own = rows.filter((row) => row.interface === chosen.interface && (!chosen.vendor || row.vendor === chosen.vendor) && row.histogram && row.histogram.length);
      const bins = binned(own.flatMap((row) => row.histogram.map(([from]) => from)));
      const count = (row, bin) => (row.histogram.find(([from]) => from === bin) || [bin, 0])[1];
      const traces = own.map((row, at) => ({ type: "bar", marker: barLook(at, ink), offsetgroup: who(row), name: namesOf(own)(row), x: bins.map(spoken), y: bins.map((bin) => count(row, bin)), hovertemplate: "from %{x}: %{y} cases<extra></extra>" }));
      return { traces, layout: { barmode: "group", bargap: 0.1, xaxis: { type: "category" }, yaxis: { rangemode: "tozero" } } };
    },
  });
};

wireproof.pictures.coverage = function coverage(place) {
  const rows = wireproof.rows("coverage_clauses");
  const grammar = wireproof.rows("coverage_grammar");
  const group = (clause) => clause.split(".").slice(0, 2).join(".");
  if (rows.length) picture(place, {
    title: "Clauses of each group, by what the fleet knows of them",
    words: "How many clauses were asserted, touched without a conclusion, or never met.",
    choices: { protocol: unique(rows.map((row) => row.protocol)) },
    make(chosen, ink) {
      const own = rows.filter((row) => row.protocol === chosen.protocol);
      const groups = unique(own.map((row) => group(row.clause)));
      const fill = { asserted: ink.good, touched: ink.open };
      const traces = unique(own.map((row) => row.standing)).map((standing) => ({ type: "bar", name: standing, x: groups, y: groups.map((name) => own.filter((row) => group(row.clause) === name && row.standing === standing).length), marker: { color: fill[standing] || ink.none } }));
      return { traces, layout: { barmode: "stack", xaxis: { type: "category", dtick: 1 } } };
    },
  });
  sentFields(place, grammar, "Fields sent, and in which way", "How often each field of each frame was sent whole, cut, or wrong on purpose.");
};

function sentFields(place, grammar, title, words) {
  if (!grammar.length) return;
  picture(place, {
    title,
    words,
    choices: { grammar: unique(grammar.map((row) => row.protocol)) },
    make(chosen, ink) {
      const own = grammar.filter((row) => row.protocol === chosen.grammar);
      const named = (row) => plain(row.frame ? `${row.frame} · ${row.field}` : row.field);
      const fields = unique(own.map(named)).reverse();
      const ways = unique(own.map((row) => row.way));
      const sent = (field, way) => own.filter((row) => named(row) === field && row.way === way).reduce((sum, row) => sum + row.sent, 0);
      const counts = fields.map((field) => ways.map((way) => sent(field, way)));
      const trace = { type: "heatmap", x: ways.map(plain), y: fields, z: counts.map((line) => line.map((count) => (count ? Math.log10(count) + 0.3 : 0))), customdata: counts, colorscale: [[0, ink.paper], [1, ink.series[0]]], showscale: false, xgap: 2, ygap: 1, hovertemplate: "%{y}<br>%{x}: %{customdata} times<extra></extra>" };
      return { traces: [trace], layout: { height: 160 + 20 * fields.length, xaxis: { type: "category", side: "top", dtick: 1 }, yaxis: { type: "category" }, margin: { l: 200, r: 20, t: 80, b: 20 } } };
    },
  });
}

wireproof.pictures.findings = function findings(place) {
  const rows = wireproof.rows("findings");
  const fuzzed = wireproof.rows("campaigns");
  const mutated = wireproof.rows("coverage_grammar").filter((row) => !["whole", "cut", "wrong"].includes(row.way));
  const protocols = unique([...rows, ...fuzzed].map((row) => row.protocol));
  if (fuzzed.length) picture(place, {
    title: "Cases sent to each version, and what they found",
    words: "Bars count cases over all campaigns; the number on each is that of different findings.",
    choices: { protocol: protocols, vendor: vendorsIn(fuzzed, "protocol") },
    make(chosen, ink) {
      const own = fuzzed.filter((row) => row.protocol === chosen.protocol && (!chosen.vendor || row.vendor === chosen.vendor));
      const bars = { type: "bar", x: own.map(namesOf(own)), y: own.map((row) => row.executed), text: own.map((row) => String(row.findings)), marker: { color: ink.series[0] }, hovertemplate: "%{x}: %{y} cases, %{text} findings<extra></extra>" };
      return { traces: own.length ? [bars] : [], layout: { xaxis: { type: "category" } } };
    },
  });
  if (rows.length) picture(place, {
    title: "Findings by frame and by what they violate",
    words: "How many different findings there are.",
    choices: { protocol: protocols },
    make(chosen, ink) {
      const own = rows.filter((row) => row.protocol === chosen.protocol);
      const frames = unique(own.map((row) => row.frame));
      const count = (violated, frame) => own.filter((row) => row.violated === violated && row.frame === frame).length;
      const traces = unique(own.map((row) => row.violated)).map((violated, at) => ({ type: "bar", marker: barLook(at, ink), name: plain(violated), x: frames.map(plain), y: frames.map((frame) => count(violated, frame)) }));
      return { traces, layout: { barmode: "stack", xaxis: { type: "category" }, yaxis: { dtick: 1 } } };
    },
  });
  sentFields(place, mutated, "Fields mutated, and how", "How often the fuzzer sent each field of each frame mutated in each way; what has no colour was never tried.");
};
