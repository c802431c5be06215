// What the models said. Replies are in scripts beside the page, or packed inside it; each is read when it is asked for.

const MOST_SCRIPTS = 16;
const scripts = new Map();
const HEADER = ["text", "sha256", "arm", "model", "flow", "variant", "level", "status", "note"];

/** Take what a script beside the page holds; the element that loads it waits for that. */
window.cinormsReplies = (pack) => document.currentScript.dispatchEvent(new CustomEvent("replies", { detail: pack }));

/** Return a script's content (a promise); it fails where the file is not beside the page. */
function loadScript(arm, model, k) {
  return new Promise((done, fail) => {
    const gone = () => {
      script.remove();
      fail(new Error(script.src));
    };
    const src = ["replies", arm.name, model.name, `${k}.js`].map(encodeURIComponent).join("/");
    const script = make("script", { src, onreplies: (event) => done(event.detail), onload: gone, onerror: gone });
    document.head.append(script);
  });
}

/** Return the replies of a script (a promise): null where they cannot be loaded. The last ones used are kept. */
function partOf(arm, model, k) {
  const key = JSON.stringify([arm.name, model.name, k]);
  const found = scripts.get(key) ?? readPart(arm, model, k).catch(() => scripts.delete(key) && null);
  scripts.delete(key);
  scripts.set(key, found);
  if (scripts.size > MOST_SCRIPTS) scripts.delete(scripts.keys().next().value);
  return found;
}

async function readPart(arm, model, k) {
  const bytes = await inflate(model.replies.inside[k] ?? (await loadScript(arm, model, k)));
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** Return the replies to the flow at place `i` (a promise): null where there are none. */
async function repliesTo(arm, model, i) {
  const k = model.replies?.last.findIndex((last) => arm.flow[i] <= last) ?? -1;
  const part = k < 0 ? null : await partOf(arm, model, k);
  const row = part?.flows.indexOf(arm.flow[i]) ?? -1;
  return row < 0 ? null : arm.variants.map((_, v) => replyAt(arm, part, row, v));
}

function replyAt(arm, part, row, v) {
  const cell = row * arm.variants.length + v;
  const [text, rule, finish, marks] = part.readings[part.at[cell]] ?? [-1, "", "", []];
  const cut = part.cuts[text];
  return { code: part.codes[cell], order: part.orders[cell], text: part.texts[text] ?? null, rule, finish, marks, cut };
}

/** Return a text in which the passages of `marks` (start, end, start, end ..) stand out, and where it is cut. */
function markedText(text, marks, cut) {
  const [at, left] = cut ?? [text.length, 0];
  const note = left ? make("em", {}, ` [${count(left)} characters are left out here] `) : "";
  const nodes = [];
  const put = (from, to, tag) => {
    const parts = from < at && at < to ? [text.slice(from, at), note, text.slice(at, to)] : [from === at ? note : "", text.slice(from, to)];
    nodes.push(...(tag ? [make("mark", {}, ...parts)] : parts));
  };
  let end = 0;
  for (let k = 0; k < marks.length; k += 2) {
    if (marks[k] < end) continue;
    put(end, marks[k]);
    put(marks[k], marks[k + 1], "mark");
    end = marks[k + 1];
  }
  put(end, text.length);
  return nodes;
}

/** Return what a model replied in variant `v`, what was read in it, and how to set that right. */
function replyPart(arm, model, i, v, reply) {
  const head = make("h4", {}, `Reply of ${model.label}${model.planted ? " (planted: simulated)" : ""}`);
  if (!model.replies) return [head, make("p", {}, "This study has no replies of it: its answers were published, or its settings leave replies out.")];
  if (!reply) return [head, make("p", {}, "The replies are in the folder “replies” next to this page. It is missing or cannot be read: keep the two together.")];
  const read = make("p", {}, "Read as ", answerWords(arm, reply.code), reply.rule ? ` by the rule ${reply.rule}` : "", reply.finish && reply.finish !== "stop" ? ` (the model ended with: ${reply.finish})` : "", ".");
  if (reply.code === NOT_ASKED) return [head, make("p", {}, "It was not asked.")];
  if (reply.text === null) return [head, make("p", {}, "There is no text."), read, overridePart(arm, model, i, v, reply)];
  const whole = `The whole text: cinorms.open_results("results/${study.study}").replies("${arm.name}", "${model.name}", [${arm.flow[i]}])`;
  return [
    head,
    make("blockquote", { class: "reply", dir: "auto" }, ...markedText(reply.text, reply.marks, reply.cut)),
    reply.cut ? make("p", {}, whole) : "",
    read,
    overridePart(arm, model, i, v, reply),
  ];
}

/** Return a form that writes the line of the overrides file with which a person sets a reading right. */
function overridePart(arm, model, i, v, reply) {
  if (reply.finish === "error") return "";
  const every = arm.line ? Array.from({ length: arm.ends[1] - arm.ends[0] + 1 }, (_, k) => [arm.ends[0] + k, `${arm.ends[0] + k}`]) : arm.levels.map((level, k) => [level, optionText(arm, k)]);
  const values = [["", "choose .."], ...every, ...Object.entries(study.codes)];
  const chosen = { value: "", all: false };
  const line = make("textarea", { readonly: true, rows: 3, "aria-label": "Line for the file of overrides" });
  const write = async () => {
    line.value = "";
    if (!chosen.value) return;
    const sha = reply.cut?.[2] ?? (reply.text === null ? "" : await sha256(reply.text));
    const text = sha ? reply.text.replace(/\s+/g, " ").trim().slice(0, 60) : (reply.text ?? "");
    const place = chosen.all ? ["", "", "", ""] : [arm.name, model.name, arm.flow[i], arm.variants[v][0]];
    const value = chosen.value in study.codes ? ["", chosen.value] : [Number(chosen.value), ""];
    line.value = csv([[text, sha, ...place, ...value, ""]]).trimEnd();
  };
  const set = (changed) => write(Object.assign(chosen, changed));
  const copy = () => {
    line.select();
    navigator.clipboard?.writeText(line.value);
  };
  return make(
    "details",
    { class: "again" },
    make("summary", {}, "Set this reading right"),
    make("p", {}, "Add this line to the study’s file of overrides and run the study again: nothing is asked, and only what depends on this reading is rebuilt. A new file begins with the line ", make("code", {}, HEADER.join(",")), ", and the study names it under ", make("code", {}, "overrides"), "."),
    make("div", { class: "controls" }, choice("It says", "override", values.map(([key, text]) => [String(key), text]), chosen.value, (value) => set({ value })), reply.text === null ? "" : check("Wherever a model of the study replied with this text", "override:all", false, (all) => set({ all }))),
    line,
    make("button", { type: "button", onclick: copy }, "Copy the line"),
  );
}

/** Return the SHA-256 of a text in hexadecimal; empty where the browser computes none (a page of plain http). */
async function sha256(text) {
  if (!crypto.subtle) return "";
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The list of replies: those to the flows above that have a text, an answer, a rule or a wording; found as they load.

const ASKED = ["said", "answer", "rule", "template", "differs"];
/** Replies that are looked for at once. */
const FOUND = 50;
let latest = 0;

/** Show what narrows the list, and the list once its tab is open: it loads files. */
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
  ];
  keepFocus("said-controls", () => fill("said-controls", ...(models.length ? nodes : [])));
  if (models.length && state.view === "replies") listSaid(state, places, change);
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
