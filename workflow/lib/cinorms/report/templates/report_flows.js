// The table of flows: sortable by each column; the reader chooses how many rows it shows.

const PAGE = 10;

/** Show the first `most` of the flows that `places` lists. */
function showFlows(state, places, most, change, more) {
  const { arm } = state;
  const models = chosen(state);
  const order = sorted(state, places);
  const rows = order.slice(0, most).map((i) => flowRow(state, models, i, change));
  keepFocus("flows", () => fill("flows", makeTable(heads(state, models, change), rows)));
  const shown = Math.min(most, order.length);
  document.getElementById("flows-status").textContent = statusText(state, order, shown);
  const button = make("button", { type: "button", onclick: more }, `Show ${Math.min(PAGE, order.length - shown)} more`);
  fill("flows-more", ...(shown < order.length ? [button] : []));
}

function statusText(state, order, shown) {
  const where = cellWords(state);
  if (state.compare && state.models.length < 2) return "Choose at least two models to compare.";
  const what = state.compare ? "flows on which the chosen models hold different norms" : "flows";
  const first = state.sort ? "" : ", the most contested first";
  return `${count(order.length)} ${what}${where}; ${count(shown)} are shown${first}. Choose one to see its answers.`;
}

function cellWords(state) {
  const names = [state.rows, state.columns];
  const parts = (state.cell ?? []).map((level, k) => (level === null ? "" : `${names[k].replaceAll("_", " ")} ‘${level}’`));
  return parts.some(Boolean) ? ` with ${parts.filter(Boolean).join(" and ")}` : "";
}

function heads(state, models, change) {
  const list = [["flow:", "Flow"]];
  models.forEach((model) => {
    list.push([`norm:${model.name}`, model.label], [`share:${model.name}`, "Agree"]);
    if (anyAgain(state)) list.push([`again:${model.name}`, "Again"]);
  });
  if (models.length > 1) list.push(["distance:", "Distance"]);
  return list.map(([key, text]) => headCell(state, key, text, change));
}

function headCell(state, key, text, change) {
  const on = state.sort === key;
  const sign = on ? (state.down ? " ▼" : " ▲") : "";
  const turn = () => change({ sort: key, down: on ? !state.down : false });
  const sort = on ? (state.down ? "descending" : "ascending") : "none";
  const [what, name] = [key.split(":")[0], key.slice(key.indexOf(":") + 1)];
  const says = { share: `Valid answers of ${name} that agree`, again: `How probable it is that other wordings give the norm of ${name} again` }[what];
  const label = says ? { "aria-label": says, title: says } : {};
  return make("th", { scope: "col", "aria-sort": sort }, make("button", { type: "button", name: `sort:${key}`, onclick: turn, ...label }, text + sign));
}

function flowRow(state, models, i, change) {
  const { arm } = state;
  const open = () => change({ flow: arm.flow[i] });
  const cells = [make("th", { scope: "row" }, make("button", { type: "button", class: "link", name: `flow:${arm.flow[i]}`, onclick: open }, arm.text[i]))];
  for (const model of models) {
    cells.push(make("td", {}, chip(arm, model, i), ` ${wordsOf(arm, model, i)}`));
    cells.push(make("td", { class: "number" }, agreed(model, i)));
    if (anyAgain(state)) cells.push(make("td", { class: "number" }, again(model, i) === null ? "" : percent(again(model, i), 1)));
  }
  if (models.length > 1) {
    const gap = distance(models, i);
    cells.push(make("td", { class: "number" }, gap < 0 ? "one has none" : String(gap)));
  }
  return make("tr", {}, ...cells);
}

/** Return how many valid answers are the most frequent level, of how many. */
const agreed = (model, i) => (valid(model, i) ? `${agreeing(model, i)} of ${valid(model, i)}` : "none valid");

/** Return the flows as rows of a CSV file, every chosen model's norm with its counts. */
function flowsCsv(state, places) {
  const { arm } = state;
  const models = chosen(state);
  const names = ["norm", "status", "p_again", "valid", ...arm.levels.map((level) => `answers ${level}`)];
  const head = ["flow", ...arm.factors.map((factor) => factor.name), "vignette"];
  models.forEach((model) => names.forEach((name) => head.push(`${model.name}: ${name}`)));
  const rows = sorted(state, places).map((i) => {
    const row = [arm.flow[i], ...arm.factors.map((factor) => factor.levels[factor.of[i]]), arm.text[i]];
    for (const model of models) {
      row.push(holds(model, i) ? model.value[i] : "", wordsOf(arm, model, i), again(model, i) ?? "", valid(model, i));
      model.counts.forEach((of) => row.push(of[i]));
    }
    return row;
  });
  return csv([head, ...rows]);
}
