// The playground: what a model believes, as observations come in. No state but the address.

const NUM_TIMES = 121; // as many need no other program than 100
const TRAJECTORIES = 12;
const STRANGE = 0.01; // the surprise below which `Forecast.strangers` names a run
const $ = (id) => document.getElementById(id);

// ---------------------------------------------------------------- asking the server

const token = takeToken();

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("token")) {
    sessionStorage.setItem("lupi-token", given.get("token"));
    given.delete("token");
    history.replaceState(null, "", `#${given}`);
  }
  return sessionStorage.getItem("lupi-token");
}

async function ask(path, body, accept = "application/json") {
  const headers = { accept };
  if (token) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = "application/json";
  const response = await fetch(path, { headers, method: body ? "POST" : "GET", body: body && JSON.stringify(body) }).catch(() => {
    throw new Error("the server does not answer: see whether `lupi serve` still runs.");
  });
  if (!response.ok) {
    const told = await response.json().catch(() => ({}));
    throw new Error(told.error || `the server answered ${response.status}.`);
  }
  return accept === "text/csv" ? response.text() : response.json();
}

// ---------------------------------------------------------------- what is shown

let models = [];
const state = {
  model: null, // the name of the first
  beside: "", // a name, "encoder", or none
  seed: 0,
  chosen: {}, // parameters of the truth that were set by hand
  truth: false,
  samples: false,
  known: {},
  start: null, // of a run with dates: when it began
  rows: [], // {t, values}: times on the axis, values by column; none where they follow the truth
};
let truth = null;
let answers = []; // of each view, the last forecast
let views = []; // {served, inference, kind}
let charts = [];
let selected = null; // {row, name}
let asked = 0;

const served = (name) => models.find((one) => one.name === name);
const first = () => served(state.model);

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.model = served(given.get("m")) ? given.get("m") : models[0].name;
  state.beside = given.get("b") || "";
  state.seed = Number.parseInt(given.get("s"), 10) || 0;
  state.truth = given.get("truth") === "1";
  state.samples = given.get("lines") === "1";
  state.chosen = pairs(given.get("p"), Number);
  state.known = pairs(given.get("known"), unescaped);
  state.start = first().origin && Number.isFinite(onAxis(given.get("start") || "")) ? given.get("start") : null;
  const { observed } = first();
  state.rows = (given.get("o") || "").split(";").filter(Boolean).map((text) => {
    const [t, ...cells] = text.split(",");
    const values = cells.length ? Object.fromEntries(observed.map((name, j) => [name, number(cells[j])])) : null;
    return { t: Number(t), values };
  }).filter((row) => Number.isFinite(row.t) && (row.values || first().system));
}

function pairs(text, read) {
  return Object.fromEntries((text || "").split(";").filter(Boolean).map((one) => one.split(":")).map(([name, value]) => [name, read(value)]));
}

function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function number(text) {
  const value = text === undefined || String(text).trim() === "" ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

function address() {
  const told = new URLSearchParams({ m: state.model });
  if (state.beside) told.set("b", state.beside);
  if (first().system) told.set("s", state.seed);
  const chosen = Object.entries(state.chosen).map(([name, value]) => `${name}:${value}`).join(";");
  if (chosen) told.set("p", chosen);
  if (state.truth) told.set("truth", "1");
  if (state.samples) told.set("lines", "1");
  const known = Object.entries(state.known).map(([name, value]) => `${name}:${encodeURIComponent(value)}`).join(";");
  if (known) told.set("known", known);
  if (state.start) told.set("start", state.start);
  const rows = state.rows.map(({ t, values }) => [t, ...(values ? first().observed.map((name) => values[name] ?? "") : [])].join(","));
  if (rows.length) told.set("o", rows.join(";"));
  return `#${told}`;
}

// ---------------------------------------------------------------- time, in numbers or dates

const offset = /(Z|[+-]\d\d:?\d\d)$/;
const onAxis = (time) => (typeof time === "number" ? time : Date.parse(offset.test(time) ? time : `${time}Z`));

function asTime(t) {
  const model = first();
  if (!model.dates) return t;
  const text = new Date(t).toISOString();
  return offset.test(model.span[0]) ? text : text.replace("Z", "");
}

function span() {
  const model = first();
  const shift = state.start ? onAxis(state.start) - onAxis(model.origin) : 0;
  return model.span.map((time) => onAxis(time) + shift);
}

// Where the clock of a run begins that was first seen then.
function beginning(t) {
  const date = new Date(t);
  const midnight = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  const begins = { day: midnight, week: midnight - ((date.getUTCDay() + 6) % 7) * 864e5, year: Date.UTC(date.getUTCFullYear(), 0, 1) };
  return asTime(begins[first().clock] ?? t);
}

function grid() {
  const [start, end] = span();
  const step = (end - start) / (NUM_TIMES - 1);
  return Array.from({ length: NUM_TIMES }, (_, i) => (i === NUM_TIMES - 1 ? end : i * step + start));
}

function rounded(value, range) {
  const digits = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(range) || 1)));
  return Number(value.toFixed(Math.min(digits, 9)));
}

function roundTime(t) {
  const [start, end] = span();
  return Math.min(end, Math.max(start, first().dates ? Math.round(t / 1000) * 1000 : rounded(t, (end - start) / 10)));
}

function showTime(t) {
  if (!first().dates) return String(Number(t.toPrecision(4)));
  return new Date(t).toISOString().slice(0, 16).replace("T", " ");
}

const brief = (value) => String(Number(value.toPrecision(3)));
const roughly = (value) => String(Number(value.toPrecision(2)));
const short = (value) => (value === null || value === undefined ? "–" : String(Number(value.toPrecision(4))));

// ---------------------------------------------------------------- observations

function trueValues(t) {
  const { times, values } = truth;
  const at = Math.min(times.length - 2, Math.max(0, Math.floor((t / times.at(-1)) * (times.length - 1))));
  const share = (t - times[at]) / (times[at + 1] - times[at]);
  return Object.fromEntries(Object.entries(values).map(([name, course]) => [name, rounded(course[at] + share * (course[at + 1] - course[at]), 1e-2)]));
}

