// Draws a LiveView: see live.py. Text nodes only, so nothing that a cluster says is taken for markup.

function element(tag, className, parent) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (parent) parent.appendChild(made);
  return made;
}

function spans(line, parent) {
  for (const [text, tone] of line) {
    const made = element("span", `wb-${tone}`, parent);
    made.textContent = text;
  }
}

function block(lines, parent) {
  parent.replaceChildren();
  for (const line of lines ?? []) spans(line, element("div", "wb-line", parent));
}

// What is folded is remembered by the text of the first cell and of those above it: rows come and go.
function drawTable(tab, folded, redraw, parent) {
  parent.replaceChildren();
  if (!tab.rows.length) return;
  const table = element("table", "wb-table", parent);
  const head = element("tr", "", element("thead", "", table));
  for (const column of tab.columns) {
    element("th", column.right ? "wb-right" : "", head).textContent = column.title;
  }
  const body = element("tbody", "", table);
  const trail = [];
  let hiddenBelow = Infinity;
  for (const row of tab.rows) {
    trail.length = row.depth;
    trail.push(row.cells[0].map(([text]) => text).join(""));
    if (row.depth > hiddenBelow) continue;
    hiddenBelow = Infinity;
    const key = trail.join("\u0000");
    const drawn = element("tr", "", body);
    row.cells.forEach((cell, index) => {
      const box = element("td", tab.columns[index].right ? "wb-right" : "", drawn);
      if (index === 0) {
        box.style.paddingLeft = `${row.depth * 1.4}em`;
        if (row.foldable) {
          const fold = element("button", "wb-fold", box);
          fold.textContent = folded.has(key) ? "▸" : "▾";
          fold.setAttribute("aria-label", folded.has(key) ? "unfold" : "fold");
          fold.addEventListener("click", () => {
            if (!folded.delete(key)) folded.add(key);
            redraw();
          });
        }
      }
      spans(cell, box);
    });
    if (row.foldable && folded.has(key)) hiddenBelow = row.depth;
  }
  if (tab.more) element("div", "wb-muted", parent).textContent = `… and ${tab.more} more rows`;
  element("div", "wb-muted wb-hidden-columns", parent).hidden = true;
  fitTable(tab, parent);
}

// Where there is no room for all columns those that matter least are hidden, and named: none covers another.
function fitTable(tab, parent) {
  const table = parent.querySelector("table");
  if (!table || !parent.clientWidth) return;
  const show = (index, shown) => {
    for (const row of table.rows) if (row.cells[index]) row.cells[index].hidden = !shown;
  };
  tab.columns.forEach((_, index) => show(index, true));
  const order = tab.columns
    .map((column, index) => ({ ...column, index }))
    .filter((column) => column.rank)
    .sort((one, other) => other.rank - one.rank);
  const hidden = [];
  while (order.length && table.scrollWidth > parent.clientWidth) {
    const column = order.shift();
    show(column.index, false);
    hidden.push(column.title);
  }
  const note = parent.querySelector(".wb-hidden-columns");
  note.hidden = !hidden.length;
  note.textContent = `no room for ${hidden.join(", ")}: .df has all columns`;
}

const HEARD_MS = 1500;

