// Keeps what was typed into a form with `data-draft`, in this tab only, through a reload or a new sign-in.
// Nothing is ever sent by itself; a draft goes when its form was accepted.

const KEY = "draft:";
const typed = 'textarea, input[type="text"], input[type="search"], input[type="url"], input[type="email"]';
const isSignIn = location.pathname === document.documentElement.dataset.signIn;

function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(KEY + key)) ?? { values: {} };
  } catch {
    return { values: {} };
  }
}

function save(form, sent) {
  const values = {};
  for (const field of form.querySelectorAll(typed)) {
    if (field.name && field.value !== field.defaultValue) values[field.name] = field.value;
  }
  if (Object.keys(values).length) sessionStorage.setItem(KEY + form.dataset.draft, JSON.stringify({ values, sent }));
  else sessionStorage.removeItem(KEY + form.dataset.draft);
}

function restore(root) {
  for (const form of root.querySelectorAll("form[data-draft]")) {
    const { values } = read(form.dataset.draft);
    for (const field of form.querySelectorAll(typed)) {
      if (field.name in values && field.value === "") field.value = values[field.name];
    }
  }
}

// A sent draft is kept while the sign-in page stands between; on any other page it has served.
for (const name of Object.keys(sessionStorage)) {
  if (!name.startsWith(KEY)) continue;
  const draft = read(name.slice(KEY.length));
  if (!draft.sent) continue;
  if (isSignIn) sessionStorage.setItem(name, JSON.stringify({ ...draft, sent: false }));
  else sessionStorage.removeItem(name);
}
restore(document);

document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[data-draft]");
  if (form) save(form, false);
});

document.addEventListener("submit", ({ target, defaultPrevented }) => {
  if (target.matches("form[data-draft]") && !defaultPrevented) save(target, true);
});

document.addEventListener("htmx:after:request", ({ target, detail }) => {
  const form = target.closest?.("form[data-draft]");
  const { method, submitter } = detail.ctx.request;
  if (!form || method === "GET" || submitter?.formNoValidate || detail.ctx.response.status >= 400) return;
  sessionStorage.removeItem(KEY + form.dataset.draft);
  form.reset(); // a page that keeps the form begins it anew
});

document.addEventListener("htmx:after:swap", () => restore(document));
