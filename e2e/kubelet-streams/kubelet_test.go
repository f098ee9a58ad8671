package kubeletstreams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle   = 4 * time.Hour
	create = 30 * time.Second
)

// kubelet is a kubelet of v1.34: the streaming server of the container runtime interface, with commands that are
// written here.
type kubelet struct {
	server *httptest.Server
	mutex  sync.Mutex
	// upgrades are the values of the Upgrade header by path.
	upgrades map[string]string
}

func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	kubelet := &kubelet{upgrades: map[string]string{}}
	kubelet.server = httptest.NewTLSServer(kubelet)
	t.Cleanup(kubelet.server.CloseClientConnections)
	return kubelet
}

func (k *kubelet) port(t *testing.T) int32 {
	t.Helper()
	_, text, err := net.SplitHostPort(k.server.Listener.Addr().String())
	must(t, err)
	port, err := strconv.ParseInt(text, 10, 32)
	must(t, err)
	return int32(port)
}

func (k *kubelet) upgrade(path string) string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.upgrades[path]
}

func (k *kubelet) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	k.mutex.Lock()
	k.upgrades[request.URL.Path] = request.Header.Get("Upgrade")
	k.mutex.Unlock()
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	protocols := remotecommand.SupportedStreamingProtocols
	switch {
	case parts[0] == "portForward" && len(parts) == 3:
		options, err := portforward.NewV4Options(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, request, ports{}, parts[2], "", options, idle, create, portforward.SupportedProtocols)
	case len(parts) == 4:
		options, err := remotecommand.NewOptions(request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if parts[0] == "attach" {
			remotecommand.ServeAttach(w, request, container{}, parts[2], "", parts[3], options, idle, create, protocols)
			return
		}
		command := request.URL.Query()["command"]
		remotecommand.ServeExec(w, request, container{}, parts[2], "", parts[3], command, options, idle, create, protocols)
	default:
		http.NotFound(w, request)
	}
}

// container runs the commands.
type container struct{}

func (container) ExecInContainer(_ context.Context, _, _, _ string, command []string, in io.Reader, out, errors io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	switch command[0] {
	case "cat":
		_, err := io.Copy(out, in)
		if errors != nil {
			fmt.Fprint(errors, "end of input")
		}
		return err
	case "head":
		_, err := io.CopyN(out, in, 1)
		return err
	case "exit":
		code, err := strconv.Atoi(command[1])
		if err != nil {
			return err
		}
		fmt.Fprint(out, "last words")
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	case "sizes":
		for range 2 {
			size := <-resize
			fmt.Fprintf(out, "%dx%d tty=%t\n", size.Width, size.Height, tty)
		}
		return nil
	case "flood":
		_, err := io.CopyN(out, zeros{}, floodBytes)
		return err
	default:
		return fmt.Errorf("%s: no such command", command[0])
	}
}

func (container) AttachContainer(_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	fmt.Fprint(out, "attached ")
	_, err := io.Copy(out, in)
	return err
}

// floodBytes is the size of the output of "flood".
const floodBytes = 8 << 20

type zeros struct{}

func (zeros) Read(bytes []byte) (int, error) {
	clear(bytes)
	return len(bytes), nil
}

// ports answers on each port with its number and what it receives. Port 1 is closed.
type ports struct{}

func (ports) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	if port == 1 {
		return errors.New("connection refused")
	}
	line := make([]byte, 4)
	if _, err := io.ReadFull(stream, line); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "%d %s", port, line)
	return err
}
