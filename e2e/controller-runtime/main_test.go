// Package controllerruntime tests a Kubernetes API server with controller-runtime: a manager defaults,
// validates, converts and reconciles a custom kind. KUBECONFIG selects the server. With MAINSTAY_TESTSERVER,
// each test gets a separate fork instead.
package controllerruntime

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/go-logr/logr"
	testserver "mainstay.dev/testserver"
)

// limit is the timeout of a test.
const limit = 60 * time.Second

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func config(t *testing.T) *rest.Config {
	t.Helper()
	if os.Getenv(testserver.AddressVariable) != "" {
		return fork(t)
	}
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		t.Fatal("KUBECONFIG or " + testserver.AddressVariable + " must name the server to test")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	must(t, err)
	config.QPS = -1
	return config
}

// fork creates a control plane that ends with the test, and returns its client configuration.
func fork(t *testing.T) *rest.Config {
	t.Helper()
	fork, err := testserver.NewFork("")
	must(t, err)
	t.Cleanup(func() { must(t, fork.Close()) })
	config, err := fork.Config()
	must(t, err)
	return config
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls the condition until it is true. The test fails if the context ends first.
func eventually(t *testing.T, ctx context.Context, what string, condition func() bool) {
	t.Helper()
	for !condition() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("timeout: not true: %s", what)
		}
	}
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
