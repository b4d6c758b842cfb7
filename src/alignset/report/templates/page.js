"use strict";
// Sort, copy and save tables. The page can be read without it.
(() => {
  const status = document.querySelector(".status");
  let timer;
  const say = (text) => {
    status.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => { status.textContent = ""; }, 2500);
  };

  const value = (cell) => cell.dataset.value ?? cell.textContent.trim().replace(/\s+/g, " ");
  const rows = (table) => [
    [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim()),
    ...[...table.tBodies[0].rows].map((row) => [...row.cells].map(value)),
  ];

  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const x = Number(a), y = Number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, "en", { numeric: true });
  };

  const sort = (button) => {
    const head = button.closest("th");
    const body = head.closest("table").tBodies[0];
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const column = head.cellIndex;
    const key = (row) => value(row.cells[column]);
    const missingLast = (a, b) => (key(a) === "") - (key(b) === "");
    const sorted = [...body.rows].sort(
      (a, b) => missingLast(a, b) || (falling ? -1 : 1) * compare(key(a), key(b)));
    body.append(...sorted);
    say(`Sorted by ${head.textContent.trim()}, ${falling ? "descending" : "ascending"}`);
  };

  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  const save = (table) => {
    const text = rows(table).map((row) => row.map(quote).join(",")).join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = `${table.id}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say(`Saved ${link.download}`);
  };

  const copyByHand = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  };

  const copy = async (table) => {
    const text = rows(table).map((row) => row.join("\t")).join("\n");
    let copied = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copied = copyByHand(text);
    }
    say(copied ? `Copied ${table.tBodies[0].rows.length} rows` : "The browser refused to copy");
  };

  for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.closest("th")) sort(button);
    else if (button.dataset.csv) save(document.getElementById(button.dataset.csv));
    else if (button.dataset.copy) copy(document.getElementById(button.dataset.copy));
  });

  // a table that goes on beyond its edge says so, also when it is unfolded or the window changes
  const cue = () => {
    for (const area of document.querySelectorAll(".scroll")) {
      const hint = area.parentElement.querySelector(".cue");
      const wide = area.scrollWidth > area.clientWidth + 1;
      area.classList.toggle("wide", wide);
      if (hint) hint.hidden = !wide;
    }
  };
  cue();
  addEventListener("resize", cue);
  document.addEventListener("toggle", cue, true);

  // on paper everything that was folded away is open
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.more:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });

  // contents are folded on a phone, where they would push the page down
  if (matchMedia("(max-width: 47rem)").matches) document.querySelector("nav details").open = false;
})();
