// The console: shows the state from the server's event stream. Texts that clients control become text nodes only, never HTML.
"use strict";

const WINDOW_SECONDS = 60;
const HISTORY_MILLISECONDS = 5000;
const PROFILE_SECONDS = 10;
const $ = (id) => document.getElementById(id);

// ---- elements

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

function draw(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// ---- formatting

function count(n) {
  if (n === undefined || n === null) return "–";
  if (n >= 1e9) return (n / 1e9).toFixed(1) + " G";
  if (n >= 1e6) return (n / 1e6).toFixed(1) + " M";
  if (n >= 1e5) return (n / 1e3).toFixed(0) + " k";
  return n.toLocaleString("en");
}

function rate(n) {
  return n === undefined ? "–" : n >= 10 ? count(Math.round(n)) : n.toFixed(1);
}

function bytes(n) {
  if (n === undefined || n === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (n >= 1024 && at < units.length - 1) { n /= 1024; at += 1; }
  return (at && n < 100 ? n.toFixed(1) : Math.round(n)) + " " + units[at];
}

function time(s) {
  if (s === undefined || s === null || Number.isNaN(s)) return "–";
  if (s === 0) return "0";
  if (s < 0.001) return Math.round(s * 1e6) + " µs";
  if (s < 1) return (s * 1e3).toFixed(s < 0.01 ? 1 : 0) + " ms";
  if (s < 60) return s.toFixed(1) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + Math.floor(s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
}

// Time of day in UTC, as in the log.
const clock = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);

// ---- history: states of the last minute, for rates and recent latencies, and ten minutes of series from the server

const past = [];
let series = {};

function remember(state) {
  const at = Date.parse(state.time) / 1000;
  past.push({ at: performance.now() / 1000, state, clock: at });
  while (past.length > 2 && past[past.length - 1].at - past[0].at > WINDOW_SECONDS) past.shift();
}

// Returns the rate of a counter per second over the last `over` seconds, or over the whole history if that is shorter.
function gained(read, over = 5) {
  const last = past[past.length - 1];
  const first = past.find((one) => last.at - one.at <= over) || past[0];
  const passed = last.at - first.at;
  if (passed < 0.4) return undefined;
  return Math.max(0, (read(last.state) - read(first.state)) / passed);
}

// Returns histograms of the last minute: the present counts minus those of one minute ago.
function lately(rows, path) {
  const before = new Map(path(past[0].state).map((row) => [row.name, row]));
  return rows.map((row) => {
    const old = before.get(row.name);
    if (!old || past.length < 2 || old.count === row.count) return { ...row, recent: 0 };
    const known = new Map(old.buckets.map(([bound, below]) => [bound, below]));
    const buckets = row.buckets.map(([bound, below]) => [bound, below - (known.get(bound) || 0)]);
    return { ...row, recent: row.count - old.count, recentBuckets: buckets };
  });
}

// Returns an upper bound of the quantile q.
function quantile(buckets, total, q) {
  if (!total) return undefined;
  const found = buckets.find(([, below]) => below >= q * total);
  return found ? found[0] : Infinity;
}

const atMost = (bound) => (bound === undefined ? "–" : bound === Infinity ? "longer" : "≤ " + time(bound));

// ---- tables

// A column has a name, `show` (a text, { text, kind }, or { part } for a bar; part 1 is full) and `key`, the value to sort by.
const column = (name, show, key) => ({ name, show, key: key || ((row) => textOf(show(row))) });
// A column of numbers. `kind` returns the emphasis of a cell.
const numbers = (name, key, format = count, kind = () => "") =>
  ({ name, key, number: true, show: (row) => ({ text: format(key(row)), kind: kind(row) }) });
const soft = () => "soft";

const textOf = (cell) => String(cell?.text ?? (cell?.part !== undefined ? "" : cell) ?? "");

// Sort orders by caption: the index of a column and 1 or -1. Without one, the server's order counts.
const orders = new Map();
let filter = "";

function table(caption, columns, rows) {
  if (!rows.length) return make("p", { class: "none" }, caption + ": none");
  const order = orders.get(caption);
  let shown = rows.map((row) => ({ row, cells: columns.map(({ show }) => show(row)) }));
  if (filter) shown = shown.filter(({ cells }) => cells.some((cell) => textOf(cell).toLowerCase().includes(filter)));
  if (order) shown.sort((a, b) => order.direction * compare(columns[order.index].key(a.row), columns[order.index].key(b.row)));
  const title = filter ? `${caption} (${shown.length} of ${rows.length} rows)` : caption;
  const head = make("tr", {}, ...columns.map((column, index) => heading(caption, column, index, order)));
  const body = shown.map(({ cells }) => make("tr", {}, ...cells.map((cell, at) => {
    const kinds = [columns[at].number ? "number" : "", cell?.kind || ""].join(" ").trim();
    const td = make("td", { class: kinds || undefined, "data-name": columns[at].name });
    td.append(cell?.part !== undefined ? bar(cell.part) : textOf(cell));
    return td;
  })));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, title), make("thead", {}, head), make("tbody", {}, ...body)));
}

