// The console: shows the state from the server's event stream. Texts that clients control become text nodes only, never HTML.
"use strict";

const WINDOW_SECONDS = 60;
const POINTS = 120;
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

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString();

// ---- history: states of the last minute, for rates and recent latencies

const past = [];
const series = { requests: [], cpu: [], memory: [], underWay: [] };

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

// Columns are [name, cell, true if numeric]. A cell is a text, { text, kind }, or { part } for a bar; part 1 is full.
function table(caption, columns, rows) {
  if (!rows.length) return make("p", { class: "none" }, caption + ": none");
  const head = make("tr", {}, ...columns.map(([name, , number]) =>
    make("th", { scope: "col", class: number ? "number" : undefined }, name)));
  const body = rows.map((row) => make("tr", {}, ...columns.map(([name, cell, number]) => {
    const made = cell(row);
    const kinds = [number ? "number" : "", made?.kind || ""].join(" ").trim();
    const td = make("td", { class: kinds || undefined, "data-name": name });
    if (made?.part !== undefined) td.append(bar(made.part)); else td.append(String(made?.text ?? made ?? ""));
    return td;
  })));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...body)));
}

function bar(part) {
  const width = Math.min(100, Math.max(0, part * 100));
  const filled = draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { x: 0, y: 0, width, height: 10 }));
  return make("div", { class: part >= 1 ? "bar full" : "bar", role: "img", "aria-label": Math.round(width) + " %" }, filled);
}

const old = (seconds, warn, bad) => ({ text: time(seconds), kind: seconds >= bad ? "bad" : seconds >= warn ? "warn" : "" });
const named = (row) => row.user || "(unknown)";
const user = (row) => ({ text: named(row), kind: "long" });
const agent = (row) => ({ text: row.userAgent.split(" ")[0], kind: "long" });
const several = (n, one, more) => count(n) + " " + (n === 1 ? one : more);

// ---- sections: id, title, count, note, content