const valuesOf = (row) => row.values || (truth ? trueValues(row.t) : {});

function believed(name, t) {
  const one = answers[0]?.series[0];
  if (!one) return (first().ranges[name][0] + first().ranges[name][1]) / 2;
  const times = one.times.map(onAxis);
  const near = times.reduce((best, time, i) => (Math.abs(time - t) < Math.abs(times[best] - t) ? i : best), 0);
  return one.mean[name][near];
}

const widthOf = (name) => first().ranges[name][1] - first().ranges[name][0];

function observe(t, name, value) {
  const model = first();
  const row = { t: roundTime(t), values: null };
  if (state.rows.some((other) => other.t === row.t)) return null;
  if (!model.system) {
    row.values = Object.fromEntries(model.observed.map((one) => [one, rounded(one === name ? value : believed(one, row.t), widthOf(one) / 10)]));
  }
  state.rows.push(row);
  state.rows.sort((a, b) => a.t - b.t);
  selected = { row, name: name || model.observed[0] };
  return row;
}

function setValue(row, name, value) {
  row.values = { ...valuesOf(row), [name]: value };
}

function moveTime(row, t) {
  const to = roundTime(t);
  if (state.rows.some((other) => other !== row && other.t === to)) return false;
  row.t = to;
  state.rows.sort((a, b) => a.t - b.t);
  return true;
}

function removeRow(row) {
  const at = state.rows.indexOf(row);
  state.rows.splice(at, 1);
  const next = state.rows[Math.min(at, state.rows.length - 1)];
  selected = next ? { row: next, name: selected?.name || first().observed[0] } : null;
  commit();
  if (next) charts[0].focusPoint(next, selected.name);
  else $("charts").focus();
}

// ---------------------------------------------------------------- undo, redo

let past = [];
let place = -1;
const frozen = () => JSON.stringify([state.rows, state.seed, state.chosen, state.known, state.start]);

function remember() {
  const now = frozen();
  if (past[place] === now) return;
  past = [...past.slice(0, place + 1), now].slice(-200);
  place = past.length - 1;
}

async function travel(by) {
  if (!past[place + by]) return;
  place += by;
  const seed = state.seed;
  const chosen = JSON.stringify(state.chosen);
  const start = state.start;
  [state.rows, state.seed, state.chosen, state.known, state.start] = JSON.parse(past[place]);
  if (start !== state.start) setViews();
  selected = null;
  if (seed !== state.seed || chosen !== JSON.stringify(state.chosen)) await loadTruth();
  showKnown();
  changed();
}

function commit() {
  tell("");
  remember();
  changed();
}

// ---------------------------------------------------------------- forecasts: the latest wins

function question(view) {
  const model = first();
  const rows = state.rows.map((row) => ({ t: row.t, values: valuesOf(row) })).filter(({ values }) => model.observed.some((name) => typeof values[name] === "number"));
  const body = {
    model: view.served.name,
    times: grid().map(asTime),
    quantiles: [0.25, 0.75],
    trajectories: state.samples ? TRAJECTORIES : 0,
  };
  if (view.inference) body.inference = view.inference;
  if (rows.length) {
    body.observations = { [model.time]: rows.map(({ t }) => asTime(t)) };
    for (const name of model.observed) body.observations[name] = rows.map(({ values }) => values[name] ?? null);
  }
  if (model.origin) body.starts = { 0: state.start ?? model.origin };
  if (model.known.length) body.known = knownValues();
  return body;
}

function knownValues() {
  const model = first();
  return Object.fromEntries(model.known.map((name) => [name, (model.categories[name] ? state.known[name] : number(state.known[name])) ?? model.known_usual[name]]));
}

const running = new Map(); // of each view, whether it is asked, and whether to ask again

async function refresh(i) {
  const mine = running.get(i) || { busy: false, again: false };
  running.set(i, mine);
  if (mine.busy) {
    mine.again = true;
    return;
  }
  mine.busy = true;
  do {
    mine.again = false;
    const view = views[i];
    const number = asked;
    const slow = setTimeout(() => charts[i]?.setStale(true), 250);
    try {
      const answer = await ask("v1/forecast", question(view));
      if (views[i] !== view) continue;
      answers[i] = answer;
      tell("", `forecast ${i}`);
      charts[i].setStale(false);
    } catch (error) {
      if (views[i] !== view) continue;
      tell(error.message, `forecast ${i}`);
      charts[i]?.setStale(true);
    } finally {
      clearTimeout(slow);
    }
    view.shown = number;
    showAnswers();
  } while (mine.again);
  mine.busy = false;
}

let later = 0;
function showAddress() {
  clearTimeout(later);
  try {
    history.replaceState(null, "", address());
  } catch {
    later = setTimeout(showAddress, 1000); // browsers refuse it when it comes too often
  }
}

function changed({ settled = true } = {}) {
  if (settled) showAddress();
  for (const chart of charts) chart.drawPoints();
  showRows();
  showButtons();
  asked += 1;
  document.documentElement.dataset.asked = String(asked); // for whoever measures
  views.forEach((_, i) => refresh(i));
}

function showAnswers() {
  const domain = domains();
  for (const chart of charts) chart.draw(domain);
  showFound();
  showSurprise();
  showNext();
  showWarnings();
  showPython();
  document.documentElement.dataset.shown = String(Math.min(...views.map((view) => view.shown ?? 0)));
}

// What went wrong stands there until the same goes well, or something else goes wrong.
let toldOf = "";
function tell(message, of = "what was done") {
  if (!message && of !== toldOf) return;
  toldOf = of;
  $("problem").hidden = !message;
  $("problem").textContent = message;
}

const say = (message) => { $("said").textContent = message; };

// ---------------------------------------------------------------- charts

