// The live page: events in, figures and texts out. Whatever a model or a request says becomes text, never markup.
const $ = (id) => document.getElementById(id);
const make = (tag, attributes = {}, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  made.append(...inside);
  return made;
};
const foreign = (value) => make("bdi", { class: "foreign" }, value === "" ? "(empty)" : String(value));
const count = (n) => Math.round(n).toLocaleString("en");
const percent = (share, digits = 2) => (share === null || !Number.isFinite(share) ? "\u2013" : `${(100 * share).toFixed(digits)}\u00a0%`);
const figure = (x) => (x === null ? "\u2013" : Number(x.toPrecision(3)).toString().replace("-", "\u2212"));
const seconds = (s) => (s === null ? "\u2013" : s >= 1 ? `${figure(s)} s` : s >= 1e-3 ? `${figure(1e3 * s)} ms` : `${figure(1e6 * s)} \u00b5s`);
const clock = (at) => new Date(1000 * at).toLocaleTimeString("en-GB");
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// -- requests ---------------------------------------------------------------------------------------------------
// The token is in the session of this tab: no cookie, and nothing that another page could have sent.
const KEPT = "sureline-token";
const token = () => sessionStorage.getItem(KEPT);
class Failed extends Error {
  constructor(status, words) { super(words); this.status = status; }
}
const call = async (path, body, signal) => {
  const headers = {};
  if (token()) headers.authorization = `Bearer ${token()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: "omit", cache: "no-store" });
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Failed(answer.status, told.error ?? `The service said ${answer.status}.`);
};
const of = (name, what) => `/v1/models/${encodeURIComponent(name)}/${what}`;

let gateOpened = () => {};
const gate = (words) => {
  $("gate").hidden = false;
  $("gate-words").textContent = words;
};
const passed = () => { $("gate").hidden = true; gateOpened(); stop.abort(); };
$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEPT, $("token").value.trim());
  $("token").value = "";
  passed();
});
$("token-forget").addEventListener("click", () => { sessionStorage.removeItem(KEPT); passed(); });
$("token-open").addEventListener("click", () => {
  gate(token() ? "A token is in use." : "No token is in use.");
  $("token").focus();
});

// -- events -----------------------------------------------------------------------------------------------------
const SILENCE = 25_000; // ms; the service says something every 10 s
let stop = new AbortController();
let model = null;
const status = (kind, words) => {
  $("status").className = `status ${kind}`;
  if ($("status-words").textContent !== words) $("status-words").textContent = words;
};
const complain = (words) => { $("notice").hidden = !words; $("notice").textContent = words ?? ""; };
const wanted = () => new URLSearchParams(location.hash.slice(1)).get("model");

const chosen = async (signal) => {
  if (wanted()) return wanted();
  const { models } = await (await call("/v1/models", undefined, signal)).json();
  if (models.length === 0) throw new Failed(404, "No model is served yet. POST a model file to /v1/models?name=NAME.");
  return models[0].name;
};
const read = async (body, heard) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let waiting = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const pieces = (waiting + value).split("\n\n");
    waiting = pieces.pop();
    for (const piece of pieces) {
      const [, name, data] = piece.match(/^event: (.*)\ndata: ([^]*)$/) ?? [];
      if (name) show(name, JSON.parse(data));
    }
  }
};
const follow = async () => {
  for (let wait = 500; ; wait = Math.min(2 * wait, 2000)) {
    while (document.hidden) await new Promise((done) => document.addEventListener("visibilitychange", done, { once: true }));
    stop = new AbortController();
    const { signal } = stop;
    let silent = 0;
    const heard = () => { clearTimeout(silent); silent = setTimeout(() => stop.abort(), SILENCE); };
    try {
      heard();
      const name = await chosen(signal);
      const { body } = await call(of(name, "events"), undefined, signal);
      complain(null);
      $("gate").hidden = true;
      wait = 250;
      await read(body, heard);
    } catch (error) {
      if (error instanceof Failed && (error.status === 401 || error.status === 403)) {
        status("gone", "a token is needed");
        gate(error.message);
        await new Promise((done) => { gateOpened = done; });
        wait = 250;
        continue;
      }
      if (error instanceof Failed) complain(error.message);
      if (error instanceof SyntaxError || error instanceof TypeError && !/fetch|network/i.test(error.message)) console.error(error);
    } finally {
      clearTimeout(silent);
    }
    if (signal.aborted) wait = 50;
    else status("gone", "not connected, trying again");
    await pause(wait);
  }
};
// Browsers keep six connections to a service: those of pages that nobody sees are given back.
const HIDDEN = 20_000; // ms
let unseen = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(unseen);
  if (document.hidden) unseen = setTimeout(() => stop.abort(), HIDDEN);
});
addEventListener("pagehide", () => stop.abort());
addEventListener("hashchange", () => { if (model && wanted() && wanted() !== model.name) stop.abort(); });

const shown = {};
const show = (name, part) => {
  if (name.startsWith("template-")) templates.set(name.slice(9), part);
  else if (name.startsWith("chart-")) chart(name.slice(6), part);
  else shown[name]?.(part);
};

// -- the model --------------------------------------------------------------------------------------------------
let state = null, began = null;
shown.model = (part) => {
  const before = model;
  model = part;
  $("live").hidden = $("places").hidden = false;
  document.title = `${part.name} \u00b7 sureline`;
  $("name").textContent = part.name;
  $("models-nav").hidden = part.models.length < 2;
  $("models").replaceChildren(...part.models.map((name) =>
    make("li", {}, make("a", { href: `#model=${encodeURIComponent(name)}`, "aria-current": name === part.name && "page" }, foreign(name)))));
  began = before && before.boot !== part.boot ? `Restarted at ${clock(Date.now() / 1000)}. ` : began;
  $("answered-words").textContent = part.max_error === null
    ? "How sure the answers are. With --max-error the service also watches how many of them keep a promise."
    : `Rows are answered if at most ${percent(part.max_error, 1)} of the answers are to be wrong.`;
  const note = !part.classifier ? "This model predicts numbers: the form answers, and the charts of a classifier stay empty."
    : part.learns ? "" : "This model answers, and does not learn from single labels.";
  $("queue-words").textContent = note || "Answered rows that the model is least sure of: their labels teach it most. Keys 1 to 9 give the labels of the row that has the focus.";
  if (!before || before.name !== part.name || JSON.stringify(before.modes) !== JSON.stringify(part.modes)) setForm(part);
  if (!before || before.name !== part.name) { $("queue").replaceChildren(); forget(); }
};
const fact = (label, value, remark = "") => make("div", {}, make("dt", {}, label), make("dd", {}, make("span", { class: "value" }, value), make("small", {}, remark)));
shown.state = (part) => {
  state = part;
  const { recent, now } = part;
  const share = recent.labels ? recent.wrong / recent.labels : null;
  const facts = [
    fact("Error", percent(share), recent.labels ? `of the latest ${count(recent.labels)} labels` : "no labels yet"),
    fact("Labels", count(part.labels), `${count(part.mistakes)} were answered wrongly before`),
    fact("Rows answered", count(part.rows), `in ${count(part.requests)} requests and blocks of lines`),
  ];
  if (model?.max_error != null) {
    const of = recent.answered ? recent.answered_wrong / recent.answered : null;
    facts.push(fact("Error if answered", percent(of), `${percent(recent.labels ? recent.answered / recent.labels : null, 0)} of the rows; ${percent(model.max_error, 1)} promised`));
  }
  facts.push(
    fact("Rate", `${count(now.rows)} /s`, `labels: ${figure(now.labels)} /s`),
    fact("Latency", seconds(now.half), now.most === null ? "no single request lately" : `99 % within ${seconds(now.most)}`),
  );
  $("facts").replaceChildren(...facts);
  $("subtitle").replaceChildren(
    `${model?.learner ?? ""}${model?.format ? `, from ${model.format}` : ""}; version `, make("code", {}, part.version));
  const kept = { fsync: "on the disk", batch: "written, and on the disk 50 ms later", none: "written" }[model?.durability];
  $("foot").textContent = `${began ?? ""}A label is acknowledged when it is ${kept}. ${count(part.records)} records; ${count(part.log_bytes)} bytes of log.`
    + (part.snapshot_failed ? ` No snapshot could be written: ${part.snapshot_failed}.` : "");
};
shown.now = ({ at }) => {
  status("live", `live, as of ${clock(at)}`);
  const { dataset } = document.documentElement;
  dataset.lag = Math.max(0, Math.round(Date.now() - 1000 * at));
  dataset.events = 1 + Number(dataset.events ?? 0);
};
shown.alarms = (alarms) => {
  const said = alarms.slice(0, 6).map((one) => make("li", {}, foreign(one.says), make("time", {}, clock(one.noticed))));
  $("alarms").replaceChildren(...(said.length ? said : [make("li", { class: "calm" }, "No alarm: neither the error nor the share of new features has risen beyond chance.")]));
};

