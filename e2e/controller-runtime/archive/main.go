// Program archive runs envtest with the programs in KUBEBUILDER_ASSETS: it writes an object, reads it and stops the servers.
package main

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func run(ctx context.Context) (err error) {
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		return err
	}
	defer func() {
		if stopped := environment.Stop(); err == nil {
			err = stopped
		}
	}()
	kube, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"a": "b"}}
	if err := kube.Create(ctx, written); err != nil {
		return err
	}
	read := &corev1.ConfigMap{}
	if err := kube.Get(ctx, client.ObjectKeyFromObject(written), read); err != nil {
		return err
	}
	if read.Data["a"] != "b" {
		return fmt.Errorf("read %v", read.Data)
	}
	return nil
}
