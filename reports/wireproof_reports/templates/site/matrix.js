"use strict";
/* Clauses down, targets across; a cell leads to the clause's law and the evidence. */

const STANDINGS = {
  fails: ["✕", "fails"],
  unstable: ["±", "unstable"],
  known: ["!", "known deviation"],
  error: ["#", "kit error"],
  open: ["?", "undecided"],
  reading: ["≈", "conforms under another reading"],
  conforms: ["✓", "conforms"],
  unsupported: ["○", "neither claimed nor shown"],
};
const MOST_CELLS = 6000; /* drawn at a time; a browser takes seconds for tens of thousands */
const MOST_OPEN = 6000; /* cells; in a larger matrix groups begin folded */
const CROWDED = 12; /* targets; of more of them the versions stand upright, and cells are small */
const NONE = "-"; /* in the address: no group is folded, though the matrix is large */
const BAD = ["fails", "unstable", "known", "error", "open"];
const VERDICTS = ["pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error"];

wireproof.pictures.matrix = function matrix(place) {
  const { made, state } = wireproof;
  const law = wireproof.data.law || {};
  const rows = wireproof.rows("matrix");
  const causes = wireproof.rows("causes");
  const key = (row) => [row.protocol, row.vendor, row.version, row.clause].join("|");
  const examples = new Map(wireproof.rows("evidence").map((row) => [key(row), row]));
  const protocols = [...new Set(rows.map((row) => row.protocol))];
  const vendors = [...new Set(rows.map((row) => row.vendor))].sort();
  const levels = ["must", "should", "may", "observed"];
  const has = (name) => (value) => rows.some((row) => row.protocol === selects.protocol.value && row[name] === value);
  /* The protocol comes first: vendors and levels are those that it has. */
  const choices = {
    protocol: () => protocols,
    vendor: () => ["", ...vendors.filter(has("vendor"))],
    level: () => ["", ...levels.filter(has("level"))],
    only: () => ["", ...Object.keys(STANDINGS)],
    order: () => ["law", "worst"],
  };
  const words = { protocol: "Protocol", vendor: "Vendor", level: "Level", only: "Only rows with", order: "Order" };
  const named = { "": "anything", law: "of the law", worst: "worst first" };
  const option = (value) => made("option", { value }, STANDINGS[value] ? STANDINGS[value][1] : named[value] || value);
  const selects = Object.fromEntries(Object.keys(choices).map((key) => [key, made("select", { id: `m-${key}`, onchange: () => { state.set({ [key]: selects[key].value, cell: "" }); recall(); draw(); } })]));
  const find = made("input", { type: "search", id: "m-find", autocomplete: "off", spellcheck: "false" });
  const count = made("p", { class: "count", "aria-live": "polite" });
  const grid = made("div", { class: "scroll matrix", role: "region", tabindex: "-1", "aria-label": "Clauses by target" });
  const detail = made("section", { class: "detail", hidden: true, "aria-label": "Evidence", tabindex: "-1" });
  const more = made("button", { type: "button", class: "plain", onclick: () => { shown *= 3; draw(); } }, "Show more clauses");
  const all_ = made("button", { type: "button", class: "plain" });
  let cells = [];
  let folded = new Set();
  let opener = null;
  let shown = 1;

  const target = (row) => `${row.vendor}|${row.version}`;

  function model() {
    const asked = (row, name) => !selects[name].value || row[name] === selects[name].value;
    const own = rows.filter((row) => ["protocol", "vendor", "level"].every((name) => asked(row, name)));
    const targets = [...new Map(own.map((row) => [target(row), row])).values()];
    const clauses = new Map();
    for (const row of own) {
      if (!clauses.has(row.clause)) clauses.set(row.clause, new Map());
      clauses.get(row.clause).set(target(row), row);
    }
    const sought = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = selects.only.value;
    const list = [...clauses].filter(([clause, byTarget]) => {
      const text = `${clause} ${law[clause] ? law[clause].law : ""}`.toLowerCase();
      const standings = [...byTarget.values()].map((row) => row.standing);
      return sought.every((word) => text.includes(word)) && (!only || standings.includes(only));
    });
    const bad = ([, byTarget]) => [...byTarget.values()].reduce((sum, row) => sum + (BAD.includes(row.standing) ? BAD.length - BAD.indexOf(row.standing) : 0), 0);
    const place_ = Object.fromEntries(Object.keys(law).map((clause, at) => [clause, at]));
    const byLaw = (a, b) => (place_[a[0]] ?? 1e9) - (place_[b[0]] ?? 1e9) || a[0].localeCompare(b[0]);
    list.sort(selects.order.value === "worst" ? (a, b) => bad(b) - bad(a) || byLaw(a, b) : byLaw);
    return { targets, list, all: clauses.size };
  }

  function cell(clause, each, row) {
    const who = `${each.vendor} ${each.version}`.trim();
    if (!row) return made("td", {}, made("span", { class: "none", "aria-label": `${clause}, ${who}: not run` }, "·"));
    const [sign, standing] = STANDINGS[row.standing] || ["?", row.standing];
    const failing = row.fail + row.known + row.unstable;
    const button = made("button", {
      type: "button", class: `cell ${row.standing}`, tabindex: "-1", "data-key": key(row), title: `${who}: ${standing}`,
      "aria-label": `${clause}, ${who}: ${standing}${failing ? `, ${failing} results do not conform` : ""}`,
      onclick: () => open(row, button),
    }, made("span", { "aria-hidden": "true" }, sign), failing ? made("span", { class: "many", "aria-hidden": "true" }, failing.toLocaleString("en")) : null);
    return made("td", {}, button);
  }

  const groupOf = (clause) => clause.split(".").slice(0, 2).join(".");

  /* Which groups are folded: what the address says, else all of a large matrix. */
  function foldedOf(groups, size) {
    const told = state.get("fold");
    if (selects.order.value !== "law") return new Set();
    if (told) return new Set(told.split(" "));
    return new Set(size > MOST_OPEN ? groups : []);
  }

  function keepFolds(groups) {
    state.set({ fold: [...groups].filter((group) => group !== NONE).join(" ") || NONE });
    draw();
  }

  function refold(group) {
    if (!folded.delete(group)) folded.add(group);
    keepFolds(folded);
    const again = [...grid.querySelectorAll("button.fold")].find((each) => each.querySelector("code").textContent === group);
    if (again) again.focus();
  }

  /* The worst standing of a group's clauses, and how many of them are no better than undecided. */
  function summary(members, each) {
    const own = members.map(([, byTarget]) => byTarget.get(target(each))).filter(Boolean);
    const worst = Object.keys(STANDINGS).find((name) => own.some((row) => row.standing === name));
    if (!worst) return made("td", {}, made("span", { class: "none" }, "·"));
    const odd = own.filter((row) => BAD.includes(row.standing)).length;
    const said = `${`${each.vendor} ${each.version}`.trim()}: ${odd ? `${odd} of ${own.length} clauses fail or are open, at worst: ${STANDINGS[worst][1]}` : `all ${own.length} clauses conform or are not claimed`}`;
    return made("td", {}, made("span", { class: `cell ${worst}`, title: said, role: "img", "aria-label": said }, made("span", {}, STANDINGS[worst][0]), odd ? made("span", { class: "many" }, String(odd)) : null));
  }

  function groupRow(group, members, targets) {
    const isFolded = folded.has(group);
    const title = law[members[0][0]] ? law[members[0][0]].title : "";
    const words = isFolded ? [made("code", {}, group), made("span", { class: "level" }, ` ${members.length}`)] : [title || group, " ", made("code", {}, group)];
    const fold = made("button", { type: "button", class: "plain fold", title: isFolded ? title || null : null, "aria-expanded": String(!isFolded), onclick: () => refold(group) }, made("span", { "aria-hidden": "true" }, isFolded ? "▸" : "▾"), " ", ...words);
    const name = made("th", { scope: "rowgroup", colspan: isFolded ? 1 : targets.length + 1 }, made("span", {}, fold));
    return made("tr", { class: isFolded ? "group folded" : "group" }, name, ...(isFolded ? targets.map((each) => summary(members, each)) : []));
  }

  /* In a narrow window a clause's name breaks after its dots. */
  const dotted = (clause) => clause.split(/(?<=\.)/).flatMap((part) => [part, made("wbr")]);

  function clauseRow([clause, byTarget], targets) {
    const level = law[clause] ? law[clause].level : "";
    const name = made("th", { scope: "row", title: law[clause] ? law[clause].law : null }, made("code", {}, ...dotted(clause)), level ? made("span", { class: "level" }, ` ${level}`) : null);
    return made("tr", {}, name, ...targets.map((each) => cell(clause, each, byTarget.get(target(each)))));
  }

  /* Vendors above their versions; a vendor's name stays in sight while its versions are. */
  function heads(targets) {
    const vendors = [];
    for (const each of targets) {
      const same = vendors.at(-1);
      if (same && same[0] === each.vendor) same[1] += 1; else vendors.push([each.vendor, 1]);
    }
    return [
      made("tr", {}, made("th", { scope: "col", rowspan: "2" }, "Clause"), ...vendors.map(([name, count]) => made("th", { scope: "colgroup", colspan: count, class: "vendor" }, made("span", {}, name)))),
      made("tr", {}, ...targets.map((each) => made("th", { scope: "col" }, made("span", { class: "version" }, each.version || "–")))),
    ];
  }

  function draw() {
    const { targets, list, all } = model();
    const byLaw = selects.order.value === "law";
    const groups = new Map();
    for (const each of list) {
      const group = byLaw ? groupOf(each[0]) : "";
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(each);
    }
    folded = foldedOf(groups.keys(), list.length * targets.length);
    let rest = Math.max(20, Math.floor((shown * MOST_CELLS) / Math.max(targets.length, 1)));
    more.hidden = true;
    const body = [];
    for (const [group, members] of groups) {
      if (byLaw) body.push(groupRow(group, members, targets));
      if (folded.has(group)) continue;
      body.push(...members.slice(0, rest).map((each) => clauseRow(each, targets)));
      rest -= members.length;
      if (rest < 0) { more.hidden = false; break; }
    }
    const caption = made("caption", { class: "unseen" }, "Clauses by target. Arrow keys move between cells, Enter opens the evidence.");
    const kind = targets.length > CROWDED ? "crowded" : null;
    grid.replaceChildren(made("table", { class: kind }, caption, made("thead", {}, ...heads(targets)), made("tbody", {}, ...body)));
    cells = [...grid.querySelectorAll("button.cell")];
    if (cells.length) cells[0].tabIndex = 0;
    const open = [...groups.keys()].filter((group) => !folded.has(group));
    all_.hidden = !byLaw || groups.size < 2;
    all_.textContent = open.length ? "Fold all groups" : "Unfold all groups";
    all_.onclick = () => keepFolds(open.length ? groups.keys() : []);
    count.textContent = `${list.length} of ${all} clauses, ${targets.length} ${targets.length === 1 ? "target" : "targets"}`;
    again();
  }

  function again() {
    const wanted = state.get("cell");
    const row = rows.find((each) => key(each) === wanted);
    if (row) open(row, cells.find((each) => each.dataset.key === wanted) || null, false);
    else close(false);
  }

  function move(event) {
    const at = cells.indexOf(document.activeElement);
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (at < 0 || !steps) return;
    event.preventDefault();
    const [down, right] = steps;
    const column = cells[at].closest("td").cellIndex;
    let next = null;
    if (right) next = cells[at + right];
    else {
      let row = cells[at].closest("tr");
      do row = down > 0 ? row.nextElementSibling : row.previousElementSibling; while (row && !(row.cells[column] && row.cells[column].querySelector("button.cell")));
      next = row ? row.cells[column].querySelector("button.cell") : null;
    }
    if (!next) return;
    cells[at].tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  function fact(name, value) {
    return value ? made("div", {}, made("dt", {}, name), made("dd", {}, value)) : null;
  }

  /* Only the web is a link; a file, and what an object store holds, is named. */
  const link = (path) => (/^https?:/.test(path) ? path : null);

  const quoted = (path) => (/^[\w./:@%+=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

  /* What the ingest found to work; of older rows that do not tell, each case can be run again,
     against a target of one's own. A bundle in an object store must be fetched first: replay and
     judge read files. */
  function command(row) {
    const old = row.target_role === "proxy" ? "judge" : law[row.clause] ? law[row.clause].again : "run";
    const name = quoted(row.case);
    const bundle = row.path && !row.path.includes("://") ? quoted(row.path) : "BUNDLE";
    const lines = {
      judge: `wireproof judge ${bundle}`,
      client: `wireproof client --protocol ${row.protocol} --exec CMD ${name}`,
      replay: `wireproof replay ${name} --bundle ${bundle}`,
      hazardous: `wireproof run URL ${name} --hazardous`,
    };
    return lines[row.again || old] || `wireproof run URL ${name}`;
  }

  function example(row) {
    const differs = row.difference_field ? `${row.difference_field}: expected ${row.difference_expected || "nothing"}, found ${row.difference_found || "nothing"}` : "";
    return [
      made("h3", {}, "Evidence"),
      made("dl", { class: "facts evidence" },
        fact("Case", row.case), fact("Verdict", row.verdict), fact("Observed", made("code", {}, row.observation || "nothing")),
        fact("Would conform", row.accepted.length ? made("ul", {}, ...row.accepted.map((text) => made("li", {}, made("code", {}, text)))) : ""),
        fact("Why", row.reason), fact("Difference", differs), fact("Came out the same", `${row.same} of ${row.runs} times`),
        fact("Run", wireproof.shown(row.last, "time")), fact("Bundle", row.path ? made("a", { href: link(row.path) }, row.path) : ""), fact("Bundle, SHA-256", row.bundle),
        fact("See it again", made("code", {}, command(row)))),
    ];
  }

  function open(row, from, focus = true) {
    const known = law[row.clause];
    const [sign, standing] = STANDINGS[row.standing] || ["?", row.standing];
    opener = from;
    for (const each of cells) each.removeAttribute("aria-current");
    if (from) from.setAttribute("aria-current", "true");
    const counts = VERDICTS.filter((verdict) => row[verdict]).map((verdict) => `${row[verdict].toLocaleString("en")} ${verdict}`).join(", ");
    detail.replaceChildren(
      made("button", { type: "button", class: "plain close", onclick: () => close() }, "Close"),
      made("h2", { id: "detail-title" }, made("code", {}, row.clause)),
      made("p", { class: `standing word ${row.standing}` }, `${sign} ${`${row.vendor} ${row.version}`.trim()}: ${standing}`),
      known ? made("p", { class: "law" }, known.law) : null,
      made("dl", { class: "facts" },
        fact("Level", row.level), fact("Origin", row.origin), fact("Role", row.role), fact("Source", known ? known.source : ""), fact("Results of all runs", counts),
        fact("Readings followed", row.readings.join(", ")), fact("Standing last shown", wireproof.shown(row.last, "time")),
        fact("Explain", made("code", {}, `wireproof explain ${row.clause}`))),
      ...(examples.has(key(row)) ? example(examples.get(key(row))) : []),
    );
    const own = causes.filter((cause) => cause.protocol === row.protocol && cause.clause === row.clause);
    if (own.length) {
      const told = (cause) => `${[cause.field, cause.value].filter(Boolean).join(": ")} (${cause.names.join(", ")}; ${cause.cases.toLocaleString("en")} results)`;
      detail.append(made("h3", {}, "What was observed instead, by anybody"), made("ul", { class: "causes" }, ...own.map((cause) => made("li", {}, told(cause)))));
    }
    detail.hidden = false;
    state.set({ cell: key(row) });
    if (focus) detail.focus();
  }

  function close(focus = true) {
    if (detail.hidden) return;
    detail.hidden = true;
    state.set({ cell: "" });
    if (opener) { opener.removeAttribute("aria-current"); if (focus) opener.focus(); }
    opener = null;
  }

  function recall() {
    for (const [name, select] of Object.entries(selects)) {
      const values = choices[name]();
      select.replaceChildren(...values.map(option));
      select.value = values.includes(state.get(name)) ? state.get(name) : values[0];
    }
    find.value = state.get("find");
  }

  find.addEventListener("input", () => { shown = 1; state.set({ find: find.value }); draw(); });
  grid.addEventListener("keydown", move);
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  addEventListener("hashchange", () => { recall(); draw(); });
  const legend = made("ul", { class: "legend", "aria-label": "Signs" }, ...Object.entries(STANDINGS).map(([name, [sign, text]]) => made("li", { class: `word ${name}` }, `${sign} ${text}`)), made("li", {}, "· not run"));
  const pair = (control, text) => made("span", { class: "pair" }, made("label", { for: control.id }, text), control);
  const tools = Object.entries(selects).map(([name, select]) => pair(select, words[name]));
  place.append(made("div", { class: "tools" }, pair(find, "Clause"), ...tools, all_, count), legend, detail, grid, more);
  recall();
  draw();
};