function render({ model, el }) {
  const root = element("div", "wb-live", el);
  const head = element("div", "wb-head", root);
  const bar = element("div", "wb-bar", root);
  const tabs = element("div", "wb-tabs", root);
  const table = element("div", "wb-scroll", root);
  const foot = element("div", "wb-foot", root);
  const ask = element("form", "wb-ask", root);
  const stop = element("button", "wb-stop", root);
  stop.type = "button";
  stop.textContent = "Stop";
  const unheard = element("span", "wb-warn", root);
  stop.addEventListener("click", () => {
    stop.disabled = true;
    model.send({ kind: "stop" });
    setTimeout(stopOtherwise, HEARD_MS);
  });

  // A kernel that is busy with a cell may not hear messages; an interrupt of the cell that waits stops in the same way.
  // Looked at again until it stopped: the cell that will wait may not have begun when Stop was pressed.
  function stopOtherwise() {
    if (model.get("is_stopping") || !model.get("can_stop")) return;
    const kernel = model.widget_manager?.kernel;
    if (model.get("is_awaited") && kernel?.interrupt) {
      kernel.interrupt();
      return;
    }
    unheard.textContent = "the kernel is busy: Stop counts once the cell that runs is done, or interrupt the kernel";
    setTimeout(stopOtherwise, HEARD_MS);
  }

  const folded = new Set();
  let chosen = 0;
  let asked = null;

  function drawPicture() {
    const picture = model.get("picture");
    block(picture.head, head);
    block(picture.foot, foot);
    const all = picture.tabs ?? [];
    chosen = Math.min(chosen, Math.max(0, all.length - 1));
    tabs.replaceChildren();
    if (all.length > 1) {
      all.forEach((tab, index) => {
        const button = element("button", index === chosen ? "wb-tab wb-chosen" : "wb-tab", tabs);
        button.type = "button";
        button.textContent = tab.name;
        button.addEventListener("click", () => {
          chosen = index;
          drawPicture();
        });
      });
    }
    if (all.length) drawTable(all[chosen], folded, drawPicture, table);
    else table.replaceChildren();
  }

  function drawProgress() {
    const [done, failed, total] = model.get("progress");
    bar.replaceChildren();
    bar.hidden = !total;
    if (!total) return;
    bar.setAttribute("role", "progressbar");
    bar.setAttribute("aria-valuemax", total);
    bar.setAttribute("aria-valuenow", done + failed);
    element("div", "wb-done", bar).style.width = `${(100 * done) / total}%`;
    element("div", "wb-failed", bar).style.width = `${(100 * failed) / total}%`;
  }

  // The box is made once for a phrase: an update must not take away what somebody is typing.
  function drawAsk() {
    const wanted = model.get("ask");
    ask.hidden = !wanted.phrase;
    if (!wanted.phrase || asked === wanted.phrase) {
      if (!wanted.phrase) asked = null;
      return;
    }
    asked = wanted.phrase;
    ask.replaceChildren();
    for (const reason of wanted.reasons ?? []) element("div", "wb-warn", ask).textContent = `! ${reason}`;
    const label = element("label", "", ask);
    label.append("type ");
    element("code", "", label).textContent = wanted.phrase;
    const box = element("input", "", label);
    box.type = "text";
    box.autocomplete = "off";
    box.spellcheck = false;
    const button = element("button", "wb-run", ask);
    button.type = "submit";
    button.textContent = wanted.button;
    button.disabled = true;
    box.addEventListener("input", () => {
      button.disabled = box.value.trim() !== wanted.phrase;
    });
    // JupyterLab has keys of its own for what is typed outside of its editors.
    box.addEventListener("keydown", (event) => event.stopPropagation());
    ask.onsubmit = (event) => {
      event.preventDefault();
      if (button.disabled) return;
      button.disabled = true;
      box.disabled = true;
      model.send({ kind: "confirm", text: box.value.trim() });
    };
  }

  function drawStop() {
    stop.hidden = !model.get("can_stop");
    if (stop.hidden) stop.disabled = false;
    const heard = model.get("is_stopping");
    stop.textContent = heard ? "Stopping ..." : "Stop";
    if (heard || stop.hidden) unheard.textContent = "";
  }

  const listeners = { picture: drawPicture, progress: drawProgress, ask: drawAsk, can_stop: drawStop, is_stopping: drawStop };
  for (const [name, draw] of Object.entries(listeners)) {
    draw();
    model.on(`change:${name}`, draw);
  }
  const fit = () => {
    const tab = (model.get("picture").tabs ?? [])[chosen];
    if (tab) fitTable(tab, table);
  };
  const watcher = new ResizeObserver(fit);
  watcher.observe(root);
  return () => {
    watcher.disconnect();
    for (const [name, draw] of Object.entries(listeners)) model.off(`change:${name}`, draw);
  };
}

export default { render };