function heading(caption, { name, number }, index, order) {
  const sorted = order?.index === index ? (order.direction > 0 ? "ascending" : "descending") : undefined;
  const button = make("button", { type: "button", class: "sort", "data-caption": caption, "data-index": index,
    "data-first": number ? -1 : 1 }, name);
  return make("th", { scope: "col", class: number ? "number" : undefined, "aria-sort": sorted }, button);
}

// The first click on a column sorts, the second one reverses, the third one restores the server's order.
function sortBy(caption, index, first) {
  const order = orders.get(caption);
  if (order?.index !== index) orders.set(caption, { index, direction: first });
  else if (order.direction === first) orders.set(caption, { index, direction: -first });
  else orders.delete(caption);
}

function compare(a, b) {
  if (typeof a === "number" || typeof b === "number") return (a ?? -Infinity) - (b ?? -Infinity) || 0;
  return String(a).localeCompare(String(b), "en");
}

function bar(part) {
  const width = Math.min(100, Math.max(0, part * 100));
  const filled = draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { x: 0, y: 0, width, height: 10 }));
  return make("div", { class: part >= 1 ? "bar full" : "bar", role: "img", "aria-label": Math.round(width) + " %" }, filled);
}

const emphasis = (seconds, warn, bad) => (seconds >= bad ? "bad" : seconds >= warn ? "warn" : "");
// A column of durations that stand out from `warn` and from `bad` seconds.
const ages = (name, key, warn, bad) => numbers(name, key, time, (row) => emphasis(key(row), warn, bad));
const named = (row) => row.user || "(unknown)";
const user = column("User", (row) => ({ text: named(row), kind: "long" }));
const agent = column("Agent", (row) => ({ text: row.userAgent.split(" ")[0], kind: "long" }));
const audit = column("Audit", (row) => ({ text: row.auditID, kind: "soft" }));
const path = column("Path", (row) => row.path);
const verb = column("Verb", (row) => row.verb);
const client = column("Client", (row) => row.client);
const sent = numbers("Sent", (row) => row.sentBytes, bytes);
const at = numbers("At (UTC)", (row) => row.at, clock);
const several = (n, one, more) => count(n) + " " + (n === 1 ? one : more);

// ---- sections: id, title, count, note, content

