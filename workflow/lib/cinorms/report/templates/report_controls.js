// What a reader can choose: arm, models, fixed levels, search, compare mode; a tab; and in each tab, what it shows.

/** Show the bar of filters as the state has them. `change` takes what is to be different. */
function showControls(state, change) {
  const { arm } = state;
  const nodes = [];
  if (study.arms.length > 1) nodes.push(armChoice(state, change));
  nodes.push(modelChoice(state, change));
  varying(arm).forEach((factor) => nodes.push(levelChoice(state, factor, change)));
  nodes.push(make("input", {
    type: "search",
    name: "query",
    placeholder: "Words of a flow",
    "aria-label": "Words of a flow",
    value: state.query,
    oninput: (event) => change({ query: event.target.value }),
  }));
  nodes.push(
    check("Only flows on which they differ", "compare", state.compare, (on) => change({ compare: on, sort: "", down: false })),
  );
  keepFocus("controls", () => fill("controls", ...nodes));
}

const varying = (arm) => arm.factors.filter((factor) => factor.used.length > 1);

/** Show which factors the rows and columns of the heatmap have. */
function showAxes(state, change) {
  const pairs = varying(state.arm).map((factor) => [factor.name, factor.label]);
  const rows = (name) => change({ ...axes(state.arm, name, swapped(state, name)), cell: null });
  const columns = (name) => change({ ...axes(state.arm, state.rows === name ? state.columns : state.rows, name), cell: null });
  const nodes = [choice("Rows", "rows", pairs, state.rows, rows), choice("Columns", "columns", pairs, state.columns, columns)];
  keepFocus("axes", () => fill("axes", ...(pairs.length > 1 ? nodes : [])));
}

const TABS = { heatmap: "Map", flows: "Flows", replies: "Replies" };

/** Show the tabs, and the panel of the one that is chosen; arrows go from one to the next. */
function showTabs(state, change) {
  const names = Object.keys(TABS);
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) change({ view: names[(names.indexOf(state.view) + step + names.length) % names.length] });
  };
  const tabs = names.map((name) => make("button", {
    type: "button",
    role: "tab",
    id: `tab-${name}`,
    name: `view:${name}`,
    "aria-selected": String(name === state.view),
    "aria-controls": `panel-${name}`,
    tabindex: name === state.view ? "0" : "-1",
    onclick: () => change({ view: name }),
    onkeydown: move,
  }, TABS[name]));
  const focused = document.getElementById("tabs").contains(document.activeElement);
  fill("tabs", ...tabs);
  if (focused) document.getElementById(`tab-${state.view}`).focus();
  names.forEach((name) => { document.getElementById(`panel-${name}`).hidden = name !== state.view; });
}

/** Return what stands in the columns once `rows` stands in the rows. */
const swapped = (state, rows) => (rows === state.columns ? state.rows : state.columns);

function armChoice(state, change) {
  const pairs = study.arms.map((arm) => [arm.name, `${arm.name}: ${study.datasets[arm.dataset].title}`]);
  return selection("Dataset and arm", "arm", pairs, state.arm.name, (name) => change({ arm: name }));
}

function modelChoice(state, change) {
  const full = state.models.length >= MOST_MODELS;
  const boxes = state.arm.models.map((model) => {
    const on = state.models.includes(model.name);
    const toggle = (now) => {
      const models = now ? [...state.models, model.name] : state.models.filter((name) => name !== model.name);
      change({ models: state.arm.models.map((one) => one.name).filter((name) => models.includes(name)) });
    };
    // At least one model stays chosen, and at most four can be.
    const fixed = (on && state.models.length === 1) || (!on && full);
    return check(model.label, `model:${model.name}`, on, toggle, fixed);
  });
  const open = document.querySelector("#controls details")?.open;
  const title = make("summary", {}, `Models: ${state.models.length} of ${boxes.length}`);
  return make("details", { open }, title, make("fieldset", {}, make("legend", {}, "Models, up to four"), ...boxes));
}

function levelChoice(state, factor, change) {
  const pairs = [["", `any ${factor.label}`], ...factor.used.map(({ label }) => [label, label])];
  const act = (level) => {
    const { [factor.name]: _, ...others } = state.fix;
    change({ fix: level ? { ...others, [factor.name]: level } : others, cell: null });
  };
  return selection(`Only ${factor.label}`, `fix:${factor.name}`, pairs, state.fix[factor.name] ?? "", act);
}

function choice(label, name, pairs, value, act) {
  return make("label", {}, label, selection(null, name, pairs, value, act));
}

function selection(label, name, pairs, value, act) {
  const options = pairs.map(([key, text]) => make("option", { value: key, selected: key === value }, text));
  return make("select", { name, "aria-label": label, onchange: (event) => act(event.target.value) }, ...options);
}

function check(label, name, on, act, disabled = false) {
  const box = make("input", { type: "checkbox", name, checked: on, disabled, onchange: (event) => act(event.target.checked) });
  return make("label", { class: "check" }, box, label);
}

/** Make the controls of an element anew and leave the focus, and the place in a text, where it was. */
function keepFocus(id, draw) {
  const name = document.getElementById(id).contains(document.activeElement) ? document.activeElement.name : null;
  const place = name ? document.activeElement.selectionStart : null;
  draw();
  const again = name ? [...document.getElementById(id).querySelectorAll("[name]")].find((node) => node.name === name) : null;
  again?.focus();
  if (again && place !== null && again.type === "search") again.setSelectionRange(place, place);
}

/** Show what narrows the table of flows, and its download. */
function showFlowControls(state, change, download) {
  const button = make("button", { type: "button", name: "download", onclick: download }, "Download these flows (CSV)");
  keepFocus("flows-controls", () => fill("flows-controls", ...tableFilters(state, change), button));
}

/** Return what narrows the table of flows, and with it the replies. */
function tableFilters(state, change) {
  const held = [["all", "all flows"], ["held", "with a norm of each model"], ["none", "without a norm of some model"]];
  if (anyAgain(state)) held.splice(2, 0, ["again", "with norms expected again (over 50%)"]);
  const filters = [choice("Flows", "held", held, state.held, (value) => change({ held: value }))];
  const leave = () => change({ cell: null });
  return state.cell ? [...filters, make("button", { type: "button", name: "whole", onclick: leave }, "Leave the map’s cell")] : filters;
}
