package controllerruntime

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// One manager for all claims, because a CRD has a single conversion webhook.
func TestAManagerWithHooksServesItsKind(t *testing.T) {
	ctx := bounded(t)
	manager, api, warnings := start(t, ctx)
	t.Run("defaults", func(t *testing.T) { bothVersionsGetDefaults(t, ctx, api) })
	t.Run("validation", func(t *testing.T) { validatorRejectsRequests(t, ctx, api) })
	t.Run("warnings", func(t *testing.T) { validatorWarningsReachTheClient(t, ctx, warnings, api) })
	t.Run("conversion", func(t *testing.T) { conversionErrorsRejectRequests(t, ctx, api) })
	t.Run("apply", func(t *testing.T) { appliesInBothVersionsShareOwnership(t, ctx, api) })
	t.Run("watch", func(t *testing.T) { watchesReceiveTheirVersion(t, ctx, api) })
	t.Run("controller", func(t *testing.T) { controllerReceivesWritesInV1(t, ctx, manager.GetClient(), api) })
}

func bothVersionsGetDefaults(t *testing.T, ctx context.Context, api client.WithWatch) {
	first, second := widgetV1("defaults-1", "3x4"), widgetV2("defaults-2", 5, 6)
	must(t, api.Create(ctx, first))
	must(t, api.Create(ctx, second))
	equal(t, "v1", first.Spec, WidgetSpecV1{Size: "3x4", Colour: "grey"})
	equal(t, "v2", second.Spec, WidgetSpecV2{Width: 5, Height: 6, Colour: "grey"})
	stored, shown := &WidgetV2{}, &WidgetV1{}
	must(t, api.Get(ctx, client.ObjectKeyFromObject(first), stored))
	equal(t, "v1 as v2", stored.Spec, WidgetSpecV2{Width: 3, Height: 4, Colour: "grey"})
	must(t, api.Get(ctx, client.ObjectKeyFromObject(second), shown))
	equal(t, "v2 as v1", shown.Spec, WidgetSpecV1{Size: "5x6", Colour: "grey"})
	list := &WidgetListV1{}
	must(t, api.List(ctx, list))
	sizes := []string{}
	for _, widget := range list.Items {
		if widget.Name == first.Name || widget.Name == second.Name {
			sizes = append(sizes, widget.Spec.Size)
		}
	}
	slices.Sort(sizes)
	equal(t, "listed as v1", sizes, "[3x4 5x6]")
}

func validatorRejectsRequests(t *testing.T, ctx context.Context, api client.WithWatch) {
	refused := func(err error, reason string) {
		t.Helper()
		equal(t, "error", err, fmt.Sprintf("admission webhook \"validate.%s\" denied the request: %s", group, reason))
	}
	refused(api.Create(ctx, widgetV1("large", "20x20")), "an area of 400 is too large")
	refused(api.Create(ctx, widgetV2("large", 30, 30)), "an area of 900 is too large")
	kept := widgetV2("kept", 5, 5)
	kept.Labels = map[string]string{"keep": "true"}
	must(t, api.Create(ctx, kept))
	smaller := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":"4x5"}}`))
	refused(api.Patch(ctx, widgetV1("kept", ""), smaller), "the width may not go from 5 to 4")
	refused(api.Delete(ctx, widgetV1("kept", "")), "kept is kept")
	freed := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":null}}`))
	must(t, api.Patch(ctx, kept, freed))
	must(t, api.Delete(ctx, kept))
}

func validatorWarningsReachTheClient(t *testing.T, ctx context.Context, warnings *recorder, api client.WithWatch) {
	loud := widgetV1("loud", "1x1")
	loud.Spec.Colour = "loud"
	must(t, api.Create(ctx, loud, client.DryRunAll))
	equal(t, "warnings", warnings.texts(), "[loud colours fade]")
}