const make = (tag, attributes = {}, parent = null) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent?.append(element);
  return element;
};

function ticks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}

function timeTicks(low, high, wanted) {
  if (!first().dates) return ticks(low, high, wanted).map((t) => [t, String(t)]);
  const units = [1e3, 6e4, 36e5, 864e5, 7 * 864e5, 30.4 * 864e5, 365.25 * 864e5];
  const unit = units.filter((one) => one <= (high - low) / 2).at(-1) || 1e3;
  const show = unit >= 864e5 ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const format = new Intl.DateTimeFormat("en", { ...show, timeZone: "UTC" });
  return ticks(low / unit, high / unit, wanted).map((t) => [t * unit, format.format(t * unit)]);
}

// The same of all charts, and steady while points move: what the family may do, and all that is shown.
function domains() {
  const found = {};
  for (const name of first().observed) {
    let [low, high] = widest.get(name) || (answers.some(Boolean) ? [Infinity, -Infinity] : first().ranges[name]);
    const include = (value) => {
      if (typeof value !== "number") return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    for (const answer of answers) {
      const one = answer?.series[0];
      if (one) [...one.lower[name], ...one.upper[name]].forEach(include);
    }
    if (answers.some(Boolean)) widest.set(name, [low, high]);
    for (const row of state.rows) include(valuesOf(row)[name]);
    if (truth && state.truth) truth.values[name]?.forEach(include);
    const room = 0.06 * (high - low);
    found[name] = [low - room, high + room];
  }
  return found;
}
const widest = new Map(); // of all bands that were shown; at first of what is believed of the family

async function loadPrior() {
  const mine = views;
  const { observations, ...nothing } = question(views[0]);
  try {
    const { series: [one] } = await ask("v1/forecast", nothing);
    if (views !== mine) return;
    for (const name of first().observed) {
      const [low, high] = widest.get(name) || [Infinity, -Infinity];
      widest.set(name, [Math.min(low, ...one.lower[name]), Math.max(high, ...one.upper[name])]);
    }
    if (answers.some(Boolean)) showAnswers();
  } catch {
    // What is wrong with it is told where it is asked with its points.
  }
}

class Chart {
  constructor(view, kind) {
    this.view = view;
    this.box = document.createElement("div");
    this.box.className = `chart ${kind}`;
    if (views.length > 1) {
      const title = document.createElement("h3");
      title.textContent = view.label;
      this.box.append(title);
    }
    this.svg = make("svg", { class: "plot", role: "group", "aria-label": `Forecast by ${view.label}` });
    this.box.append(this.svg);
    $("charts").append(this.box);
    this.domain = null;
    this.watcher = new ResizeObserver(() => this.layOut());
    this.watcher.observe(this.box);
  }

  remove() {
    this.watcher.disconnect();
    this.box.remove();
  }

  setStale(stale) {
    this.svg.classList.toggle("stale", stale);
  }

  layOut() {
    const width = this.box.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    const { observed, time, units } = first();
    const left = 46;
    const right = 12;
    const top = 30;
    const room = Math.max(130, Math.min(observed.length > 1 ? 240 : 340, (innerHeight - 340) / observed.length));
    const tall = innerWidth < 600 ? 150 : Math.max(room, 190);
    const gap = 46;
    const height = top + observed.length * (tall + gap) - 6;
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.style.height = `${height}px`;
    const [start, end] = span();
    this.x = (t) => left + ((t - start) / (end - start)) * (width - left - right);
    this.time = (x) => start + ((x - left) / (width - left - right)) * (end - start);
    this.ends = [left, width - right, top, height - gap + 6];
    this.panels = observed.map((name, i) => {
      const from = top + i * (tall + gap);
      const group = make("g", {}, this.svg);
      const panel = { name, from, to: from + tall, group, axis: make("g", {}, group) };
      make("text", { x: left, y: from - 7, class: "name" }, group).textContent = words(name);
      const forecast = make("g", { class: "forecast" }, group);
      panel.wide = make("path", { class: "wide" }, forecast);
      panel.narrow = make("path", { class: "narrow" }, forecast);
      panel.possible = make("path", { class: "possible" }, forecast);
      panel.middle = make("path", { class: "middle" }, forecast);
      panel.true = make("path", { class: "true forecast" }, group);
      make("rect", { class: "frame", x: left, y: from, width: width - left - right, height: tall }, group);
      panel.back = make("rect", { class: "back", x: left, y: from, width: width - left - right, height: tall, "data-column": name }, group);
      return panel;
    });
    make("text", { x: width - right, y: height - 6, "text-anchor": "end", class: "name" }, this.svg).textContent = units[time] ? `${time} [${units[time]}]` : time;
    this.nextLine = make("line", { class: "next-line" }, this.svg);
    this.next = make("g", { class: "next", role: "button", tabindex: "0" }, this.svg);
    make("rect", { x: -14, y: -14, width: 28, height: 28, fill: "transparent" }, this.next);
    make("path", { d: "M0-7 7 0 0 7-7 0z" }, this.next);
    this.cursor = make("line", { class: "cursor", visibility: "hidden" }, this.svg);
    this.points = make("g", {}, this.svg);
    this.drawn = new Map();
    this.draw(this.domain || domains());
    this.drawPoints();
    this.listen();
  }

  y(panel, value) {
    const [low, high] = this.domain[panel.name];
    return panel.to - ((value - low) / (high - low)) * (panel.to - panel.from);
  }

  value(panel, y) {
    const [low, high] = this.domain[panel.name];
    return low + ((panel.to - y) / (panel.to - panel.from)) * (high - low);
  }

  draw(domain) {
    this.domain = domain;
    if (!this.panels) return;
    const one = answers[charts.indexOf(this)]?.series[0];
    const xs = one?.times.map((t) => this.x(onAxis(t)).toFixed(1));
    const [left, right, , bottom] = this.ends;
    for (const panel of this.panels) {
      const at = (value) => this.y(panel, value).toFixed(1);
      const line = (values, x = xs) => values.map((value, i) => `${i ? "L" : "M"}${x[i]} ${at(value)}`).join("");
      const band = (low, high) => `${line(high)}L${[...low.keys()].reverse().map((i) => `${xs[i]} ${at(low[i])}`).join("L")}Z`;
      const key = JSON.stringify(domain[panel.name]);
      if (panel.key !== key) this.drawAxis(panel);
      panel.key = key;
      if (one) {
        panel.wide.setAttribute("d", band(one.lower[panel.name], one.upper[panel.name]));
        panel.narrow.setAttribute("d", band(one.quantiles["0.25"][panel.name], one.quantiles["0.75"][panel.name]));
        panel.middle.setAttribute("d", line(one.mean[panel.name]));
        panel.possible.setAttribute("d", one.trajectories[panel.name].map((values) => line(values)).join(""));
      }
      const shown = state.truth && truth?.values[panel.name];
      panel.true.setAttribute("d", shown ? line(shown, truth.times.map((t) => this.x(t).toFixed(1))) : "");
    }
    const best = one && onAxis(one.best_next_time.time);
    this.next.setAttribute("visibility", one ? "visible" : "hidden");
    this.nextLine.setAttribute("visibility", one ? "visible" : "hidden");
    if (one) {
      const x = Math.min(right, Math.max(left, this.x(best)));
      this.next.setAttribute("transform", `translate(${x} 10)`);
      this.next.setAttribute("aria-label", `Observe at the best next time, ${first().time} = ${showTime(best)}`);
      for (const [name, value] of Object.entries({ x1: x, x2: x, y1: 18, y2: bottom })) this.nextLine.setAttribute(name, value);
    }
    this.placePoints();
  }

  drawAxis(panel) {
    const [left, right] = this.ends;
    panel.axis.replaceChildren();
    for (const value of ticks(...this.domain[panel.name], 4)) {
      const y = this.y(panel, value);
      make("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }, panel.axis);
      make("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, panel.axis).textContent = short(value);
    }
    for (const [t, text] of timeTicks(...span(), this.width < 480 ? 5 : 10)) {
      const x = this.x(t);
      make("line", { class: "grid", x1: x, x2: x, y1: panel.from, y2: panel.to }, panel.axis);
      make("text", { x, y: panel.to + 16, "text-anchor": "middle" }, panel.axis).textContent = text;
    }
  }

  // Elements of points stay while they move, and with them the focus.
  drawPoints() {
    if (!this.panels) return;
    const wanted = new Set();
    for (const row of state.rows) {
      for (const panel of this.panels) {
        const key = `${idOf(row)} ${panel.name}`;
        wanted.add(key);
        if (!this.drawn.has(key)) {
          const point = make("g", { class: "point", tabindex: "0", role: "button", "data-row": idOf(row), "data-column": panel.name }, this.points);
          make("circle", { class: "hit", r: matchMedia("(pointer: coarse)").matches ? 22 : 13 }, point);
          make("circle", { class: "ring", r: 10 }, point);
          make("circle", { class: "dot", r: 5.5 }, point);
          this.drawn.set(key, { point, row, panel });
        }
      }
    }
    for (const [key, { point }] of this.drawn) {
      if (!wanted.has(key)) {
        point.remove();
        this.drawn.delete(key);
      }
    }
    this.placePoints();
  }

  placePoints() {
    for (const { point, row, panel } of this.drawn.values()) {
      const value = valuesOf(row)[panel.name];
      const there = typeof value === "number";
      const y = there ? Math.min(panel.to, Math.max(panel.from, this.y(panel, value))) : panel.to;
      point.setAttribute("transform", `translate(${this.x(row.t).toFixed(1)} ${y.toFixed(1)})`);
      point.classList.toggle("off", !there);
      point.classList.toggle("chosen", selected?.row === row && selected?.name === panel.name);
      point.setAttribute("aria-label", `${panel.name} at ${first().time} = ${showTime(row.t)}: ${there ? short(value) : "missing"}. Arrows move it, Delete removes it${first().gaps ? ", M marks it missing" : ""}.`);
    }
  }

  focusPoint(row, name) {
    this.drawn.get(`${idOf(row)} ${name}`)?.point.focus();
  }

  where(event) {
    const box = this.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  listen() {
    for (const panel of this.panels) {
      panel.back.onpointerdown = (event) => {
        if (event.pointerType !== "mouse" || event.button !== 0) return;
        event.preventDefault();
        const row = this.click(panel, event);
        if (row) this.drag(event, row, panel);
      };
      panel.back.onclick = (event) => {
        if (event.pointerType === "mouse") return; // was there when the button went down
        if (this.click(panel, event)) commit();
      };
      panel.back.onpointermove = (event) => {
        const x = this.where(event)[0];
        for (const [name, value] of Object.entries({ x1: x, x2: x, y1: this.ends[2], y2: this.ends[3], visibility: "visible" })) this.cursor.setAttribute(name, value);
      };
      panel.back.onpointerleave = () => this.cursor.setAttribute("visibility", "hidden");
    }
    this.points.onpointerdown = (event) => {
      const found = this.pointOf(event);
      if (!found || event.button !== 0) return;
      event.preventDefault();
      found.point.focus();
      this.drag(event, found.row, found.panel);
    };
    // A finger on a point moves the point, and not the page: touch-action does not suffice in SVG.
    this.points.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    this.points.oncontextmenu = (event) => {
      const found = this.pointOf(event);
      if (!found) return;
      event.preventDefault();
      removeRow(found.row);
    };
    this.points.onfocusin = (event) => {
      const found = this.pointOf(event);
      if (!found) return;
      selected = { row: found.row, name: found.panel.name };
      for (const chart of charts) chart.placePoints();
      showRows();
    };
    this.points.onkeydown = (event) => this.key(event);
    this.next.onclick = lookNext;
    this.next.onkeydown = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      lookNext();
    };
  }

  pointOf(event) {
    const point = event.target.closest(".point");
    return point && this.drawn.get(`${point.dataset.row} ${point.dataset.column}`);
  }

  click(panel, event) {
    const [x, y] = this.where(event);
    const row = observe(this.time(x), panel.name, this.value(panel, y));
    if (row) {
      changed();
      this.focusPoint(row, panel.name);
    }
    return row;
  }

  drag(start, row, panel) {
    const [, from] = this.where(start);
    const begun = typeof valuesOf(row)[panel.name] === "number" ? this.y(panel, valuesOf(row)[panel.name]) : panel.to;
    const away = from - begun; // where it was taken hold of, so that it does not jump
    let held = row.values === null && Math.abs(away) > 14 ? null : away; // of a click beside the truth
    const target = this.svg;
    target.setPointerCapture(start.pointerId);
    const [startX] = this.where(start);
    let moved = false;
    const move = (event) => {
      const [x, y] = this.where(event);
      if (!moved && Math.hypot(x - startX, y - from) < 3) return;
      moved = true;
      moveTime(row, this.time(x));
      const followed = row.values === null;
      // What lies on the truth slides along it, until it is pulled off.
      if (!followed || Math.abs(y - from) > 24) {
        if (held === null) held = 0;
        setValue(row, panel.name, rounded(this.value(panel, Math.min(panel.to, Math.max(panel.from, y - held))), widthOf(panel.name) / 10));
      }
      changed({ settled: false });
    };
    const end = () => {
      target.removeEventListener("pointermove", move);
      target.removeEventListener("pointerup", end);
      target.removeEventListener("pointercancel", end);
      commit();
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", end);
    target.addEventListener("pointercancel", end);
  }

  key(event) {
    const found = this.pointOf(event);
    if (!found) return;
    const { row, panel } = found;
    const [start, finish] = span();
    const far = event.shiftKey ? 5 : 1;
    const now = valuesOf(row)[panel.name];
    const pull = (by) => setValue(row, panel.name, rounded((now ?? believed(panel.name, row.t)) + (by * far * widthOf(panel.name)) / 100, widthOf(panel.name) / 10));
    const acts = {
      ArrowLeft: () => moveTime(row, row.t - (far * (finish - start)) / 100),
      ArrowRight: () => moveTime(row, row.t + (far * (finish - start)) / 100),
      ArrowUp: () => pull(1),
      ArrowDown: () => pull(-1),
      m: () => first().gaps && setValue(row, panel.name, typeof now === "number" ? null : rounded(truth ? trueValues(row.t)[panel.name] : believed(panel.name, row.t), widthOf(panel.name) / 10)),
    };
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      removeRow(row);
    } else if (acts[event.key] && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      acts[event.key]();
      commit();
    }
  }
}

const ids = new WeakMap();
let lastId = 0;
function idOf(row) {
  if (!ids.has(row)) ids.set(row, (lastId += 1));
  return ids.get(row);
}

function words(name) {
  const at = first().observed.indexOf(name);
  const called = (truth && truth.quantities[at]) || name;
  const unit = first().units[name];
  return unit ? `${called} [${unit}]` : called;
}

// ---------------------------------------------------------------- beside the charts

const element = (tag, attributes = {}, ...children) => {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in found && typeof value !== "string") found[name] = value;
    else found.setAttribute(name, value);
  }
  found.append(...children);
  return found;
};

const each = (act) => views.map((view, i) => [view, answers[i]?.series[0], i]).filter(([, one]) => one).map((parts) => act(...parts));

function showFound() {
  const model = first();
  const told = [];
  if (!model.privileged.length) $("found").replaceChildren(element("p", { class: "empty" }, "This model has learnt from no privileged values."));
  for (const name of model.privileged) {
    each((view, one) => {
      const value = one.privileged?.[name];
      const box = element("div", { class: `value ${view.kind}` });
      if (views.length > 1) box.append(element("span", { class: "who" }, view.label));
      if (!value) {
        box.append(`${name} is not told`);
      } else {
        box.append(element("b", {}, `${name} = ${short(value.mean)}`), " ", element("small", {}, `90\u00a0%: ${brief(value.lower)} to ${brief(value.upper)}`));
        box.append(scale(model.privileged_ranges[name], value, state.truth && truth ? truth.privileged[name] : null));
        told.push(`${name} = ${short(value.mean)}, from ${short(value.lower)} to ${short(value.upper)}`);
      }
      if (view === views[0] && name === model.privileged[0]) $("found").replaceChildren();
      $("found").append(box);
    });
  }
  const count = state.rows.length;
  say(`${count} observation${count === 1 ? "" : "s"}. ${told.join("; ")}`);
}

function scale([low, high], value, real) {
  const [from, to] = [Math.min(low, value.lower, real ?? low), Math.max(high, value.upper, real ?? high)];
  const x = (v) => 6 + ((v - from) / (to - from)) * 276;
  const svg = make("svg", { class: "scale", viewBox: "0 0 290 34", "aria-hidden": "true" });
  make("line", { class: "rail", x1: 6, x2: 282, y1: 11, y2: 11 }, svg);
  make("line", { class: "range", x1: x(value.lower), x2: x(value.upper), y1: 11, y2: 11 }, svg);
  make("circle", { class: "dot", cx: x(value.mean), cy: 11, r: 6 }, svg);
  if (real !== null) make("line", { class: "true", x1: x(real), x2: x(real), y1: 0, y2: 22 }, svg);
  const middle = real === null ? 145 : Math.min(250, Math.max(40, x(real)));
  if (real !== null) make("text", { x: middle, y: 32, "text-anchor": "middle" }, svg).textContent = `truth ${short(real)}`;
  if (real === null || middle > 95) make("text", { x: 3, y: 32 }, svg).textContent = roughly(from);
  if (real === null || middle < 195) make("text", { x: 287, y: 32, "text-anchor": "end" }, svg).textContent = roughly(to);
  return svg;
}

function showSurprise() {
  $("surprise").replaceChildren(...each((view, one) => {
    const box = element("div", { class: `value ${view.kind}` });
    if (views.length > 1) box.append(element("span", { class: "who" }, view.label));
    if (one.surprise === null) box.append(element("span", { class: "empty" }, "not told by this inference"));
    else if (!one.observations) box.append(element("span", { class: "empty" }, "nothing seen yet"));
    else {
      const strange = one.surprise < STRANGE;
      box.append(element("span", { class: strange ? "verdict bad" : "verdict" }, strange ? "⚠ These points fit no system that it knows." : "Like the systems that it knows."), " ");
      const share = one.surprise < 0.001 ? "Fewer than 0.1\u00a0%" : `${roughly(100 * one.surprise)}\u00a0%`;
      box.append(element("small", {}, `${share} of them are as hard to explain.`));
    }
    return box;
  }));
}

function showNext() {
  $("next").replaceChildren(...each((view, one, i) => {
    const box = element("div", { class: `value ${view.kind}` });
    if (views.length > 1) box.append(element("span", { class: "who" }, view.label));
    const best = onAxis(one.best_next_time.time);
    const look = element("button", { type: "button" }, `Look at ${first().time} = ${showTime(best)}`);
    look.onclick = () => lookAt(best);
    if (i === 0) look.id = "look";
    box.append(look, " ", element("small", {}, `tells ${roughly(one.best_next_time.gain)} nats`));
    return box;
  }));
}

function lookAt(t) {
  const row = observe(t, null, null);
  if (row) commit();
  else say("There is an observation already.");
}

function lookNext() {
  const one = answers[0]?.series[0];
  if (one) lookAt(onAxis(one.best_next_time.time));
}

function showWarnings() {
  const found = [...new Set(each((_, one) => one.warnings).flat())];
  $("warnings-card").hidden = !found.length;
  $("warnings").replaceChildren(...found.map((text) => element("li", {}, text)));
}

// Elements of observations stay while these change, and with them the focus.
const lines = new Map();
let linesOf = "";

function typeTime(row, text) {
  const t = first().dates ? onAxis(text.trim().replace(" ", "T")) : number(text);
  if (!Number.isFinite(t ?? Number.NaN)) return `expected a time, got "${text}".`;
  return moveTime(row, t) ? "" : "there is another observation at that time.";
}

function typeValue(row, name, text) {
  const typed = number(text);
  if (typed === null && text.trim()) return `expected a number, got "${text}".`;
  if (typed === null && !first().gaps) return "expected a number: this model has learnt from no missing values.";
  setValue(row, name, typed);
  return "";
}

function lineOf(row) {
  const { time, observed } = first();
  const fields = [time, ...observed].map((name, j) => {
    const input = element("input", { inputmode: "decimal", autocomplete: "off" });
    input.onchange = () => {
      const wrong = j ? typeValue(row, name, input.value) : typeTime(row, input.value);
      if (!wrong) return commit();
      showRows();
      return tell(wrong);
    };
    return input;
  });
  const away = element("button", { type: "button" }, "×");
  away.onclick = () => removeRow(row);
  return { line: element("tr", {}, ...[...fields, away].map((one) => element("td", {}, one))), fields, away };
}

function showRows() {
  const model = first();
  const columns = [model.time, ...model.observed];
  const kind = [model.name, ...columns, state.rows.length > 0].join();
  if (kind !== linesOf) {
    linesOf = kind;
    lines.clear();
    const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)), element("td"));
    $("rows").replaceChildren(...(state.rows.length ? [element("thead", {}, head), element("tbody")] : [element("caption", { class: "empty" }, "None yet: click into a panel.")]));
  }
  const active = document.activeElement;
  const body = $("rows").tBodies[0];
  state.rows.forEach((row, i) => {
    if (!lines.has(row)) lines.set(row, lineOf(row));
    const { line, fields, away } = lines.get(row);
    line.className = selected?.row === row ? "chosen" : "";
    const values = valuesOf(row);
    fields.forEach((input, j) => {
      const value = values[columns[j]];
      input.value = j ? (typeof value === "number" ? short(value) : "") : showTime(row.t);
      input.setAttribute("aria-label", `${columns[j]} of observation ${i + 1}${j && model.gaps ? ", empty where missing" : ""}`);
    });
    away.setAttribute("aria-label", `Remove observation ${i + 1}`);
    if (body.rows[i] !== line) body.insertBefore(line, body.rows[i] || null);
  });
  for (const row of [...lines.keys()].filter((one) => !state.rows.includes(one))) {
    lines.get(row).line.remove();
    lines.delete(row);
  }
  if (body?.contains(active)) active.focus();
}

