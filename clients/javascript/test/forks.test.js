import assert from "node:assert/strict";
import { Agent, request } from "node:https";
import { after, before, test } from "node:test";

import { fork, startServer } from "mainstay-testserver";

let server;
before(async () => { server = await startServer(); });
after(async () => { await server.stop(); });

const MAPS = "/api/v1/namespaces/default/configmaps";

/** Sends a request as the kubeconfig's administrator and resolves to the status code. */
function call(controlPlane, method, path, body) {
  const config = JSON.parse(controlPlane.kubeconfig);
  const decode = (text) => Buffer.from(text, "base64");
  const agent = new Agent({
    ca: decode(config.clusters[0].cluster["certificate-authority-data"]),
    cert: decode(config.users[0].user["client-certificate-data"]),
    key: decode(config.users[0].user["client-key-data"]),
  });
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
    const sent = request(controlPlane.server + path, { agent, headers, method }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode));
    });
    sent.once("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

for (const round of [1, 2]) {
  test(`tests have separate control planes: ${round}`, async () => {
    const controlPlane = await fork(server.address);
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "mine" } };
    assert.equal(await call(controlPlane, "POST", MAPS, body), 201);
    controlPlane.close();
  });
}

test("missing address is reported", async () => {
  delete process.env.MAINSTAY_TESTSERVER;
  await assert.rejects(fork(), /MAINSTAY_TESTSERVER is not set/);
});

test("invalid flag is reported", async () => {
  await assert.rejects(startServer({ flags: ["--forks-max=0"] }), /--forks-max/);
});
