// What is wrong with how a page lies there: text and blocks that lie on each other or leave their place.
// What is in a box that scrolls of its own may be wider than the page.
const wrong = [], wide = document.documentElement.clientWidth;
const seen = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && e.getClientRects().length > 0;
const name = (e) => `${e.tagName}.${e.getAttribute("class") ?? ""} "${e.textContent.trim().slice(0, 30)}"`;
const meet = (a, b, slack) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
if (document.documentElement.scrollWidth > wide) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
for (const e of document.body.querySelectorAll("*")) {
  if (!seen(e) || e.closest(".scroll > *, pre > *") || e.closest("svg") !== null && e.tagName !== "svg") continue;
  const box = e.getBoundingClientRect();
  if (box.right > wide + 0.5 || box.left < -0.5) wrong.push(`${name(e)} goes from ${box.left} to ${box.right}`);
}
let texts = 0;
for (const drawn of document.querySelectorAll(".drawn")) {
  const svg = drawn.querySelector(".plot svg");
  if (!seen(svg)) continue;
  const frame = svg.getBoundingClientRect();
  const all = [...svg.querySelectorAll("text"), ...drawn.querySelectorAll(".zoom button")].filter((e) => seen(e) && e.textContent.trim());
  const boxes = all.map((t) => t.getBoundingClientRect());
  texts += all.length;
  all.forEach((t, i) => {
    if (t.tagName === "text" && (boxes[i].left < frame.left - 2 || boxes[i].right > frame.right + 2)) wrong.push(`${name(t)} leaves its picture`);
    if (boxes[i].height < 8) wrong.push(`${name(t)} is too small`);
    for (let j = 0; j < i; j++) if (meet(boxes[i], boxes[j], 1.5)) wrong.push(`${name(t)} lies on ${name(all[j])}`);
  });
}
for (const parent of document.querySelectorAll("main, header, section, figure, dl, .drawn.beside, .pictures, .inside, .legend, .zoom, tr, nav ul")) {
  const inside = [...parent.children].filter(seen).filter((e) => !e.matches(".zoom") && getComputedStyle(e).position !== "sticky");
  const boxes = inside.map((e) => e.getBoundingClientRect());
  for (let i = 0; i < inside.length; i++)
    for (let j = 0; j < i; j++)
      if (meet(boxes[i], boxes[j], 1)) wrong.push(`${name(inside[i])} lies on ${name(inside[j])}`);
}
return { wrong: wrong.slice(0, 8), texts };
