// After a fragment has changed: focus goes to what changed, it is announced, and for half a second nothing decides.

const SETTLE = 500;
const changedAt = new WeakMap();

document.addEventListener("htmx:after:swap", ({ target, detail }) => {
  const root = changedPart(detail.ctx, target);
  const byItself = target.matches('[hx-trigger*="every"]') || detail.ctx.sourceEvent?.type === "load";
  for (const form of document.querySelectorAll("form:has([data-decides])")) {
    if (root.contains(form) || form.contains(root)) changedAt.set(form, performance.now());
  }
  if (!byItself) focusOn(document.querySelector("[data-focus-after-swap]"));
  tellNews(announce);
  holdDecisions();
});

// The event comes from what asked, such as a link in a list; what changed is its target.
function changedPart(ctx, asking) {
  const part = typeof ctx.target === "string" ? document.querySelector(ctx.target) : ctx.target;
  return [part, asking].find((each) => each?.isConnected) ?? document.body;
}

// News may stand in any part of an answer. It is told once, and never what a page came with.
function tellNews(tell) {
  for (const news of document.querySelectorAll("[data-announce]")) {
    news.removeAttribute("data-announce");
    tell(news.textContent);
  }
}

// Where the page says that the record moved, deciding waits for a look at the new state.
function holdDecisions() {
  const moved = document.querySelector("[data-blocks-deciding]") !== null;
  for (const button of document.querySelectorAll("[data-decides]")) {
    if (moved) button.setAttribute("aria-disabled", "true");
    else if (!button.hasAttribute("data-refused")) button.removeAttribute("aria-disabled");
  }
}

document.addEventListener(
  "submit",
  (event) => {
    const button = event.submitter ?? event.target.querySelector("[data-decides]");
    if (!button?.hasAttribute("data-decides")) return;
    const tooSoon = performance.now() - (changedAt.get(event.target) ?? -Infinity) < SETTLE;
    if (!tooSoon && button.getAttribute("aria-disabled") !== "true") return;
    event.preventDefault();
    event.stopImmediatePropagation();
    announce(tooSoon ? "The page has just changed. Look again, then press." : "This cannot be decided as it stands.");
  },
  { capture: true },
);

function focusOn(element) {
  if (!element) return;
  element.removeAttribute("data-focus-after-swap");
  if (!element.matches("a, button, input, select, textarea, summary")) element.tabIndex = -1;
  element.focus();
}

function announce(text) {
  const announcer = document.getElementById("announcer");
  if (announcer) announcer.textContent = text.trim();
}

tellNews(() => {});
holdDecisions();