function showButtons() {
  $("undo").disabled = place <= 0;
  $("redo").disabled = place >= past.length - 1;
  $("clear").disabled = !state.rows.length;
  $("samples").setAttribute("aria-pressed", state.samples);
  $("truth").setAttribute("aria-pressed", state.truth);
  $("truth").textContent = state.truth ? "Hide truth" : "Show truth";
}

function showParameters() {
  const box = $("parameters");
  box.hidden = !truth || !state.truth;
  if (!truth) return;
  const names = truth.parameters.map((one) => one.name).join();
  if (box.dataset.names !== `${truth.name} ${names}`) {
    box.dataset.names = `${truth.name} ${names}`;
    box.replaceChildren(...truth.parameters.map((one) => {
      const input = element("input", { type: "range", min: String(one.least), max: String(one.most), step: "any", "data-name": one.name, "aria-label": `${one.name}: the model has learnt from ${one.low} to ${one.high}` });
      input.oninput = () => slide(one.name, Number(Number(input.value).toPrecision(3)));
      input.onchange = () => {
        remember();
        showButtons();
      };
      return element("label", {}, one.name, input, element("output"));
    }));
  }
  truth.parameters.forEach((one, i) => {
    const [input, output] = box.children[i].querySelectorAll("input, output");
    input.value = one.value;
    output.textContent = short(one.value) + (one.value < one.low || one.value > one.high ? " (not learnt)" : "");
  });
}

