// Map: the slice by two factors, a part per model in each cell; and the counts per level below it.
// A cell of one flow has its norm; one of several has the share of their answers that accept, as the first screen has.

const MOST_LEVELS = 60;

/** Show how many norms of each chosen model stand at each level, and how many flows have none. */
function showCounts(state, slice) {
  const { arm } = state;
  const head = ["Model", ...arm.levels.map((level, k) => optionText(arm, k)), ...study.norm_statuses.slice(1)];
  const rows = chosen(state).map((model) => {
    const n = outcomes(arm, model, slice);
    const asked = n.reduce((sum, of) => sum + of, 0);
    const cells = n.map((of) => bar(of, asked));
    return make("tr", {}, make("th", { scope: "row" }, model.label), ...cells);
  });
  fill("counts", makeTable(head.map((text) => make("th", { scope: "col" }, text)), rows));
}

/** Return on how many of the flows at `places` a model holds a norm at each level, and then has none for each reason. */
function outcomes(arm, model, places) {
  const n = new Array(arm.levels.length + Object.keys(NO_NORM_SIGNS).length).fill(0);
  for (const i of places) {
    if (model.status[i] >= 0) n[holds(model, i) ? placeOf(arm, model.value[i]) : arm.levels.length + model.status[i] - 1] += 1;
  }
  return n;
}

function bar(n, whole) {
  const line = make("i", { "aria-hidden": "true" });
  line.style.width = whole ? `${(100 * n) / whole}%` : "0";
  return make("td", { class: "bar number" }, line, make("span", {}, `${count(n)} (${percent(n, whole)})`));
}

/** Show what the signs and colours mean: of norms only where a cell has one flow. */
function showLegend(state, slice) {
  const { arm } = state;
  const [rows, columns] = [state.rows, state.columns].map((name) => arm.factors.find((factor) => factor.name === name));
  const single = !rows || [...grouped(slice, rows, columns).values()].some((places) => places.length === 1);
  document.getElementById("of-several").hidden = single;
  if (!single) return fill("legend");
  const entries = arm.levels.map((level, k) => [arm.classes[k], signed(level), arm.options[k]]);
  Object.entries(NO_NORM_SIGNS).forEach(([status, sign]) => entries.push(["l-none", sign, study.norm_statuses[status]]));
  const nodes = entries.map(([name, sign, text]) => make("span", {}, make("span", { class: `chip ${name}` }, sign), ` ${text}`));
  return fill("legend", ...nodes);
}

/** Show the heatmap. `open` is called with the flow or, where a cell has several, its row and column. */
function showHeatmap(state, slice, open) {
  const { arm } = state;
  const [rows, columns] = [state.rows, state.columns].map((name) => arm.factors.find((factor) => factor.name === name));
  if (!rows) return fill("heatmap", make("p", {}, "The dataset has no factors: its flows are listed below."));
  const cells = grouped(slice, rows, columns);
  const lines = levelsOf(state, rows, slice);
  const across = columns ? levelsOf(state, columns, slice) : [{ label: "all flows", code: -1 }];
  const models = chosen(state);
  const head = [make("th", { scope: "col" }, `${rows.label} ↓ ${columns ? `${columns.label} →` : ""}`)];
  across.slice(0, MOST_LEVELS).forEach(({ label }) => head.push(make("th", { scope: "col" }, label)));
  const body = lines.slice(0, MOST_LEVELS).map((line) => {
    const parts = across.slice(0, MOST_LEVELS).map((column) =>
      heatCell(state, models, cells.get(`${line.code}:${column.code}`) ?? [], line, column, open));
    return make("tr", {}, make("th", { scope: "row" }, line.label), ...parts);
  });
  const table = makeTable(head, body, { class: "heatmap", role: "grid", "aria-labelledby": "heatmap-title" });
  rove(table);
  const more = Math.max(lines.length, across.length) > MOST_LEVELS;
  const note = more ? make("p", {}, `Only the first ${MOST_LEVELS} levels are drawn; fix a level to see others.`) : "";
  return fill("heatmap", modelKey(models), table, note);
}

