package indexer

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// object is what every compact object has: its name, and what was left out.
type object struct {
	id         string // namespace/name
	generation int64
	problems   []Problem
}

func (o *object) namespace() string { return o.id[:strings.IndexByte(o.id, '/')] }
func (o *object) name() string      { return o.id[strings.IndexByte(o.id, '/')+1:] }

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (o *object) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.namespace(), Name: o.name(), Generation: o.generation}
}

// GetObjectKind implements runtime.Object.
func (o *object) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// Kind is the type of a service.
type Kind uint8

// The types of KEP-1645.
const (
	ClusterSetIP Kind = iota
	Headless
)

// String returns the name as in spec.type.
func (k Kind) String() string { return [...]string{"ClusterSetIP", "Headless"}[k] }

// Import is a ServiceImport, stripped to what names are made of.
type Import struct {
	object
	kind   Kind
	served bool // false: nothing of it can be served
	absent bool // status.endpointSliceObjects: its endpoints are nowhere to be read
	ips    []netip.Addr
	ports  *Origin
	labels map[string]string // only where a filter asks for them
}

// key is the name of the service below "svc": what a look-up has at hand.
func (i *Import) key() string { return lower(i.name() + "." + i.namespace()) }

// DeepCopyObject implements runtime.Object.
func (i *Import) DeepCopyObject() runtime.Object { c := *i; return &c }

// Slice is an EndpointSlice, stripped to what names are made of.
type Slice struct {
	object
	service string // key of the service it belongs to
	origin  *Origin
	packed  string // its endpoints; see pack.go
	ready   int    // endpoints that count
	unready int    // and those that do not
	v6      bool
	changed int64 // endpoints.kubernetes.io/last-change-trigger-time in ns, 0 if none
}

// DeepCopyObject implements runtime.Object.
func (s *Slice) DeepCopyObject() runtime.Object { c := *s; return &c }

// Namespace is a Namespace with its labels.
type Namespace struct {
	object
	labels map[string]string
}

// DeepCopyObject implements runtime.Object.
func (n *Namespace) DeepCopyObject() runtime.Object { c := *n; return &c }

// Origin is what all endpoints of a slice have in common. Origins of equal
// content are one, as a rule: compare key, not the pointer.
type Origin struct {
	Cluster string // cluster ID in lower case, "" where there is none or it is no name
	Ports   []Port // in order of name, protocol, number
	key     string
}

// Port is a port of a slice or an import.
type Port struct {
	Name     string // in lower case; "" if it has none, or one that cannot be a label
	Protocol string // in lower case
	Number   uint16
}

// origins makes equal origins one. Their number is that of the clusters times
// the port lists in use; a table that has outgrown that is begun anew.
type origins struct {
	mu sync.Mutex
	m  map[string]*Origin
}

const maxOrigins = 16384

