// Which flows a state shows, and the numbers about them.

/** Return the chosen models of a state, in the order of the arm. */
const chosen = (state) => state.arm.models.filter((model) => state.models.includes(model.name));

/** Tell whether the study knows of a chosen model's norms how probable it is that other wordings give them again. */
const anyAgain = (state) => chosen(state).some((model) => model.again.some((value) => value !== NOT_KNOWN));

/** Return the places of the flows that have every fixed level and match the search (and are disputed, in compare mode). */
function sliceOf(state) {
  const { arm } = state;
  const tests = arm.factors
    .filter((factor) => factor.name in state.fix)
    .map((factor) => ({ of: factor.of, code: factor.levels.indexOf(state.fix[factor.name]) }));
  const models = chosen(state);
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const places = [];
  for (let i = 0; i < arm.n; i += 1) {
    if (!tests.every(({ of, code }) => of[i] === code) || !matches(arm, i, words)) continue;
    if (!state.compare || distance(models, i) > 0) places.push(i);
  }
  return places;
}

/** Return how many levels the norms held of a flow are apart; -1 where fewer than two are held. */
function distance(models, i) {
  let [n, low, high] = [0, Infinity, -Infinity];
  for (const model of models) {
    if (!holds(model, i)) continue;
    n += 1;
    low = Math.min(low, model.value[i]);
    high = Math.max(high, model.value[i]);
  }
  return n < 2 ? -1 : high - low;
}

/** Return how contested a flow is: how far apart the norms are, of equal ones the surest first; of one model, how much its answers differ. */
function contested(models, i) {
  const answered = models.filter((model) => valid(model, i));
  const split = answered.reduce((sum, model) => sum + 1 - agreeing(model, i) / valid(model, i), 0);
  return models.length > 1 ? Math.max(distance(models, i), 0) - split / (models.length + 1) : split;
}

/** Return the flows that the table shows: of the slice, those of the chosen cell that the filter leaves. */
function tableOf(state, slice) {
  const cell = cellTests(state);
  const models = chosen(state);
  const fits = { all: () => true, held: (i) => models.every((m) => holds(m, i)), none: (i) => !models.every((m) => holds(m, i)), again: (i) => models.every((m) => again(m, i) > 0.5) };
  return slice.filter((i) => cell.every(({ of, code }) => of[i] === code) && fits[state.held](i));
}

function cellTests(state) {
  const names = [state.rows, state.columns];
  return (state.cell ?? [])
    .map((level, k) => ({ factor: state.arm.factors.find((f) => f.name === names[k]), level }))
    .filter(({ factor, level }) => factor && level !== null)
    .map(({ factor, level }) => ({ of: factor.of, code: factor.levels.indexOf(level) }));
}

function matches(arm, i, words) {
  if (!words.length) return true;
  if (!arm.hay) arm.hay = arm.text.map((text, k) => haystack(arm, text, k));
  return words.every((word) => arm.hay[i].includes(word));
}

function haystack(arm, text, i) {
  return [arm.flow[i], text, ...arm.factors.map((factor) => factor.levels[factor.of[i]])].join("\n").toLowerCase();
}

/** Return the flows in the order of the state's sort key; equal ones as they stand in the dataset. */
function sorted(state, places) {
  const models = chosen(state);
  const key = sortKey(state, models);
  const sign = state.down ? -1 : 1;
  const keys = new Map(places.map((i) => [i, key(i)]));
  // Rows without a number come last in both directions.
  return places.slice().sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a - b;
    return sign * (x - y) || a - b;
  });
}

function sortKey(state, models) {
  const [what, name] = [state.sort.split(":")[0], state.sort.slice(state.sort.indexOf(":") + 1)];
  const model = models.find((one) => one.name === name);
  const factor = state.arm.factors.find((one) => one.name === name);
  if (what === "norm" && model) return (i) => (holds(model, i) ? model.value[i] : null);
  if (what === "share" && model) return (i) => (holds(model, i) ? agreeing(model, i) / valid(model, i) : null);
  if (what === "again" && model) return (i) => again(model, i);
  if (what === "factor" && factor) return (i) => factor.of[i];
  if (what === "flow") return (i) => state.arm.flow[i];
  if (what === "distance") return (i) => distance(models, i);
  return (i) => -contested(models, i);
}
