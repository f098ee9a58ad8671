// Package kubeletstreams tests exec, attach and portforward of a Kubernetes API server with client-go over WebSockets,
// against a kubelet that only supports SPDY. KUBECONFIG selects the server.
package kubeletstreams

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// limit is the timeout of a test.
const limit = 60 * time.Second

// pod is a pod on a kubelet.
type pod struct {
	config  *rest.Config
	client  kubernetes.Interface
	kubelet *kubelet
	name    string
}

const namespace = "default"

// podOn creates a node with a stand-in of a kubelet, and a pod on it of the same name.
func podOn(t *testing.T, ctx context.Context, features ...string) pod {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	kubelet := startKubelet(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "streams-"}}
	node, err = client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	must(t, err)
	name := node.Name
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = kubelet.port(t)
	node.Status.DeclaredFeatures = features
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	must(t, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		must(t, err)
	}
	no := false
	_, err = client.CoreV1().Pods(namespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			NodeName:                     name,
			Containers:                   []corev1.Container{{Name: "c", Image: "i"}},
			AutomountServiceAccountToken: &no,
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return pod{config, client, kubelet, name}
}

func (p pod) url(subresource string, options interface{ Size() int }) *url.URL {
	request := p.client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("pods").Name(p.name).SubResource(subresource)
	switch options := options.(type) {
	case *corev1.PodExecOptions:
		request = request.VersionedParams(options, scheme.ParameterCodec)
	case *corev1.PodAttachOptions:
		request = request.VersionedParams(options, scheme.ParameterCodec)
	}
	return request.URL()
}

// result is the output of a command.
type result struct {
	out, errors string
	err         error
}

// run runs a command with the streams that are not nil.
func (p pod) run(t *testing.T, ctx context.Context, url *url.URL, options remotecommand.StreamOptions) result {
	t.Helper()
	executor, err := remotecommand.NewWebSocketExecutor(p.config, http.MethodGet, url.String())
	must(t, err)
	var out, errors bytes.Buffer
	if options.Stdout == nil {
		options.Stdout = &out
	}
	if !options.Tty {
		options.Stderr = &errors
	}
	err = executor.StreamWithContext(ctx, options)
	return result{out.String(), errors.String(), err}
}

func (p pod) exec(t *testing.T, ctx context.Context, stdin io.Reader, command ...string) result {
	t.Helper()
	options := &corev1.PodExecOptions{Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}
	return p.run(t, ctx, p.url("exec", options), remotecommand.StreamOptions{Stdin: stdin})
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func expect[T comparable](t *testing.T, actual, expected T) {
	t.Helper()
	if actual != expected {
		t.Fatalf("%v, expected %v", actual, expected)
	}
}

func TestExecTransfersStreams(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	expect(t, pod.exec(t, ctx, strings.NewReader("hello"), "cat"), result{"hello", "end of input", nil})
	expect(t, pod.kubelet.upgrade("/exec/default/"+pod.name+"/c"), "SPDY/3.1")
}

func TestExecTransfersLongStreams(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	long := strings.Repeat("0123456789abcdef", 1<<19)
	copied := pod.exec(t, ctx, strings.NewReader(long), "cat")
	must(t, copied.err)
	expect(t, copied.out == long, true)
	flooded := pod.exec(t, ctx, nil, "flood")
	must(t, flooded.err)
	expect(t, len(flooded.out), floodBytes)
}

func TestExecReturnsExitCode(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	done := pod.exec(t, ctx, nil, "exit", "42")
	var code exec.CodeExitError
	expect(t, errors.As(done.err, &code), true)
	expect(t, code.Code, 42)
	expect(t, done.out, "last words")
}

func TestExecReturnsError(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	done := pod.exec(t, ctx, nil, "nonsense")
	expect(t, done.err != nil && strings.Contains(done.err.Error(), "nonsense: no such command"), true)
}

func TestExecEndsWithUnreadInput(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	reader, writer := io.Pipe()
	defer writer.Close()
	go fmt.Fprint(writer, "x")
	expect(t, pod.exec(t, ctx, reader, "head"), result{"x", "", nil})
}

// sizes are sizes of a terminal.
type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

func TestExecResizesTerminal(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	queue := make(sizes, 2)
	queue <- remotecommand.TerminalSize{Width: 80, Height: 24}
	queue <- remotecommand.TerminalSize{Width: 100, Height: 30}
	options := &corev1.PodExecOptions{Command: []string{"sizes"}, Stdin: true, Stdout: true, TTY: true}
	reader, writer := io.Pipe()
	defer writer.Close()
	done := pod.run(t, ctx, pod.url("exec", options), remotecommand.StreamOptions{Stdin: reader, Tty: true, TerminalSizeQueue: queue})
	expect(t, done, result{"80x24 tty=true\n100x30 tty=true\n", "", nil})
}

func TestAttachTransfersStreams(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	options := &corev1.PodAttachOptions{Stdin: true, Stdout: true}
	done := pod.run(t, ctx, pod.url("attach", options), remotecommand.StreamOptions{Stdin: strings.NewReader("input")})
	expect(t, done, result{"attached input", "", nil})
}

func TestRejectionOfKubeletIsReported(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	done := pod.run(t, ctx, pod.url("exec", &corev1.PodExecOptions{Command: []string{"cat"}}), remotecommand.StreamOptions{})
	text := "unable to upgrade connection: you must specify at least 1 of stdin, stdout, stderr"
	expect(t, done.err != nil && strings.Contains(done.err.Error(), text), true)
}

func TestWebSocketReachesNewKubelet(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx, "ExtendWebSocketsToKubelet")
	// The stand-in does not support the newest subprotocol.
	if done := pod.exec(t, ctx, nil, "flood"); done.err == nil {
		t.Fatal("the stand-in must reject the WebSocket")
	}
	expect(t, pod.kubelet.upgrade("/exec/default/"+pod.name+"/c"), "websocket")
}

func TestPortsAreForwarded(t *testing.T) {
	ctx := bounded(t)
	pod := podOn(t, ctx)
	dialer, err := portforward.NewSPDYOverWebsocketDialer(pod.url("portforward", nil), pod.config)
	must(t, err)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.New(dialer, []string{"0:80", "0:443", "0:1"}, stop, ready, io.Discard, io.Discard)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	case <-ctx.Done():
		t.Fatal("ports are not ready")
	}
	forwarded, err := forwarder.GetPorts()
	must(t, err)
	for range 3 {
		for _, port := range forwarded[:2] {
			connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port.Local))
			must(t, err)
			_, err = io.WriteString(connection, "ping")
			must(t, err)
			answer, err := io.ReadAll(connection)
			must(t, err)
			expect(t, string(answer), fmt.Sprintf("%d ping", port.Remote))
			connection.Close()
		}
	}
	expect(t, pod.kubelet.upgrade("/portForward/default/"+pod.name), "SPDY/3.1")
	close(stop)
	must(t, <-done)
}
