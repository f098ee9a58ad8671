/** Name of the environment variable with the address of the test server. */
export const ADDRESS_VARIABLE: "MAINSTAY_TESTSERVER";

export interface Server {
  /** Address for `fork`. */
  address: string;
  /** Stops the server, and so ends its forks. */
  stop(): Promise<void>;
}

export interface Fork {
  /** An administrator's kubeconfig (JSON, which is YAML). */
  kubeconfig: string;
  /** The URL of the API server. */
  server: string;
  /** Ends the control plane. */
  close(): void;
}

/**
 * Starts a test server. `flags` are flags of `kube-apiserver testserver`. `program` is by default the server in the package for
 * this platform, or else `kube-apiserver` on PATH. Rejects with the last line of the log if the server does not start.
 */
export function startServer(options?: { flags?: string[]; program?: string }): Promise<Server>;

/** Requests a control plane. `address` is by default the value of MAINSTAY_TESTSERVER. */
export function fork(address?: string): Promise<Fork>;
