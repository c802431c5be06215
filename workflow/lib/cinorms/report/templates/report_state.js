// The state of the explorer is in the page's address: #explorer?arm=...&model=...&fix:sender=...

const MOST_MODELS = 4;
const MARK = "#explorer?";

/** Return the state that the address asks for; what it does not say, or says wrongly, is as at the start. */
async function readState() {
  const asked = new URLSearchParams(location.hash.startsWith(MARK) ? location.hash.slice(MARK.length) : "");
  const name = study.arms.some((arm) => arm.name === asked.get("arm")) ? asked.get("arm") : study.main;
  const arm = await loadArm(name);
  const known = arm.models.map((model) => model.name);
  const models = asked.getAll("model").filter((model) => known.includes(model)).slice(0, MOST_MODELS);
  const state = {
    arm,
    models: models.length ? models : known.slice(0, 1),
    ...axes(arm, asked.get("rows"), asked.get("columns")),
    fix: {},
    cell: null,
    compare: asked.get("compare") === "1",
    view: asked.get("view") in TABS ? asked.get("view") : ["held", "sort", "row"].some((key) => asked.has(key)) ? "flows" : "heatmap",
    held: ["held", "again", "none"].includes(asked.get("held")) ? asked.get("held") : "all",
    query: asked.get("query") ?? "",
    sort: asked.get("sort") ?? "",
    down: asked.get("down") === "1",
    flow: asked.has("flow") ? Number(asked.get("flow")) : null,
    variant: asked.get("variant"),
    ...Object.fromEntries(ASKED.map((name) => [name, asked.get(name) ?? ""])),
  };
  for (const factor of arm.factors) {
    const level = asked.get(`fix:${factor.name}`);
    if (factor.used.some((one) => one.label === level)) state.fix[factor.name] = level;
  }
  if (asked.has("row") || asked.has("column")) state.cell = [asked.get("row"), asked.get("column")];
  return state;
}

/** Return which factors stand in rows and columns: as asked, else the two with most levels. */
function axes(arm, rows, columns) {
  const bySize = arm.factors.filter((f) => f.used.length > 1).sort((a, b) => b.used.length - a.used.length);
  const names = (bySize.length ? bySize : arm.factors).map((factor) => factor.name);
  const first = names.includes(rows) ? rows : names.find((name) => name !== columns) ?? null;
  const second = names.includes(columns) && columns !== first ? columns : names.find((name) => name !== first);
  return { rows: first, columns: second ?? null };
}

/** Return the address of a state. */
function addressOf(state) {
  const query = new URLSearchParams([["arm", state.arm.name]]);
  state.models.forEach((model) => query.append("model", model));
  if (state.rows) query.set("rows", state.rows);
  if (state.columns) query.set("columns", state.columns);
  Object.entries(state.fix).forEach(([name, level]) => query.set(`fix:${name}`, level));
  if (state.cell?.[0] != null) query.set("row", state.cell[0]);
  if (state.cell?.[1] != null) query.set("column", state.cell[1]);
  if (state.compare) query.set("compare", "1");
  query.set("view", state.view);
  if (state.held !== "all") query.set("held", state.held);
  if (state.query) query.set("query", state.query);
  if (state.sort) query.set("sort", state.sort);
  if (state.down) query.set("down", "1");
  ASKED.filter((name) => state[name]).forEach((name) => query.set(name, state[name]));
  if (state.flow !== null) query.set("flow", state.flow);
  if (state.flow !== null && state.variant) query.set("variant", state.variant);
  return MARK + query;
}

// Which flows a state shows, and the numbers about them.

/** Return the chosen models of a state, in the order of the arm. */
const chosen = (state) => state.arm.models.filter((model) => state.models.includes(model.name));

/** Tell whether the study knows of a chosen model's norms how probable it is that other wordings give them again. */
const anyAgain = (state) => chosen(state).some((model) => model.again.some((value) => value !== NOT_KNOWN));

/** Return the places of the flows that have every fixed level and match the search (and are disputed, in compare mode). */
function sliceOf(state) {
  const { arm } = state;
  const tests = arm.factors
    .filter((factor) => factor.name in state.fix)
    .map((factor) => ({ of: factor.of, code: factor.levels.indexOf(state.fix[factor.name]) }));
  const models = chosen(state);
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const places = [];
  for (let i = 0; i < arm.n; i += 1) {
    if (!tests.every(({ of, code }) => of[i] === code) || !matches(arm, i, words)) continue;
    if (!state.compare || distance(models, i) > 0) places.push(i);
  }
  return places;
}

/** Return how many levels the norms held of a flow are apart; -1 where fewer than two are held. */
function distance(models, i) {
  let [n, low, high] = [0, Infinity, -Infinity];
  for (const model of models) {
    if (!holds(model, i)) continue;
    n += 1;
    low = Math.min(low, model.value[i]);
    high = Math.max(high, model.value[i]);
  }
  return n < 2 ? -1 : high - low;
}

/** Return how contested a flow is: how far apart the norms are, of equal ones the surest first; of one model, how much its answers differ. */
function contested(models, i) {
  const answered = models.filter((model) => valid(model, i));
  const split = answered.reduce((sum, model) => sum + 1 - agreeing(model, i) / valid(model, i), 0);
  return models.length > 1 ? Math.max(distance(models, i), 0) - split / (models.length + 1) : split;
}

/** Return the flows that the table shows: of the slice, those of the chosen cell that the filter leaves. */
function tableOf(state, slice) {
  const cell = cellTests(state);
  const models = chosen(state);
  const fits = { all: () => true, held: (i) => models.every((m) => holds(m, i)), none: (i) => !models.every((m) => holds(m, i)), again: (i) => models.every((m) => again(m, i) > 0.5) };
  return slice.filter((i) => cell.every(({ of, code }) => of[i] === code) && fits[state.held](i));
}

function cellTests(state) {
  const names = [state.rows, state.columns];
  return (state.cell ?? [])
    .map((level, k) => ({ factor: state.arm.factors.find((f) => f.name === names[k]), level }))
    .filter(({ factor, level }) => factor && level !== null)
    .map(({ factor, level }) => ({ of: factor.of, code: factor.levels.indexOf(level) }));
}

function matches(arm, i, words) {
  if (!words.length) return true;
  if (!arm.hay) arm.hay = arm.text.map((text, k) => haystack(arm, text, k));
  return words.every((word) => arm.hay[i].includes(word));
}

function haystack(arm, text, i) {
  return [arm.flow[i], text, ...arm.factors.map((factor) => factor.levels[factor.of[i]])].join("\n").toLowerCase();
}

/** Return the flows in the order of the state's sort key; equal ones as they stand in the dataset. */
function sorted(state, places) {
  const models = chosen(state);
  const key = sortKey(state, models);
  const sign = state.down ? -1 : 1;
  const keys = new Map(places.map((i) => [i, key(i)]));
  // Rows without a number come last in both directions.
  return places.slice().sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return sign * (x - y) || a - b;
  });
}

function sortKey(state, models) {
  const [what, name] = [state.sort.split(":")[0], state.sort.slice(state.sort.indexOf(":") + 1)];
  const model = models.find((one) => one.name === name);
  if (what === "norm" && model) return (i) => (holds(model, i) ? model.value[i] : null);
  if (what === "share" && model) return (i) => (holds(model, i) ? agreeing(model, i) / valid(model, i) : null);
  if (what === "again" && model) return (i) => again(model, i);
  if (what === "flow") return (i) => state.arm.flow[i];
  if (what === "distance") return (i) => distance(models, i);
  return (i) => -contested(models, i);
}
