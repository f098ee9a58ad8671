// Package clientgo tests a Kubernetes API server with client-go: typed and dynamic clients, informers and
// leader election. KUBECONFIG selects the server.
package clientgo

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// encodings are the content types by name. Tests of bodies run with each of them.
var encodings = map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf}

// limit is the timeout of a test.
const limit = 60 * time.Second

func config(t *testing.T, contentType string) *rest.Config {
	t.Helper()
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		t.Fatal("KUBECONFIG must name the server to test")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	config.ContentType = contentType
	config.AcceptContentTypes = contentType
	config.QPS = -1
	return config
}

func clients(t *testing.T, contentType string) kubernetes.Interface {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config(t, contentType))
	must(t, err)
	return clientset
}

// forEachEncoding runs a claim with each encoding, in a separate namespace.
func forEachEncoding(t *testing.T, claim func(*testing.T, context.Context, kubernetes.Interface, string)) {
	t.Helper()
	for name, contentType := range encodings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, client := bounded(t), clients(t, contentType)
			claim(t, ctx, client, namespace(t, ctx, client))
		})
	}
}

// namespace creates a namespace that is named after the test.
func namespace(t *testing.T, ctx context.Context, client kubernetes.Interface) string {
	t.Helper()
	name := strings.Trim(strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())), "-")
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{})
	must(t, err)
	return name
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{}}
	for at := 0; at+1 < len(data); at += 2 {
		object.Data[data[at]] = data[at+1]
	}
	return object
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, what string, found, expected any) {
	t.Helper()
	if f, e := fmt.Sprint(found), fmt.Sprint(expected); f != e {
		t.Fatalf("%s: found %s, expected %s", what, f, e)
	}
}

// next receives one value. The test fails if the channel closes or the context ends first.
func next[T any](t *testing.T, ctx context.Context, from <-chan T) T {
	t.Helper()
	select {
	case value, open := <-from:
		if !open {
			t.Fatal("the stream ended")
		}
		return value
	case <-ctx.Done():
		t.Fatal("timeout without a value")
	}
	panic("unreachable")
}
