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
    models: models.length ? models : known.slice(0, 2),
    ...axes(arm, asked.get("rows"), asked.get("columns")),
    fix: {},
    cell: null,
    compare: asked.get("compare") === "1",
    view: asked.get("view") in TABS ? asked.get("view") : asked.has("rows") && !asked.has("row") ? "heatmap" : "flows",
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