func (t *origins) of(cluster string, ports []Port) *Origin {
	slices.SortFunc(ports, func(a, b Port) int {
		return cmpOr(strings.Compare(a.Name, b.Name), strings.Compare(a.Protocol, b.Protocol), int(a.Number)-int(b.Number))
	})
	ports = slices.Compact(ports)
	var key strings.Builder
	key.WriteString(cluster)
	for _, p := range ports {
		fmt.Fprintf(&key, "/%s/%s/%d", p.Name, p.Protocol, p.Number)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.m[key.String()]; o != nil {
		return o
	}
	if t.m == nil || len(t.m) >= maxOrigins {
		t.m = make(map[string]*Origin)
	}
	o := &Origin{Cluster: strings.Clone(cluster), Ports: slices.Clone(ports), key: key.String()}
	t.m[o.key] = o
	return o
}

func cmpOr(cs ...int) int {
	for _, c := range cs {
		if c != 0 {
			return c
		}
	}
	return 0
}

// Transform returns the compact form of a ServiceImport, EndpointSlice or
// Namespace. It keeps nothing of obj, and may be called from any goroutine.
func (x *Index) Transform(obj any) (any, error) {
	switch o := obj.(type) {
	case *mcsv1beta1.ServiceImport:
		return x.compactImport(o), nil
	case *discoveryv1.EndpointSlice:
		return x.compactSlice(o), nil
	case *corev1.Namespace:
		n := &Namespace{object: metadata(o), labels: o.Labels}
		return n, nil
	case *Import, *Slice, *Namespace:
		return obj, nil
	}
	return nil, fmt.Errorf("want a ServiceImport, an EndpointSlice or a Namespace, got %T", obj)
}

func metadata(o metav1.Object) object {
	return object{id: o.GetNamespace() + "/" + o.GetName(), generation: o.GetGeneration()}
}

func (x *Index) compactImport(o *mcsv1beta1.ServiceImport) *Import {
	i := &Import{object: metadata(o), absent: o.Status.EndpointSliceObjects == mcsv1beta1.EndpointSliceObjectsAbsent}
	switch o.Spec.Type {
	case mcsv1beta1.ClusterSetIP:
	case mcsv1beta1.Headless:
		i.kind = Headless
	default:
		i.leaveOut(ReasonType, "type %q is neither ClusterSetIP nor Headless", o.Spec.Type)
		return i
	}
	if i.served = i.named(x.options.NameLength); !i.served {
		return i
	}
	if x.options.Labels && len(o.Labels) > 0 {
		i.labels = o.Labels
	}
	if i.kind == Headless {
		i.ports = x.origins.of("", nil)
		return i
	}
	for _, s := range o.Spec.IPs {
		switch ip, err := netip.ParseAddr(s); {
		case err != nil || ip.Zone() != "" || ip.Is4In6():
			i.leaveOut(ReasonAddress, "%q is not an IP address", s)
		case !slices.Contains(i.ips, ip):
			i.ips = append(i.ips, ip)
		}
	}
	i.ips = slices.Clip(i.ips)
	ports := make([]Port, 0, len(o.Spec.Ports))
	for _, p := range o.Spec.Ports {
		ports = i.appendPort(ports, p.Name, string(p.Protocol), p.Port, x.options.room(i.key()))
	}
	i.ports = x.origins.of("", ports)
	return i
}

// named reports whether a service of that name can be in a zone that leaves
// nameLength octets, and notes why not.
func (o *object) named(nameLength int) bool {
	switch {
	case !isLabel(lower(o.name())):
		o.leaveOut(ReasonName, "name %q is not one DNS label", o.name())
	case !isLabel(lower(o.namespace())):
		o.leaveOut(ReasonName, "namespace %q is not one DNS label", o.namespace())
	case len(o.id) > nameLength: // as long as the service's key
		o.leaveOut(ReasonLength, "the name would exceed 253 octets")
	default:
		return true
	}
	return false
}

// appendPort appends a port that can have an SRV record; room is what is left
// of a name for _port._proto and a dot.
func (o *object) appendPort(ports []Port, name, protocol string, number int32, room int) []Port {
	p := Port{Name: lower(name), Protocol: lower(protocol), Number: uint16(number)}
	if p.Protocol == "" {
		p.Protocol = "tcp"
	}
	switch {
	case number == 0:
		return ports // says "all ports"; there is no number to answer with
	case number < 0 || number > 65535:
		o.leaveOut(ReasonPort, "port %d is not a port number", number)
		return ports
	case p.Name == "":
	case len(p.Name) > 62 || !isLabel(p.Name) || len(p.Protocol) > 62 || !isLabel(p.Protocol):
		o.leaveOut(ReasonPort, "port %q, protocol %q make no _port._proto name", name, protocol)
		p.Name = ""
	case len(p.Name)+len(p.Protocol)+4 > room:
		o.leaveOut(ReasonLength, "the name of port %q would exceed 253 octets", name)
		p.Name = ""
	}
	p.Name, p.Protocol = strings.Clone(p.Name), strings.Clone(p.Protocol)
	return append(ports, p)
}

func (x *Index) compactSlice(o *discoveryv1.EndpointSlice) *Slice {
	s := &Slice{object: metadata(o), v6: o.AddressType == discoveryv1.AddressTypeIPv6}
	service := o.Labels[mcsv1beta1.LabelServiceName]
	s.service = lower(service + "." + o.Namespace)
	if t, err := time.Parse(time.RFC3339Nano, o.Annotations[corev1.EndpointsLastChangeTriggerTime]); err == nil {
		s.changed = t.UnixNano()
	}
	cluster := lower(o.Labels[mcsv1beta1.LabelSourceCluster])
	if !isLabels(cluster) {
		s.leaveOut(ReasonCluster, "source cluster %q is not made of DNS labels", cluster)
		cluster = ""
	}
	room := x.options.room(s.service)
	var ports []Port
	for _, p := range o.Ports {
		if p.Port == nil {
			continue
		}
		ports = s.appendPort(ports, deref(p.Name), string(deref(p.Protocol)), *p.Port, room)
	}
	s.origin = x.origins.of(cluster, ports)
	switch o.AddressType {
	case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
		s.pack(o.Endpoints, room, x.options.PodNames)
	case discoveryv1.AddressTypeFQDN: // names nobody here can answer with
	default:
		s.leaveOut(ReasonAddress, "addressType %q is not known", o.AddressType)
	}
	return s
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
