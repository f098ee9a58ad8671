package controllerruntime

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// areaMax is the largest area that the validator allows.
const areaMax = 100

// defaulter sets the default colour, grey.
type defaulter struct{}

func (defaulter) Default(_ context.Context, widget *WidgetV2) error {
	if widget.Spec.Colour == "" {
		widget.Spec.Colour = "grey"
	}
	return nil
}

// validator rejects areas above areaMax, smaller widths, and the deletion of widgets with the label keep=true.
type validator struct{}

func (validator) ValidateCreate(_ context.Context, widget *WidgetV2) (admission.Warnings, error) {
	if area := widget.Spec.Width * widget.Spec.Height; area > areaMax {
		return nil, fmt.Errorf("an area of %d is too large", area)
	}
	if widget.Spec.Colour == "loud" {
		return admission.Warnings{"loud colours fade"}, nil
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, old, widget *WidgetV2) (admission.Warnings, error) {
	if widget.Spec.Width < old.Spec.Width {
		return nil, fmt.Errorf("the width may not go from %d to %d", old.Spec.Width, widget.Spec.Width)
	}
	return v.ValidateCreate(ctx, widget)
}

func (validator) ValidateDelete(_ context.Context, widget *WidgetV2) (admission.Warnings, error) {
	if widget.Labels["keep"] == "true" {
		return nil, fmt.Errorf("%s is kept", widget.Name)
	}
	return nil, nil
}

// reconciler writes every widget's area into its status.
type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	widget := &WidgetV2{}
	if err := r.Get(ctx, request.NamespacedName, widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	area := widget.Spec.Width * widget.Spec.Height
	if widget.Status.Area == area {
		return ctrl.Result{}, nil
	}
	widget.Status.Area = area
	return ctrl.Result{}, r.Status().Update(ctx, widget)
}

func knownTypes(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, admissionv1.AddToScheme(scheme))
	must(t, extensionsv1.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(v1.WithKind("Widget"), &WidgetV1{})
	scheme.AddKnownTypeWithName(v1.WithKind("WidgetList"), &WidgetListV1{})
	scheme.AddKnownTypeWithName(v2.WithKind("Widget"), &WidgetV2{})
	scheme.AddKnownTypeWithName(v2.WithKind("WidgetList"), &WidgetListV2{})
	metav1.AddToGroupVersion(scheme, v1)
	metav1.AddToGroupVersion(scheme, v2)
	return scheme
}

// recorder records the warnings of a server.
type recorder struct {
	mutex sync.Mutex
	all   []string
}

func (r *recorder) HandleWarningHeader(_ int, _ string, text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.all = append(r.all, text)
}

func (r *recorder) texts() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.all
}

// identity returns a self-signed certificate for 127.0.0.1, and its PEM.
func identity(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "widgets"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, bundle
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// start creates the CRD of Widgets and the webhook configurations, and starts a manager (webhooks, cache and
// controller) that runs until the test ends.
func start(t *testing.T, ctx context.Context) (ctrl.Manager, client.WithWatch, *recorder) {
	t.Helper()
	config, scheme, port := config(t), knownTypes(t), freePort(t)
	certificate, bundle := identity(t)
	own, warnings := *config, &recorder{}
	own.WarningHandler = warnings
	direct, err := client.NewWithWatch(&own, client.Options{Scheme: scheme})
	must(t, err)
	define(t, ctx, direct, port, bundle)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, TLSOpts: []func(*tls.Config){
			func(config *tls.Config) {
				config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
			},
		}}),
	})
	must(t, err)
	hooks := ctrl.NewWebhookManagedBy(manager, &WidgetV2{}).WithDefaulter(defaulter{}).WithValidator(validator{})
	must(t, hooks.Complete())
	must(t, ctrl.NewControllerManagedBy(manager).For(&WidgetV2{}).Named(t.Name()).Complete(reconciler{manager.GetClient()}))
	ended := make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() { ended <- manager.Start(running) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	hook(t, ctx, direct, port, bundle)
	return manager, direct, warnings
}

// define creates the CRD of Widgets, and waits until they are served.
func define(t *testing.T, ctx context.Context, api client.Client, port int, bundle []byte) {
	t.Helper()
	version := func(name string, stored bool, spec map[string]extensionsv1.JSONSchemaProps) extensionsv1.CustomResourceDefinitionVersion {
		area := map[string]extensionsv1.JSONSchemaProps{"area": {Type: "integer"}}
		return extensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: stored,
			Schema: &extensionsv1.CustomResourceValidation{OpenAPIV3Schema: &extensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]extensionsv1.JSONSchemaProps{
					"spec":   {Type: "object", Properties: spec},
					"status": {Type: "object", Properties: area},
				},
			}},
			Subresources: &extensionsv1.CustomResourceSubresources{Status: &extensionsv1.CustomResourceSubresourceStatus{}},
		}
	}
	text, number := extensionsv1.JSONSchemaProps{Type: "string"}, extensionsv1.JSONSchemaProps{Type: "integer"}
	definition := &extensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + group},
		Spec: extensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: extensionsv1.NamespaceScoped,
			Names: extensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []extensionsv1.CustomResourceDefinitionVersion{
				version("v1", false, map[string]extensionsv1.JSONSchemaProps{"size": text, "colour": text}),
				version("v2", true, map[string]extensionsv1.JSONSchemaProps{"width": number, "height": number, "colour": text}),
			},
			Conversion: &extensionsv1.CustomResourceConversion{
				Strategy: extensionsv1.WebhookConverter,
				Webhook: &extensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig:             &extensionsv1.WebhookClientConfig{URL: ptr.To(url(port, "/convert")), CABundle: bundle},
				},
			},
		},
	}
	must(t, api.Create(ctx, definition))
	eventually(t, ctx, "Widgets are served", func() bool { return api.List(ctx, &WidgetListV2{}) == nil })
}

// hook creates the webhook configurations, and waits until the server calls the webhooks.
func hook(t *testing.T, ctx context.Context, api client.Client, port int, bundle []byte) {
	t.Helper()
	reach := func(path string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{URL: ptr.To(url(port, path)), CABundle: bundle}
	}
	// Requests of v1 match too: the default matchPolicy is Equivalent, so the server converts them.
	rules := func(operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		rule := admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v2"}, Resources: []string{"widgets"}}
		return []admissionv1.RuleWithOperations{{Operations: operations, Rule: rule}}
	}
	none := ptr.To(admissionv1.SideEffectClassNone)
	must(t, api.Create(ctx, &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "default." + group, ClientConfig: reach("/mutate-shop-example-com-v2-widget"), SideEffects: none,
			AdmissionReviewVersions: []string{"v1"}, Rules: rules(admissionv1.Create, admissionv1.Update),
		}},
	}))
	must(t, api.Create(ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "validate." + group, ClientConfig: reach("/validate-shop-example-com-v2-widget"), SideEffects: none,
			AdmissionReviewVersions: []string{"v1"},
			Rules:                   rules(admissionv1.Create, admissionv1.Update, admissionv1.Delete),
		}},
	}))
	eventually(t, ctx, "the server calls the defaulter", func() bool {
		probe := widgetV2("probe", 1, 1)
		return api.Create(ctx, probe, client.DryRunAll) == nil && probe.Spec.Colour == "grey"
	})
	eventually(t, ctx, "the server calls the validator", func() bool {
		return api.Create(ctx, widgetV2("probe", areaMax, areaMax), client.DryRunAll) != nil
	})
}

func url(port int, path string) string {
	return fmt.Sprintf("https://127.0.0.1:%d%s", port, path)
}
