// One flow: its vignette, each model's norm and answers, and of every variant the exact question and the reply.

/** Show the flow at place `i` in the dialog. */
async function showCell(state, i, close) {
  const dialog = document.getElementById("cell");
  const { arm } = state;
  const models = chosen(state);
  const replies = await Promise.all(models.map((model) => repliesTo(arm, model, i)));
  const packs = await Promise.all(models.map(async (model) => (model.answers ? new Uint8Array(await unpack(model.answers)) : null)));
  const levels = arm.factors.map((factor) => [make("dt", {}, factor.label), make("dd", {}, factor.levels[factor.of[i]])]);
  dialog.replaceChildren(
    make("button", { type: "button", class: "close", onclick: close }, "Close"),
    make("h3", { id: "cell-title" }, `Flow ${arm.flow[i]} of ${arm.title}`),
    make("blockquote", { class: "vignette" }, arm.text[i]),
    make("dl", { class: "facts" }, ...levels.flat()),
    ...models.map((model) => modelPart(arm, model, i)),
    make("h3", {}, "Answers under every variant"),
    variantPart(arm, models, packs, replies, i),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  // A link to one reply opens it.
  const row = dialog.querySelectorAll("tr.variant")[arm.variants.findIndex(([name]) => name === state.variant)];
  row?.querySelector("button").click();
}

function modelPart(arm, model, i) {
  const planted = model.planted ? make("p", { class: "soft" }, "Planted (simulated): no model gave these answers.") : "";
  const parts = [make("h4", {}, model.label), planted, make("p", {}, chip(arm, model, i), ` ${normText(arm, model, i)}`)];
  if (valid(model, i)) {
    const head = arm.levels.map((level, k) => make("th", { scope: "col" }, optionText(arm, k)));
    const cells = model.counts.map((of) => bar(of[i], valid(model, i)));
    parts.push(make("div", { class: "scroll" }, makeTable(head, [make("tr", {}, ...cells)])));
  }
  const delta = deltaText(arm, model, i);
  const people = model.people?.[arm.flow[i]];
  return make("section", { class: "answers-of" }, ...parts, delta ? make("p", {}, delta) : "", people ? make("p", {}, `Compared with people. ${people}`) : "");
}

/** Return the norm that a model holds, and how many answers agree with it, in words. */
function normText(arm, model, i) {
  if (model.status[i] < 0) return "This model was not asked about this flow.";
  const n = valid(model, i);
  const invalid = model.asked[i] - n;
  const norm = holds(model, i)
    ? `The norm is ‘${wordsOf(arm, model, i)}’: ${model.counts[placeOf(arm, model.value[i])][i]} of ${n} valid answers (${percent(model.counts[placeOf(arm, model.value[i])][i], n)}) agree.${again(model, i) === null ? "" : ` As many other wordings would give the same norm with a probability of ${percent(again(model, i), 1)}.`}`
    : `${capital(study.norm_statuses[model.status[i]])}; ${n ? `at most ${agreeing(model, i)} of ${n} valid answers agree` : "there is no valid answer"}. This does not mean neutral.`;
  const needs = study.t_maj === "plurality" ? "it is the level with the most answers, majority or not" : `${Math.round(100 * study.t_maj)}% must agree`;
  return `${norm} The model was asked ${count(model.asked[i])} times; ${count(invalid)} ${invalid === 1 ? "answer is" : "answers are"} invalid. A norm needs ${model.t_val} valid answers; ${needs}.`;
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Return the expected value of a flow, and how far norm and mean answer are from it; empty without one. */
function deltaText(arm, model, i) {
  const expected = arm.expected?.[i];
  if (expected === null || expected === undefined) return "";
  const unit = `on the dataset’s range from ${arm.range[0]} to ${arm.range[1]}`;
  const n = valid(model, i);
  const parts = [`Expected: ${signed(expected, 2)} ${unit}.`];
  if (holds(model, i)) parts.push(`Delta of the norm: ${signed(inUnits(arm, model.value[i]) - expected, 2)}.`);
  if (n) {
    const mean = arm.levels.reduce((sum, level, k) => sum + level * model.counts[k][i], 0) / n;
    parts.push(`Delta of the mean answer: ${signed(inUnits(arm, mean) - expected, 2)}.`);
  }
  return parts.join(" ");
}

/** Return the table of variants; choosing one shows below it what was asked and what was replied. */
function variantPart(arm, models, packs, replies, i) {
  const code = (m, v) => packs[m]?.[v * arm.n + i] ?? replies[m]?.[v].code;
  if (models.every((_, m) => !packs[m] && !replies[m])) {
    return make("p", {}, `This page has no room for the answers: they are in the study’s folder under answers/${arm.name}.`);
  }
  const asked = make("td", { id: "question", colspan: 1 + models.length });
  const below = make("tr", {}, asked);
  const head = ["Variant (choose one to read its prompt and replies)", ...models.map((model) => model.label)];
  const rows = arm.variants.map((_, v) => {
    const show = async (event) => {
      const row = event.target.closest("tr");
      const said = models.flatMap((model, m) => replyPart(arm, model, i, v, replies[m]?.[v]));
      asked.replaceChildren(...(await questionPart(arm, models, replies, v, i)), ...said);
      row.after(below);
      row.scrollIntoView({ block: "start" });
    };
    const cells = models.map((_, m) => make("td", {}, code(m, v) === undefined ? "in the study’s folder" : answerWords(arm, code(m, v))));
    return make("tr", { class: "variant" }, make("th", { scope: "row" }, make("button", { type: "button", class: "link", onclick: show }, variantName(arm, v))), ...cells);
  });
  const table = makeTable(head.map((text) => make("th", { scope: "col" }, text)), rows);
  return make("div", {}, make("div", { class: "scroll" }, table));
}

/** Return a variant in words, and as tables name it. People are shown one order only: a second one is a second rating. */
function variantName(arm, v) {
  const [name, template, order] = arm.variants[v];
  const place = arm.numbered === "Rater" ? (order ? `, again (${order})` : "") : `, order ${order}`;
  return `${arm.numbered} ${template}${place} (${name})`;
}

function answerWords(arm, code) {
  if (code === NOT_ASKED) return "not asked";
  if (code >= arm.levels.length) return study.invalid[code - arm.levels.length];
  return make("span", {}, make("span", { class: `chip ${arm.classes[code]}` }, signed(arm.levels[code])), ` ${arm.options[code]}`);
}

/** Return the question of variant `v` as the models were asked it, once for each way in which it was put. */
async function questionPart(arm, models, replies, v, i) {
  const parts = [];
  const seen = new Set();
  for (const [m, model] of models.entries()) {
    const messages = await messagesOf(arm, model, v, i, replies[m]?.[v].order);
    const key = JSON.stringify(messages);
    if (seen.has(key)) continue;
    seen.add(key);
    parts.push(make("h4", {}, `${variantName(arm, v)}${models.length > 1 && model.layout !== "single" ? `, as ${model.label} was asked` : ""}`));
    messages.forEach(({ role, content }) => parts.push(make("p", {}, `${capital(role)} message:`), make("blockquote", {}, content)));
  }
  return parts;
}

/** Return the messages of a chat, as cinorms.prompts.messages writes them. */
async function messagesOf(arm, model, v, i, shown) {
  const template = arm.templates[arm.variants[v][1]];
  const pack = arm.orders[model.orders];
  const order = arm.orderNames[pack ? new Uint16Array(await unpack(pack))[v * arm.n + i] : shown];
  const options = arm.line ?? order
    ? arm.line ?? `[${[...order].map((k) => arm.options[parseInt(k, 11)]).join(", ")}]`
    : `[${arm.options.join(", ")}] (in an order that is not known)`;
  const single = model.layout === "single";
  const instruction = single ? template : template.replace(/:?\s*\{scenario\}/, "");
  const text = put(instruction, arm.text[i], options);
  const system = [arm.system, single ? null : text].filter(Boolean).join("\n\n");
  const user = { role: "user", content: single ? text : arm.text[i] };
  return system ? [{ role: "system", content: system }, user] : [user];
}

/** Put vignette and options into a template; what they contain is not looked into for placeholders. */
function put(template, vignette, options) {
  const parts = template.split(/(\{scenario\}|\{options\})/);
  return parts.map((part) => ({ "{scenario}": vignette, "{options}": options })[part] ?? part).join("");
}
