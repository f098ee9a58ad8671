package testserver

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
)

func definition() *apiextensionsv1.CustomResourceDefinition {
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"}
	open := apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}
	version := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true, Storage: true, Schema: &open}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: names,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
		},
	}
}

func TestEnvironmentsAreSeparateControlPlanes(t *testing.T) {
	if os.Getenv(AddressVariable) == "" {
		t.Skip(AddressVariable + " is not set")
	}
	ctx := context.Background()
	for range 2 {
		environment := &Environment{}
		environment.CRDs = []*apiextensionsv1.CustomResourceDefinition{definition()}
		config, err := environment.Start()
		if err != nil {
			t.Fatal(err)
		}
		maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		// Fails in the second environment if it shares a control plane with the first.
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		version := schema.GroupVersion{Group: "example.com", Version: "v1"}
		resources := discovery.NewDiscoveryClientForConfigOrDie(config)
		if _, err := resources.ServerResourcesForGroupVersion(version.String()); err != nil {
			t.Error(err)
		}
		defer func() {
			if err := environment.Stop(); err != nil {
				t.Error(err)
			}
		}()
	}
}
