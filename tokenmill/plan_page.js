"use strict";
// The planner's page: fields become the query of a link, the answer of the one endpoint becomes numbers. No arithmetic here.
const told = JSON.parse(document.getElementById("told").textContent);
const at = (id) => document.getElementById(id);
const FIELDS = [
  ["model", "choice"], ["parameters", "range", 8, 12.3], ["tokens", "range", 9, 14], ["gpu", "choice"], ["gpus", "range", 0, 5],
  ["mfu", "share"], ["dtype", "choice"], ["seq", "text"], ["global_batch", "text"], ["recompute", "choice"], ["zero", "choice"],
  ["tp", "text"], ["pp", "text"], ["micro_batch", "text"], ["price", "text"], ["deadline", "text"],
];
const UNITS = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]];
let state = {}, guesses = {}, busy = false, again = false, saved = null;

function element(kind, text, attributes) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  return made;
}
function short(value) {
  const unit = UNITS.find(([size]) => value >= size * 0.9995);
  return unit ? String(Number((value / unit[0]).toPrecision(3))) + unit[1] : String(Math.round(value));
}
function number(text) {
  const found = /^([\d.]+(?:e[+-]?\d+)?)([kmbt]?)$/i.exec(String(text || "").replace(/[_,\s]/g, ""));
  if (!found) return NaN;
  const unit = UNITS.find(([, name]) => name.toLowerCase() === found[2].toLowerCase());
  return Number(found[1]) * (unit ? unit[0] : 1);
}
function query() {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (value !== "") found.set(name, value);
  for (const [name, value] of Object.entries(guesses)) if (value !== "") found.set("guess." + name, value);
  return found.toString();
}
function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  state = {}; guesses = {};
  for (const [name, value] of given) if (name.startsWith("guess.")) guesses[name.slice(6)] = value; else state[name] = value;
  if (!Object.keys(state).length) state = { ...told.start };
  return [...given].length > 0;
}
function set(name, value) {
  state[name] = value;
  if (name === "model" && value) delete state.parameters;
  if (name === "parameters" && value) delete state.model;
  fill(); ask();
}
function build() {
  for (const [name, kind, low, high] of FIELDS) {
    const label = element("label", name.replace(/_/g, " "), { title: told.help[name] || "" });
    if (kind === "choice") {
      const box = element("select", undefined, { name });
      box.append(element("option", name === "model" ? "(by parameters)" : "(default)", { value: "" }));
      for (const one of told.choices[name]) box.append(element("option", one, { value: one }));
      box.addEventListener("change", () => set(name, box.value));
      label.append(box);
    } else {
      const box = element("input", undefined, { name, type: "text", inputmode: "text", autocomplete: "off" });
      box.addEventListener("change", () => set(name, box.value.trim()));
      label.append(box);
    }
    at("fields").append(label);
    if (kind === "range" || kind === "share") {
      const slider = element("input", undefined, { type: "range", "data-for": name, min: kind === "share" ? 0.05 : low, max: kind === "share" ? 0.7 : high, step: kind === "share" ? 0.01 : 0.02, "aria-label": name + " slider" });
      slider.addEventListener("input", () => {
        const value = Number(slider.value);
        set(name, kind === "share" ? value.toFixed(2) : name === "gpus" ? String(Math.round(2 ** Math.round(value / Math.log10(2)))) : short(10 ** value));
      });
      label.append(slider);
    }
  }
  for (const [name, question] of Object.entries(told.questions)) {
    const label = element("label", question);
    const box = element("input", undefined, { name, type: "text", autocomplete: "off" });
    box.addEventListener("change", () => { guesses[name] = box.value.trim(); });
    label.append(box); at("guess").append(label);
  }
}
function fill() {
  for (const box of at("fields").querySelectorAll("[name]")) if (document.activeElement !== box || box.type !== "text") box.value = state[box.name] || "";
  for (const slider of at("fields").querySelectorAll("[data-for]")) {
    const name = slider.dataset.for, parts = String(state[name] || "").split(":").map(number);
    const value = name === "mfu" ? (parts[0] + parts[parts.length - 1]) / 2 : Math.log10(parts[0]);
    if (Number.isFinite(value) && document.activeElement !== slider) slider.value = value;
  }
}
async function ask() {
  if (busy) { again = true; return; }
  busy = true;
  const asked = query();
  history.replaceState(null, "", "#" + asked);
  try {
    const reply = await fetch("plan?" + asked);
    const found = await reply.json();
    at("error").textContent = found.error || "";
    if (!found.error) show(found);
  } catch (error) {
    at("error").textContent = "the planner does not answer; is tokenmill plan serve still running?";
  }
  busy = false;
  if (again) { again = false; ask(); }
}
function show(found) {
  saved = found.plan;
  const curve = found.curve, wanted = [];
  for (const section of found.sections) for (const one of section.numbers) wanted.push(one);
  const value = (label) => (wanted.find((one) => one.label.toLowerCase().includes(label)) || { value: "-" }).value;
  const days = found.plan.time && found.plan.time.days, usd = found.plan.bill && found.plan.bill.total_usd;
  const figures = [
    [days ? plain(days.p50) + " days" : "-", days ? plain(days.p10) + " to " + plain(days.p90) : "days"],
    [usd ? "$" + short(usd.p50) : "-", usd ? "$" + short(usd.p10) + " to $" + short(usd.p90) : "cost"],
    [(found.plan.fits ? "fits: " : "does not fit: ") + (found.plan.fit.total_bytes / 2 ** 30).toFixed(1) + " GiB", "of " + (found.plan.fit.available_bytes / 2 ** 30).toFixed(1) + " GiB of the fullest GPU"],
    [curve.chosen[2].toFixed(3), "loss expected, nats per token (optimum " + curve.best[2].toFixed(3) + ")"],
  ];
  at("figures").replaceChildren(...figures.map(([big, small]) => { const box = element("div"); box.append(element("b", big), element("span", small)); return box; }));
  const size = at("fields").querySelector("[data-for=parameters]");
  if (!state.parameters && document.activeElement !== size) size.value = Math.log10(found.plan.model.total_parameters);
  at("lines").textContent = found.lines.join("\n");
  draw(curve);
  guessed(found.guess || []);
  const open = new Set([...document.querySelectorAll("#sections details[open]")].map((one) => one.dataset.key));
  at("sections").replaceChildren(...found.sections.flatMap((section) => sectionOf(section, open)));
}
function plain(value) { return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3))); }
function sectionOf(section, open) {
  const list = element("div");
  for (const one of section.numbers) {
    const key = section.title + "/" + one.label, folded = element("details", undefined, { "data-key": key });
    const head = element("summary", one.label + " ");
    head.append(element("span", one.value, { class: "v" }));
    folded.append(head, element("pre", one.why.join("\n") || "given", { class: "why" }));
    folded.open = open.has(key);
    list.append(folded);
  }
  const parts = [element("h2", section.title), list];
  if (section.rows.length) parts.push(table(section.head, section.rows, section.title));
  for (const note of section.notes) parts.push(element("p", note));
  return parts;
}
function table(head, rows, name) {
  const box = element("div", undefined, { class: "wide", tabindex: "0", role: "region", "aria-label": name }), made = element("table"), top = element("tr");
  for (const cell of head) top.append(element("th", cell, { scope: "col" }));
  made.createTHead().append(top);
  const body = made.createTBody();
  for (const row of rows) { const line = element("tr"); for (const cell of row) line.append(element("td", cell)); body.append(line); }
  box.append(made);
  return box;
}
function guessed(rows) {
  const head = ["question", "your guess", "p10", "p50", "p90", "you / program"];
  at("guessed").replaceChildren(...(rows.length ? [element("h2", "Your guesses beside the program's"), table(head, rows.map((row) => [row.question, plainOrShort(row.yours), plainOrShort(row.p10), plainOrShort(row.p50), plainOrShort(row.p90), String(row.ratio)]), "guesses")] : []));
}
function plainOrShort(value) { return value >= 1e5 ? short(value) : plain(value); }
function svg(kind, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}
function draw(curve) {
  const W = 340, H = 220, left = 40, right = 10, top = 12, bottom = 36;
  const cut = Math.max(curve.best[2], curve.chosen[2]) + 0.5, points = curve.points.filter((one) => one[2] <= cut || one[0] === curve.chosen[0]);
  const xs = points.map((one) => Math.log(one[0])), low = Math.min(...xs), high = Math.max(...xs);
  const bottomLoss = curve.best[2] - 0.05, topLoss = Math.max(...points.map((one) => one[2]));
  const x = (n) => left + ((Math.log(n) - low) / (high - low || 1)) * (W - left - right);
  const y = (loss) => top + (1 - (loss - bottomLoss) / (topLoss - bottomLoss || 1)) * (H - top - bottom);
  const box = svg("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img", "aria-label": "expected loss by parameters at the same compute" });
  box.append(svg("polyline", { points: points.map((one) => `${x(one[0]).toFixed(1)},${y(one[2]).toFixed(1)}`).join(" "), fill: "none", stroke: "var(--bar)", "stroke-width": 2 }));
  for (const [name, one] of [["optimum", curve.best], ["chosen", curve.chosen]]) {
    const cx = Math.min(Math.max(x(one[0]), left), W - right);
    const below = name === "optimum", side = cx > (W + left) / 2 ? "end" : "start";
    box.append(svg("text", { x: cx + (side === "end" ? -8 : 8), y: Math.max(y(one[2]) + (below ? 16 : -10), 12), "text-anchor": side, fill: "var(--ink)" }, `${name} ${short(one[0])}`));
    box.append(svg("circle", { cx, cy: y(one[2]), r: name === "chosen" ? 6 : 4, fill: name === "chosen" ? "var(--accent)" : "var(--third)" }));
  }
  for (const loss of [bottomLoss, topLoss]) box.append(svg("text", { x: left - 6, y: y(loss) + 4, "text-anchor": "end", fill: "var(--soft)" }, loss.toFixed(2)));
  box.append(svg("text", { x: left, y: H - 20, fill: "var(--soft)" }, short(points[0][0])), svg("text", { x: W - right, y: H - 20, "text-anchor": "end", fill: "var(--soft)" }, short(points[points.length - 1][0])));
  box.append(svg("text", { x: (W + left) / 2, y: H - 4, "text-anchor": "middle", fill: "var(--ink)" }, "parameters; loss upwards"));
  const nearest = (event) => {
    const area = box.getBoundingClientRect(), place = ((event.clientX - area.left) / area.width) * W;
    return points.reduce((a, b) => (Math.abs(x(a[0]) - place) < Math.abs(x(b[0]) - place) ? a : b));
  };
  box.addEventListener("pointermove", (event) => { const one = nearest(event); at("point").textContent = `${short(one[0])} parameters on ${short(one[1])} tokens: loss ${one[2].toFixed(3)}; click to take it`; });
  box.addEventListener("click", (event) => { const one = nearest(event); delete state.model; state.parameters = short(one[0]); state.tokens = short(one[1]); fill(); ask(); });
  at("curve").replaceChildren(box);
}
function reveal() { at("guesses").classList.add("hidden"); at("plan").classList.remove("hidden"); fill(); ask(); }
at("show").addEventListener("click", reveal);
at("guess").addEventListener("submit", (event) => { event.preventDefault(); reveal(); });
at("fields").addEventListener("submit", (event) => event.preventDefault());
at("save").addEventListener("click", () => {
  if (!saved) return;
  const link = element("a", undefined, { href: URL.createObjectURL(new Blob([JSON.stringify(saved, null, 1) + "\n"], { type: "application/json" })), download: "plan.json" });
  link.click();
});
at("copy").addEventListener("click", async () => {
  try { await navigator.clipboard.writeText(location.href); at("copied").textContent = "copied"; } catch (error) { at("copied").textContent = location.href; }
});
build();
if (read()) reveal(); else fill();
