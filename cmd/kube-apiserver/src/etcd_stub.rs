//! `kube-apiserver etcd-stub`: the health check of an etcd, for envtest.
//!
//! envtest always starts an etcd, and waits until its `/health` is 200. In the envtest archive the server keeps
//! objects in memory, and this stub takes the place of etcd. It stores nothing.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Name of the subcommand.
pub(crate) const COMMAND: &str = "etcd-stub";

/// The flag with the address, as etcd has it. All other flags of etcd are ignored.
const ADDRESS_FLAG: &str = "--listen-client-urls=";

/// Maximum time for one request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum size of the part of a request that is read.
const REQUEST_BYTES_MAX: usize = 4_096;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 17\r\n\
    Connection: close\r\n\r\n{\"health\":\"true\"}";

/// Reason why the stub does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StubError {
    #[error("etcd-stub: --listen-client-urls=http://IP:PORT with a loopback address is missing")]
    Address,
    #[error("etcd-stub: {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
}

/// Answers every request as a healthy etcd, until the process is stopped.
///
/// # Errors
/// No loopback address among the flags, or an address in use.
pub(crate) fn run(words: &[String]) -> Result<(), StubError> {
    if words.iter().any(|word| word == "--help") {
        println!("Usage:\n  kube-apiserver {COMMAND} {ADDRESS_FLAG}http://IP:PORT");
        return Ok(());
    }
    let address = address(words).ok_or(StubError::Address)?;
    let listener = TcpListener::bind(address).map_err(|source| StubError::Listen { address, source })?;
    // One request at a time, because each is bounded by its timeout. A broken connection concerns its client only.
    for stream in listener.incoming().flatten() {
        let _ = answer(stream);
    }
    Ok(())
}

/// Returns the loopback address to listen on.
fn address(words: &[String]) -> Option<SocketAddr> {
    let url = words.iter().find_map(|word| word.strip_prefix(ADDRESS_FLAG))?;
    let mut addresses = url.strip_prefix("http://")?.trim_end_matches('/').to_socket_addrs().ok()?;
    addresses.find(|address| address.ip().is_loopback())
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let mut request = [0; REQUEST_BYTES_MAX];
    let _ = stream.read(&mut request)?;
    stream.write_all(RESPONSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listen_on(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        address(&words).map(|address| address.to_string())
    }

    #[test]
    fn only_loopback_addresses_are_accepted() {
        let flags = "--data-dir=/d --listen-client-urls=http://127.0.0.1:2379";
        assert_eq!(listen_on(flags).as_deref(), Some("127.0.0.1:2379"));
        assert_eq!(listen_on("--listen-client-urls=http://0.0.0.0:2379"), None);
        assert_eq!(listen_on("--listen-client-urls=https://127.0.0.1:2379"), None);
        assert_eq!(listen_on("--listen-peer-urls=http://127.0.0.1:2379"), None);
    }

    #[test]
    fn request_gets_a_healthy_status() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        answer(listener.accept().unwrap().0).unwrap();
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.ends_with("{\"health\":\"true\"}"), "{response}");
    }
}
