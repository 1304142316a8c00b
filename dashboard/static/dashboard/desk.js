// The desk's own script. Everything but the live parts works without it.
"use strict";
(() => {
  const POLL_MS = 3000;
  const EAGER_MS = 1000; // while an answer is on its way to its agent
  const LISTEN_MS = 15000; // a stream that ended is opened anew
  const REST_MS = 60000; // a pointer that rests on a list for so long was left there
  const BACKGROUND_MS = 60000; // a page that nobody sees asks only for what its title counts
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  // ---- Live parts: asked every three seconds, only while somebody can see the page ----
  let ended = false;
  let lastMove = 0;
  const isSeen = () => !ended && document.visibilityState === "visible";
  const poll = () => {
    if (isSeen()) all("[data-live]").forEach((part) => htmx.trigger(part, "desk:poll"));
  };
  setInterval(poll, POLL_MS);
  setInterval(() => { if (one("[data-eager]")) poll(); }, EAGER_MS);
  setInterval(() => { if (!ended && !isSeen() && one("#queue")) htmx.trigger("#queue", "desk:poll"); }, BACKGROUND_MS);

  // ---- The stream says at once that something changed; where none comes through, the polls do ----
  let stream = null;
  const listen = () => {
    if (!isSeen() || !one("[data-live]")) { stream?.close(); stream = null; return; }
    if (stream) return;
    stream = new EventSource(document.body.dataset.stream);
    stream.addEventListener("message", poll);
    stream.addEventListener("error", () => { stream?.close(); stream = null; });
  };
  listen();
  setInterval(listen, LISTEN_MS);
  addEventListener("pagehide", () => stream?.close());
  document.addEventListener("visibilitychange", () => { if (ended) comeBack(); poll(); listen(); });
  document.addEventListener("pointermove", () => { lastMove = Date.now(); }, { passive: true });

  const say = (text, kind, link) => {
    const line = one("#connection");
    // What waits to be sent is more than that the connection is lost.
    if (line.dataset.kind === kind || line.dataset.kind === "unsent" && kind === "lost") return;
    line.dataset.kind = kind;
    line.replaceChildren(text);
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link;
      anchor.textContent = "Log in";
      if (one("form[data-answer]")) anchor.target = "_blank"; // what was typed stays here
      line.append(" ", anchor);
    }
  };

  // ---- After a login in another tab this page goes on: its forms bear the token of the new session ----
  const comeBack = async () => {
    const answer = await fetch(location.href).catch(() => null);
    if (!answer?.ok || answer.redirected || !ended) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body.getAttribute("hx-headers");
    document.body.setAttribute("hx-headers", fresh);
    all("[name=csrfmiddlewaretoken]").forEach((field) => { field.value = JSON.parse(fresh)["X-CSRFToken"]; });
    ended = false;
    say("", "");
    poll();
    listen();
  };

  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    if (status === 401) {
      ended = true;
      listen();
      const here = encodeURIComponent(location.pathname + location.search);
      say("Your session has ended: this page is no longer live.", "ended", `${one("#connection").dataset.login}?next=${here}`);
    } else if (status === 403) {
      say("This page is out of date. Copy what you typed, then reload it.", "stale");
    } else {
      say("The service has a problem; trying again.", "lost");
    }
  });
  document.addEventListener("htmx:sendError", () => say("No connection to the service; trying again.", "lost"));
  document.addEventListener("htmx:afterRequest", (event) => {
    // One that was asked before the connection went may be answered later: what waits to be sent is still unsent.
    if (event.detail.successful && !ended && one("#connection").dataset.kind !== "unsent") say("", "");
  });

  // ---- What a person unfolded stays so, and a list does not move under the pointer or the focus ----
  const KEEPS_FOLDS = "[data-live], [data-folds]";
  let unfolded = new Map();
  const idsOf = (root) => all(".row[id]", root).map((row) => row.id);
  const isHeld = (part) => part.id === "queue" && (
    (part.matches(":hover") && Date.now() - lastMove < REST_MS) || part.contains(document.activeElement) && document.activeElement.matches(".row-link"));
  // The title counts them; whoever allowed it is told by the browser, too, while the inbox is out of sight.
  const tell = one("[data-tell]"), canTell = "Notification" in window;
  let waiting = Number(one("#queue")?.dataset.waiting ?? 0);
  if (tell && canTell) tell.hidden = Notification.permission !== "default";
  tell?.addEventListener("click", async () => { tell.hidden = await Notification.requestPermission() !== "default"; });
  const countIn = (root) => {
    const counted = one("[data-title]", root);
    if (!counted) return;
    document.title = counted.dataset.title;
    const more = Number(counted.dataset.waiting) - waiting;
    waiting += more;
    if (more <= 0 || isSeen() || !canTell || Notification.permission !== "granted") return;
    const words = more === 1 ? "A new call is Blocked" : `${more} new calls are Blocked`;
    const told = new Notification(words, { body: `${waiting} wait${waiting === 1 ? "s" : ""} for a person`, tag: "inbox" });
    told.addEventListener("click", () => { window.focus(); told.close(); });
  };
  const announce = (known, coming) => {
    const fresh = coming.filter((id) => !known.includes(id)).length;
    let bar = one("#news");
    if (!bar) {
      bar = document.createElement("div");
      bar.id = "news";
      bar.className = "news";
      bar.setAttribute("role", "status");
      one("#queue").before(bar);
    }
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.showNews = "yes";
    button.textContent = fresh ? `${fresh} new` : "The list has changed";
    if (bar.textContent !== button.textContent) bar.replaceChildren(button);
  };
  let isWanted = false; // somebody pressed the bar
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-show-news]")) return;
    isWanted = true;
    htmx.trigger("#queue", "desk:poll");
  });
  let at = -1; // of the focused row: when it leaves, the one that takes its place is focused
  document.addEventListener("htmx:beforeSwap", (event) => {
    const part = event.detail.target;
    if (!part.matches(KEEPS_FOLDS) || event.detail.xhr.status !== 200) return;
    if (!isWanted && isHeld(part)) {
      const news = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
      const known = idsOf(part), coming = idsOf(news);
      if (known.length && known.join() !== coming.join()) { // else nothing moves
        event.detail.shouldSwap = false;
        announce(known, coming);
        countIn(news);
        return;
      }
    }
    isWanted = false;
    one("#news")?.remove();
    at = all(".row-link", part).indexOf(document.activeElement);
    unfolded = new Map(all("details[id]", part).map((fold) => [fold.id, fold.open]));
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (!event.detail.target.matches(KEEPS_FOLDS)) return;
    all("details[id]").forEach((fold) => { if (unfolded.has(fold.id)) fold.open = unfolded.get(fold.id); });
    const links = all(".row-link");
    if (at >= 0 && links.length && !links.includes(document.activeElement)) links[Math.min(at, links.length - 1)].focus();
    at = -1;
    countIn(document);
    ready();
  });

  // ---- Times go on; dashboard/templatetags/desk.py writes them the same way ----
  const skew = Date.now() - Date.parse(document.body.dataset.now); // this computer's clock may be wrong
  const since = (from) => {
    const seconds = Math.max(Math.floor((Date.now() - skew - from) / 1000), 0);
    const minutes = Math.floor(seconds / 60), hours = Math.floor(seconds / 3600), days = Math.floor(seconds / 86400);
    if (days) return hours % 24 && days < 10 ? `${days} d ${hours % 24} h` : `${days} d`;
    if (hours) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
    return minutes ? `${minutes} min` : `${seconds} s`;
  };
  const inWords = (time) => {
    const at = Date.parse(time.dateTime), now = Date.now() - skew, suffix = time.dataset.since;
    if (suffix === undefined) return since(2 * now - at); // time left
    return suffix && now - at < 10000 ? "just now" : since(at) + suffix;
  };
  const tick = () => {
    all("time[data-since], time[data-until]").forEach((time) => {
      const text = inWords(time);
      if (time.textContent !== text) time.textContent = text;
    });
    // What an agent has seen cannot be taken back: the button goes, the words and their room stay.
    all("[data-undo-until]").forEach((button) => {
      if (Date.parse(button.dataset.undoUntil) > Date.now() - skew || button.disabled) return;
      button.disabled = true;
      // Not "sent": its agent may need it no more, or another tab may have taken it back. The call's page knows.
      const goes = button.closest(".notice")?.querySelector("[data-goes-out]");
      if (goes) goes.textContent = "Given";
    });
  };
  setInterval(tick, 1000);

  // ---- The browser's zone: the server writes the exact times in it, unless another was chosen ----
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone) document.cookie = `zone=${zone}; path=/; max-age=31536000; SameSite=Lax`;

  // ---- The menu: open where it stands at the side, folded where it lies above the page ----
  const menu = one("[data-menu]"), isNarrow = matchMedia("(max-width: 60rem)");
  const fold = () => { if (menu) menu.open = !isNarrow.matches; };
  isNarrow.addEventListener("change", fold);
  fold();
  // Whoever goes on to the page by pointer or by keyboard sees it: the open menu lies over it.
  ["click", "focusin"].forEach((kind) => document.addEventListener(kind, (event) => {
    if (menu && isNarrow.matches && !menu.contains(event.target)) menu.open = false;
  }));

  // ---- Colours: the cookie is read by the server, so that no page flashes ----
  const root = document.documentElement;
  const markTheme = () => all("[data-theme-choice]").forEach((button) => {
    button.setAttribute("aria-pressed", String(button.dataset.themeChoice === (root.dataset.theme || "")));
  });
  const chooseTheme = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    document.cookie = `theme=${theme}; path=/; max-age=${theme ? 31536000 : 0}; SameSite=Lax`;
    markTheme();
  };

  document.addEventListener("click", (event) => {
    const theme = event.target.closest("[data-theme-choice]");
    if (theme) chooseTheme(theme.dataset.themeChoice);
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(copy.dataset.copy || copy.nextElementSibling.textContent).then(() => {
      copy.classList.add("copied");
      setTimeout(() => copy.classList.remove("copied"), 1200);
    });
  });

  // ---- A question that has a page of its own is asked in a dialog, so that what was typed stays ----
  const ask = one("#ask");
  let askedFrom = -1; // the row whose place is focused again, should it leave while the dialog is open
  const askAt = (address) => {
    askedFrom = all(".row-link").indexOf(document.activeElement);
    return openAt(address);
  };
  const openAt = (address) => htmx.ajax("GET", address, { target: "#ask-body", swap: "innerHTML" }).then(() => {
    if (ask && one("#ask-body form") && !ask.open) ask.showModal();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-ask]");
    if (event.target === ask || event.target.closest("#ask [data-close]")) ask.close();
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    askAt(link.href);
  });
  document.addEventListener("desk:ask", (event) => askAt(event.detail));
  document.addEventListener("desk:done", () => {
    if (ask?.open) ask.close();
    const links = all(".row-link");
    if (askedFrom >= 0 && document.activeElement === document.body) links[Math.min(askedFrom, links.length - 1)]?.focus();
    isWanted = true;
    poll();
  });

  // ---- Beside the list, where there is room: the call of the row that has the focus ----
  const split = one("[data-split]"), pane = one("#pane"), isWide = matchMedia("(min-width: 75rem)");
  const REACHED_MS = 150; // somebody who runs down the list reads none on the way
  let shown = null, reaching = 0;
  const isOpen = () => Boolean(split?.hasAttribute("data-open") && isWide.matches);
  const markShown = () => {
    all(".row[data-shown]").forEach((row) => row.removeAttribute("data-shown"));
    if (isOpen() && shown) document.getElementById(shown)?.closest(".row").setAttribute("data-shown", "");
  };
  const showBeside = (link) => {
    if (!isOpen() || !link || link.id === shown) return;
    shown = link.id;
    markShown();
    const address = `${link.dataset.beside ?? link.getAttribute("href")}?beside=${link.dataset.size ?? 1}`;
    htmx.ajax("GET", address, { source: pane, target: pane, swap: "innerHTML" }).then(() => { pane.scrollTop = 0; });
  };
  const markPane = () => {
    all("[data-pane-switch]").forEach((button) => {
      button.hidden = false;
      button.setAttribute("aria-pressed", String(split.hasAttribute("data-open")));
    });
    markShown();
    if (isOpen() && !document.getElementById(shown)) showBeside(one(".row-link", split));
  };
  if (split) {
    split.addEventListener("focusin", (event) => {
      if (!event.target.matches(".row-link")) return;
      clearTimeout(reaching);
      reaching = setTimeout(() => showBeside(event.target), REACHED_MS);
    });
    split.addEventListener("click", (event) => {
      const link = event.target.closest(".row-link");
      if (!link || !event.detail || !isOpen() || link.id === shown || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault(); // a first click shows it here, Enter and a second one open it
      link.focus();
      showBeside(link);
    });
    document.addEventListener("click", (event) => {
      if (!event.target.closest("[data-pane-switch]")) return;
      split.toggleAttribute("data-open");
      document.cookie = `pane=${split.hasAttribute("data-open") ? "open" : ""}; path=/; max-age=31536000; SameSite=Lax`;
      markPane();
    });
    document.addEventListener("htmx:afterSwap", (event) => { if (event.detail.target.id === "queue") markPane(); });
    isWide.addEventListener("change", markPane);
    markPane();
  }

  // ---- The way down to the answer is shown while the answer is out of sight ----
  const answer = one("#answer");
  if (answer) new IntersectionObserver(([seen]) => { document.body.toggleAttribute("data-answer-seen", seen.isIntersecting); }).observe(answer);

  // ---- Where the bar of the answer stays at the bottom, what has the focus is kept above it ----
  const GAP = 16; // pixels between the bar and what is above it
  const clear = () => {
    const foot = one(".answer-foot"), held = document.activeElement;
    document.documentElement.style.setProperty("--answer-foot", `${foot.offsetHeight + GAP}px`);
    if (held.closest(".answer-body") && getComputedStyle(foot).position === "sticky") held.scrollIntoView({ block: "nearest" });
  };
  if (one(".answer-foot")) {
    const watch = new ResizeObserver(clear);
    const observe = () => { watch.disconnect(); watch.observe(one(".answer-foot")); };
    document.addEventListener("desk:ready", observe); // the form came anew, and its bar with it
    observe();
  }

  // ---- What will be read grows as one types: the field stays in view above it ----
  document.addEventListener("htmx:afterSwap", (event) => {
    const field = event.detail.target.id === "preview" && document.activeElement.closest(".answer-body .field");
    if (!field) return;
    const room = field.closest(".answer-body"), [own, whole] = [field, room].map((box) => box.getBoundingClientRect());
    room.scrollTop += Math.max(0, Math.min(own.bottom - whole.bottom, own.top - whole.top));
  });

  // ---- What was typed is kept in this browser until it is sent: over a reload, a login, a lost network ----
  const DRAFT_DAYS = 7; // an answer that is older would be about another day's call
  const operator = document.body.dataset.operator;
  const keyOf = (form) => `draft:${operator}:${form.dataset.draft}`; // never another operator's
  const stored = (work) => { try { return work(localStorage); } catch { return null; } }; // full, or forbidden: the page works on
  const drafts = (store) => Object.keys(store).filter((key) => key.startsWith("draft:"));
  const read = (key) => JSON.parse(stored((store) => store.getItem(key)) || "null");
  const drop = (key) => stored((store) => store.removeItem(key));
  // What was typed for a group stands under the call whose page it was, and is meant for all that were ticked.
  const groupDrafts = (calls) => (stored(drafts) || []).filter((key) => key.startsWith(`draft:${operator}:group-`)
    && read(key).text && read(key).calls?.some((id) => calls.includes(id)));
  const keep = (form) => {
    const typed = Object.fromEntries(["decision", "text", "arguments"].map((name) => [name, form.elements[name]?.value ?? ""]));
    const calls = all("[name=call]:checked", form).map((input) => input.value);
    const draft = { ...typed, calls, mistake: form.elements.mistake?.value, at: Date.now() };
    stored((store) => store.setItem(keyOf(form), JSON.stringify(draft)));
  };
  const restore = (form) => {
    // The first of a group may be answered by now: the page of the next one takes the words over.
    const ofGroup = groupDrafts(all("[name=call]", form).map((input) => input.value));
    const moved = read(keyOf(form)) ? null : ofGroup.find((key) => read(key).mistake === form.elements.mistake.value);
    const draft = read(moved || keyOf(form));
    if (form.elements.text.value) { keep(form); return; } // what the page brought back itself is newer, and comes once
    if (!draft) return;
    form.elements.text.value = draft.text;
    if (form.elements.arguments && draft.arguments) form.elements.arguments.value = draft.arguments;
    const choice = all("[name=decision]", form).find((input) => input.value === draft.decision && !input.disabled);
    if (choice) choice.checked = true;
    // Words go to nobody that they were not meant for: to none that was left out, or has come since.
    if (draft.text && draft.calls) all("[name=call]", form).forEach((input) => { input.checked &&= draft.calls.includes(input.value); });
    if (moved) { keep(form); drop(moved); }
  };
  // What came back is shown as it will be read, once htmx hears of it, and can be sent without looking for the field.
  const showAgain = () => all("form[data-draft]").filter((form) => form.elements.text.value).forEach((form) => {
    form.elements.text.dispatchEvent(new Event("input", { bubbles: true }));
    if (document.activeElement === document.body) form.elements.text.focus({ preventScroll: true });
  });
  document.addEventListener("DOMContentLoaded", showAgain);
  const forget = () => stored((store) => {
    const sent = sessionStorage.getItem("sent");
    if (sent && one("[data-sent]")) store.removeItem(sent);
    sessionStorage.removeItem("sent"); // what was refused is no word of a later message
    drafts(store).filter((key) => JSON.parse(store.getItem(key)).at < Date.now() - DRAFT_DAYS * 86400000).forEach((key) => store.removeItem(key));
  });
  forget();
  all("form[data-draft]").forEach(restore);
  // What was typed for a request that needs no answer any more has no form: it is shown, to be copied.
  all("[data-left-over]").forEach((box) => {
    const own = box.dataset.leftOver.trim().split(/\s+/).map((id) => `draft:${operator}:${id}`);
    const keys = [...new Set([...own, ...groupDrafts([box.dataset.call])])];
    const typed = keys.map(read).flatMap((draft) => draft ? [draft.text, draft.decision === "corrected" && draft.arguments] : []);
    const words = one("pre", box); // what came with the form stands there already
    if (typed.some(Boolean)) words.textContent = typed.filter(Boolean).join("\n\n");
    box.hidden = !words.textContent;
    one("button", box).hidden = false;
    one("button", box).addEventListener("click", () => {
      keys.forEach(drop);
      box.hidden = true;
    });
  });
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form[data-draft]");
    if (form && event.target.matches("textarea, [name=decision], [name=call]")) keep(form);
  });

  // ---- Without a connection nothing is sent off to the browser's error page: it waits here, and goes by itself ----
  const RETRY_MS = 2000;
  const hasConnection = async () => navigator.onLine && Boolean(await fetch("/livez", { cache: "no-store" }).catch(() => null));
  const sendLater = async (form, button) => {
    say("No connection: your answer is kept here, and sent when it is back.", "unsent");
    while (!await hasConnection()) await new Promise((done) => { setTimeout(done, RETRY_MS); });
    say("", "");
    form.requestSubmit(button);
  };

  // ---- The answer: Ctrl or Cmd with Enter sends it, once ----
  document.addEventListener("keydown", (event) => {
    // Where nothing has the focus, as after a key that filled it in, the page's only answer is meant.
    const form = event.target.closest("form[data-answer]") || event.target === document.body && one("form[data-answer]");
    if (!form || event.key !== "Enter" || one("dialog[open]") || !(event.ctrlKey || event.metaKey) || event.repeat) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("[data-send-next]") || form.querySelector("[data-send]"));
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-answer], form[data-once]");
    if (!form || event.defaultPrevented) return;
    if (form.dataset.sent) { event.preventDefault(); return; }
    if (form.dataset.draft && (!navigator.onLine || one("#connection").dataset.kind === "lost")) {
      event.preventDefault();
      sendLater(form, event.submitter);
      return;
    }
    if (form.dataset.draft) stored(() => sessionStorage.setItem("sent", keyOf(form)));
    form.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => delete form.dataset.sent));

  // ---- A link to what is folded unfolds it ----
  const unfold = () => {
    const aim = document.getElementById(location.hash.slice(1)); // :target fits only once the page has been scrolled there
    if (aim?.matches("details")) aim.open = true;
    const number = /^#attempt-(\d{1,9})$/.exec(location.hash)?.[1]; // so many followed that another page has it
    if (number && !aim && one(".timeline") && !location.search) location.replace(`?attempt=${number}${location.hash}`);
  };
  unfold();
  addEventListener("hashchange", unfold);

  // ---- Whoever leaves words unsent is asked first ----
  document.addEventListener("input", (event) => {
    // A draft is kept: only what would be lost is asked for.
    if (event.target.matches("[data-guarded] textarea")) event.target.form.setAttribute("data-typed", "");
  });
  document.addEventListener("submit", (event) => { if (!event.defaultPrevented) event.target.removeAttribute("data-typed"); });
  addEventListener("beforeunload", (event) => { if (one("form[data-typed]")) event.preventDefault(); });

  const offerCopies = () => {
    if (!navigator.clipboard) return; // pages that came without TLS from another machine have none
    all("pre.snippet:not(.shown-once *):not(.snippet-box *)").forEach((snippet) => {
      const box = document.createElement("div"), button = document.createElement("button");
      box.className = "snippet-box";
      Object.assign(button, { type: "button", className: "copy-snippet", textContent: "Copy" });
      button.dataset.copy = "";
      snippet.replaceWith(box);
      box.append(button, snippet);
    });
  };
  const ready = () => {
    offerCopies();
    all("[data-themes], [data-copy]").forEach((element) => { element.hidden = false; });
    all("[data-send-key]").forEach((key) => { key.textContent = `${/Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl"} ${key.dataset.sendKey || "Enter"}`; });
    all(".no-script").forEach((element) => { element.hidden = true; });
    markTheme();
    tick();
  };
  ready();
  document.addEventListener("desk:ready", ready); // a part of the page is new
})();
