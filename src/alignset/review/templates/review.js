"use strict";
(() => {
  const sheet = JSON.parse(document.getElementById("sheet").textContent);
  const $ = (id) => document.getElementById(id);
  const n = sheet.ids.length;
  const answers = [...sheet.choices, sheet.cannotTell];
  const KEEP_UNDOS = 200, PATIENCE = 5000;
  let reviewer = "", at = 0, records = [], undos = [], count = 0, exported = 0, timer = 0;

  // ---- keeping answers -------------------------------------------------------------------------
  // IndexedDB is on the disk when it says so; localStorage is there at once, but a browser that is
  // killed forgets its last seconds. Answers go to both, and the newer one counts.

  const PREFIX = "alignset-review|";
  const key = (who, what) => JSON.stringify([sheet.digest, who, what]);
  let database = null;

  function openDatabase() {
    return new Promise((resolve) => {
      const give = (found) => { clearTimeout(late); resolve(found); };
      const late = setTimeout(() => give(null), 3000);
      try {
        const asked = indexedDB.open("alignset-review", 1);
        asked.onupgradeneeded = () => asked.result.createObjectStore("kept");
        asked.onsuccess = () => give(asked.result);
        asked.onerror = asked.onblocked = () => give(null);
      } catch { give(null); }
    });
  }

  function keep(entries) {
    const local = keepLocally(entries);
    const written = new Promise((resolve) => {
      if (database === null) { resolve(false); return; }
      try {
        const change = database.transaction("kept", "readwrite", { durability: "strict" });
        for (const [name, value] of entries) change.objectStore("kept").put(value, name);
        change.oncomplete = () => resolve(true);
        change.onerror = change.onabort = () => resolve(false);
        change.commit?.();
      } catch { resolve(false); }
    });
    waiting += 1;
    $("saved").textContent = "Saving \u2026";
    return written.then((ok) => {
      waiting -= 1;
      if (!ok && !local) {
        alarm("Answers cannot be saved in this browser (its storage is full or switched off). Export them now, and again before you close this page.", true);
        $("saved").textContent = "NOT SAVED";
        $("saved").className = "bad";
      } else if (waiting === 0) {
        $("saved").textContent = count && exported === count ? "Saved and exported" : "Saved in this browser";
        $("saved").className = "";
      }
    });
  }
  let waiting = 0;

  function keepLocally(entries) {
    try {
      for (const [name, value] of entries) localStorage.setItem(PREFIX + name, JSON.stringify(value));
      return true;
    } catch { return false; }
  }

  async function recall() {
    const found = new Map();
    const take = (name, value) => {
      let parts;
      try { parts = JSON.parse(name); } catch { return; }
      if (!Array.isArray(parts) || parts[0] !== sheet.digest || typeof value !== "object" || !value) return;
      if (!(found.get(name)?.n >= value.n)) found.set(name, value);
    };
    try {
      for (let i = 0; i < localStorage.length; i += 1) {
        const name = localStorage.key(i);
        if (!name.startsWith(PREFIX)) continue;
        try { take(name.slice(PREFIX.length), JSON.parse(localStorage.getItem(name))); } catch { continue; }
      }
    } catch { /* refused: the database may be there */ }
    database = await openDatabase();
    if (database !== null) {
      await new Promise((resolve) => {
        try {
          const walk = database.transaction("kept").objectStore("kept").openCursor();
          walk.onsuccess = () => {
            if (!walk.result) { resolve(); return; }
            take(walk.result.key, walk.result.value);
            walk.result.continue();
          };
          walk.onerror = () => resolve();
        } catch { resolve(); }
      });
    }
    return found;
  }

  const text = (value) => (typeof value === "string" ? value : "");
  const whole = (value) => (Number.isSafeInteger(value) && value >= 0 ? value : 0);

  function takeUp(who, found) {
    reviewer = who;
    records = sheet.ids.map((_, i) => ({ n: 0, ...(sheet.filled[i] || { answer: "", comment: "", time: "" }) }));
    count = 0;
    for (let i = 0; i < n; i += 1) {
      const kept = found.get(key(who, i));
      if (!kept) continue;
      const answer = answers.includes(kept.answer) ? kept.answer : "";
      records[i] = { n: whole(kept.n), answer, comment: text(kept.comment), time: text(kept.time) };
      count = Math.max(count, records[i].n);
    }
    const about = found.get(key(who, "about")) || {};
    undos = (Array.isArray(about.undos) ? about.undos : []).filter((u) => u && records[u.i]);
    exported = whole(about.exported);
    count = Math.max(count, exported, whole(about.n));
    at = Math.max(0, nextOpen(-1));
  }

  function remember(i) {
    count += 1;
    beSure(false);
    records[i].n = count;
    return keep([[key(reviewer, i), records[i]], [key(reviewer, "about"), about()]]);
  }

  const about = () => ({ n: count, undos, exported });

  // ---- answering -------------------------------------------------------------------------------

  function nextOpen(from) {
    for (let step = 1; step <= n; step += 1) {
      const i = (from + step + n) % n;
      if (!records[i].answer) return i;
    }
    return -1;
  }

  // The next row is shown once the answer is on the disk; until then no other answer is taken, so
  // that what a reviewer saw answered is never lost, and no row is answered before it was seen.
  let busy = false;
  async function unlessBusy(act) {
    if (busy) return;
    busy = true;
    document.documentElement.dataset.busy = "yes";
    try { await act(); } finally {
      busy = false;
      delete document.documentElement.dataset.busy;
    }
  }

  const atMost = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, PATIENCE))]);

  async function answer(value) {
    keepComment();
    const old = records[at];
    undos.push({ i: at, answer: old.answer, time: old.time });
    undos = undos.slice(-KEEP_UNDOS);
    records[at] = { ...old, answer: value, time: new Date().toISOString().replace(/\.\d+Z$/, "Z") };
    await atMost(remember(at));
    const said = `Row ${at + 1}: ${value}.`, next = nextOpen(at);
    if (next < 0) {
      show(at);
      say(`${said} All ${n} rows are answered: export the answers.`, true);
    } else {
      show(next);
      say(`${said} ${done()} of ${n} answered.`);
    }
  }

  async function undo() {
    keepComment();
    const last = undos.pop();
    if (!last) { say("There is nothing to undo."); return; }
    const answer = answers.includes(last.answer) ? last.answer : "";
    records[last.i] = { ...records[last.i], answer, time: text(last.time) };
    await atMost(remember(last.i));
    show(last.i);
    say(`Undone: row ${last.i + 1} is ${answer || "open"} again.`);
  }

  function keepComment() {
    clearTimeout(timer);
    const comment = $("comment").value;
    if (comment === records[at].comment) return;
    records[at] = { ...records[at], comment };
    remember(at);
  }

  function move(to) {
    keepComment();
    if (to < 0 || to >= n) { say(to < 0 ? "This is the first row." : "This is the last row."); return; }
    show(to);
  }

  function goToOpen() {
    keepComment();
    const next = nextOpen(at);
    if (next < 0) say("Every row is answered."); else show(next);
  }

  const done = () => records.filter((record) => record.answer).length;

  // ---- showing ---------------------------------------------------------------------------------

  function make(tag, content, name) {
    const made = document.createElement(tag);
    if (content !== undefined) made.textContent = content;
    if (name) made.className = name;
    return made;
  }

  function show(i, focus = true) {
    at = i;
    $("row").textContent = `Row ${i + 1} of ${n}: ${sheet.idColumn} ${sheet.ids[i]}`;
    $("facts").replaceChildren(...sheet.columns.map((name, c) => {
      const pair = make("div"), value = sheet.cells[i][c];
      pair.append(make("dt", name), make("dd", value || "(empty)", value ? "" : "empty"));
      return pair;
    }));
    for (const button of $("choices").children) {
      button.setAttribute("aria-pressed", String(answers[button.dataset.at] === records[i].answer));
    }
    $("comment").value = records[i].comment;
    $("before").disabled = i === 0;
    $("after").disabled = i === n - 1;
    $("undo").disabled = undos.length === 0;
    const ready = done();
    $("done").textContent = `${ready} of ${n} answered`;
    $("bar").max = n;
    $("bar").value = ready;
    showGroups();
    if (focus) $("row").focus();
  }

  function showGroups() {
    if (!sheet.groups.length) return;
    const sizes = new Map();
    records.forEach((record, i) => {
      const name = sheet.groups.map((c) => sheet.cells[i][c] || "(empty)").join(", ");
      const size = sizes.get(name) || [0, 0];
      sizes.set(name, [size[0] + Boolean(record.answer), size[1] + 1]);
    });
    $("by-group").hidden = false;
    $("groups").replaceChildren(...[...sizes].sort().map(([name, [ready, all]]) => {
      const item = make("li", `${name}: ${ready} of ${all}`), bar = make("progress");
      bar.max = all;
      bar.value = ready;
      bar.setAttribute("aria-hidden", "true");
      item.append(bar);
      return item;
    }));
  }

  let fading = 0;
  function say(what, stays = false) {
    clearTimeout(fading);
    $("status").classList.remove("old");
    $("status").textContent = what;
    if (!stays) fading = setTimeout(() => $("status").classList.add("old"), 4000);
  }

  function alarm(what, offer = false) {
    $("alarm-text").textContent = what;
    $("alarm-export").hidden = !offer;
    $("alarm").hidden = false;
  }

  // ---- files -----------------------------------------------------------------------------------

  const FORMULA = /^'*[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/, NUMBER = /^[-+]?([0-9]+([.,][0-9]+)*|[.,][0-9]+)([eE][-+]?[0-9]+)?$/;
  const writeCell = (cell) => (FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell);
  const readCell = (cell) => (cell.startsWith("'") && FORMULA.test(cell) ? cell.slice(1) : cell);
  const quote = (cell) => (/[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

  function exportAnswers() {
    keepComment();
    const rows = [[sheet.idColumn, "reviewed", "reviewer", "time", "comment"]];
    records.forEach((record, i) => {
      const said = record.answer || record.comment;
      rows.push([sheet.ids[i], record.answer, said ? reviewer : "", record.time, record.comment]);
    });
    const lines = rows.map((row) => row.map((cell) => quote(writeCell(cell))).join(","));
    const link = make("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", lines.join("\r\n"), "\r\n"], { type: "text/csv" }));
    link.download = fileName();
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    exported = count;
    keep([[key(reviewer, "about"), about()]]);
    say(`Exported ${done()} of ${n} answers to ${link.download}.`);
  }

  function fileName() {
    const who = reviewer.normalize("NFKC").replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 40) || "reviewer";
    const stem = sheet.stem.endsWith(`.${who}`) ? sheet.stem : `${sheet.stem}.${who}`;
    return `${stem}-filled.csv`;
  }

  function parse(content, mark) {
    const rows = [[""]];
    let quoted = false;
    for (let i = 0; i < content.length; i += 1) {
      const c = content[i], row = rows.at(-1);
      if (quoted) {
        if (c !== '"') row[row.length - 1] += c;
        else if (content[i + 1] === '"') { row[row.length - 1] += '"'; i += 1; } else quoted = false;
      } else if (c === '"' && row.at(-1) === "") quoted = true;
      else if (c === mark) row.push("");
      else if (c === "\n") rows.push([""]);
      else if (c !== "\r") row[row.length - 1] += c;
    }
    return rows.filter((row) => row.length > 1 || row[0] !== "").map((row) => row.map(readCell));
  }

  // ids as a spreadsheet program may have saved them: 007 and 7.0 are 7
  function bare(id) {
    const short = id.trim().replace(/\s+/g, " ");
    const number = /^([-+]?)(\d+)(?:[.,]0+)?$/.exec(short);
    return number ? number[1].replace("+", "") + number[2].replace(/^0+(?=\d)/, "") : short;
  }

  function importAnswers(content) {
    const body = content.replace(/^\ufeff/, "");
    const rows = [",", ";", "\t"].map((mark) => parse(body, mark))
      .find((found) => found[0]?.includes(sheet.idColumn) && found[0].includes("reviewed"));
    if (!rows) { alarm("That file is not an export of this page: it has no columns for the rows and their answers."); return; }
    const [head, ...lines] = rows, place = new Map(sheet.ids.map((id, i) => [bare(id), i]));
    const cell = (line, name) => line[head.indexOf(name)] ?? "";
    const others = new Set(lines.map((line) => cell(line, "reviewer")).filter((who) => who && who !== reviewer));
    if (others.size) { alarm(`That file has answers by ${[...others].join(", ")}, and you are ${reviewer}; nothing was imported.`); return; }
    keepComment();
    let taken = 0, older = 0, strange = 0;
    for (const line of lines) {
      const i = place.get(bare(cell(line, sheet.idColumn))), said = cell(line, "reviewed");
      if (i === undefined || (said && !answers.includes(said))) { strange += 1; continue; }
      const now = records[i], comment = cell(line, "comment"), time = cell(line, "time");
      if ((!said || said === now.answer) && (!comment || comment === now.comment)) continue;
      if (now.answer && now.time > time) { older += 1; continue; }
      undos = undos.filter((u) => u.i !== i);
      records[i] = { ...now, answer: said || now.answer, time: said ? time : now.time, comment: comment || now.comment };
      remember(i);
      taken += 1;
    }
    show(Math.max(0, nextOpen(-1)));
    $("alarm").hidden = true;
    say(`Imported ${taken} answers` + (older ? `; ${older} are older than those here` : "") + (strange ? `; ${strange} do not belong to this sheet` : "") + ".");
  }

  // ---- forgetting ------------------------------------------------------------------------------
  // On a computer that others use answers must not stay behind; but nothing that was not exported,
  // and nothing by a single press.

  let sure = false;
  const beSure = (yes) => {
    sure = yes;
    $("forget").textContent = yes ? "Delete now" : "Delete from this browser";
  };

  async function forget() {
    keepComment();
    if (count > exported) { beSure(false); say("Export the answers first: deleted here, they would be lost."); return; }
    if (!sure) { beSure(true); say("Press again to delete your answers from this browser; the exported file keeps them."); return; }
    if (!await erase()) { beSure(false); alarm("This browser did not delete the answers; delete its data for this page."); return; }
    $("work").hidden = true;  // so that leaving keeps nothing
    location.reload();
  }

  function erase() {
    const own = (name) => {
      try {
        const [digest, who, what] = JSON.parse(name);
        return digest === sheet.digest && (who === reviewer || what === "last");
      } catch { return false; }
    };
    try {
      for (const name of Object.keys(localStorage)) {
        if (name.startsWith(PREFIX) && own(name.slice(PREFIX.length))) localStorage.removeItem(name);
      }
    } catch { /* refused: then nothing was kept there */ }
    return new Promise((resolve) => {
      if (database === null) { resolve(true); return; }
      try {
        const change = database.transaction("kept", "readwrite", { durability: "strict" });
        const walk = change.objectStore("kept").openCursor();
        walk.onsuccess = () => {
          if (!walk.result) return;
          if (own(walk.result.key)) walk.result.delete();
          walk.result.continue();
        };
        change.oncomplete = () => resolve(true);
        change.onerror = change.onabort = () => resolve(false);
      } catch { resolve(false); }
    });
  }

  // ---- starting --------------------------------------------------------------------------------

  function begin(who, found) {
    takeUp(who, found);
    $("start").hidden = true;
    $("work").hidden = $("who").hidden = false;
    $("who-text").textContent = `Reviewer: ${who}`;
    $("saved").textContent = count ? "Saved in this browser" : "";
    keep([[key("", "last"), { n: Date.now(), who }], [key(who, "about"), about()]]);
    show(at);
  }

  function ask(found, given) {
    $("work").hidden = $("who").hidden = true;
    $("start").hidden = false;
    $("name").value = given;
    $("name").focus();
    $("start").onsubmit = (event) => {
      event.preventDefault();
      const who = $("name").value.trim();
      if (who) begin(who, found);
    };
  }

  function build() {
    $("title").textContent = document.title;
    $("choices").append(...answers.map((name, i) => {
      const short = i === answers.length - 1 ? "c" : i < 9 ? String(i + 1) : "";
      const button = make("button");
      button.type = "button";
      button.dataset.at = i;
      if (short) {
        const hint = make("kbd", short);
        hint.setAttribute("aria-hidden", "true");
        button.setAttribute("aria-keyshortcuts", short);
        button.append(hint);
      }
      button.append(make("span", name));
      button.addEventListener("click", () => unlessBusy(() => answer(name)));
      return button;
    }));
    const many = Math.min(9, sheet.choices.length);
    const keys = [[many > 1 ? `1 \u2013 ${many}` : "1", "answer"], ["c", "cannot tell"], ["u or z", "undo"],
      ["\u2190 \u2192", "back and forward"], ["n", "next open row"], ["m", "write a comment; Esc leaves it"]];
    $("keys").append(...keys.map(([short, what]) => {
      const pair = make("div"), term = make("dt");
      term.append(make("kbd", short));
      pair.append(term, make("dd", what));
      return pair;
    }));
  }

  const DOES = {
    c: () => answer(sheet.cannotTell), u: undo, z: undo, n: goToOpen, m: () => $("comment").focus(),
    ArrowLeft: () => move(at - 1), ArrowRight: () => move(at + 1),
  };

  function pressed(event) {
    if ($("work").hidden || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches("textarea, input:not([type=checkbox])");
    if (typing) {
      if (event.key === "Escape") { keepComment(); $("row").focus(); }
      return;
    }
    if (!$("use-keys").checked || (event.repeat && !event.key.startsWith("Arrow"))) return;
    const short = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const choice = /^[1-9]$/.test(short) ? sheet.choices[Number(short) - 1] : undefined;
    const act = choice === undefined ? DOES[short] : () => answer(choice);
    if (!act) return;
    event.preventDefault();
    unlessBusy(act);
  }

  async function start() {
    build();
    const found = await recall();
    const last = text(found.get(key("", "last"))?.who);
    if (last) begin(last, found); else ask(found, sheet.reviewer);
    $("other").addEventListener("click", async () => { keepComment(); ask(await recall(), ""); });
    document.addEventListener("keydown", pressed);
    const clicks = {
      before: () => move(at - 1), after: () => move(at + 1), open: goToOpen, undo, export: exportAnswers, forget,
      "alarm-export": exportAnswers,
    };
    for (const [id, act] of Object.entries(clicks)) $(id).addEventListener("click", () => unlessBusy(act));
    $("import").addEventListener("click", () => $("file").click());
    $("file").addEventListener("change", async () => {
      const file = $("file").files[0];
      if (file) await unlessBusy(async () => importAnswers(await file.text()));
      $("file").value = "";
    });
    $("comment").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(keepComment, 300); });
    $("comment").addEventListener("change", keepComment);
    addEventListener("pagehide", () => { if (!$("work").hidden) keepComment(); });
    addEventListener("beforeunload", (event) => {
      if ($("work").hidden) return;
      keepComment();
      if (count > exported && records.some((record) => record.n)) event.preventDefault();
    });
    addEventListener("storage", (event) => {
      if (event.key?.startsWith(PREFIX) && event.key.includes(sheet.digest)) {
        alarm("This sheet is open in another tab, too. Close one of them and reload the other, or their answers will replace each other.");
      }
    });
    document.documentElement.dataset.ready = "yes";
  }

  start();
})();
