// Package testserver gives each test a control plane of its own: a fork of the one that
// `kube-apiserver testserver` keeps, had within milliseconds and gone with its test.
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

// AddressVariable names the environment variable that says where forks are to be had: what
// `kube-apiserver testserver` prints.
const AddressVariable = "MAINSTAY_TESTSERVER"

// answerMax is how long a fork may take.
const answerMax = 30 * time.Second

// Fork is a control plane. It ends when it is closed, or with this process.
type Fork struct {
	// Kubeconfig is that of an administrator.
	Kubeconfig []byte
	connection net.Conn
}

// NewFork asks the test server at address for a fork; an empty address stands for AddressVariable.
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
	connection, err := net.DialTimeout(network, address, answerMax)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := ask(connection)
	if err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return &Fork{Kubeconfig: kubeconfig, connection: connection}, nil
}

func ask(connection net.Conn) ([]byte, error) {
	if err := connection.SetDeadline(time.Now().Add(answerMax)); err != nil {
		return nil, err
	}
	if _, err := connection.Write([]byte("fork\n")); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(connection).ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("the test server did not answer: %w", err)
	}
	var answer struct{ Kubeconfig, Error string }
	if err := json.Unmarshal(line, &answer); err != nil {
		return nil, err
	}
	if answer.Kubeconfig == "" {
		return nil, fmt.Errorf("the test server gives no fork: %s", answer.Error)
	}
	return []byte(answer.Kubeconfig), connection.SetDeadline(time.Time{})
}

// Config is a client's configuration, as an administrator, without a limit on requests.
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

// Environment is envtest's, whose Start forks a control plane where envtest starts two processes. All that envtest
// does beyond that (definitions, webhooks) it does here, too. What is said of processes (ControlPlane,
// BinaryAssetsDirectory, …) has no effect, and there is no AddUser: users are impersonated.
type Environment struct {
	envtest.Environment
	// Address is where the test server is; empty stands for AddressVariable.
	Address string
	fork    *Fork
}

// Start forks a control plane and installs what the environment says.
func (e *Environment) Start() (*rest.Config, error) {
	if e.fork != nil {
		return nil, errors.New("this environment is started already")
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
	// A control plane that goes needs no cleaning up.
	e.fork, e.CRDInstallOptions.CleanUpAfterUse = nil, false
	return errors.Join(e.Environment.Stop(), fork.Close())
}
