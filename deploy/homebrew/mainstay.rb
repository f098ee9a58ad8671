# A formula for Homebrew on Linux. tools/package/homebrew.py fills in the version, the URL and the checksums.
class Mainstay < Formula
  desc "Kubernetes API server: upstream's kube-apiserver, rewritten in Rust"
  homepage "{{url}}"
  version "{{version}}"
  license "Apache-2.0"

  depends_on :linux

{{downloads}}
  def install
    bin.install "kube-apiserver"
    bin.install "apibench" if File.exist?("apibench")
    pkgshare.install "THIRD-PARTY-LICENSES.txt"
  end

  service do
    run [opt_bin/"kube-apiserver", "--embedded-data-dir=#{var}/mainstay"]
    keep_alive true
    log_path var/"log/mainstay.log"
    error_log_path var/"log/mainstay.log"
  end

  test do
    assert_match "{{git_version}}", shell_output("#{bin}/kube-apiserver --version")
  end
end