const sliding = { busy: false, again: false };

async function slide(name, value) {
  state.chosen[name] = value;
  sliding.again = true;
  if (sliding.busy) return;
  sliding.busy = true;
  while (sliding.again) {
    sliding.again = false;
    await loadTruth();
    changed({ settled: false });
  }
  sliding.busy = false;
  showAddress();
}

function showKnown() {
  const model = first();
  $("known-card").hidden = !model.known.length;
  $("known").replaceChildren(...model.known.map((name) => {
    const kinds = model.categories[name];
    const input = kinds ? element("select", {}, ...kinds.map((kind) => element("option", {}, kind))) : element("input", { inputmode: "decimal" });
    input.value = knownValues()[name];
    input.onchange = () => {
      state.known[name] = input.value;
      commit();
    };
    return element("label", {}, name, input);
  }));
}

// ---------------------------------------------------------------- views

function setViews() {
  const model = first();
  const like = (other) => other.time === model.time && other.observed.join() === model.observed.join() && (other.system === model.system || !model.system);
  const others = models.filter((other) => other !== model && like(other));
  const options = [["", "nothing"], ...others.map((other) => [other.name, nameOf(other)])];
  if (model.inference === "refined") options.push(["encoder", "its encoder alone"]);
  $("beside").replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
  if (!options.some(([value]) => value === state.beside)) state.beside = "";
  $("beside").value = state.beside;
  $("model").value = model.name;
  const label = (other) => (models.filter((one) => one.label === other.label).length > 1 && !other.system ? other.name : other.label);
  views = [{ served: model, inference: null, label: label(model), kind: "a" }];
  if (state.beside === "encoder") {
    views[0].label = `${label(model)}, inference`;
    views.push({ served: model, inference: "amortised", label: `${label(model)}, encoder alone`, kind: "b" });
  } else if (state.beside) {
    views.push({ served: served(state.beside), inference: null, label: label(served(state.beside)), kind: "b" });
  }
  for (const chart of charts) chart.remove();
  answers = views.map(() => null);
  widest.clear();
  charts = views.map((view) => new Chart(view, view.kind));
  for (const chart of charts) chart.layOut();
  $("title").textContent = model.title;
  $("hint").textContent = `${model.system ? "A system is hidden here. Click to look at it." : "Click to set an observation."} ${matchMedia("(pointer: coarse)").matches ? "Points can be dragged." : "Drag or arrow keys move a point, Delete or a right click removes it."}`;
  $("add-name").textContent = model.time;
  $("wanted-columns").textContent = [model.time, ...model.observed].join(", ");
  for (const one of document.querySelectorAll(".of-system")) one.hidden = !model.system;
}