const SECTIONS = [
  {
    id: "requests", title: "Requests",
    count: (s) => s.requests.total,
    note: (s) => count(s.requests.total) + " in flight, plus " + count(s.requests.watches) + " watches",
    show: (s) => [
      table("In flight, oldest first", [
        path, verb, ages("Since", (r) => r.seconds, 1, 10),
        column("Stage", (r) => ({ text: r.stage, kind: r.stage === "queue" ? "warn" : "soft" })), user, client, agent, sent,
      ], s.requests.underWay),
      table("Finished in the last ten minutes, longer than 0.5 s, slowest first", [
        path, verb, ages("Took", (r) => r.seconds, 1, 10), numbers("Code", (r) => r.code, String), at, user, agent, audit,
      ], [...s.requests.slow].sort((a, b) => b.seconds - a.seconds)),
    ],
  },
  {
    id: "watchers", title: "Watchers",
    count: (s) => s.watchers.behind, hot: (s) => s.watchers.rows.some((r) => r.behindSeconds >= 1),
    note: (s) => count(s.watchers.total) + " watches, " + count(s.watchers.behind) + " of them behind",
    show: (s) => [table("Watches, furthest behind first", [
      path, numbers("Behind", (r) => r.behind, count, (r) => (r.behindSeconds >= 1 ? "bad" : "")),
      ages("For", (r) => r.behindSeconds, 1, 5), user, client, agent, numbers("Open", (r) => r.seconds, time), sent,
    ], s.watchers.rows)],
  },
  {
    id: "flow", title: "Queues and seats", section: "flowControl",
    count: (s) => s.flowControl.levels.reduce((sum, l) => sum + l.waiting, 0),
    hot: (s) => s.flowControl.levels.some((l) => l.waiting > 0),
    note: (s) => s.flowControl.fair ? "API Priority and Fairness" : "Request limits only: " +
      s.flowControl.lately.executing.readOnly + " reads, " + s.flowControl.lately.executing.mutating + " writes",
    show: (s) => {
      const queues = s.flowControl.levels.flatMap((l) => l.queues.map((q) => ({ ...q, level: l.name })));
      const full = (l) => (l.exempt || !l.seats ? 0 : l.seatsInUse / l.seats);
      return [table("Priority levels", [
        column("Level", (l) => l.name + (l.quiescing ? " (quiescing)" : "")),
        { ...numbers("Seats in use", (l) => l.seatsInUse), show: (l) => l.seatsInUse + (l.exempt ? "" : " of " + l.seats) },
        column("Full", (l) => ({ part: full(l) }), full),
        numbers("Executing", (l) => l.executing),
        numbers("Waiting", (l) => l.waiting, count, (l) => (l.waiting ? "bad" : "")),
        numbers("Dispatched", (l) => l.dispatched),
        numbers("Rejected", (l) => l.rejected, count, (l) => (l.rejected ? "warn" : "soft")),
        numbers("Cancelled", (l) => l.cancelled, count, (l) => (l.cancelled ? "warn" : "soft")),
      ], s.flowControl.levels),
      ...(queues.length ? [table("Longest queues", [
        column("Level", (q) => q.level), numbers("Queue", (q) => q.index, String), numbers("Waiting", (q) => q.waiting),
        numbers("Executing", (q) => q.executing), numbers("Seats wanted", (q) => q.seatsWaiting),
      ], queues)] : [])];
    },
  },
  {
    id: "webhooks", title: "Webhooks",
    count: (s) => s.webhooks.underWay.reduce((sum, w) => sum + w.calls, 0),
    hot: (s) => s.webhooks.underWay.some((w) => w.oldestSeconds >= 0.5),
    note: () => "Calls by host for admission, conversion, authentication and authorization",
    show: (s) => [
      table("Calls in flight", [
        column("Host", (w) => w.host), path, numbers("Calls", (w) => w.calls), ages("Oldest", (w) => w.oldestSeconds, 0.5, 1),
      ], s.webhooks.underWay),
      table("Latency, last minute", latency("Host"), lately(s.webhooks.hosts, (t) => t.webhooks.hosts)),
    ],
  },
  {
    id: "store", title: "Store",
    count: (s) => s.store.underWay.reduce((sum, w) => sum + w.calls, 0),
    hot: (s) => s.store.underWay.some((w) => w.oldestSeconds >= 1),
    note: (s) => s.store.kind === "etcd" ? "etcd calls of this server" : s.store.kind + ": in this process, without calls",
    show: (s) => s.store.kind !== "etcd" ? [] : [
      table("Store calls in flight", [
        column("Operation", (w) => w.operation), numbers("Calls", (w) => w.calls), ages("Oldest", (w) => w.oldestSeconds, 0.5, 1),
      ], s.store.underWay),
      table("Store latency, last minute", latency("Operation"), lately(s.store.operations, (t) => t.store.operations)),
    ],
  },
  {
    id: "caches", title: "Caches",
    count: (s) => s.caches.filling, hot: (s) => s.caches.filling > 0,
    note: (s) => count(s.caches.objects) + " objects of " + s.caches.total + " resources" +
      (s.caches.filling ? ", " + s.caches.filling + " not filled yet" : ""),
    show: (s) => [table("Caches, largest first", [
      column("Resource", (c) => c.resource + (c.group ? "." + c.group : "") + (c.ready ? "" : c.resting ? " (not listed yet)" : " (filling)")),
      numbers("Objects", (c) => c.objects),
      { ...numbers("Bytes", (c) => c.bytes), show: (c) => (c.cached ? bytes(c.bytes) : "not cached") },
      numbers("Watches", (c) => c.watches),
      numbers("Lists from cache", (c) => c.hits),
      numbers("Lists from store", (c) => c.misses, count, (c) => (c.cached && c.misses ? "warn" : "soft")),
      numbers("Log", (c) => c.logEnd === undefined ? undefined : c.logEnd - c.logFirst),
      numbers("Position", (c) => c.logEnd, (n) => n ?? "–", soft),
      numbers("Revision", (c) => c.revision, (n) => n ?? "–", soft),
      numbers("Too slow", (c) => c.overruns, count, (c) => (c.overruns ? "warn" : "soft")),
    ], s.caches.rows)],
  },
  {
    id: "memory", title: "Memory",
    note: (s) => bytes(s.memory.residentBytes) + " resident" + (s.memory.limit ? " of " + bytes(s.memory.limit.bytes) : ", no limit"),
    show: (s) => {
      const known = s.memory.owners.reduce((sum, o) => sum + o.bytes, 0);
      const rest = [{ name: "everything else, including code", bytes: Math.max(0, s.memory.residentBytes - known) }];
      const all = s.memory.residentBytes || known || 1;
      const tables = [table("By owner", [
        column("Owner", (o) => o.name), numbers("Bytes", (o) => o.bytes, bytes),
        column("Part", (o) => ({ part: Math.min(0.999, o.bytes / all) }), (o) => o.bytes),
        numbers("At most", (o) => o.most, (n) => (n ? bytes(n) : ""), soft),
      ], [...s.memory.owners, ...rest])];
      if (s.memory.limit) {
        tables.push(table("Limit", [column("Metric", ([name]) => name), { ...column("Value", ([, text]) => text), number: true }], [
          ["reserved by requests", bytes(s.memory.limit.reservedByRequests)],
          ["requests rejected", count(s.memory.limit.refusedRequests)],
        ]));
      }
      return tables;
    },
  },
  {
    id: "weakened", title: "Weakened decisions",
    count: (s) => s.weakened.total, hot: (s) => s.weakened.total > 0,
    note: () => "Checks of the last ten minutes that were skipped, or made with old or incomplete data",
    show: (s) => [table("Weakened decisions, latest first", [
      column("Decision", (r) => r.message), column("Name", (r) => ({ text: r.name, kind: "long" })),
      column("Cause", (r) => ({ text: r.cause, kind: "long" })), at, numbers("Count", (r) => r.count),
    ], s.weakened.rows)],
  },
  {
    id: "errors", title: "Failures", section: "failures",
    count: (s) => s.server.recent.failed + s.server.recent.rejected,
    hot: (s) => s.failures.rows.some((r) => fresh(s, r)),
    note: (s) => "Last ten minutes: " + several(s.server.recent.failed, "failure", "failures") + " and " +
      several(s.server.recent.rejected, "rejected request", "rejected requests") + "; the latest 50 of each, and the log",
    show: (s) => [
      table("Failed requests (codes from 500), latest first", completed("bad"), s.failures.rows),
      table("Rejected requests (code 429), latest first", completed("warn"), s.failures.rejected),
      s.log?.rows.length
        ? make("pre", { tabindex: "0", role: "region", "aria-label": "Log" }, logText(s.log.rows))
        : make("p", { class: "none" }, "Log, warnings and errors: none"),
    ],
  },
  { id: "profile", title: "Profile", note: () => "CPU time of this process as a flame graph", fixed: profile, link: "pprof/" },
];