func conversionErrorsRejectRequests(t *testing.T, ctx context.Context, api client.WithWatch) {
	err := api.Create(ctx, widgetV1("shapeless", "large"))
	reason := "conversion webhook for shop.example.com/v1, Kind=Widget failed: spec.size \"large\" is no size"
	equal(t, "error", err, "Internal error occurred: Internal error occurred: "+reason)
}

// A manager owns its fields in both versions, regardless of the version that it applied.
func appliesInBothVersionsShareOwnership(t *testing.T, ctx context.Context, api client.WithWatch) {
	first := widgetV1("applied", "")
	apply := func(version, spec string) client.Patch {
		body := `{"apiVersion":"shop.example.com/` + version + `","kind":"Widget","metadata":{"name":"applied"},"spec":` + spec + `}`
		return client.RawPatch("application/apply-patch+yaml", []byte(body))
	}
	must(t, api.Patch(ctx, first, apply("v1", `{"size":"2x3"}`), client.FieldOwner("one")))
	equal(t, "applied", first.Spec, WidgetSpecV1{Size: "2x3", Colour: "grey"})
	second := widgetV2("applied", 0, 0)
	must(t, api.Patch(ctx, second, apply("v2", `{"colour":"red"}`), client.FieldOwner("two"), client.ForceOwnership))
	equal(t, "applied", second.Spec, WidgetSpecV2{Width: 2, Height: 3, Colour: "red"})
	err := api.Patch(ctx, widgetV1("applied", ""), apply("v1", `{"size":"2x3","colour":"blue"}`), client.FieldOwner("one"))
	equal(t, "error", err, "Apply failed with 1 conflict: conflict with \"two\": .spec.colour")
	managers := []string{}
	for _, entry := range second.ManagedFields {
		// Only Apply entries count: the controller may or may not have updated the status yet.
		if entry.Operation == metav1.ManagedFieldsOperationApply {
			managers = append(managers, entry.Manager+" "+entry.APIVersion)
		}
	}
	slices.Sort(managers)
	equal(t, "managers", managers, "[one shop.example.com/v1 two shop.example.com/v2]")
}

func watchesReceiveTheirVersion(t *testing.T, ctx context.Context, api client.WithWatch) {
	only := client.MatchingLabels{"seen": "true"}
	first, err := api.Watch(ctx, &WidgetListV1{}, only)
	must(t, err)
	defer first.Stop()
	second, err := api.Watch(ctx, &WidgetListV2{}, only)
	must(t, err)
	defer second.Stop()
	next := func(from watch.Interface) watch.Event {
		select {
		case event := <-from.ResultChan():
			return event
		case <-ctx.Done():
			t.Fatal("timeout without an event")
			panic("unreachable")
		}
	}
	watched := widgetV2("watched", 2, 2)
	watched.Labels = only
	must(t, api.Create(ctx, watched))
	event := next(first)
	equal(t, "as v1", event.Type, watch.Added)
	equal(t, "as v1", event.Object.(*WidgetV1).Spec, WidgetSpecV1{Size: "2x2", Colour: "grey"})
	event = next(second)
	equal(t, "as v2", event.Type, watch.Added)
	equal(t, "as v2", event.Object.(*WidgetV2).Spec, WidgetSpecV2{Width: 2, Height: 2, Colour: "grey"})
}

// The controller's cache has v2. It writes the area into the status, which v1 has too.
func controllerReceivesWritesInV1(t *testing.T, ctx context.Context, cached client.Client, api client.WithWatch) {
	widget := widgetV1("reconciled", "7x8")
	must(t, api.Create(ctx, widget))
	eventually(t, ctx, "the cache has the area", func() bool {
		seen := &WidgetV2{ObjectMeta: metav1.ObjectMeta{}}
		return cached.Get(ctx, client.ObjectKeyFromObject(widget), seen) == nil && seen.Status.Area == 56
	})
	must(t, api.Get(ctx, client.ObjectKeyFromObject(widget), widget))
	equal(t, "in v1", widget.Status.Area, 56)
}
