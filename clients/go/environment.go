// Package testserver creates a separate control plane for each test within milliseconds: a fork of the control
// plane of `kube-apiserver testserver`. The fork ends with its test.
package testserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// AddressVariable is the name of the environment variable with the address of the test server, as
// `kube-apiserver testserver` prints it.
const AddressVariable = "MAINSTAY_TESTSERVER"

// responseTimeout is the timeout of a fork.
const responseTimeout = 30 * time.Second

// Fork is a control plane. It ends when it is closed, or with this process.
type Fork struct {
	// Kubeconfig is an administrator's kubeconfig.
	Kubeconfig []byte
	connection net.Conn
}

// NewFork requests a fork from the test server at address. If address is empty, the environment variable
// AddressVariable contains it. NewFork fails if there is no response within 30 seconds.
func NewFork(address string) (*Fork, error) {
	if address == "" {
		address = os.Getenv(AddressVariable)
	}
	if address == "" {
		return nil, fmt.Errorf("%s is not set: start `kube-apiserver testserver`", AddressVariable)
	}
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	connection, err := net.DialTimeout(network, address, responseTimeout)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := requestFork(connection)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return &Fork{Kubeconfig: kubeconfig, connection: connection}, nil
}

func requestFork(connection net.Conn) ([]byte, error) {
	if err := connection.SetDeadline(time.Now().Add(responseTimeout)); err != nil {
		return nil, err
	}
	if _, err := connection.Write([]byte("fork\n")); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(connection).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("no response from the test server: %w", err)
	}
	var response struct{ Kubeconfig, Error string }
	if err := json.Unmarshal(line, &response); err != nil {
		return nil, err
	}
	if response.Kubeconfig == "" {
		return nil, fmt.Errorf("the test server rejected the fork: %s", response.Error)
	}
	return []byte(response.Kubeconfig), connection.SetDeadline(time.Time{})
}

// Config returns an administrator's client configuration without client-side rate limits.
func (f *Fork) Config() (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(f.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// Close ends the control plane.
func (f *Fork) Close() error {
	return f.connection.Close()
}

// Environment is an envtest.Environment. Its Start forks a control plane instead of starting two processes. All other
// functions of envtest (CRDs, webhooks) work unchanged. Fields about processes (ControlPlane, BinaryAssetsDirectory, …)
// have no effect. AddUser does not work; use impersonation instead.
type Environment struct {
	envtest.Environment
	// Address is the address of the test server. If it is empty, the environment variable AddressVariable contains it.
	Address string
	fork    *Fork
}

// Start forks a control plane and installs the environment's CRDs and webhooks. It returns an error if the environment
// is already started.
func (e *Environment) Start() (*rest.Config, error) {
	if e.fork != nil {
		return nil, errors.New("this environment is already started")
	}
	fork, err := NewFork(e.Address)
	if err != nil {
		return nil, err
	}
	config, err := fork.Config()
	if err != nil {
		return nil, errors.Join(err, fork.Close())
	}
	existing := true
	e.fork, e.UseExistingCluster, e.Config, e.KubeConfig = fork, &existing, config, fork.Kubeconfig
	if _, err := e.Environment.Start(); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return config, nil
}

// Stop ends the control plane.
func (e *Environment) Stop() error {
	if e.fork == nil {
		return nil
	}
	fork := e.fork
	// CRDs need no cleanup, because they end with the control plane.
	e.fork, e.CRDInstallOptions.CleanUpAfterUse = nil, false
	return errors.Join(e.Environment.Stop(), fork.Close())
}
