// The answer: an editor for JSON over a plain text field, and saved replies put where one types.
"use strict";
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const MOST = 100000; // characters; beyond, every key would be felt
  const MARK = /\[REDACTED: [A-Z0-9][A-Z0-9_]{1,30}\]/g; // as contract/detection/marks.py writes them

  // ---- Under the text lies the same text, with its lines numbered, its faults and its redaction marks shown ----
  const element = (name, className, text) => {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    return made;
  };
  const write = (line, text) => {
    let end = 0;
    for (const found of text.matchAll(MARK)) {
      line.append(text.slice(end, found.index), element("mark", "jr", found[0]));
      end = found.index + found[0].length;
    }
    line.append(text.slice(end) || (end ? "" : "\u200b")); // an empty line is as high as the others
  };
  const wrongLines = () => new Set(all("#preview [data-line]").map((link) => Number(link.dataset.line)));
  const draw = (editor) => {
    const wrong = wrongLines(), value = one("textarea", editor).value, isLive = value.length <= MOST;
    editor.classList.toggle("is-live", isLive);
    one(".editor-lines", editor).replaceChildren(...(isLive ? value.split("\n") : []).map((text, index) => {
      const line = element("span", wrong.has(index + 1) ? "editor-line is-wrong" : "editor-line", "");
      write(line, text);
      return line;
    }));
  };
  const enhance = (editor) => {
    if (one(".editor-lines", editor)) return;
    const lines = element("div", "editor-lines", "");
    lines.setAttribute("aria-hidden", "true");
    editor.prepend(lines);
    draw(editor);
  };
  const redraw = () => all("[data-editor]").forEach((editor) => { enhance(editor); draw(editor); });

  // ---- A new line begins where the one before began; Tab leaves the field, as everywhere ----
  const insert = (field, text) => {
    field.focus();
    // The old command is the only one that keeps undo; where it is gone, the text is put in all the same.
    if (!document.execCommand("insertText", false, text)) {
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
  };
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing || !field.closest("[data-editor]")) return;
    const before = field.value.slice(0, field.selectionStart), line = before.slice(before.lastIndexOf("\n") + 1);
    const indent = /^[ \t]*/.exec(line)[0] + (/[{[]\s*$/.test(line) ? "  " : "");
    if (!indent) return;
    event.preventDefault();
    insert(field, `\n${indent}`);
  });

  // ---- A fault says its line, and leads there ----
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]"), field = one("#id_arguments, #id_schema");
    if (!link || !field) return;
    event.preventDefault();
    const lines = field.value.split("\n"), at = Math.min(Number(link.dataset.line), lines.length) - 1;
    const start = lines.slice(0, at).reduce((sum, line) => sum + line.length + 1, 0);
    field.focus();
    if (link.dataset.column) field.setSelectionRange(start + Number(link.dataset.column) - 1, start + Number(link.dataset.column) - 1);
    else field.setSelectionRange(start, start + lines[at].length);
    one(`.editor-line:nth-child(${at + 1})`)?.scrollIntoView({ block: "nearest" });
    if (field.id === "id_schema") field.scrollTop = Math.max(at - 4, 0) * (field.scrollHeight / lines.length);
  });
  one("[data-at-once]")?.click();

  // ---- A saved reply stands where the caret was, and nothing that was typed is lost ----
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-insert]"), field = one("#id_text");
    if (!button || !field) return;
    event.preventDefault();
    const text = button.dataset.insert;
    const before = field.value.slice(0, field.selectionStart), after = field.value.slice(field.selectionEnd);
    const lead = before && !/\s$/.test(before) ? "\n" : "", trail = after && !/^\s/.test(after) ? "\n" : "";
    insert(field, lead + text + trail);
  });

  // ---- The schema lies open beside the editor where there is room ----
  const isWide = matchMedia("(min-width: 60.01rem)");
  const openSchema = () => {
    const schema = one("#schema");
    if (schema && isWide.matches && one("#answer [value=corrected]:checked")) schema.open = true;
  };
  document.addEventListener("change", (event) => { if (event.target.name === "decision") openSchema(); });

  // ---- What a check found is said in few words, once, and marks the field that is wrong, which keeps the focus ----
  const wordsOf = (element) => element.textContent.trim().replace(/\s+/g, " ");
  const say = (part) => {
    const outcome = one("[data-said]", part), said = one(`#${part?.id}-said`);
    if (!outcome || !said) return;
    const wrong = (outcome.dataset.wrong ?? "").split(" ");
    if (wordsOf(said) !== wordsOf(outcome)) said.textContent = wordsOf(outcome); // said again only when it is another
    all(`[aria-describedby="${said.id}"]`).forEach((field) => {
      if (wrong.includes(field.name)) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
    });
  };

  document.addEventListener("input", (event) => {
    const editor = event.target.closest("[data-editor]");
    if (editor) draw(editor);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const target = event.detail.target;
    if (target.id === "preview") redraw();
    if (target.id === "preview" || target.id === "verdict") say(target);
    if (target.id !== "answer") return;
    say(one("#preview"));
    redraw();
    openSchema();
    document.dispatchEvent(new Event("desk:ready"));
    one("[autofocus]", target)?.focus();
  });
  redraw();
  openSchema();
})();