const nameOf = (model) => (model.system ? `${model.system}: ${model.label}` : model.name);

let truthAsked = 0;
async function loadTruth() {
  const { system } = first();
  truthAsked += 1;
  const mine = truthAsked;
  let found = null;
  let wrong = "";
  try {
    if (system) found = await ask(`v1/systems/${encodeURIComponent(system)}?${new URLSearchParams({ seed: state.seed, ...state.chosen })}`);
  } catch (error) {
    wrong = error.message;
  }
  if (mine !== truthAsked) return;
  truth = found;
  tell(wrong, "truth");
  showParameters();
}

async function show() {
  selected = null;
  await loadTruth();
  setViews();
  showKnown();
  commit();
  if (state.rows.length) loadPrior();
}

// ---------------------------------------------------------------- in and out

function readCsv(text) {
  const model = first();
  const lines = text.trim().split(/\r?\n/).map((line) => line.split(line.includes("\t") ? "\t" : ",").map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
  const names = lines.shift() || [];
  const missing = [model.time, ...model.observed].filter((name) => !names.includes(name));
  if (missing.length) throw new Error(`expected the columns ${[model.time, ...model.observed].join(", ")}, got ${names.join(", ").slice(0, 100) || "nothing"}: name them in the first line.`);
  const at = Object.fromEntries(names.map((name, i) => [name, i]));
  const wanted = at[model.series] === undefined ? null : lines[0]?.[at[model.series]];
  const rows = lines.filter((cells) => cells.length > 1 && (wanted === null || cells[at[model.series]] === wanted)).map((cells, i) => {
    const t = model.dates ? onAxis(cells[at[model.time]].replace(" ", "T")) : number(cells[at[model.time]]);
    if (!Number.isFinite(t ?? Number.NaN)) throw new Error(`row ${i + 1}: expected a time, got "${cells[at[model.time]]}".`);
    return { t, values: Object.fromEntries(model.observed.map((name) => [name, number(cells[at[name]])])) };
  });
  if (!rows.length) throw new Error("expected rows below the names of columns, got none.");
  if (rows.length > 2000) throw new Error(`expected at most 2,000 rows, got ${rows.length}: use POST /v1/forecast for more.`);
  return rows.sort((a, b) => a.t - b.t);
}

function take(text) {
  try {
    state.rows = readCsv(text);
    selected = null;
    if (first().origin) {
      state.start = beginning(state.rows[0].t);
      setViews();
    }
    commit();
    say(`${state.rows.length} observations were taken.`);
  } catch (error) {
    tell(error.message);
  }
}

function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// A picture that stands alone: every style that the page gives is written into it.
function picture() {
  const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
  const gap = 24;
  const boxes = charts.map((chart) => chart.svg.viewBox.baseVal);
  const whole = make("svg", { xmlns: "http://www.w3.org/2000/svg", width: boxes.reduce((sum, box) => sum + box.width + gap, 0), height: boxes[0].height + 24 });
  make("rect", { width: "100%", height: "100%", fill: getComputedStyle($("charts").parentElement).backgroundColor }, whole);
  let from = gap / 2;
  for (const chart of charts) {
    const copy = chart.svg.cloneNode(true);
    const [old, fresh] = [chart.svg, copy].map((svg) => [svg, ...svg.querySelectorAll("*")]);
    old.forEach((one, i) => {
      const style = getComputedStyle(one);
      for (const name of kept) fresh[i].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "tabindex", "role", "style"]) fresh[i].removeAttribute(name);
    });
    for (const name of ["x", "y", "width", "height"]) copy.setAttribute(name, { x: from, y: 16, width: boxes[0].width, height: boxes[0].height }[name]);
    for (const gone of copy.querySelectorAll("[visibility=hidden]")) gone.remove();
    whole.append(copy);
    if (views.length > 1) make("text", { x: from + 46, y: 14, "font-family": "sans-serif", "font-size": 13, fill: getComputedStyle(document.body).color }, whole).textContent = chart.view.label;
    from += boxes[0].width + gap;
  }
  return new XMLSerializer().serializeToString(whole);
}

