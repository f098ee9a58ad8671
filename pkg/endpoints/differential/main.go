// Prints upstream's answers to spellings of paths: the class of the response to a GET and the
// attributes that authorization gets. It runs upstream's own router, mux and RequestInfoFactory over the web
// services and paths that kube-aggregator, kube-apiserver and apiextensions-apiserver register.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/mux"
)

const (
	served     = "served"
	invalid    = "400"   // an unusable name
	statusPage = "404"   // the router's Status
	plain      = "text"  // 404 in plain text
	empty      = "empty" // 404 without a body
	invalidKey = "500"   // the store's "invalid key", for a namespace that is a dot segment
)

var factory = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func info(r *http.Request) *request.RequestInfo {
	i, err := factory.NewRequestInfo(r)
	if err != nil {
		panic(err)
	}
	return i
}

// server is one API server of the chain: the director of apiserver/pkg/server/handler.go, which is private.
type server struct {
	container *restful.Container
	mux       *mux.PathRecorderMux
}

func newServer(next http.Handler) *server {
	s := &server{restful.NewContainer(), mux.NewPathRecorderMux("")}
	s.container.Router(restful.CurlyRouter{})
	s.container.ServiceErrorHandler(func(e restful.ServiceError, _ *restful.Request, w *restful.Response) {
		class := fmt.Sprint(e.Code)
		if e.Code == 404 {
			class = statusPage
		}
		fmt.Fprint(w, class)
	})
	s.mux.NotFoundHandler(next)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	for _, ws := range s.container.RegisteredWebServices() {
		switch {
		case ws.RootPath() == "/apis":
			if path == "/apis" || path == "/apis/" {
				s.container.Dispatch(w, r)
				return
			}
		case strings.HasPrefix(path, ws.RootPath()):
			if len(path) == len(ws.RootPath()) || path[len(ws.RootPath())] == '/' {
				s.container.Dispatch(w, r)
				return
			}
		}
	}
	s.mux.ServeHTTP(w, r)
}

// service adds a web service with GET routes.
func (s *server) service(root string, routes ...string) {
	ws := new(restful.WebService)
	ws.Path(root)
	for _, route := range routes {
		ws.Route(ws.GET(route).To(func(r *restful.Request, w *restful.Response) {
			i := info(r.Request)
			switch {
			// ContextBasedNaming.Name and genericregistry.NamespaceKeyFunc.
			case strings.Contains(route, "{name}") && i.Name == "":
				fmt.Fprint(w, invalid)
			case strings.Contains(route, "{name}") && strings.Contains(route, "{namespace}") && i.Namespace == "":
				fmt.Fprint(w, invalid)
			// rest/path.IsValidPathSegmentName.
			case strings.Contains(route, "{name}") && dots(i.Name):
				fmt.Fprint(w, invalid)
			case strings.Contains(route, "{namespace}") && dots(i.Namespace):
				fmt.Fprint(w, invalidKey)
			default:
				fmt.Fprint(w, served)
			}
		}))
	}
	s.container.Add(ws)
}

func answer(class string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, class) })
}

// customResources is crdHandler.ServeHTTP and the discovery handlers next to it, for the CRDs
// widgets.example.com (namespaced) and things.example.com.
func customResources(w http.ResponseWriter, r *http.Request) {
	i := info(r)
	if !i.IsResourceRequest {
		parts := strings.Split(strings.Trim(i.Path, "/"), "/")
		known := len(parts) >= 2 && parts[1] == "example.com" && (len(parts) == 2 || len(parts) == 3 && parts[2] == "v1")
		if known {
			fmt.Fprint(w, served)
		} else {
			fmt.Fprint(w, plain)
		}
		return
	}
	namespacedCRD := i.Resource == "widgets"
	known := i.APIGroup == "example.com" && i.APIVersion == "v1" && (namespacedCRD || i.Resource == "things")
	namespaced := i.Namespace != ""
	across := i.Verb == "list" || i.Verb == "watch"
	switch {
	case !known || namespacedCRD != namespaced && !(namespacedCRD && across):
		fmt.Fprint(w, plain)
	case i.Subresource != "":
		fmt.Fprint(w, served)
	case i.Verb == "get" && dots(i.Name):
		fmt.Fprint(w, invalid)
	case dots(i.Namespace):
		fmt.Fprint(w, invalidKey)
	default:
		fmt.Fprint(w, served)
	}
}

// dots is true for the segments that rest/path.IsValidPathSegmentName and the store's prepareKey reject.
func dots(segment string) bool { return segment == "." || segment == ".." }