const SECTIONS = [
  {
    id: "requests", title: "Requests",
    count: (s) => s.requests.total,
    note: (s) => count(s.requests.total) + " in flight, plus " + count(s.requests.watches) + " watches",
    show: (s) => [
      table("In flight, oldest first", [
        ["Path", (r) => r.path], ["Verb", (r) => r.verb], ["Since", (r) => old(r.seconds, 1, 10), true],
        ["Stage", (r) => ({ text: r.stage, kind: r.stage === "queue" ? "warn" : "soft" })],
        ["User", user], ["Client", (r) => r.client], ["Agent", agent], ["Sent", (r) => bytes(r.sentBytes), true],
      ], s.requests.underWay),
      table("Finished, longer than 0.5 s, slowest first", [
        ["Path", (r) => r.path], ["Verb", (r) => r.verb], ["Took", (r) => old(r.seconds, 1, 10), true],
        ["Code", (r) => r.code, true], ["At", (r) => clock(r.at)], ["User", user], ["Agent", agent], ["Audit", (r) => ({ text: r.auditID, kind: "soft" })],
      ], [...s.requests.slow].sort((a, b) => b.seconds - a.seconds)),
    ],
  },
  {
    id: "watchers", title: "Watchers",
    count: (s) => s.watchers.behind, hot: (s) => s.watchers.rows.some((r) => r.behindSeconds >= 1),
    note: (s) => count(s.watchers.total) + " watches, " + count(s.watchers.behind) + " of them behind",
    show: (s) => [table("Watches, furthest behind first", [
      ["Path", (r) => r.path],
      ["Behind", (r) => ({ text: count(r.behind), kind: r.behindSeconds >= 1 ? "bad" : "" }), true],
      ["For", (r) => old(r.behindSeconds, 1, 5), true],
      ["User", user], ["Client", (r) => r.client], ["Agent", agent],
      ["Open", (r) => time(r.seconds), true], ["Sent", (r) => bytes(r.sentBytes), true],
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
      return [table("Priority levels", [
        ["Level", (l) => l.name + (l.quiescing ? " (quiescing)" : "")],
        ["Seats in use", (l) => l.seatsInUse + (l.exempt ? "" : " of " + l.seats), true],
        ["Full", (l) => ({ part: l.exempt || !l.seats ? 0 : l.seatsInUse / l.seats })],
        ["Executing", (l) => count(l.executing), true],
        ["Waiting", (l) => ({ text: count(l.waiting), kind: l.waiting ? "bad" : "" }), true],
        ["Dispatched", (l) => count(l.dispatched), true],
        ["Rejected", (l) => ({ text: count(l.rejected), kind: l.rejected ? "warn" : "soft" }), true],
        ["Cancelled", (l) => ({ text: count(l.cancelled), kind: l.cancelled ? "warn" : "soft" }), true],
      ], s.flowControl.levels),
      ...(queues.length ? [table("Longest queues", [
        ["Level", (q) => q.level], ["Queue", (q) => q.index, true], ["Waiting", (q) => q.waiting, true],
        ["Executing", (q) => q.executing, true], ["Seats wanted", (q) => q.seatsWaiting, true],
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
        ["Host", (w) => w.host], ["Path", (w) => w.path], ["Calls", (w) => w.calls, true],
        ["Oldest", (w) => old(w.oldestSeconds, 0.5, 1), true],
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
      table("Calls in flight", [
        ["Operation", (w) => w.operation], ["Calls", (w) => w.calls, true], ["Oldest", (w) => old(w.oldestSeconds, 0.5, 1), true],
      ], s.store.underWay),
      table("Latency, last minute", latency("Operation"), lately(s.store.operations, (t) => t.store.operations)),
    ],
  },
  {
    id: "caches", title: "Caches",
    count: (s) => s.caches.filling, hot: (s) => s.caches.filling > 0,
    note: (s) => count(s.caches.objects) + " objects of " + s.caches.total + " resources" +
      (s.caches.filling ? ", " + s.caches.filling + " not filled yet" : ""),
    show: (s) => [table("Caches, largest first", [
      ["Resource", (c) => c.resource + (c.group ? "." + c.group : "") + (c.ready ? "" : c.resting ? " (not listed yet)" : " (filling)")],
      ["Objects", (c) => count(c.objects), true], ["Bytes", (c) => c.cached ? bytes(c.bytes) : "not cached", true],
      ["Watches", (c) => count(c.watches), true],
      ["Lists from cache", (c) => count(c.hits), true],
      ["Lists from store", (c) => ({ text: count(c.misses), kind: c.cached && c.misses ? "warn" : "soft" }), true],
      ["Log", (c) => c.logEnd === undefined ? "–" : count(c.logEnd - c.logFirst), true],
      ["Position", (c) => ({ text: c.logEnd ?? "–", kind: "soft" }), true],
      ["Revision", (c) => ({ text: c.revision ?? "–", kind: "soft" }), true],
      ["Too slow", (c) => ({ text: count(c.overruns), kind: c.overruns ? "warn" : "soft" }), true],
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
        ["Owner", (o) => o.name], ["Bytes", (o) => bytes(o.bytes), true], ["Part", (o) => ({ part: Math.min(0.999, o.bytes / all) })],
        ["At most", (o) => ({ text: o.most ? bytes(o.most) : "", kind: "soft" }), true],
      ], [...s.memory.owners, ...rest])];
      if (s.memory.limit) {
        tables.push(table("Limit", [["Metric", ([name]) => name], ["Value", ([, text]) => text, true]], [
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
      ["Decision", (r) => r.message], ["Name", (r) => ({ text: r.name, kind: "long" })],
      ["Cause", (r) => ({ text: r.cause, kind: "long" })], ["At", (r) => clock(r.at)], ["Count", (r) => count(r.count), true],
    ], s.weakened.rows)],
  },
  {
    id: "errors", title: "Errors", section: "failures",
    count: (s) => s.failures.rows.filter((r) => fresh(s, r)).length,
    hot: (s) => s.failures.rows.some((r) => fresh(s, r) && r.code >= 500),
    note: () => "Recent failed requests, warnings and errors; the count is for the last minute",
    show: (s) => [
      table("Failed and rejected requests", [
        ["Path", (r) => r.path], ["Verb", (r) => r.verb],
        ["Code", (r) => ({ text: r.code, kind: r.code >= 500 ? "bad" : "warn" }), true],
        ["At", (r) => clock(r.at)], ["Took", (r) => time(r.seconds), true], ["User", user], ["Agent", agent],
        ["Audit", (r) => ({ text: r.auditID, kind: "soft" })],
      ], s.failures.rows),
      s.log?.rows.length
        ? make("pre", { tabindex: "0", "aria-label": "Log" }, s.log.rows.map((row) => row.line).join("\n"))
        : make("p", { class: "none" }, "Log, warnings and errors: none"),
    ],
  },
];

function latency(first) {
  return [
    [first, (r) => r.name], ["Calls", (r) => count(r.recent), true],
    ["p50", (r) => r.recent ? atMost(quantile(r.recentBuckets, r.recent, 0.5)) : "–", true],
    ["p99", (r) => {
      const bound = r.recent ? quantile(r.recentBuckets, r.recent, 0.99) : undefined;
      return { text: atMost(bound), kind: bound > 0.5 ? "warn" : "" };
    }, true],
    ["Calls since start", (r) => ({ text: count(r.count), kind: "soft" }), true],
    ["Mean", (r) => ({ text: time(r.count ? r.sum / r.count : undefined), kind: "soft" }), true],
    ["p99 since start", (r) => ({ text: atMost(quantile(r.buckets, r.count, 0.99)), kind: "soft" }), true],
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
  for (const r of weakened) add("warn", "weakened", `${r.name}: ${r.message}, at ${clock(r.at)}.`);
  const others = s.weakened.total - weakened.length;
  if (others > 0) add("warn", "weakened", `${several(others, "more decision was", "more decisions were")} weakened in the last ten minutes.`);
  const failed = s.failures.rows.filter((r) => fresh(s, r) && r.code >= 500);
  if (failed.length) add("warn", "errors", `${failed.length >= 50 ? "At least " : ""}${several(failed.length, "request", "requests")} failed in the last minute. The last one was ${failed[0].path}, with ${failed[0].code}.`);
  return found;
}

// ---- rendering

function tiles(s) {
  const requests = gained((t) => t.server.requests);
  const cpu = gained((t) => t.server.cpuSeconds || 0);
  const points = { requests: requests || 0, cpu: cpu || 0, memory: s.memory.residentBytes || 0, underWay: s.requests.total };
  for (const [name, value] of Object.entries(points)) {
    series[name].push(value);
    if (series[name].length > POINTS) series[name].shift();
  }
  return [
    ["Requests per second", rate(requests), count(s.server.requests) + " since start", series.requests],
    ["In flight", count(s.requests.total), count(s.requests.watches) + " watches", series.underWay],
    ["CPU", cpu === undefined ? "–" : (cpu * 100).toFixed(0) + " %", "of one core", series.cpu],
    ["Memory", bytes(s.memory.residentBytes), s.memory.limit ? "of " + bytes(s.memory.limit.bytes) : "no limit", series.memory],
    ["Connections", count(s.server.connections), count(s.server.tlsHandshakeErrors) + " failed handshakes"],
    ["Rejected", count(s.server.dropped), count(s.server.timeouts) + " timeouts, " + count(s.server.panics) + " panics"],
  ];
}

function spark(points) {
  const most = Math.max(...points, 1e-9);
  const step = 100 / (POINTS - 1);
  const start = (POINTS - points.length) * step;
  const line = points.map((p, at) => `${(start + at * step).toFixed(2)},${(19 - (p / most) * 18).toFixed(2)}`).join(" ");
  return draw("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("polyline", { points: line }));
}

// Replaces the contents of a section and keeps the user's place: focus, and the scroll positions of tables.
function replace(parent, children) {
  const places = [...parent.querySelectorAll(".scroll, pre")].map((element) => [element.scrollTop, element.scrollLeft]);
  const focused = [...parent.querySelectorAll("[tabindex], a")].indexOf(document.activeElement);
  parent.replaceChildren(...children);
  [...parent.querySelectorAll(".scroll, pre")].forEach((element, at) => {
    if (places[at]) [element.scrollTop, element.scrollLeft] = places[at];
  });
  if (focused >= 0) [...parent.querySelectorAll("[tabindex], a")][focused]?.focus({ preventScroll: true });
}

function show(s) {
  $("about").textContent = `${s.server.version}, up ${time(s.server.uptimeSeconds)}${s.server.leaving ? ", shutting down" : ""}`;
  const found = alarms(s);
  replace($("alarm-list"), found.length
    ? found.map(({ kind, where, text }) => make("li", { class: kind }, make("a", { href: "#" + where }, title(where)), make("span", {}, text)))
    : [make("li", { class: "good" }, make("span", {}, "None: no queues, no slow watchers, no unresponsive webhooks or stores, no weakened decisions."))]);
  $("tiles").replaceChildren(...tiles(s).map(([name, value, more, points]) => make("div", { class: "tile" },
    make("div", { class: "name" }, name), make("div", { class: "value" }, value), make("div", { class: "more" }, more),
    points ? spark(points) : undefined)));
  for (const section of SECTIONS) {
    $(section.id + "-note").textContent = section.note(s);
    replace($(section.id + "-body"), section.show(s));
    const counted = section.count?.(s);
    const link = $(section.id + "-link");
    link.className = section.hot?.(s) ? "hot" : "";
    link.querySelector(".count").textContent = counted ? count(counted) : "";
  }
  document.title = (found.some(({ kind }) => kind === "bad") ? "● " : "") + "kube-apiserver console";
}

const title = (id) => SECTIONS.find((section) => section.id === id)?.title || id;

function build() {
  for (const { id, title, section } of SECTIONS) {
    $("nav").append(make("a", { id: id + "-link", href: "#" + id }, title, make("span", { class: "count" })));
    $("sections").append(make("section", { id, tabindex: "-1", "aria-labelledby": id + "-title" },
      make("div", { class: "head" }, make("h2", { id: id + "-title" }, title), make("span", { id: id + "-note", class: "note" }),
        make("a", { href: "console/state/" + (section || id) + "?pretty=1" }, "JSON")),
      make("div", { id: id + "-body" })));
  }
}

// ---- the stream

let paused = false;
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
    if (paused) return;
    const began = performance.now();
    const state = JSON.parse(latest);
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

function link(kind, text) {
  const badge = $("link");
  if (badge.textContent === text) return;
  badge.className = "badge " + kind;
  badge.textContent = text;
}

function listen() {
  const stream = new EventSource("console/stream");
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
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}

build();
$("pause").addEventListener("click", pause);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "p") pause();
  if (event.key === "j") go(1);
  if (event.key === "k") go(-1);
  if (event.key >= "1" && event.key <= "9") visit($(SECTIONS[Number(event.key) - 1]?.id));
});
setInterval(() => {
  if (heard && !paused && performance.now() - heard > 3000) {
    document.body.classList.add("stale");
    link("bad", "no data");
  }
}, 1000);
listen();
