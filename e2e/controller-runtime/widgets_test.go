package controllerruntime

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const group = "shop.example.com"

var (
	v1 = schema.GroupVersion{Group: group, Version: "v1"}
	v2 = schema.GroupVersion{Group: group, Version: "v2"}
)

// WidgetV1 is version v1 of a Widget: its size is one string, for example "3x4".
type WidgetV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpecV1   `json:"spec"`
	Status            WidgetStatusV2 `json:"status,omitempty"`
}

type WidgetSpecV1 struct {
	Size   string `json:"size,omitempty"`
	Colour string `json:"colour,omitempty"`
}

// WidgetV2 is version v2 of a Widget, the storage version.
type WidgetV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpecV2   `json:"spec"`
	Status            WidgetStatusV2 `json:"status,omitempty"`
}

type WidgetSpecV2 struct {
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Colour string `json:"colour,omitempty"`
}

type WidgetStatusV2 struct {
	Area int `json:"area,omitempty"`
}

type WidgetListV1 struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WidgetV1 `json:"items"`
}

type WidgetListV2 struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WidgetV2 `json:"items"`
}

func (w *WidgetV1) DeepCopyObject() runtime.Object {
	copied := *w
	w.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func (w *WidgetV2) DeepCopyObject() runtime.Object {
	copied := *w
	w.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

func (l *WidgetListV1) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = nil
	for at := range l.Items {
		copied.Items = append(copied.Items, *l.Items[at].DeepCopyObject().(*WidgetV1))
	}
	return &copied
}

func (l *WidgetListV2) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = nil
	for at := range l.Items {
		copied.Items = append(copied.Items, *l.Items[at].DeepCopyObject().(*WidgetV2))
	}
	return &copied
}

// Hub marks the version that all other versions are converted to and from (conversion.Hub).
func (*WidgetV2) Hub() {}

// ConvertTo fails for an invalid size, so that a test can check the error of a conversion.
func (w *WidgetV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*WidgetV2)
	w.ObjectMeta.DeepCopyInto(&to.ObjectMeta)
	to.Spec, to.Status = WidgetSpecV2{Colour: w.Spec.Colour}, w.Status
	if w.Spec.Size == "" {
		return nil
	}
	width, height, _ := strings.Cut(w.Spec.Size, "x")
	var err error
	if to.Spec.Width, err = strconv.Atoi(width); err != nil {
		return fmt.Errorf("spec.size %q is no size", w.Spec.Size)
	}
	if to.Spec.Height, err = strconv.Atoi(height); err != nil {
		return fmt.Errorf("spec.size %q is no size", w.Spec.Size)
	}
	return nil
}

func (w *WidgetV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*WidgetV2)
	from.ObjectMeta.DeepCopyInto(&w.ObjectMeta)
	size := fmt.Sprintf("%dx%d", from.Spec.Width, from.Spec.Height)
	w.Spec, w.Status = WidgetSpecV1{Size: size, Colour: from.Spec.Colour}, from.Status
	return nil
}

func widgetV1(name, size string) *WidgetV1 {
	return &WidgetV1{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: WidgetSpecV1{Size: size}}
}

func widgetV2(name string, width, height int) *WidgetV2 {
	meta := metav1.ObjectMeta{Name: name, Namespace: "default"}
	return &WidgetV2{ObjectMeta: meta, Spec: WidgetSpecV2{Width: width, Height: height}}
}
