
// -- an example -------------------------------------------------------------------------------------------------
const MODES = {
  text: ["Text", "The text, without a label"],
  libsvm: ["LIBSVM line", "The line without its label, such as 3:1 17:0.5"],
  vw: ["VW line", "The line without its label, such as |a red n:0.5"],
  features: ["Features", "Names with values, such as cheap:1 pills:2 \u2013 or a JSON object"],
  table: ["Table row", ""],
  json: ["JSON", "An object of the columns, or [columns, values]"],
};
const MOST_BUTTONS = 12, SHOWN = 8;
let mode = null;
const setForm = ({ modes }) => {
  $("modes").hidden = modes.length < 2;
  for (const old of $("modes").querySelectorAll("label")) old.remove();
  modes.forEach((one, k) => {
    const radio = make("input", { type: "radio", name: "mode", value: one.mode, checked: k === 0 });
    radio.addEventListener("change", () => setMode(one));
    $("modes").append(make("label", {}, radio, ` ${MODES[one.mode][0]}`));
  });
  setMode(modes[0]);
};
const setMode = (one) => {
  mode = one;
  if (one.mode === "table") {
    $("input").replaceChildren(make("div", { class: "fields" }, ...one.columns.map(({ name, kind }, k) => make("div", { class: "field" },
      make("label", { for: `field-${k}` }, foreign(name)),
      kind === "boolean" ? make("select", { id: `field-${k}` }, make("option", { value: "" }, "\u2013"), make("option", { value: "true" }, "true"), make("option", { value: "false" }, "false"))
        : make("input", { id: `field-${k}`, inputmode: kind === "numeric" && "decimal", placeholder: kind })))));
    return;
  }
  const [label, hint] = MODES[one.mode];
  const area = make("textarea", { id: "example", placeholder: hint, spellcheck: "false" });
  if (one.mode === "json" && one.columns.length) area.value = JSON.stringify(Object.fromEntries(one.columns.map(({ name }) => [name, null])), null, 1);
  $("input").replaceChildren(make("label", { for: "example" }, label), area);
};
const number = (text) => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : null);
const features = (text) => Object.fromEntries(text.split(/\s+/).filter(Boolean).map((word) => {
  const at = word.lastIndexOf(":"), value = at > 0 ? number(word.slice(at + 1)) : null;
  return value === null ? [word, 1] : [word.slice(0, at), value];
}));
const given = () => {
  if (mode.mode === "table") {
    const row = {};
    mode.columns.forEach(({ name, kind }, k) => {
      const text = $(`field-${k}`).value;
      if (text !== "") row[name] = kind === "boolean" ? text === "true" : kind === "numeric" ? number(text) ?? text : text;
    });
    return row;
  }
  const text = $("example").value;
  if (mode.mode === "json" || (mode.mode === "features" && text.trim().startsWith("{"))) return JSON.parse(text);
  return mode.mode === "features" ? features(text) : text;
};

const say = (place, words, good) => { place.textContent = words; place.className = `said ${good ? "good" : "bad"}`; };
const predict = async () => {
  let row;
  try {
    row = given();
  } catch (error) {
    $("answer").replaceChildren(make("p", { class: "said bad" }, `That is no JSON: ${error.message}.`));
    return;
  }
  const { name, classifier, explains } = model;
  const asked = { row, ...(classifier ? { probabilities: true, shadows: true } : {}), ...(explains ? { explain: 8 } : {}) };
  $("ask").disabled = true;
  try {
    let told;
    try {
      told = await (await call(of(name, "predict"), classifier ? { ...asked, novelty: true } : asked)).json();
    } catch (error) {
      if (error.status !== 422 || !classifier) throw error;
      told = await (await call(of(name, "predict"), asked)).json(); // of learners that do not know what they have seen
    }
    answered(row, told);
  } catch (error) {
    $("answer").replaceChildren(make("p", { class: "said bad" }, error.message));
  } finally {
    $("ask").disabled = false;
  }
};
$("try-form").addEventListener("submit", (event) => { event.preventDefault(); predict(); });
$("try-form").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); predict(); } });
const forget = () => { bars = null; $("answer").replaceChildren(make("p", { class: "quiet" }, "The answer, how sure it is, and the features that made it.")); };

