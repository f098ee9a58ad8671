// Control planes for tests: forks of the control plane of `kube-apiserver testserver`.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const ADDRESS_VARIABLE = "MAINSTAY_TESTSERVER";

const START_MILLISECONDS_MAX = 60_000;
const STOP_MILLISECONDS_MAX = 30_000;
const RESPONSE_MILLISECONDS_MAX = 30_000;
const TEXT_LENGTH_MAX = 1 << 20;

/** Returns the path of the server from the package for this platform, or else its name, which is searched on PATH. */
function bundledProgram() {
  try {
    const require = createRequire(import.meta.url);
    return require.resolve(`mainstay-testserver-${process.platform}-${process.arch}/kube-apiserver`);
  } catch {
    return "kube-apiserver";
  }
}

/** Starts a test server. It ends with `stop`, or with this process. */
export async function startServer({ flags = [], program = bundledProgram() } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "mainstay-"));
  const address = `unix:${join(folder, "socket")}`;
  const child = spawn(program, ["testserver", `--listen=${address}`, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const exited = new Promise((resolve) => child.once("close", resolve));
  const stop = async () => {
    const timer = setTimeout(kill, STOP_MILLISECONDS_MAX);
    child.kill("SIGTERM");
    await exited;
    clearTimeout(timer);
    process.removeListener("exit", kill);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await ready(child);
  } catch (error) {
    if (child.pid !== undefined) await stop();
    else rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  return { address, stop };
}

/** Resolves when the server has printed its address. */
function ready(child) {
  return new Promise((resolve, reject) => {
    let log = "";
    let output = "";
    const timer = setTimeout(() => reject(new Error("the test server did not start in time")), START_MILLISECONDS_MAX);
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      reject(new Error(`the test server did not start: ${log.trim().split("\n").pop()}`));
    });
    child.stderr.on("data", (bytes) => { log = (log + bytes).slice(-TEXT_LENGTH_MAX); });
    child.stdout.on("data", (bytes) => {
      output = (output + bytes).slice(-TEXT_LENGTH_MAX);
      if (!output.includes(`export ${ADDRESS_VARIABLE}=`)) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Requests a control plane. It ends with `close`, or with this process. */
export async function fork(address = process.env[ADDRESS_VARIABLE]) {
  if (!address) throw new Error(`${ADDRESS_VARIABLE} is not set: start \`kube-apiserver testserver\``);
  const socket = connect(place(address));
  try {
    const response = JSON.parse(await firstLine(socket));
    if (!response.kubeconfig) throw new Error(`the test server rejected the fork: ${response.error}`);
    const { server } = JSON.parse(response.kubeconfig).clusters[0].cluster;
    return { kubeconfig: response.kubeconfig, server, close: () => socket.destroy() };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function place(address) {
  if (address.startsWith("unix:")) return { path: address.slice("unix:".length) };
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(address.slice(colon + 1)) };
}

/** Sends a request for a fork and resolves to the response. */
function firstLine(socket) {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setTimeout(RESPONSE_MILLISECONDS_MAX, () => reject(new Error("no response from the test server")));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("no response from the test server")));
    socket.on("data", (bytes) => {
      text += bytes;
      if (text.length > TEXT_LENGTH_MAX) reject(new Error("the response of the test server is too long"));
      if (!text.includes("\n")) return;
      socket.setTimeout(0);
      resolve(text.slice(0, text.indexOf("\n")));
    });
    socket.write("fork\n");
  });
}
