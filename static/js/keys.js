// Keys move and open; none of them decides. Anything with `data-hotkey` is reachable by its keys.

import { install, uninstall } from "../vendor/github-hotkey-3.1.4/hotkey.js";

const root = document.documentElement;
const made = [
  [pressed(() => step(1)), "j"],
  [pressed(() => step(-1)), "k"],
  [pressed(() => document.getElementById("keys")?.showModal()), "Shift+?,?"],
];

function pressed(act) {
  const button = document.createElement("button");
  button.addEventListener("click", act);
  return button;
}

// The next or previous row of the list; the row's own link takes the focus, so Enter opens it.
function step(by) {
  const links = [...document.querySelectorAll(".row-link")];
  if (!links.length) return;
  const at = links.findIndex((link) => link.closest("tr, li") === document.activeElement?.closest("tr, li"));
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
  links[Math.min(Math.max(next, 0), links.length - 1)].focus();
}

function apply() {
  const change = root.dataset.keys === "off" ? uninstall : install;
  for (const element of document.querySelectorAll("[data-hotkey]")) change(element);
  for (const [button, keys] of made) change(button, keys);
}

document.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-keys-switch]")) return;
  root.dataset.keys = target.checked ? "on" : "off";
  document.cookie = `clearance-keys=${root.dataset.keys}; path=/; max-age=31536000; samesite=lax`;
  apply();
});

apply();
