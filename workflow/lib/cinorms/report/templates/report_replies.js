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