func chain() http.Handler {
	apiextensions := newServer(answer(plain))
	apiextensions.service("/apis/apiextensions.k8s.io", "/")
	apiextensions.service("/apis/apiextensions.k8s.io/v1", "/")
	apiextensions.mux.Handle("/apis", http.HandlerFunc(customResources))
	apiextensions.mux.HandlePrefix("/apis/", http.HandlerFunc(customResources))

	kube := newServer(apiextensions)
	kube.service("/version", "/")
	kube.service("/apis", "/")
	kube.service("/api", "/")
	kube.service("/openid/v1/jwks", "/")
	kube.service("/.well-known/openid-configuration", "/")
	namespaced := func(plural string) []string {
		return []string{"/" + plural, "/namespaces/{namespace}/" + plural, "/namespaces/{namespace}/" + plural + "/{name}"}
	}
	core := append([]string{"/", "/namespaces", "/namespaces/{name}", "/namespaces/{name}/status", "/nodes",
		"/nodes/{name}", "/nodes/{name}/status"}, namespaced("configmaps")...)
	kube.service("/api/v1", core...)
	apps := append([]string{"/", "/namespaces/{namespace}/deployments/{name}/scale"}, namespaced("deployments")...)
	kube.service("/apis/apps", "/")
	kube.service("/apis/apps/v1", apps...)

	aggregator := newServer(kube)
	aggregator.service("/version", "/")
	for _, path := range []string{"/", "/index.html", "/healthz", "/healthz/ping", "/readyz", "/metrics",
		"/openapi/v2", "/openapi/v3", "/apis", "/apis/"} {
		aggregator.mux.Handle(path, answer(served))
	}
	aggregator.mux.HandlePrefix("/openapi/v3/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		documents := sets.NewString("/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1")
		if documents.Has(r.URL.Path) {
			fmt.Fprint(w, served)
		} else {
			fmt.Fprint(w, empty)
		}
	}))
	// Local APIServices: the proxy handler delegates, the group handler answers.
	for _, group := range []string{"apps", "example.com"} {
		aggregator.mux.Handle("/apis/"+group, answer(served))
		aggregator.mux.Handle("/apis/"+group+"/", answer(served))
		aggregator.mux.Handle("/apis/"+group+"/v1", kube)
		aggregator.mux.HandlePrefix("/apis/"+group+"/v1/", kube)
	}
	aggregator.mux.Handle("/api", kube)
	aggregator.mux.HandlePrefix("/api/", kube)
	return aggregator
}

var bases = []string{
	"/", "/index.html", "/healthz", "/healthz/ping", "/readyz", "/metrics", "/version", "/openapi/v2",
	"/openapi/v3", "/openapi/v3/api/v1", "/openid/v1/jwks", "/.well-known/openid-configuration", "/api",
	"/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/apis/example.com", "/apis/example.com/v1",
	"/api/v1/nodes", "/api/v1/nodes/n", "/api/v1/nodes/n/status", "/api/v1/namespaces",
	"/api/v1/namespaces/default", "/api/v1/namespaces/default/status", "/api/v1/configmaps",
	"/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps/c",
	"/apis/apps/v1/namespaces/default/deployments/d/scale", "/apis/example.com/v1/things",
	"/apis/example.com/v1/things/t", "/apis/example.com/v1/widgets",
	"/apis/example.com/v1/namespaces/default/widgets", "/apis/example.com/v1/namespaces/default/widgets/w",
}

// spellings returns the decoded spellings of a path: other separators in each place, each segment empty, and
// other ends.
func spellings(base string) sets.String {
	all := sets.NewString(base)
	for at, c := range base {
		if c != '/' {
			continue
		}
		for _, separator := range []string{"//", "/./", "/../"} {
			all.Insert(base[:at] + separator + base[at+1:])
		}
		rest := base[at+1:]
		if end := strings.Index(rest, "/"); end >= 0 {
			all.Insert(base[:at+1] + rest[end:])
		}
	}
	for _, end := range []string{"/", "//", "/.", "/..", "/./", "."} {
		all.Insert(base + end)
	}
	return all
}

func main() {
	handler := chain()
	all := sets.NewString()
	for _, base := range bases {
		all = all.Union(spellings(base))
	}
	for _, path := range all.List() {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = &url.URL{Path: path}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		i := info(r)
		attributes := "-"
		if i.IsResourceRequest {
			attributes = strings.Join([]string{i.Verb, i.APIGroup, i.APIVersion, i.Namespace, i.Resource, i.Subresource, i.Name}, ",")
		}
		fmt.Printf("%s %s %s\n", path, w.Body.String(), attributes)
	}
}
