// The study's norms: one arm at a time, its models in typed arrays with one place per flow.

const study = JSON.parse(document.getElementById("explorer-data").textContent);
const NOT_ASKED = 255;
const KEPT = 0;
const NOT_KNOWN = 65535;
const CERTAIN = 10000;
const NO_NORM_SIGNS = { 1: "·", 2: "–", 3: "×" };
const arms = new Map();

/** Return an arm with its norms unpacked (a promise). Place `i` of every list is the arm's flow number `i`. */
function loadArm(name) {
  if (!arms.has(name)) arms.set(name, readArm(study.arms.find((arm) => arm.name === name)));
  return arms.get(name);
}

async function readArm(packed) {
  const dataset = study.datasets[packed.dataset];
  const rows = new Int32Array(await unpack(packed.rows));
  const flows = new Int32Array(await unpack(dataset.flows));
  const codes = new Uint16Array(await unpack(dataset.codes));
  const texts = await unpackJson(dataset.texts);
  const pick = (k) => Uint16Array.from(rows, (row) => codes[k * dataset.n + row]);
  const factors = dataset.factors.map((factor, k) => ({ ...factor, of: pick(k) }));
  return {
    ...packed,
    range: dataset.range ?? packed.ends,
    title: dataset.title,
    n: rows.length,
    flow: Int32Array.from(rows, (row) => flows[row]),
    text: Array.from(rows, (row) => texts[row]),
    expected: dataset.expected ? Array.from(rows, (row) => dataset.expected[row]) : null,
    factors: factors.map((factor) => ({ ...factor, used: usedLevels(factor) })),
    models: await Promise.all(packed.models.map((model) => readModel(packed, model, rows.length))),
  };
}

/** Return the levels that the arm's flows have, in the order of the dataset. */
function usedLevels(factor) {
  const used = new Set(factor.of);
  return factor.levels.map((label, code) => ({ label, code })).filter(({ code }) => used.has(code));
}

async function readModel(arm, model, n) {
  const bytes = await unpack(model.norms);
  const columns = 1 + arm.levels.length;
  const numbers = new Uint16Array(bytes, 0, (columns + 1) * n);
  return {
    ...model,
    asked: numbers.subarray(0, n),
    counts: arm.levels.map((_, k) => numbers.subarray((k + 1) * n, (k + 2) * n)),
    again: numbers.subarray(columns * n),
    value: new Int8Array(bytes, 2 * (columns + 1) * n, n),
    status: new Int8Array(bytes, (2 * columns + 3) * n, n),
  };
}

/** Return an option with the level that it counts as. */
const optionText = (arm, k) => `${signed(arm.levels[k])} ${arm.options[k]}`;

/** Return the place of a level on the scale of an arm: of the nearest one, for a mean of levels. */
function placeOf(arm, level) {
  const far = arm.levels.map((each) => Math.abs(each - level));
  return far.indexOf(Math.min(...far));
}

const holds = (model, i) => model.status[i] === KEPT;

/** Return how probable it is that as many other wordings give the same norm; null where that is not known. */
const again = (model, i) => (model.again[i] === NOT_KNOWN ? null : model.again[i] / CERTAIN);

/** Return how many answers to a flow are valid. */
function valid(model, i) {
  let sum = 0;
  for (const of of model.counts) sum += of[i];
  return sum;
}

/** Return how many answers to a flow are its most frequent level. */
function agreeing(model, i) {
  let most = 0;
  for (const of of model.counts) most = Math.max(most, of[i]);
  return most;
}

/** Return what stands for a flow's norm in a cell: the level, or a sign for why there is none. */
function signOf(model, i) {
  if (holds(model, i)) return signed(model.value[i]);
  return NO_NORM_SIGNS[model.status[i]] ?? "";
}

/** Return a flow's norm in words. */
function wordsOf(arm, model, i) {
  if (model.status[i] < 0) return "not asked";
  return holds(model, i) ? arm.options[placeOf(arm, model.value[i])] : study.norm_statuses[model.status[i]];
}

const classOf = (arm, model, i) => (holds(model, i) ? arm.classes[placeOf(arm, model.value[i])] : "l-none");

/** Return a coloured sign that says the same in words to who cannot see it. */
function chip(arm, model, i) {
  return make("span", { class: `chip ${classOf(arm, model, i)}` }, signOf(model, i) || " ");
}

/** Return a level's value in the units in which the dataset states what is expected. */
function inUnits(arm, level) {
  const [low, high] = arm.range;
  const [lowest, highest] = arm.ends;
  return low + ((level - lowest) * (high - low)) / (highest - lowest);
}

// Packed data: base64 of gzip, unpacked only where it is needed.

const unpacked = new Map();

/** Return the bytes of a pack (a promise); the same pack is unpacked once. */
function unpack(pack) {
  if (!unpacked.has(pack)) unpacked.set(pack, inflate(pack));
  return unpacked.get(pack);
}

async function inflate(pack) {
  const bytes = Uint8Array.from(atob(pack), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Return a pack of JSON as data (a promise). */
async function unpackJson(pack) {
  return JSON.parse(new TextDecoder().decode(await unpack(pack)));
}