function completed(kind) {
  return [path, verb, numbers("Code", (r) => r.code, String, () => kind), at, numbers("Took", (r) => r.seconds, time), user, client, agent, audit];
}

function logText(rows) {
  return rows.map((row) => row.line).filter((line) => !filter || line.toLowerCase().includes(filter)).join("\n");
}

function latency(first) {
  const recent = (r, q) => (r.recent ? quantile(r.recentBuckets, r.recent, q) : undefined);
  return [
    column(first, (r) => r.name), numbers("Calls", (r) => r.recent),
    numbers("p50", (r) => recent(r, 0.5), atMost),
    numbers("p99", (r) => recent(r, 0.99), atMost, (r) => (recent(r, 0.99) > 0.5 ? "warn" : "")),
    numbers("Calls since start", (r) => r.count, count, soft),
    numbers("Mean", (r) => (r.count ? r.sum / r.count : undefined), time, soft),
    numbers("p99 since start", (r) => quantile(r.buckets, r.count, 0.99), atMost, soft),
  ];
}

const fresh = (state, row) => Date.parse(state.time) / 1000 - row.at < WINDOW_SECONDS;

// ---- alerts

function alarms(s) {
  const found = [];
  const add = (kind, where, text) => found.push({ kind, where, text });
  if (s.server.leaving) add("warn", "requests", "The server is shutting down. Clients must use another one.");
  for (const w of s.webhooks.underWay.filter((w) => w.oldestSeconds >= 0.3).slice(0, 3)) {
    add("bad", "webhooks", `${w.host}${w.path} has not responded for ${time(w.oldestSeconds)}; ${several(w.calls, "call waits", "calls wait")} for it.`);
  }
  for (const w of s.store.underWay.filter((w) => w.oldestSeconds >= 1).slice(0, 3)) {
    add("bad", "store", `${s.store.kind} has not responded to a ${w.operation} for ${time(w.oldestSeconds)}; ${several(w.calls, "call", "calls")} in flight.`);
  }
  for (const l of s.flowControl.levels.filter((l) => l.waiting > 0).slice(0, 3)) {
    add("bad", "flow", `Level ${l.name} is full: ${several(l.waiting, "request waits", "requests wait")}, ${l.seatsInUse} of ${l.seats} seats are in use.`);
  }
  const slow = s.watchers.rows.filter((r) => r.behindSeconds >= 0.3);
  for (const r of slow.slice(0, 3)) {
    add("warn", "watchers", `Slow watcher: ${named(r)} (${r.client}) is ${several(r.behind, "change", "changes")} and ${time(r.behindSeconds)} behind on ${r.path}.`);
  }
  if (slow.length > 3) add("warn", "watchers", `${several(slow.length - 3, "more watcher is", "more watchers are")} behind.`);
  const stuck = s.requests.underWay.filter((r) => r.seconds >= 5 && r.verb !== "proxy" && !r.path.startsWith("/debug/"));
  if (stuck.length) add("warn", "requests", `${several(stuck.length, "request takes", "requests take")} longer than 5 s. The oldest, ${stuck[0].path}, has taken ${time(stuck[0].seconds)}.`);
  if (s.caches.filling) add("warn", "caches", `${several(s.caches.filling, "cache is", "caches are")} not filled: reads go to the store.`);
  const limit = s.memory.limit;
  if (limit && s.memory.residentBytes > limit.bytes * 0.85) add("bad", "memory", `Memory: ${bytes(s.memory.residentBytes)} of ${bytes(limit.bytes)}.`);
  const weakened = s.weakened.rows.slice(0, 3);
  for (const r of weakened) add("warn", "weakened", `${r.name}: ${r.message}, at ${clock(r.at)} UTC.`);
  const others = s.weakened.total - weakened.length;
  if (others > 0) add("warn", "weakened", `${several(others, "more decision was", "more decisions were")} weakened in the last ten minutes.`);
  const rejected = s.failures.rejected.filter((r) => fresh(s, r));
  if (rejected.length) add("warn", "errors", `${rejected.length >= 50 ? "At least " : ""}${several(rejected.length, "request was", "requests were")} rejected in the last minute. The last one was ${rejected[0].path} of ${named(rejected[0])}.`);
  if (s.server.recent.p99 >= 1) add("warn", "requests", `Slow responses: the 99th percentile of the last minute is ${time(s.server.recent.p99)}.`);
  const failed = s.failures.rows.filter((r) => fresh(s, r));
  if (failed.length) add("warn", "errors", `${failed.length >= 50 ? "At least " : ""}${several(failed.length, "request", "requests")} failed in the last minute. The last one was ${failed[0].path}, with ${failed[0].code}.`);
  return found;
}

