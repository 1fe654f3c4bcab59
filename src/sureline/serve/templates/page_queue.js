
// -- the queue --------------------------------------------------------------------------------------------------
// Rows stay where they are while the list changes, so that nobody clicks on another one than he reads.
const readable = (text) => {
  try {
    const value = JSON.parse(text);
    return typeof value === "string" ? value : text;
  } catch {
    return text.replace(/^"/, "");
  }
};
const MOST_WAITING = 8;
const done = new Set();
const queued = (one) => {
  const item = make("li", { class: "card", "data-id": one.prediction_id });
  const { name } = model;
  const buttons = labelButtons(model.labels, null, async (label) => {
    for (const each of buttons.querySelectorAll("button, input")) each.disabled = true;
    try {
      await learn(name, { prediction_id: one.prediction_id, label });
      done.add(one.prediction_id);
      say($("queue-said"), `Learned as ${label === "" ? "(empty)" : label}.`, true);
      remove(item);
    } catch (error) {
      say($("queue-said"), error.message, false);
      if (error.status === 409 || error.status === 410 || error.status === 404) remove(item);
      for (const each of buttons.querySelectorAll("button, input")) each.disabled = false;
    }
  });
  item.append(make("div", { class: "row", tabindex: 0, role: "group", "aria-label": "A row to be labelled" }, readable(one.text)), buttons);
  return item;
};
const remove = (item) => {
  const near = item.nextElementSibling ?? item.previousElementSibling, focused = item.contains(document.activeElement);
  item.remove();
  if (focused) (near?.querySelector(".row") ?? $("queue-said")).focus();
};
shown.queue = (queue) => {
  const list = $("queue"), waiting = new Map(queue.filter((one) => !done.has(one.prediction_id)).map((one) => [one.prediction_id, one]));
  for (const item of [...list.children]) {
    const kept = waiting.delete(item.dataset.id);
    if (!kept && !item.contains(document.activeElement)) item.remove();
  }
  for (const one of waiting.values()) {
    if (list.children.length >= MOST_WAITING) break;
    list.append(queued(one));
  }
  if (model?.classifier && model.learns)
    $("queue-part").classList.toggle("empty", list.children.length === 0);
};
$("queue").addEventListener("keydown", (event) => {
  if (!/^[1-9]$/.test(event.key) || event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const button = event.target.closest("li")?.querySelectorAll(".labels > button")[Number(event.key) - 1];
  if (button) { event.preventDefault(); button.click(); }
});

follow();
