// Elements. Whatever comes from data goes through here as text, never as HTML.

/** Return a new element. `attributes` are set as attributes, `on...` as listeners; children are nodes or text. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

/** Put `children` in place of what is in the element `id`. */
function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children);
}

/** Return a table from a list of head cells and a list of rows, both of them elements. */
function makeTable(head, rows, attributes = {}) {
  return make("table", attributes, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

const thousands = new Intl.NumberFormat("en");

/** Return a count with thousands apart. */
const count = (n) => thousands.format(n);

/** Return a share in per cent; only exactly none or all is shown as 0% or 100% (`share` of words.py). */
function percent(part, whole) {
  if (!whole) return "none";
  const value = (100 * part) / whole;
  if (value > 0 && value < 1) return "under 1%";
  return value > 99 && value < 100 ? "over 99%" : `${Math.round(value)}%`;
}

/** Return a number with its sign, and a minus that is one. */
function signed(value, digits = 0) {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value > 0 ? "+" : "−") + text;
}

/** Hand the reader a file that is made here. */
function offer(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Return rows as CSV. What a spreadsheet would take for a formula, also with another separator, gets an apostrophe. */
function csv(rows) {
  const cell = (value) => {
    let text = String(value ?? "");
    if (typeof value === "string") {
      text = text.replace(/([;\t\r\n]"*)(?='*[=+\-@＝＋－＠])/g, "$1'");
      if (/^'*[=+\-@\t\r\n＝＋－＠]/.test(text)) text = `'${text}`;
    }
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
