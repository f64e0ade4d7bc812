// After a fragment has changed: focus goes to what changed, it is announced, and for half a second nothing decides.

const SETTLE = 500;
const changedAt = new WeakMap();

document.addEventListener("htmx:after:swap", ({ target, detail }) => {
  const root = target.isConnected ? target : document.body;
  const byItself = ["every", "load"].includes(detail.ctx.sourceEvent?.type);
  for (const form of document.querySelectorAll("form:has([data-decides])")) {
    if (root.contains(form) || form.contains(root)) changedAt.set(form, performance.now());
  }
  if (!byItself) focusOn(document.querySelector("[data-focus-after-swap]"));
  for (const news of root.querySelectorAll("[data-announce]")) announce(news.textContent);
  holdDecisions();
});

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

holdDecisions();
