// The bar above an archived page: follows where the page goes, and can be hidden.
// What the page says in messages is a stranger's text: it is believed only if it comes from our frame, is of the right kind and size,
// and even then it only names an address and a moment, for which the server is asked.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const frame = document.querySelector("[data-frame]");
  const hide = document.querySelector("[data-hide]");
  const address = document.querySelector("#address");
  const at = document.querySelector("[data-at]");
  const say = document.querySelector("[data-say]");
  if (!frame || !hide || !address || !at) return;

  const URL_LENGTH_MAX = 32768;
  const TITLE_LENGTH_MAX = 300;
  const REST_MS = 250;

  // Hidden for as long as the tab lives.
  const memory = {
    get(name) { try { return sessionStorage.getItem(name); } catch { return null; } },
    set(name, value) { try { sessionStorage.setItem(name, value); } catch { /* not remembered */ } },
  };
  hide.checked = memory.get("bar") === "hidden";
  const setHidden = (isHidden) => {
    hide.checked = isHidden;
    memory.set("bar", isHidden ? "hidden" : "shown");
  };
  hide.addEventListener("change", () => setHidden(hide.checked));

  const isTyping = (target) => target instanceof Element && target.closest("input[type=text]");
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && !isTyping(event.target)) setHidden(!hide.checked);
    if (isTyping(event.target)) return;
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = rel && document.querySelector(`[data-step="${rel}"]`);
    if (link) {
      event.preventDefault();
      link.click();
    }
  });

  const isUrl = (url) => typeof url === "string" && url.length <= URL_LENGTH_MAX && /^https?:\/\/[^\s]+$/i.test(url);
  const isStamp = (stamp) => typeof stamp === "string" && /^\d{14}$/.test(stamp);
  // A fragment must not become ours; dots that a browser would walk are sent encoded.
  const pathOf = (stamp, url) => {
    const plain = url.split("#")[0];
    const dots = /(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i.test(plain.split("?")[0]);
    return `/web/${stamp}/${dots ? encodeURIComponent(plain) : plain.replace(/\\/g, "%5C")}`;
  };

  let shown = { url: address.value, stamp: at.value };
  let timer = 0;
  let isAsking = false;
  let next = null;

  // The bar of the page that is shown now comes from the server, as if it had been opened there.
  async function follow() {
    const want = next;
    if (!want || isAsking) return;
    isAsking = true;
    next = null;
    const path = pathOf(want.stamp, want.url);
    if (want.url !== shown.url || want.stamp !== shown.stamp) {
      shown = want;
      address.value = want.url;
      at.value = want.stamp;
      try { history.replaceState(null, "", path); } catch { /* too many at once: the next one will do */ }
      try {
        const response = await fetch(path, { headers: { accept: "text/html" } });
        const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
        document.querySelectorAll("[data-part]").forEach((old) => {
          const part = fresh.querySelector(`[data-part="${old.dataset.part}"]`);
          if (response.ok && part) old.replaceChildren(...Array.from(part.childNodes, (node) => document.importNode(node, true)));
        });
      } catch { /* the bar stays as it was */ }
    }
    const date = document.querySelector(".shown-date time");
    if (want.title && date) document.title = `${want.title} · ${date.firstChild.textContent.trim()} · Herodotus`;
    isAsking = false;
    if (next) timer = setTimeout(follow, REST_MS);
  }

  function tell(text, href, label) {
    const line = document.createElement("p");
    line.append(text + " ");
    const link = document.createElement("a");
    link.href = href;
    link.target = "_blank";
    link.rel = "noopener";
    link.textContent = label;
    line.append(link);
    say.replaceChildren(line);
    say.hidden = false;
    link.addEventListener("click", () => { say.hidden = true; });
  }

  window.addEventListener("message", (event) => {
    const said = event.data;
    if (event.source !== frame.contentWindow || typeof said !== "object" || said === null || said.herodotus !== 1) return;
    if (!isUrl(said.url) || !isStamp(said.stamp)) return;
    if (said.kind === "at") {
      const title = typeof said.title === "string" ? said.title.slice(0, TITLE_LENGTH_MAX).trim() : "";
      next = { url: said.url.split("#")[0], stamp: said.stamp, title };
      clearTimeout(timer);
      timer = setTimeout(follow, REST_MS);
    }
    if (said.kind === "open") {
      const path = pathOf(said.stamp, said.url);
      // Without a click of the reader the browser opens nothing, and the reader is asked.
      const hasClicked = !navigator.userActivation || navigator.userActivation.isActive;
      if (hasClicked) window.open(path, "_blank", "noopener");
      else tell("This page wants to open", path, said.url.slice(0, 120));
    }
  });
});
