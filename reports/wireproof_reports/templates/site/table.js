"use strict";
/* Data taken from scripts, what is shown kept in the address, tables that sort and filter.
   All text of the data reaches the page as text: nothing of it is ever read as markup. */

const wireproof = {
  data: {},
  take(name, document_) { this.data[name] = document_; },
  pictures: {},
};

const STEP = 200;
const NUMBERS = ["integer", "number"];

wireproof.made = function made(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

/* What is shown stands behind # in the address, so that it can be sent to somebody. */
wireproof.state = {
  read() { return new URLSearchParams(location.hash.slice(1)); },
  get(key) { return this.read().get(key) || ""; },
  set(changes) {
    const state = this.read();
    for (const [key, value] of Object.entries(changes)) {
      if (value) state.set(key, value); else state.delete(key);
    }
    for (const key of [...state.keys()]) if (!state.get(key)) state.delete(key);
    history.replaceState(null, "", `#${state.toString()}`);
  },
};

/* The rows of an answer as objects by the names of its columns. */
wireproof.rows = function rows(name) {
  const answer = wireproof.data[name];
  if (!answer) return [];
  const names = answer.columns.map((column) => column.name);
  return answer.rows.map((row) => Object.fromEntries(names.map((key, at) => [key, row[at]])));
};

wireproof.shown = function shown(value, kind) {
  if (value === null || value === undefined) return "";
  if (kind === "number") return value.toLocaleString("en", { maximumFractionDigits: 3 });
  if (kind === "integer") return value.toLocaleString("en");
  if (kind === "boolean") return value ? "yes" : "no";
  if (kind === "texts") return value.join(", ");
  if (kind === "time") return String(value).replace("T", " ").replace(/(:\d\d)(\.\d+)?Z$/, "$1");
  return String(value);
};

function kindOf(column) {
  if (NUMBERS.includes(column.kind)) return "n";
  if (column.kind === "time" || column.kind === "day") return column.kind;
  return column.kind === "texts" || ["case", "clause", "evidence", "words"].includes(column.name) ? "id" : null;
}

function compared(a, b, kind) {
  const none = (value) => value === null || value === undefined || value === "";
  if (none(a) || none(b)) return none(a) - none(b);
  if (kind === "text" || kind === "texts" || kind === "day" || kind === "time") {
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }
  return Number(a) - Number(b);
}

/* What a filter looks for in a cell: as it is shown, and a number also without separators. */
function sought(value, kind) {
  const text = wireproof.shown(value, kind);
  return NUMBERS.includes(kind) && text ? `${text} ${value}` : text;
}

/* Words that must all be met: word, column:word, column=word, column>number, column<number. */
wireproof.filter = function filter(text, columns) {
  const tests = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const match = /^([a-z0-9_]+)([:=<>])(.*)$/.exec(word);
    const at = match ? columns.findIndex((column) => column.name === match[1]) : -1;
    if (at < 0) return (row, texts) => texts.some((cell) => cell.includes(word));
    const [, , sign, wanted] = match;
    if (sign === ":") return (row, texts) => texts[at].includes(wanted);
    if (sign === "=" && NUMBERS.includes(columns[at].kind)) return (row) => row[at] !== null && Number(row[at]) === Number(wanted);
    if (sign === "=") return (row, texts) => texts[at] === wanted;
    if (sign === ">") return (row) => row[at] !== null && Number(row[at]) > Number(wanted);
    return (row) => row[at] !== null && Number(row[at]) < Number(wanted);
  });
  return (row, texts) => tests.every((test) => test(row, texts));
};