const literal = (value) => (value === null ? "None" : typeof value === "string" ? JSON.stringify(value) : Array.isArray(value) ? `[${value.map(literal).join(", ")}]` : typeof value === "object" ? `{${Object.entries(value).map(([name, one]) => `${/^\d+$/.test(name) ? name : JSON.stringify(name)}: ${literal(one)}`).join(", ")}}` : String(value));

function python() {
  const model = first();
  const asks = question(views[0]);
  const [start, end] = span();
  const lines = model.file ? ["import lupi", "", `forecaster = lupi.load(${literal(model.file)})`] : ["from lupi.serving.built_in import load_built_in", "", `forecaster = load_built_in(${literal(model.name)})`];
  const columns = Object.entries(asks.observations || {}).map(([name, values]) => `    ${literal(name)}: ${literal(values)},`);
  lines.push(...(columns.length ? ["observations = {", ...columns, "}"] : ["observations = None  # what it believes of a run it has seen nothing of"]));
  if (model.dates) lines.push(`times = ${literal(asks.times)}`);
  else lines.splice(0, 0, "import numpy as np"), lines.push(`times = np.linspace(${literal(start)}, ${literal(end)}, ${NUM_TIMES})`);
  const more = ["starts", "known"].filter((name) => asks[name]).map((name) => `, ${name}=${literal(asks[name])}`).join("");
  lines.push(`forecast = forecaster.predict(observations, times${more})`, "print(forecast.to_dataframe())", "print(forecast.systems(), forecast.best_next_time())");
  return `${lines.join("\n")}\n`;
}

