// The list of replies: those to the flows above that have a text, an answer, a rule or a wording; found as they load.

const ASKED = ["said", "answer", "rule", "template", "differs"];
/** Replies that are looked for at once. */
const FOUND = 50;
let latest = 0;

/** Show what narrows the list; it is made when the reader asks for it, because it loads files. */
function showSaid(state, places, change) {
  latest += 1;
  const { arm } = state;
  const models = chosen(state).filter((model) => model.replies);
  fill("said");
  fill("said-more");
  document.getElementById("said-status").textContent = models.length ? "" : "This study has no replies of these models.";
  const set = (name) => (value) => change({ [name]: value });
  const answers = [...arm.levels.map((_, k) => [String(k), optionText(arm, k)]), ...study.invalid.map((text, k) => [String(arm.levels.length + k), text])];
  const rules = [...new Set(models.flatMap((model) => model.replies.rules))].sort();
  const templates = [...new Set(arm.variants.map(([, template]) => String(template)))];
  const any = [["", "any"]];
  const nodes = [
    ...tableFilters(state, change),
    make("label", {}, "Text", make("input", { type: "search", name: "said", value: state.said, onchange: (event) => change({ said: event.target.value }) })),
    choice("Read as", "answer", [...any, ...answers], state.answer, set("answer")),
    choice("Rule", "rule", [...any, ...rules.map((rule) => [rule, rule])], state.rule, set("rule")),
    choice(arm.numbered, "template", [...any, ...templates.map((no) => [no, no])], state.template, set("template")),
    check("Only answers that differ from the norm", "differs", state.differs === "1", (on) => change({ differs: on ? "1" : "" })),
    make("button", { type: "button", name: "say", onclick: () => listSaid(state, places, change) }, "Show the replies"),
  ];
  keepFocus("said-controls", () => fill("said-controls", ...(models.length ? nodes : [])));
}

/** List the first replies, and more on demand. A newer list ends an older one. */
async function listSaid(state, places, change) {
  latest += 1;
  const run = latest;
  const body = make("tbody");
  const head = ["Flow and variant", "Reply", "Read as", "Rule", "Model"].map((text) => make("th", { scope: "col" }, text));
  fill("said", make("table", {}, make("thead", {}, make("tr", {}, ...head)), body));
  const models = chosen(state).filter((one) => one.replies);
  const found = saidIn(state, places);
  const all = models.reduce((sum, model) => sum + places.reduce((n, i) => n + model.asked[i], 0), 0);
  let read = 0;
  const more = async () => {
    fill("said-more");
    const until = body.rows.length + FOUND;
    while (body.rows.length < until) {
      const { value, done } = await found.next();
      if (run !== latest) return;
      read += value?.read ?? 0;
      if (value?.reply) body.append(saidRow(state, value, change));
      const missing = value?.missing ? " Some are missing from the folder “replies” next to this page." : "";
      document.getElementById("said-status").textContent = `${count(body.rows.length)} found in ${done ? "" : `the first ${count(read)} of `}${count(done ? read : all)} replies.${missing}`;
      if (done) return;
    }
    fill("said-more", make("button", { type: "button", onclick: more }, `Look for ${FOUND} more`));
  };
  await more();
}

/** Yield the replies that fit, each with how many were looked at since the one before. */
async function* saidIn(state, places) {
  const { arm } = state;
  const place = new Map(places.map((i) => [arm.flow[i], i]));
  for (const model of chosen(state).filter((one) => one.replies)) {
    for (let k = 0; k < model.replies.last.length; k += 1) {
      const low = k ? model.replies.last[k - 1] : -Infinity;
      if (!places.some((i) => arm.flow[i] > low && arm.flow[i] <= model.replies.last[k])) continue;
      const part = await partOf(arm, model, k);
      let read = 0;
      for (const [row, flow] of (part?.flows ?? []).entries()) {
        if (!place.has(flow)) continue;
        for (let v = 0; v < arm.variants.length; v += 1) {
          const reply = replyAt(arm, part, row, v);
          if (reply.code === NOT_ASKED) continue;
          read += 1;
          if (!fitsSaid(state, model, place.get(flow), v, reply)) continue;
          yield { model, i: place.get(flow), v, reply, read };
          read = 0;
        }
      }
      yield { read, missing: !part };
    }
  }
}

function fitsSaid(state, model, i, v, reply) {
  const { arm } = state;
  if (state.answer && reply.code !== Number(state.answer)) return false;
  if (state.rule && reply.rule !== state.rule) return false;
  if (state.template && arm.variants[v][1] !== Number(state.template)) return false;
  if (state.differs && !(holds(model, i) && reply.code < arm.levels.length && placeOf(arm, model.value[i]) !== reply.code)) return false;
  return !state.said || (reply.text ?? "").toLowerCase().includes(state.said.toLowerCase());
}

function saidRow(state, { model, i, v, reply }, change) {
  const { arm } = state;
  const open = make("button", { type: "button", class: "link", onclick: () => change({ flow: arm.flow[i], variant: arm.variants[v][0] }) }, `Flow ${arm.flow[i]}, ${variantName(arm, v)}`);
  const cells = [answerWords(arm, reply.code), reply.rule, model.label].map((cell) => make("td", {}, cell));
  return make("tr", {}, make("th", { scope: "row" }, open), make("td", { class: "reply", dir: "auto" }, ...excerpt(state, reply)), ...cells);
}

/** Return a reply around what was searched for, else around the first words that the reader used. */
function excerpt(state, { text, marks, cut }) {
  if (text === null) return ["(no text)"];
  const at = state.said ? text.toLowerCase().indexOf(state.said.toLowerCase()) : -1;
  const spans = at < 0 ? marks : [at, at + state.said.length];
  const from = Math.max(0, (spans[0] ?? 0) - 60);
  const to = Math.min(text.length, from + 160);
  const seen = spans.filter((_, k) => spans[k - (k % 2)] < to);
  const inside = seen.map((place) => Math.min(place, to) - from);
  const middle = cut && cut[0] > from && cut[0] < to ? [cut[0] - from, cut[1]] : undefined;
  return [from ? "… " : "", ...markedText(text.slice(from, to), inside, middle), to < text.length ? " …" : ""];
}