wireproof.table = function table(place, name) {
  const { made, state, shown } = wireproof;
  const answer = wireproof.data[name];
  const columns = answer.columns;
  const kept = columns.map((column, at) => ({ ...column, at })).filter((column) => column.kind !== "counts");
  const rows = answer.rows.map((row) => ({
    row, texts: columns.map((column, at) => (column.kind === "counts" ? "" : sought(row[at], column.kind)).toLowerCase()),
  }));
  const keys = { find: `${name}.find`, sort: `${name}.sort` };
  let limit = STEP;

  const find = made("input", { type: "search", id: `${name}-find`, autocomplete: "off", spellcheck: "false", value: state.get(keys.find) });
  const count = made("p", { class: "count", "aria-live": "polite" });
  const heads = kept.map((column) => {
    const button = made("button", { type: "button", title: column.words, onclick: () => sortBy(column.name) }, column.name.replaceAll("_", " "));
    return made("th", { scope: "col", class: NUMBERS.includes(column.kind) ? "n" : null }, button);
  });
  const body = made("tbody");
  const more = made("button", { type: "button", class: "plain", onclick: () => { limit += 5 * STEP; draw(); } }, "Show more");
  const caption = made("caption", { class: "unseen" }, answer.title);

  function sorting() {
    const [column, way] = state.get(keys.sort).split(":");
    return kept.some((each) => each.name === column) ? { column, way: way === "down" ? "down" : "up" } : null;
  }

  function sortBy(column) {
    const now = sorting();
    const same = now && now.column === column;
    state.set({ [keys.sort]: same && now.way === "down" ? "" : `${column}:${same ? "down" : "up"}` });
    draw();
  }

  function cell(row, column) {
    const text = shown(row[column.at], column.kind);
    const attributes = { class: kindOf(column) };
    if (column.name === "clause" && wireproof.data.law && wireproof.data.law[text]) {
      attributes.title = wireproof.data.law[text].law;
      const protocol = columns.findIndex((each) => each.name === "protocol");
      const asked = new URLSearchParams({ ...(protocol < 0 ? {} : { protocol: row[protocol] }), find: text });
      const link = made("a", { href: `matrix.html#${asked}` }, text);
      return made("td", attributes, link);
    }
    if (["standing", "kind", "was", "now", "reached"].includes(column.name)) attributes.class = `word ${text.replace(/ .*/, "")}`;
    if (column.name === "bundle") return made("td", { title: text }, text.slice(0, 12));
    return made("td", attributes, text);
  }

  function draw() {
    const fits = wireproof.filter(find.value, columns);
    let found = rows.filter((each) => fits(each.row, each.texts));
    const sort = sorting();
    if (sort) {
      const column = kept.find((each) => each.name === sort.column);
      const way = sort.way === "down" ? -1 : 1;
      found = [...found].sort((a, b) => way * compared(a.row[column.at], b.row[column.at], column.kind));
    }
    heads.forEach((head, at) => {
      const own = sort && sort.column === kept[at].name;
      if (own) head.setAttribute("aria-sort", sort.way === "down" ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    body.replaceChildren(...found.slice(0, limit).map((each) => made("tr", {}, ...kept.map((column) => cell(each.row, column)))));
    count.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    more.hidden = found.length <= limit;
  }

  find.addEventListener("input", () => { limit = STEP; state.set({ [keys.find]: find.value }); draw(); });
  const help = made("p", { class: "help", id: `${name}-help` }, "Words that must all be met; column:word, column=word, column>1 look at one column.");
  find.setAttribute("aria-describedby", help.id);
  place.replaceChildren(
    made("div", { class: "tools" }, made("label", { for: find.id }, "Filter"), find, count), help,
    made("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": answer.title },
      made("table", {}, caption, made("thead", {}, made("tr", {}, ...heads)), body)),
    more,
  );
  draw();
  return { again() { find.value = state.get(keys.find); draw(); } };
};

wireproof.theme = {
  kept() { try { return localStorage.getItem("wireproof-theme"); } catch { return null; } },
  dark() {
    const kept = this.kept();
    return kept ? kept === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },
  apply() {
    document.documentElement.dataset.theme = this.dark() ? "dark" : "light";
    const button = document.getElementById("theme");
    button.textContent = this.dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `${button.textContent} colours`);
  },
  turn() {
    try { localStorage.setItem("wireproof-theme", this.dark() ? "light" : "dark"); } catch { /* not kept */ }
    this.apply();
    document.dispatchEvent(new Event("wireproof-theme"));
  },
};

document.addEventListener("DOMContentLoaded", () => {
  wireproof.theme.apply();
  document.getElementById("theme").addEventListener("click", () => wireproof.theme.turn());
  const tables = [...document.querySelectorAll("[data-question]")].map((place) => wireproof.table(place, place.dataset.question));
  const picture = document.querySelector("[data-picture]");
  if (picture) wireproof.pictures[picture.dataset.picture](picture);
  addEventListener("hashchange", () => tables.forEach((table) => table.again()));
});
