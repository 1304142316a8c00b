// A page that could not be made is asked for again, out of sight, and loaded once it can: nothing moves for who reads it.
"use strict";
(() => {
  const line = document.querySelector("[data-reload]");
  const ask = () => setTimeout(async () => {
    const answer = await fetch(location.href, { redirect: "manual" }).catch(() => null);
    if (answer && answer.status !== 503) location.reload(); else ask();
  }, line.dataset.reload * 1000);
  line.hidden = false;
  ask();
})();
