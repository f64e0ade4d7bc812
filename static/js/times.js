// Times as people say them, in the viewer's zone; the exact time is on hover. Without script they stand in UTC.

const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [30 * 86400, "day", 86400],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
const day = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

function relative(when) {
  const seconds = (when - Date.now()) / 1000;
  if (Math.abs(seconds) < 5) return "just now";
  for (const [limit, unit, size] of STEPS) {
    if (Math.abs(seconds) < limit) return words.format(Math.round(seconds / size), unit);
  }
  return day.format(when);
}

function tell() {
  for (const time of document.querySelectorAll("time[data-moment]")) {
    const when = new Date(time.dateTime);
    const style = time.dataset.moment;
    const text = style === "clock" ? clock.format(when) : style === "full" ? exact.format(when) : relative(when);
    if (time.textContent !== text) time.textContent = text;
    time.title = exact.format(when);
  }
}

tell();
setInterval(() => document.hidden || tell(), 10_000);
document.addEventListener("visibilitychange", () => document.hidden || tell());
document.addEventListener("htmx:after:swap", tell);