// ---- rendering

function tiles(s) {
  const requests = gained((t) => t.server.requests);
  const cpu = gained((t) => t.server.cpuSeconds || 0);
  const { p50, p99, failed, rejected } = s.server.recent;
  return [
    ["Requests per second", rate(requests), count(s.server.requests) + " since start", series.requestsPerSecond],
    ["In flight", count(s.requests.total), count(s.requests.watches) + " watches", series.inFlight],
    ["Latency, p99", time(p99), "p50 " + time(p50) + ", last minute", series.p99],
    ["CPU", cpu === undefined ? "–" : (cpu * 100).toFixed(0) + " %", "of one core", series.cpu],
    ["Memory", bytes(s.memory.residentBytes), s.memory.limit ? "of " + bytes(s.memory.limit.bytes) : "no limit", series.residentBytes],
    ["Failed, 10 min", count(failed), "codes from 500", series.failed],
    ["Rejected, 10 min", count(rejected), count(s.server.dropped) + " since start", series.rejected],
    ["Connections", count(s.server.connections), count(s.server.tlsHandshakeErrors) + " failed handshakes, " +
      count(s.server.timeouts) + " timeouts, " + count(s.server.panics) + " panics"],
  ];
}

// A line of ten minutes. A short history is at the right.
function spark(points) {
  const slots = 600 / (series.intervalSeconds || 5);
  const values = points.map((point) => point ?? 0);
  const most = Math.max(...values, 1e-9);
  const step = 100 / (slots - 1);
  const start = (slots - values.length) * step;
  const line = values.map((p, at) => `${(start + at * step).toFixed(2)},${(19 - (p / most) * 18).toFixed(2)}`).join(" ");
  return draw("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("polyline", { points: line }));
}

// Replaces the contents of a section and keeps the user's place: focus, and the scroll positions of tables.
function replace(parent, children) {
  const places = [...parent.querySelectorAll(".scroll, pre")].map((element) => [element.scrollTop, element.scrollLeft]);
  const focusable = "[tabindex], a, button";
  const focused = [...parent.querySelectorAll(focusable)].indexOf(document.activeElement);
  parent.replaceChildren(...children);
  [...parent.querySelectorAll(".scroll, pre")].forEach((element, at) => {
    if (places[at]) [element.scrollTop, element.scrollLeft] = places[at];
  });
  if (focused >= 0) [...parent.querySelectorAll(focusable)][focused]?.focus({ preventScroll: true });
}

function show(s) {
  $("about").textContent = `${s.server.version}, up ${time(s.server.uptimeSeconds)}${s.server.leaving ? ", shutting down" : ""}`;
  $("replica").textContent = `Replica ${s.server.replica || "without a name"}, ${s.time.slice(0, 10)} ${s.time.slice(11, 19)} UTC`;
  const found = alarms(s);
  replace($("alarm-list"), found.length
    ? found.map(({ kind, where, text }) => make("li", { class: kind }, make("a", { href: "#" + where }, title(where)), make("span", {}, text)))
    : [make("li", { class: "good" }, make("span", {}, "None: no queues, no slow watchers, no unresponsive webhooks or stores, no weakened decisions."))]);
  $("tiles").replaceChildren(...tiles(s).map(([name, value, more, points]) => make("div", { class: "tile" },
    make("div", { class: "name" }, name), make("div", { class: "value" }, value), make("div", { class: "more" }, more),
    points?.length > 1 ? spark(points) : undefined)));
  for (const section of SECTIONS) {
    $(section.id + "-note").textContent = section.note(s);
    if (section.show && fold(section).open) replace($(section.id + "-body"), section.show(s));
    const counted = section.count?.(s);
    const link = $(section.id + "-link");
    link.className = section.hot?.(s) ? "hot" : "";
    link.querySelector(".count").textContent = counted ? count(counted) : "";
  }
  document.title = (found.some(({ kind }) => kind === "bad") ? "● " : "") + "kube-apiserver console";
}

const title = (id) => SECTIONS.find((section) => section.id === id)?.title || id;

const fold = ({ id }) => $(id + "-fold");

function build() {
  const open = matchMedia("(max-width: 40rem)").matches ? undefined : "";
  for (const { id, title, section, fixed, link } of SECTIONS) {
    $("nav").append(make("a", { id: id + "-link", href: "#" + id }, title, make("span", { class: "count" })));
    const href = link || "console/state/" + (section || id) + "?pretty=1";
    const heading = make("h2", { id: id + "-title" }, title);
    $("sections").append(make("section", { id, tabindex: "-1", "aria-labelledby": id + "-title" },
      make("details", { id: id + "-fold", open },
        make("summary", {}, heading, make("span", { id: id + "-note", class: "note" })),
        make("a", { class: "source", href }, link ? "pprof" : "JSON"),
        make("div", { id: id + "-body" }, ...(fixed ? fixed() : [])))));
    fold({ id }).addEventListener("toggle", redraw);
  }
  nameCollapse();
}

// Names the effect of the button that collapses or opens all sections.
function nameCollapse() {
  $("collapse").textContent = SECTIONS.every((section) => !fold(section).open) ? "Open all" : "Collapse all";
}

// Collapses all sections; opens all if all are collapsed.
function collapse() {
  const open = SECTIONS.every((section) => !fold(section).open);
  SECTIONS.forEach((section) => { fold(section).open = open; });
}

// ---- the profile

function profile() {
  const status = make("p", { id: "profile-status", role: "status" });
  const image = make("div", { id: "profile-image", class: "scroll", tabindex: "0", role: "region", "aria-label": "Flame graph" });
  image.hidden = true;
  const button = make("button", { id: "record", type: "button" }, `Record ${PROFILE_SECONDS} s`);
  button.addEventListener("click", () => record(button, status, image));
  return [make("p", {}, button), status, image];
}

// The server renders the graph. It contains no scripts, and the policy of this page would not run any.
async function record(button, status, image) {
  button.disabled = true;
  status.textContent = `Recording for ${PROFILE_SECONDS} s`;
  try {
    const response = await fetch(`pprof/flamegraph?seconds=${PROFILE_SECONDS}`);
    const text = await response.text();
    if (!response.ok) throw new Error(text.trim());
    const graph = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    graph.setAttribute("role", "img");
    graph.setAttribute("aria-label", "Flame graph of CPU time");
    image.replaceChildren(document.adoptNode(graph));
    image.hidden = false;
    status.textContent = "Widths are shares of CPU time. A frame shows its function when it is pointed at.";
  } catch (error) {
    status.textContent = "No profile: " + error.message;
  }
  button.disabled = false;
}

// ---- the stream

let paused = false;
// True while a pointer button is down. A render would replace the pressed element, and the click would be lost.
let pressed = false;
let current;
let heard = 0;
let latest;
let planned = false;
let shown = { at: 0, took: 0 };

// Schedules the display of the latest state. Invisible pages skip it (requestAnimationFrame), and a slow machine spends at most
// a fifth of its time on it.
function plan() {
  if (planned) return;
  planned = true;
  const rest = shown.at + 4 * shown.took - performance.now();
  setTimeout(() => requestAnimationFrame(() => {
    planned = false;
    if (paused || pressed) return;
    const began = performance.now();
    const state = JSON.parse(latest);
    if (current && current.server.replica !== state.server.replica) {
      past.length = 0;
      fetchHistory();
    }
    current = state;
    remember(state);
    show(state);
    document.body.classList.remove("stale");
    link("good", "live");
    // Forces layout, so that its duration is included in the measurement.
    void document.body.offsetHeight;
    const at = performance.now();
    shown = { at, took: at - began };
  }), Math.max(0, rest));
}

// Shows the current state again, after a change of what is shown.
function redraw() {
  nameCollapse();
  if (current) show(current);
}

// Replaces the series of the last ten minutes.
async function fetchHistory() {
  try {
    const response = await fetch("console/history");
    if (response.ok) series = await response.json();
  } catch {
    // The badge shows that the server does not respond.
  }
}

function link(kind, text) {
  const badge = $("link");
  if (badge.textContent === text) return;
  badge.className = "badge " + kind;
  badge.textContent = text;
}

function listen() {
  const stream = new EventSource("console/stream");
  stream.onopen = fetchHistory;
  stream.onmessage = (message) => {
    heard = performance.now();
    latest = message.data;
    if (!paused) plan();
  };
  // The browser reconnects after a stream ends, but not after a rejected one.
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) {
      link("bad", "rejected");
      document.body.classList.add("stale");
      setTimeout(listen, 5000);
    } else {
      link("warn", "reconnecting");
    }
  };
}