function showPython() {
  $("python").textContent = python();
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch {
    tell(`The browser does not let the page copy: ${what.toLowerCase()} is ${text.slice(0, 200)}`);
  }
}

// ---------------------------------------------------------------- the beginning

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function listen() {
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  matchMedia("(prefers-color-scheme: dark)").onchange = (event) => setTheme(event.matches ? "dark" : "light");
  $("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  $("model").onchange = () => {
    const before = first();
    state.model = $("model").value;
    if (first().system !== before.system || first().observed.join() !== before.observed.join()) Object.assign(state, { rows: [], chosen: {}, known: {}, start: null });
    if (state.beside === state.model) state.beside = before.name;
    show();
  };
  $("beside").onchange = () => {
    state.beside = $("beside").value;
    setViews();
    changed();
  };
  $("undo").onclick = () => travel(-1);
  $("redo").onclick = () => travel(1);
  $("clear").onclick = () => {
    state.rows = [];
    selected = null;
    commit();
  };
  $("samples").onclick = () => {
    state.samples = !state.samples;
    changed();
  };
  $("truth").onclick = () => {
    state.truth = !state.truth;
    showParameters();
    changed();
    showAnswers();
  };
  $("another").onclick = async () => {
    Object.assign(state, { seed: Math.floor(Math.random() * 1e6), chosen: {}, rows: [], truth: false });
    selected = null;
    await loadTruth();
    commit();
  };
  $("add").onsubmit = (event) => {
    event.preventDefault();
    const text = $("add-time").value;
    const t = first().dates ? onAxis(text.trim().replace(" ", "T")) : number(text);
    if (Number.isFinite(t ?? Number.NaN)) lookAt(t);
    else tell(`expected a time, got "${text}".`);
    $("add-time").value = "";
  };
  $("take").onclick = () => take($("paste").value);
  $("file").onchange = async () => {
    if ($("file").files[0]) take(await $("file").files[0].text());
    $("file").value = "";
  };
  $("save-csv").onclick = async () => {
    try {
      download("forecast.csv", await ask("v1/forecast", question(views[0]), "text/csv"), "text/csv");
    } catch (error) {
      tell(error.message);
    }
  };
  $("save-svg").onclick = () => download("forecast.svg", picture(), "image/svg+xml");
  $("share").onclick = () => copy(location.href, "The link");
  $("copy-python").onclick = () => copy(python(), "The Python lines");
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.closest("input, textarea")) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    travel(key === "y" || event.shiftKey ? 1 : -1);
  });
  addEventListener("hashchange", () => {
    if (location.hash === address()) return;
    readAddress();
    show();
  });
}

async function watchReadiness() {
  let readiness = null;
  try {
    ({ readiness } = await ask("healthz"));
  } catch {
    setTimeout(watchReadiness, 5000); // whoever asks for a forecast is told
    return;
  }
  const left = readiness.total - readiness.done;
  $("waiting").hidden = left <= 0;
  $("waiting").textContent = `Getting ready: ${readiness.done} of ${readiness.total} programs are compiled. Until then an answer may take some seconds.`;
  document.documentElement.dataset.ready = String(left <= 0);
  if (left > 0) setTimeout(watchReadiness, 700);
}

async function begin() {
  listen();
  try {
    models = (await ask("v1/models")).models;
  } catch (error) {
    tell(error.message);
    return;
  }
  $("model").replaceChildren(...models.map((model) => element("option", { value: model.name }, nameOf(model))));
  watchReadiness();
  readAddress();
  await show();
}

begin();
