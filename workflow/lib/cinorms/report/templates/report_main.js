// The explorer: reads the state from the address, shows it, and writes every change back.

let state = null;
let most = PAGE;

/** Show everything again after `changed` of the state is different. */
async function change(changed) {
  if (changed.arm) {
    history.replaceState(null, "", `${MARK}${new URLSearchParams([["arm", changed.arm]])}`);
    state = await readState();
  } else {
    state = { ...state, ...changed };
    history.replaceState(null, "", addressOf(state));
  }
  if (!("flow" in changed)) {
    most = PAGE;
    // Narrowing or sorting the table, or the list of replies, does not change anything above it.
    const only = (...keys) => Object.keys(changed).every((key) => keys.includes(key));
    if (only(...ASKED)) {
      showSaid(state, tableOf(state, sliceOf(state)), change);
    } else if (only("view")) {
      showTabs(state, change);
      showSaid(state, tableOf(state, sliceOf(state)), change);
    } else if (only("held", "sort", "down")) showTable(sliceOf(state));
    else show();
  }
  await showDialog();
}

function show() {
  const slice = sliceOf(state);
  showControls(state, change);
  showAxes(state, change);
  showTabs(state, change);
  showSlice(slice);
  showCounts(state, slice);
  showLegend(state, slice);
  showHeatmap(state, slice, openCell);
  showTable(slice);
}

function showTable(slice) {
  const places = tableOf(state, slice);
  const more = () => {
    most += PAGE;
    showTable(slice);
  };
  showFlowControls(state, change, () => offer(`${study.study}-${state.arm.name}-flows.csv`, flowsCsv(state, places)));
  showFlows(state, places, most, change, more);
  showSaid(state, places, change);
}

function showSlice(slice) {
  const fixed = Object.entries(state.fix).map(([name, level]) => `${name.replaceAll("_", " ")} ‘${level}’`);
  const where = fixed.length ? ` with ${fixed.join(", ")}` : "";
  const matching = state.query.trim() ? ` that match ‘${state.query.trim()}’` : "";
  const only = state.compare ? " on which the chosen models hold different norms" : "";
  const text = `${count(slice.length)} of ${count(state.arm.n)} flows${where}${matching}${only}.`;
  // Who has fixed all its parts looks for this flow.
  const look = () => change({ flow: state.arm.flow[slice[0]] });
  fill("slice", text, ...(slice.length === 1 ? [" ", make("button", { type: "button", name: "look", onclick: look }, "Show this flow")] : []));
}

/** Open a cell of the heatmap: its flow or, where it has several, the table of them. */
function openCell(places, row, column) {
  if (places.length === 1) return change({ flow: state.arm.flow[places[0]] });
  return change({ cell: [row, column], view: "flows" });
}

async function showDialog() {
  const i = state.flow === null ? -1 : state.arm.flow.indexOf(state.flow);
  if (i >= 0) return showCell(state, i, close);
  return document.getElementById("cell").close();
}

const close = () => document.getElementById("cell").close();

/** Show the state of the address; scroll there if the reader came by a link to it. */
async function start() {
  state = await readState();
  most = PAGE;
  show();
  await showDialog();
  if (location.hash.startsWith(MARK)) document.getElementById("explorer").scrollIntoView();
  document.documentElement.dataset.ready = "1";
}

document.getElementById("controls").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("cell").addEventListener("close", () => {
  if (state.flow !== null) change({ flow: null, variant: null });
});
addEventListener("hashchange", async () => {
  if (!location.hash.startsWith(MARK)) return;
  const { flow, variant, ...asked } = await readState();
  // A link to another flow of what is shown changes nothing around it.
  if (addressOf({ ...state, flow: null }) === addressOf({ ...asked, flow: null })) await change({ flow, variant });
  else await start();
});
start();
