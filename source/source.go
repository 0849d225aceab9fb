// Package source tells where objects come from: a Kubernetes cluster, or
// manifest files. Both drive the same client-go reflectors, so that what holds
// for one (a first read is complete before it is shown, a list that failed is
// not an empty list) holds for the other.
package source

import "time"

// Kind is one of the kinds of object that a source delivers.
type Kind uint8

// The kinds, in the order in which they are started.
const (
	Imports    Kind = iota // ServiceImport, always as v1beta1
	Slices                 // imported EndpointSlices
	Namespaces             // Namespaces, for namespace_labels only
)

// String returns the resource name, as RBAC and kubectl spell it.
func (k Kind) String() string {
	return [...]string{"serviceimports", "endpointslices", "namespaces"}[k]
}

// Store takes the objects of one kind. Its first five methods are client-go's
// cache.ReflectorStore and are called from one goroutine at a time; Transform
// may be called from another, before an object is held anywhere, and returns
// the compact form that the other methods then get.
//
// Transform is given *v1beta1.ServiceImport (whatever version the server
// speaks), *discovery/v1.EndpointSlice or *core/v1.Namespace.
// What it returns must satisfy runtime.Object and metav1.Object.
type Store interface {
	Add(obj any) error
	Update(obj any) error
	Delete(obj any) error
	Replace(objs []any, resourceVersion string) error
	Resync() error
	Transform(obj any) (any, error)
}

// Stores are the stores to fill. A nil one means that its kind is not watched.
type Stores struct {
	Imports, Slices, Namespaces Store
}

// Logger is where a source reports what an operator has to know.
// CoreDNS's plugin/pkg/log.P satisfies it.
type Logger interface {
	Infof(format string, v ...any)
	Warningf(format string, v ...any)
	Errorf(format string, v ...any)
}

// Spec names a source. The zero Spec is the cluster that the process runs in.
type Spec struct {
	Kubeconfig string   // path of a kubeconfig, or empty
	Context    string   // context in Kubeconfig, or empty for its current one
	Manifests  []string // files and directories, or nil
}

// Status is what a source knows about the delivery of one kind.
type Status struct {
	Kind     Kind
	Since    time.Time // when the server was last heard about this kind: a list, an event, a bookmark; zero: never
	Watching bool      // a watch is open, or the kind is known not to be served
	Served   bool      // false: a healthy server says that it has no such kind
	Err      error     // why not, as last seen; nil while Watching
}