// -- weights and shadows ----------------------------------------------------------------------------------------
const table = (caption, columns, rows) => make("table", {}, make("caption", {}, caption),
  make("thead", {}, make("tr", {}, ...columns.map(([name, numeric]) => make("th", { scope: "col", class: numeric && "num" }, name)))),
  make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell, k) =>
    make(k ? "td" : "th", { scope: !k && "row", class: columns[k][1] && "num" }, cell))))));
shown.weights = ({ features, since, labels }) => {
  $("weights-none").textContent = model?.explains === false ? "The score is a sum over stored examples, not over features." : "All weights are zero.";
  $("moved").hidden = features.length === 0;
  const several = features.some((one) => one.label !== null);
  const moved = ({ moved: by }) => by === null ? (since === null ? "" : make("span", { class: "quiet" }, "new here"))
    : Math.abs(by) < 1e-9 ? "\u2013" : make("span", { class: by > 0 ? "up" : "down" }, `${by > 0 ? "\u25b2 +" : "\u25bc "}${figure(by)}`);
  $("moved").replaceChildren(table(
    since === null ? "How they move shows after some more labels." : `Movement since ${clock(since)}, when there were ${count(labels)} labels.`,
    [["feature"], ...(several ? [["of"]] : []), ["weight", true], ["\u00b1 std", true], ["moved", true]],
    features.map((one) => [foreign(one.name), ...(several ? [foreign(one.label)] : []), figure(one.weight), one.std === null ? "\u2013" : figure(one.std), moved(one)])));
};
shown.shadows = (shadows) => {
  const verdict = ({ low, high, labels }) => labels === 0 ? make("span", { class: "badge" }, "no labels yet")
    : high < 0 ? make("span", { class: "badge good" }, "better than the champion")
    : low > 0 ? make("span", { class: "badge bad" }, "worse than the champion") : make("span", { class: "badge" }, "no difference beyond chance");
  const rate = (wrong, labels) => percent(labels ? wrong / labels : null);
  const signed = (x) => `${x > 0 ? "+" : x < 0 ? "\u2212" : ""}${percent(Math.abs(x))}`;
  const names = model?.shadows ?? [], judged = new Map(shadows.map((one) => [one.name, one]));
  const all = names.map((name) => judged.get(name) ?? { name, labels: 0, wrong: 0, champion_wrong: 0, difference: 0, low: 0, high: 0 });
  $("shadows").replaceChildren(...(all.length === 0 ? [] : [make("div", { class: "card scroll", tabindex: 0, role: "region", "aria-label": "Shadows" }, table("On the same labels; the difference with its 95 % interval.",
    [["shadow"], ["labels", true], ["error", true], ["champion", true], ["difference", true], [""]],
    all.map((one) => [foreign(one.name), count(one.labels), rate(one.wrong, one.labels), rate(one.champion_wrong, one.labels),
      `${signed(one.difference)} (${signed(one.low)} to ${signed(one.high)})`, verdict(one)])))]));
};