const answered = (row, told) => {
  const parts = [];
  if (model.classifier) {
    parts.push(make("p", { class: "big" }, foreign(told.label)));
    parts.push(make("div", {}, make("meter", { min: 0, max: 1, value: told.confidence, "aria-label": "Confidence" }),
      make("p", { id: "confidence" }, `${percent(told.confidence, 1)} sure`)));
  } else parts.push(make("p", { class: "big" }, figure(told.value)));
  const words = [];
  if (told.novelty) {
    words.push(`${percent(told.novelty.unseen, 0)} of its features are new to the model`);
    if (told.novelty.std_ratio !== null) words.push(`the score is ${figure(told.novelty.std_ratio)} times as uncertain as usual`);
  }
  if (words.length) parts.push(make("p", { class: "quiet" }, `${words.join("; ")}.`));
  for (const [name, other] of Object.entries(told.shadows ?? {}))
    parts.push(make("p", { class: "quiet" }, "Shadow ", foreign(name), ": ", ...(other === null ? ["cannot read it"] : [foreign(other.label), ` (${percent(other.confidence, 1)})`])));
  if (told.explanation) parts.push(explained(told.explanation));
  if (model.classifier && model.learns) parts.push(teaching(row, told));
  $("answer").replaceChildren(...parts);
};
// The bars are those of the weights: what each feature adds to the score.
const explained = ({ label, score, intercept, contributions, rest }) => {
  const all = contributions.map((one) => [one.feature, one.contribution]);
  if (rest) all.push(["all others", rest]);
  if (intercept) all.push(["intercept", intercept]);
  const speaks = model.labels.length === 2 ? model.labels[1] : label;
  const sum = make("p", { class: "quiet" }, "Score ", figure(score), speaks === undefined || speaks === null ? "" : make("span", {}, " for ", foreign(speaks)), ", the sum of these.");
  if (all.length === 0) return make("div", {}, sum);
  const ends = [...all.map(([, x]) => x), 0], low = Math.min(...ends), high = Math.max(...ends), pad = 0.04 * (high - low) || 1;
  const frame = make("div", { class: "contributions", "data-chart": "explained" }, make("div", { class: "plot" }));
  const said = all.map(([name, x]) => `${name} ${figure(x)}`);
  barsCame = () => { if (bars !== null) put(placeOf(frame), {
    ...bars, legend: [], height: 24 * all.length, words: `Contributions: ${said.join("; ")}`,
    rows: all.map(([, x], k) => ({ row: k, value: x, note: said[k] })),
    values: { x_low: low - pad, x_high: high + pad, names: all.map(([name]) => String(name)) },
  }); };
  barsCame();
  return make("div", {}, sum, frame);
};

// -- labels -----------------------------------------------------------------------------------------------------
const learn = (name, body) => call(of(name, "learn"), body).then((answer) => answer.json());
const typed = (text) => (model.kinds.every((kind) => kind === "int" || kind === "float") && number(text) !== null ? number(text) : text);
// A button for each label; of very many those that are likely, and a field for the others.
const labelButtons = (likely, chosen, teach) => {
  const all = model.labels, few = model.n_labels <= MOST_BUTTONS;
  const made = (few ? all : likely.slice(0, SHOWN)).map((label) => {
    const button = make("button", { type: "button", class: label === chosen && "said-so" }, foreign(label));
    button.addEventListener("click", () => teach(label));
    return button;
  });
  if (few && model.n_labels === 2) return make("div", { class: "labels" }, ...made);
  const field = make("input", { "aria-label": "Another label", placeholder: "another label", list: few ? null : "all-labels", required: true });
  const form = make("form", {}, field, make("button", { type: "submit" }, "Teach"));
  form.addEventListener("submit", (event) => { event.preventDefault(); teach(typed(field.value)); });
  if (!few) form.append(make("datalist", { id: "all-labels" }, ...all.map((label) => make("option", { value: String(label) }))));
  return make("div", { class: "labels" }, ...made, form);
};
const teaching = (row, told) => {
  const said = make("p", { class: "said", role: "status" });
  const likely = [...(told.probabilities ?? [])].sort((a, b) => b.probability - a.probability).map((one) => one.label);
  const { name } = model;
  const buttons = labelButtons(likely, told.label, async (label) => {
    for (const one of buttons.querySelectorAll("button, input")) one.disabled = true;
    try {
      const { version } = await learn(name, told.prediction_id ? { prediction_id: told.prediction_id, label } : { row, label });
      say(said, `Learned as ${label === "" ? "(empty)" : label}: version ${version}.`, true);
    } catch (error) {
      say(said, error.message, false);
      for (const one of buttons.querySelectorAll("button, input")) one.disabled = false;
    }
  });
  return make("div", { class: "teach" }, make("p", { class: "quiet" }, "What is right?"), buttons, said);
};
