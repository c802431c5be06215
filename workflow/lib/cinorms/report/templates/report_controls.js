// What a reader can choose: arm, models, axes, search, fixed levels, compare mode; and above the flows, a filter.

/** Show the controls as the state has them. `change` takes what is to be different. */
function showControls(state, change) {
  const { arm } = state;
  const nodes = [];
  if (study.arms.length > 1) nodes.push(armChoice(state, change));
  nodes.push(modelChoice(state, change));
  const varying = arm.factors.filter((factor) => factor.used.length > 1);
  if (varying.length > 1) {
    const pairs = varying.map((factor) => [factor.name, factor.label]);
    nodes.push(choice("Rows", "rows", pairs, state.rows, (rows) => change({ ...axes(arm, rows, swapped(state, rows)), cell: null })));
    nodes.push(
      choice("Columns", "columns", pairs, state.columns, (columns) =>
        change({ ...axes(arm, state.rows === columns ? state.columns : state.rows, columns), cell: null })),
    );
  }
  nodes.push(make("label", {}, "Search", make("input", {
    type: "search",
    name: "query",
    value: state.query,
    oninput: (event) => change({ query: event.target.value }),
  })));
  varying.forEach((factor) => nodes.push(levelChoice(state, factor, change)));
  nodes.push(
    check("Compare: only flows on which the chosen models differ", "compare", state.compare, (on) =>
      change({ compare: on, sort: "", down: false })),
  );
  keepFocus("controls", () => fill("controls", ...nodes));
}

/** Return what stands in the columns once `rows` stands in the rows. */
const swapped = (state, rows) => (rows === state.columns ? state.rows : state.columns);

function armChoice(state, change) {
  const pairs = study.arms.map((arm) => [arm.name, `${arm.name}: ${study.datasets[arm.dataset].title}`]);
  return choice("Dataset and arm", "arm", pairs, state.arm.name, (name) => change({ arm: name }));
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
    return check(model.name, `model:${model.name}`, on, toggle, fixed);
  });
  return make("fieldset", {}, make("legend", {}, "Models, up to four"), ...boxes);
}

function levelChoice(state, factor, change) {
  const pairs = [["", "any"], ...factor.used.map(({ label }) => [label, label])];
  return choice(`Only ${factor.label}`, `fix:${factor.name}`, pairs, state.fix[factor.name] ?? "", (level) => {
    const { [factor.name]: _, ...others } = state.fix;
    change({ fix: level ? { ...others, [factor.name]: level } : others, cell: null });
  });
}

function choice(label, name, pairs, value, act) {
  const options = pairs.map(([key, text]) => make("option", { value: key, selected: key === value }, text));
  return make("label", {}, label, make("select", { name, onchange: (event) => act(event.target.value) }, ...options));
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

/** Show what narrows the table of flows. */
function showFlowControls(state, change, download) {
  const held = [["all", "all flows"], ["held", "with a norm of each model"], ["none", "without a norm of some model"]];
  const nodes = [
    choice("Show", "held", held, state.held, (value) => change({ held: value })),
    make("button", { type: "button", name: "download", onclick: download }, "Download these flows (CSV)"),
  ];
  if (state.cell) nodes.push(make("button", { type: "button", name: "whole", onclick: () => change({ cell: null }) }, "Leave the heatmap’s cell"));
  keepFocus("flows-controls", () => fill("flows-controls", ...nodes));
}
