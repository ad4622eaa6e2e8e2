// What pages of ours do beyond being read. Everything works without it but the theme button, live numbers and shortcuts.
// It is loaded before the first paint, so that the chosen theme is there from the start; the rest waits for the page.
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

  // A browser may refuse storage; then nothing is remembered, and nothing breaks.
  const memory = {
    get(name) { try { return localStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { value ? localStorage.setItem(name, value) : localStorage.removeItem(name); } catch { /* not remembered */ } },
  };

  const showTheme = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  };

  root.classList.add("js");
  showTheme(memory.get("theme"));

  function theme() {
    const order = ["", "light", "dark"];
    const names = { "": "as the system has it", light: "light", dark: "dark" };
    const buttons = all("[data-theme-button]");
    const tell = () => buttons.forEach((button) => {
      const label = "Theme: " + names[root.dataset.theme || ""];
      button.setAttribute("aria-label", label);
      button.title = label;
    });
    buttons.forEach((button) => button.addEventListener("click", () => {
      const next = order[(order.indexOf(root.dataset.theme || "") + 1) % order.length];
      memory.set("theme", next);
      showTheme(next);
      tell();
    }));
    tell();
  }

  const isTyping = (target) => target instanceof Element && target.closest("input:not([type=radio], [type=checkbox]), textarea, select");

  function shortcuts() {
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (event.key === "Escape") {
        const open = all("details.menu[open]");
        if (open.length) {
          open.forEach((menu) => { menu.open = false; });
          open[0].querySelector("summary").focus();
          event.preventDefault();
        } else if (isTyping(event.target)) {
          event.target.blur();
          event.preventDefault();
        }
        return;
      }
      if (event.key === "/" && !isTyping(event.target)) {
        const box = document.querySelector("#q, #address");
        if (box) {
          event.preventDefault();
          box.focus();
          box.select();
        }
      }
    });
    // A menu closes when something else is clicked.
    document.addEventListener("click", (event) => {
      all("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
    });
  }

  // Arrows walk the days that have versions: left and right to the next one, up and down by a week or more.
  function calendar(box) {
    const days = all("a[data-day]", box);
    const dayOf = (link) => Date.parse(link.dataset.day) / 86400000;
    box.addEventListener("keydown", (event) => {
      const at = days.indexOf(event.target);
      if (at < 0) return;
      const here = dayOf(days[at]);
      const steps = {
        ArrowLeft: () => days[at - 1],
        ArrowRight: () => days[at + 1],
        ArrowUp: () => days.slice(0, at).reverse().find((link) => dayOf(link) <= here - 7),
        ArrowDown: () => days.slice(at + 1).find((link) => dayOf(link) >= here + 7),
        Home: () => days[0],
        End: () => days[days.length - 1],
      };
      const step = steps[event.key];
      if (!step) return;
      event.preventDefault();
      const next = step();
      if (next) next.focus();
    });
  }

  // The circle is one stop of the keyboard; arrows walk round it. Without scripts every node is a stop.
  function circle(box) {
    let id = "";
    const spots = () => all("[data-spot]", box);
    const name = (spot) => spot.getAttribute("href");
    // Nodes come and go: whoever was chosen stays so while it is there.
    const mark = () => {
      const list = spots();
      const at = Math.max(list.findIndex((spot) => name(spot) === id), 0);
      list.forEach((spot, n) => spot.setAttribute("tabindex", n === at ? "0" : "-1"));
    };
    box.addEventListener("focusin", (event) => {
      const spot = event.target.closest("[data-spot]");
      if (spot) { id = name(spot); mark(); }
    });
    box.addEventListener("keydown", (event) => {
      const list = spots();
      const at = list.indexOf(event.target);
      const steps = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: list.length - 1 };
      if (at < 0 || !(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      list[(steps[event.key] + list.length) % list.length].focus();
    });
    new MutationObserver(mark).observe(box, { childList: true, subtree: true });
    mark();
  }

  // Of two chosen versions one is older: choices that make no sense are shown faint, and turned round when sent (by the server).
  function compare(form) {
    const mark = () => {
      const value = (name) => (form.querySelector(`input[name=${name}]:checked`) || {}).value || "";
      const [from, to] = [value("from"), value("to")];
      all("input[name=from]", form).forEach((input) => input.classList.toggle("impossible", to !== "" && input.value >= to));
      all("input[name=to]", form).forEach((input) => input.classList.toggle("impossible", from !== "" && input.value <= from));
    };
    form.addEventListener("change", mark);
    mark();
  }

  // From one change of a text to the next, by button or by n and p.
  function jump(box) {
    const changes = all("[data-change]");
    const say = box.querySelector("[data-jump-at]");
    let at = -1;
    const go = (by) => {
      at = Math.min(Math.max(at + by, 0), changes.length - 1);
      const change = changes[at];
      change.focus({ preventScroll: true });
      change.scrollIntoView({ block: "start" });
      say.textContent = `${at + 1} of ${changes.length}`;
    };
    all("[data-jump-to]", box).forEach((button) => button.addEventListener("click", () => go(Number(button.dataset.jumpTo))));
    document.addEventListener("keydown", (event) => {
      if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "n") go(1);
      if (event.key === "p") go(-1);
    });
  }

  // Two archived pages scroll as one. Each says how far it is; we tell the other.
  function frames(box) {
    const both = all("iframe", box);
    window.addEventListener("message", (event) => {
      const from = both.findIndex((frame) => frame.contentWindow === event.source);
      const said = event.data;
      if (from < 0 || typeof said !== "object" || said === null || said.herodotus !== 1 || said.kind !== "scroll") return;
      const share = Number(said.share);
      if (!(share >= 0 && share <= 1)) return;
      both.forEach((frame, at) => { if (at !== from) frame.contentWindow.postMessage({ herodotus: 1, kind: "scroll", share }, "*"); });
    });
  }

  // Parts marked data-live are replaced by those of the same page asked for again: the server renders, once and for all.
  function live() {
    const REST_MS = 1000;
    const POLL_MS = 4000;
    // A page may name another place to watch, and another to read itself from than where it is.
    const page = document.querySelector("[data-live-from]");
    const from = page ? page.dataset.liveFrom : location.href;
    const events = page ? page.dataset.liveEvents : "/api/v1/events";
    let isBusy = false;
    let isStale = false;
    const refresh = async () => {
      if (isBusy || document.hidden) { isStale = true; return; }
      isBusy = true;
      isStale = false;
      try {
        const response = await fetch(from, { headers: { accept: "text/html" }, redirect: "error" });
        if (response.ok) swap(new DOMParser().parseFromString(await response.text(), "text/html"));
      } catch { /* the next news, or the next look, will do */ }
      setTimeout(() => { isBusy = false; if (isStale) refresh(); }, REST_MS);
    };

    // Browsers allow six connections to a host: a page that nobody looks at must not hold one.
    let source = null;
    let poll = 0;
    const stopPoll = () => { clearInterval(poll); poll = 0; };
    const listen = () => {
      source = new EventSource(events);
      source.onopen = stopPoll;
      source.onerror = () => { if (!poll) poll = setInterval(refresh, POLL_MS); };
      ["crawls", "ring"].forEach((name) => source.addEventListener(name, refresh));
    };
    const leave = () => { stopPoll(); if (source) source.close(); source = null; };
    document.addEventListener("visibilitychange", () => {
      leave();
      if (!document.hidden) { listen(); refresh(); }
    });
    window.addEventListener("pagehide", leave);
    window.addEventListener("pageshow", (event) => { if (event.persisted && !source) { listen(); refresh(); } });
    if (!document.hidden) listen();
  }

  function swap(fresh) {
    all("[data-live]").forEach((old) => {
      const next = fresh.querySelector(`[data-live="${CSS.escape(old.dataset.live)}"]`);
      // What somebody is using is left alone until they are done.
      if (!next || next.innerHTML === old.innerHTML || old.contains(document.activeElement)) return;
      const known = new Set(all("[data-key]", old).map((element) => element.dataset.key));
      old.replaceChildren(...Array.from(next.childNodes, (node) => document.importNode(node, true)));
      all("[data-key]", old).forEach((element) => { if (!known.has(element.dataset.key)) element.classList.add("fresh"); });
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    theme();
    shortcuts();
    all("[data-calendar]").forEach(calendar);
    all("[data-circle]").forEach(circle);
    all("[data-compare]").forEach(compare);
    all("[data-jump]").forEach(jump);
    all("[data-frames]").forEach(frames);
    if (document.querySelector("[data-live]")) live();
    const year = document.querySelector(".timeline [aria-current]");
    if (year) year.scrollIntoView({ block: "nearest", inline: "center" });
  });
})();
