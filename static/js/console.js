// What pages gain with script: the theme, copy buttons and dialogs. All of it is comfort; nothing needs it.

const root = document.documentElement;
root.dataset.js = "";

document.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-theme-choice]")) return;
  root.dataset.theme = target.value;
  document.cookie = `clearance-theme=${target.value}; path=/; max-age=31536000; samesite=lax`;
});

document.addEventListener("click", ({ target }) => {
  const opener = target.closest("[data-opens]");
  if (!opener) return;
  opener.closest("[popover]")?.hidePopover();
  document.getElementById(opener.dataset.opens)?.showModal();
});

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy], [data-copy-near]");
  if (!button) return;
  const near = button.dataset.copyNear;
  const text = near ? button.closest(".code").querySelector(near).textContent : button.dataset.copy;
  await navigator.clipboard.writeText(text);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1200);
  document.getElementById("announcer").textContent = "Copied.";
});

document.addEventListener("allauth.error", (event) => {
  event.preventDefault();
  document.getElementById("passkey-error")?.removeAttribute("hidden");
});
