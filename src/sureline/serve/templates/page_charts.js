
// -- charts -----------------------------------------------------------------------------------------------------
// The specifications are those of the report. Each is drawn once; afterwards only its rows and limits change.
const templates = new Map();
// An address that could not be imported is not tried again by a browser, so each time it is another one.
const library = (async () => {
  for (let n = 0; ; n++) {
    try {
      await import(`/charts.js${n ? `?${n}` : ""}`);
      return globalThis.vegaEmbed;
    } catch {
      await pause(1000);
    }
  }
})();
const places = new Map();
const visible = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const place = places.get(target);
    place.seen = isIntersecting;
    if (isIntersecting) draw(place);
  }
}, { rootMargin: "200px" });
const placeOf = (frame) => {
  if (!places.has(frame)) {
    places.set(frame, { frame, plot: frame.querySelector(".plot"), view: null, template: null, legend: "", next: null, drawing: false, seen: false });
    visible.observe(frame);
  }
  return places.get(frame);
};
// With marks made by the service from numbers alone, and names as text.
const legend = (place, entries) => {
  const key = JSON.stringify(entries);
  if (key === place.legend) return;
  place.legend = key;
  place.frame.querySelector(".legend")?.replaceChildren(...entries.map(({ name, mark }) =>
    make("li", {}, new DOMParser().parseFromString(mark, "text/html").body.firstChild, foreign(name))));
};
const put = (place, part) => {
  place.frame.classList.toggle("empty", part === null);
  place.next = part;
  if (part === null) {
    place.view?.finalize();
    place.view = place.template = null;
    place.plot.replaceChildren();
    legend(place, []);
  } else draw(place);
};
const chart = (name, part) => {
  if (name === "contributions") { bars = part; barsCame(); return; }
  for (const frame of document.querySelectorAll(`[data-chart="${name}"]`)) put(placeOf(frame), part);
};
// What is out of sight waits, and of what came meanwhile only the latest is drawn.
const draw = async (place) => {
  if (place.drawing || !place.seen || document.hidden) return;
  place.drawing = true;
  try {
    while (place.next !== null) {
      const part = place.next, specification = templates.get(part.template);
      place.next = null;
      if (place.template !== part.template) {
        const live = document.createElement("div"), embed = await library;
        place.view?.finalize();
        place.plot.replaceChildren(live);
        const height = part.height ?? specification.height;
        place.view = (await embed(live, { ...structuredClone(specification), height }, {
          mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true,
          tooltip: { disableDefaultStyle: true, id: "tooltip" },
        })).view;
        place.template = part.template;
      }
      for (const [name, value] of Object.entries(part.values)) place.view.signal(name, value);
      await place.view.data("rows", part.rows).resize().runAsync(); // names and ticks may take more room than before
      legend(place, part.legend);
      place.plot.setAttribute("role", "img");
      place.plot.setAttribute("aria-label", part.words ?? specification.description ?? "");
      place.frame.dataset.drawn = 1 + Number(place.frame.dataset.drawn ?? 0);
    }
  } finally {
    place.drawing = false;
  }
};
document.addEventListener("visibilitychange", () => { for (const place of places.values()) draw(place); });
let bars = null, barsCame = () => {};
