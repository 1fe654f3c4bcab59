// The text that is hardest to read against what is behind it.
const parse = (c) => { const m = c.match(/[\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
const light = (rgb) => rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const behind = (e) => {
  if (e.tagName === "text") {  // on a field of a map
    const { left, right, top, bottom } = e.getBoundingClientRect();
    const inside = (b) => b.left < left && right < b.right && b.top < top && bottom < b.bottom;
    const field = [...e.closest("svg").querySelectorAll(".mark-rect path")]
      .find((it) => inside(it.getBoundingClientRect()) && getComputedStyle(it).fill !== "none");
    if (field) return parse(getComputedStyle(field).fill).rgb;
  }
  for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.a > 0) return c.rgb; }
  return [255, 255, 255];
};
let least = 99, where = "", n = 0;
for (const e of document.body.querySelectorAll("*")) {
  if (!e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) || ["SCRIPT", "title", "desc"].includes(e.tagName)) continue;
  if (![...e.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim())) continue;
  const style = getComputedStyle(e), ink = parse(e.tagName === "text" ? style.fill : style.color);
  const found = contrast(ink.rgb, behind(e));
  n++;
  if (found < least) { least = found; where = `${e.tagName}.${e.getAttribute("class") ?? ""} ${e.textContent.slice(0, 30)}`; }
}
return { least, where, n };
