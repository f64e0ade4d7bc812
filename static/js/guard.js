// Narrows what htmx may do on our pages: it never evaluates code, never runs a script that came with a fragment,
// swaps HTML only, stops polling in a hidden tab, and leads to the sign-in page when the session has ended.

function refuse() {
  throw new Error("htmx may not evaluate code here");
}

const polled = '[hx-trigger*="every"]';
const signIn = document.documentElement.dataset.signIn;

htmx.registerExtension("guard", {
  init(internals) {
    internals.initSecurity(null, refuse, refuse);
  },

  htmx_before_on_init() {
    return false;
  },

  htmx_before_request(element, { ctx }) {
    return !(document.hidden && ctx.sourceEvent?.type === "every");
  },

  htmx_before_response(element, { ctx }) {
    const { status, headers, raw } = ctx.response;
    if (raw.redirected && new URL(raw.url).pathname === signIn) {
      location.assign(`${signIn}?next=${encodeURIComponent(location.pathname + location.search)}`);
      return false;
    }
    if (status === 204 || status === 304 || headers.get("Content-Type")?.startsWith("text/html")) return true;
    say("The server answered with something that cannot be shown here. Reload the page to see how things stand.");
    return false;
  },

  // What somebody has folded open stays open when the page refreshes itself.
  htmx_before_morph_attr(element, { attrName, newValue }) {
    return !(element.matches("details") && attrName === "open" && newValue === null);
  },

  htmx_before_swap(element, { tasks }) {
    for (const { fragment } of tasks) {
      for (const script of fragment.querySelectorAll("script")) script.remove();
    }
  },
});

document.addEventListener("visibilitychange", () => {
  for (const live of document.querySelectorAll(".live")) live.classList.toggle("paused", document.hidden);
  if (document.hidden) return;
  for (const element of document.querySelectorAll(polled)) element.dispatchEvent(new CustomEvent("every"));
});

document.addEventListener("htmx:error", ({ detail }) => {
  if (!detail.ctx) return;
  if (detail.ctx.request.method === "GET") return;
  say("No answer came. It may or may not have been recorded: reload the page to see. What you typed is kept.");
});

function say(text) {
  const note = document.createElement("p");
  note.className = "note tone-warn";
  note.textContent = text;
  document.getElementById("toasts")?.replaceChildren(note);
}
