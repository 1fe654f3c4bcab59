// Charts that answer: they take the place of the still ones, which stay where there is no script.
const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
// Names beside points go to the right, to the left, above or below, where they lie on nothing, or are not shown.
const settle = (place) => {
  const { left: start, top: head, bottom: foot } = place.querySelector("path.background").getBoundingClientRect();
  const { right: end } = place.getBoundingClientRect();
  const taken = [...place.querySelectorAll(".mark-symbol path")].map((it) => it.getBoundingClientRect());
  for (const it of place.querySelectorAll(".names_marks text")) {
    it.style.translate = it.style.visibility = "";
    const { left, right, top, bottom, width, height } = it.getBoundingClientRect();
    const across = -(width + 18), above = -(height / 2 + 5), middle = across / 2;
    const shift = [[0, 0], [across, 0], [middle, above - 5], [middle, -above + 5], [0, above], [0, -above], [across, above], [across, -above]]
      .find(([x, y]) => {
        const box = { left: left + x, right: right + x, top: top + y, bottom: bottom + y };
        if (box.left < start || box.right > end || box.top < head - 4 || box.bottom > foot) return false;
        return !taken.some((other) => meets(box, other)) && taken.push(box);
      });
    if (shift) it.style.translate = `${shift[0]}px ${shift[1]}px`;
    else it.style.visibility = "hidden";
  }
};
const zoomBy = (view, share) => {
  for (const [axis, length] of [["x", view.width()], ["y", view.height()]]) {
    const scale = view.scale(axis), [low, high] = [share * length, (1 - share) * length];
    const ends = (axis === "x" ? [low, high] : [high, low]).map((at) => scale.invert(at));
    view.signal(`zoom_${axis}`, share === null ? null : ends);
  }
  view.runAsync();
};
const drawn = [...document.querySelectorAll(".plot")].map(async (place) => {
  const live = document.createElement("div");
  place.replaceChildren(live);
  const { view } = await vegaEmbed(live, JSON.parse(place.dataset.spec), {
    mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true,
    tooltip: { disableDefaultStyle: true, id: "tooltip" },
  });
  if (view.getState().signals.key === undefined) return;
  views.push(view);
  view.addEventListener("pointerover", (_, item) => point(item?.datum?.key ?? null));
  view.addEventListener("click", (_, item) => { if (item?.datum?.key) choose(item.datum.key); });
  if ("zooms" in place.dataset) {
    const tools = document.createElement("div");
    tools.className = "zoom";
    for (const [sign, words, share] of [["+", "Zoom in", 0.15], ["\u2212", "Zoom out", -0.2], ["\u21ba", "Show all", null]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sign;
      button.title = words;
      button.setAttribute("aria-label", words);
      button.addEventListener("click", () => zoomBy(view, share));
      tools.append(button);
    }
    place.before(tools);
  }
  if (view.getState().signals.names === undefined) return;
  await view.signal("names", true).runAsync();
  settle(live);
  let waiting = 0;
  const again = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => settle(live)); };
  new MutationObserver(again).observe(live, { subtree: true, childList: true, attributes: true, attributeFilter: ["transform", "d"] });
});
Promise.all(drawn).then(() => { document.documentElement.dataset.drawn = "all"; });