function pause() {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Resume" : "Pause";
  if (paused) link("warn", "paused");
}

function go(step) {
  const all = SECTIONS.map(({ id }) => $(id));
  const at = all.findIndex((section) => section.getBoundingClientRect().top > 60 - 1);
  const here = at < 0 ? all.length : at;
  const current = Math.abs((all[here]?.getBoundingClientRect().top ?? 999) - 52) < 12 ? here : here - 1;
  visit(all[Math.min(all.length - 1, Math.max(0, current + step))]);
}

function visit(section) {
  if (!section) return;
  const folded = section.querySelector("details");
  if (folded) folded.open = true;
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inField = event.target instanceof HTMLInputElement;
  if (inField && event.key === "Escape") event.target.blur();
  if (inField) return;
  if (event.key === "p") pause();
  if (event.key === "c") collapse();
  if (event.key === "j") go(1);
  if (event.key === "k") go(-1);
  if (event.key === "f") {
    event.preventDefault();
    $("filter").focus();
  }
  if (event.key >= "1" && event.key <= "9") visit($(SECTIONS[Number(event.key) - 1]?.id));
}

function click(event) {
  if (!(event.target instanceof Element)) return;
  const sort = event.target.closest("button.sort");
  if (sort) {
    sortBy(sort.dataset.caption, Number(sort.dataset.index), Number(sort.dataset.first));
    redraw();
  }
  const target = event.target.closest("nav a, #alarm-list a")?.hash.slice(1);
  if (target) {
    event.preventDefault();
    visit($(target));
  }
}

build();
$("pause").addEventListener("click", pause);
$("collapse").addEventListener("click", collapse);
$("filter").addEventListener("input", () => {
  filter = $("filter").value.trim().toLowerCase();
  redraw();
});
document.addEventListener("keydown", press);
document.addEventListener("click", click);
document.addEventListener("pointerdown", () => { pressed = true; });
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => { pressed = false; });
setInterval(() => {
  if (heard && !paused && performance.now() - heard > 3000) {
    document.body.classList.add("stale");
    link("bad", "no data");
  }
}, 1000);
setInterval(() => { if (!paused && !document.hidden) fetchHistory(); }, HISTORY_MILLISECONDS);
listen();
