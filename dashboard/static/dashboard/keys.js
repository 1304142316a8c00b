// Single keys, for whoever wants them. An element says which key acts on it: data-key="g".
"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const sheet = one("#keys");
  if (!sheet) return;

  const openSheet = () => { if (!sheet.open) sheet.showModal(); };
  document.addEventListener("click", (event) => {
    if (event.target.closest('[data-open="keys"]')) openSheet();
    if (event.target === sheet) sheet.close(); // outside of it
  });
  all('[data-open="keys"]').forEach((button) => { button.hidden = false; });

  // ---- One search for pages, tools and calls: Ctrl or Cmd with K ----
  const find = one("#find"), sought = one("#find input"), found = one("#found");
  const openFind = () => {
    if (!find.open) find.showModal();
    sought.select();
    if (!found.childElementCount) htmx.ajax("GET", find.querySelector("form").action, { target: "#found", swap: "innerHTML" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    openFind();
  });
  document.addEventListener("click", (event) => {
    if (event.target === find) find.close();
    if (!event.target.closest('[data-open="find"]') || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    openFind();
  });
  find.addEventListener("keydown", (event) => {
    const links = Array.from(found.querySelectorAll("a")), at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const to = at + (event.key === "ArrowDown" ? 1 : -1);
      (to < 0 ? sought : links[Math.min(to, links.length - 1)])?.focus();
    } else if (event.key === "Enter" && event.target === sought && links.length && found.dataset.of === sought.value) {
      event.preventDefault();
      links[0].click();
    }
  });
  document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target === found) found.dataset.of = sought.value; });

  // ---- None acts while somebody types, while a request is under way, or under a dialog ----
  const changes = (event) => event.detail.requestConfig.verb !== "get" && !event.target.matches("[data-reads]"); // a preview reads
  let underway = 0;
  document.addEventListener("htmx:beforeRequest", (event) => { if (changes(event)) underway += 1; });
  document.addEventListener("htmx:afterRequest", (event) => { if (changes(event)) underway = Math.max(underway - 1, 0); });
  const isTyping = (element) => element.isContentEditable || element.matches("textarea, select, input:not([type=radio], [type=checkbox], [type=submit], [type=button])");
  const isBusy = () => underway > 0 || one("dialog[open]") || one("form[data-sent]");

  // ---- Moving in a list ----
  const rows = () => all(".row-link");
  const move = (step) => {
    const links = rows(), at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)];
    if (next) { next.focus(); next.closest("li, tr").scrollIntoView({ block: "nearest" }); }
  };

  const act = (element) => {
    const folded = element.closest("details:not([open])");
    if (folded && !element.matches("summary")) folded.open = true;
    element.scrollIntoView({ block: "nearest" });
    if (element.matches("textarea, input[type=search], input[type=text]")) { element.focus(); element.select?.(); return; }
    element.click();
    const then = element.dataset.keyThen && one(element.dataset.keyThen);
    if (then) then.focus();
  };
  // ---- What is done to a call in the list ----
  const row = () => document.activeElement.closest("#queue[data-works] .row:not([data-group])");
  const address = () => row().querySelector(".row-link").href;
  const claim = () => {
    const values = { action: row().hasAttribute("data-mine") ? "release" : "claim" };
    htmx.ajax("POST", `${address()}claim/`, { source: row(), swap: "none", values }).then(() => document.dispatchEvent(new Event("desk:done")));
  };
  const snooze = () => document.dispatchEvent(new CustomEvent("desk:ask", { detail: `${address()}snooze/` }));
  const inRow = { c: claim, s: snooze };
  const openGroup = () => { if (document.activeElement.matches("[data-all]")) document.activeElement.click(); };

  const keys = { a: openGroup, "/": openFind, j: () => move(1), k: () => move(-1), "?": openSheet };
  document.addEventListener("keydown", (event) => {
    if (!document.body.hasAttribute("data-shortcuts") || event.defaultPrevented || event.repeat && !"jk".includes(event.key)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target) || isBusy()) return;
    const wanted = all("[data-key]").find((element) => element.dataset.key === event.key && !element.disabled && element.checkVisibility());
    const action = wanted ? () => act(wanted) : row() && inRow[event.key] || keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isTyping(event.target)) event.target.blur();
  });
})();