/** Return which part of a cell is which model's. */
function modelKey(models) {
  if (models.length < 2) return make("p", {}, `Each cell: ${models[0].label}.`);
  return make("p", {}, `In each cell, from left to right: ${models.map((model) => model.label).join(", ")}.`);
}

/** Return the levels of an axis that the slice has; in compare mode, too, none is drawn without need. */
function levelsOf(state, factor, slice) {
  const used = new Set(slice.map((i) => factor.of[i]));
  return factor.used.filter(({ code }) => used.has(code));
}

function grouped(slice, rows, columns) {
  const cells = new Map();
  for (const i of slice) {
    const key = `${rows.of[i]}:${columns ? columns.of[i] : -1}`;
    if (cells.has(key)) cells.get(key).push(i);
    else cells.set(key, [i]);
  }
  return cells;
}

function heatCell(state, models, places, line, column, open) {
  if (!places.length) return make("td", { class: "void", role: "gridcell", tabindex: "-1", "aria-label": "no such flow" });
  const parts = models.map((model) => heatPart(state, model, places));
  const where = state.columns ? `${line.label}, ${column.label}` : line.label;
  const isChosen = state.cell && state.cell[0] === line.label && (!state.columns || state.cell[1] === column.label);
  return make(
    "td",
    {
      role: "gridcell",
      tabindex: "-1",
      class: isChosen ? "chosen" : null,
      "aria-label": `${where}: ${parts.map((part) => part.label).join("; ")}`,
      onclick: () => open(places, line.label, state.columns ? column.label : null),
    },
    make("div", { class: "parts", "aria-hidden": "true" }, ...parts.map((part) => part.node)),
  );
}

/** Return a model's part of a cell and its label: the norm of its only flow, or the share of answers that accept several. */
function heatPart(state, model, places) {
  if (places.length === 1) {
    const [i] = places;
    const node = make("div", { class: `part ${classOf(state.arm, model, i)}` }, signOf(model, i) || " ");
    return { node, label: `${model.label}: ${holds(model, i) ? `${signed(model.value[i])} ` : ""}${wordsOf(state.arm, model, i)}` };
  }
  const [accepting, answers] = accepted(state.arm, model, places);
  const text = answers ? percent(accepting, answers) : "–";
  const node = make("div", { class: `part ${answers ? `s${Math.round((20 * accepting) / answers)}` : "l-none"}` }, text);
  return { node, label: `${model.label}, ${count(places.length)} flows: ${answers ? `${text} of ${count(answers)} answers accept` : "no answer has a level"}` };
}

/** Return how many of a model's answers about the flows at `places` accept, and how many have a level. */
function accepted(arm, model, places) {
  const sum = (counts) => counts.reduce((n, of) => n + places.reduce((m, i) => m + of[i], 0), 0);
  return [sum(model.counts.filter((_, k) => arm.levels[k] > arm.middle)), sum(model.counts)];
}

/** Make the cells of a grid one stop of the Tab key; arrows, Home and End move, Enter and Space open. */
function rove(table) {
  const grid = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")]);
  if (!grid.length) return;
  grid[0][0].setAttribute("tabindex", "0");
  table.addEventListener("keydown", (event) => {
    const row = grid.findIndex((cells) => cells.includes(event.target));
    if (row < 0) return;
    const column = grid[row].indexOf(event.target);
    const last = grid[row].length - 1;
    const to = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? grid.length - 1 : row, last],
    }[event.key];
    if (event.key === "Enter" || event.key === " ") event.target.click();
    else if (!to) return;
    event.preventDefault();
    if (to) moveTo(grid, event.target, grid[to[0]]?.[to[1]]);
  });
}

function moveTo(grid, from, to) {
  if (!to) return;
  grid.flat().forEach((cell) => cell.setAttribute("tabindex", cell === to ? "0" : "-1"));
  to.focus();
}
