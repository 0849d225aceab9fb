package multicluster

import "strings"

// question is what a name names, by its form alone.
type question struct {
	kind      kind
	service   string // "<service>.<namespace>"
	namespace string
	port      string // without its underscore
	protocol  string // likewise
	label     string // hostname of an endpoint
	cluster   string // cluster ID of one or more labels
	below     string // all that stands left of the service
}

type kind uint8

// Forms of names. Whether such a name exists is for the index to say.
const (
	other     kind = iota // a name that cannot exist
	apex                  // Z
	dnsName               // dns.Z, which lies above ns.dns.Z
	nsName                // ns.dns.Z
	version               // dns-version.Z
	svcName               // svc.Z
	namespace             // <ns>.svc.Z
	service               // <service>.<ns>.svc.Z
	protocol              // _<proto>.<service>.<ns>.svc.Z
	port                  // _<port>._<proto>.<service>.<ns>.svc.Z
	endpoint              // <hostname>.<clusterid>.<service>.<ns>.svc.Z, or <clusterid> alone, or its last labels
)

// parse tells what a name names. It takes the part left of the zone, in lower
// case, "" for the zone itself. All it returns are substrings: it allocates
// nothing.
func parse(name string) question {
	switch name {
	case "":
		return question{kind: apex}
	case "dns":
		return question{kind: dnsName}
	case "ns.dns":
		return question{kind: nsName}
	case "dns-version":
		return question{kind: version}
	case "svc":
		return question{kind: svcName}
	}
	rest, ok := strings.CutSuffix(name, ".svc")
	if !ok || strings.IndexByte(rest, '\\') >= 0 { // no label of ours needs an escape
		return question{}
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return question{kind: namespace, namespace: rest}
	}
	q := question{kind: service, namespace: rest[dot+1:]}
	dot = strings.LastIndexByte(rest[:dot], '.')
	q.service = rest[dot+1:]
	if dot < 0 {
		return q
	}
	q.below = rest[:dot]
	q.parseBelow()
	return q
}

func (q *question) parseBelow() {
	first, rest, more := strings.Cut(q.below, ".")
	switch {
	case first == "":
		q.kind = other
	case first[0] != '_':
		q.kind, q.label, q.cluster = endpoint, first, rest
	case !more && len(first) > 1:
		q.kind, q.protocol = protocol, first[1:]
	case len(first) > 1 && len(rest) > 1 && rest[0] == '_' && strings.IndexByte(rest, '.') < 0:
		q.kind, q.port, q.protocol = port, first[1:], rest[1:]
	default:
		q.kind = other
	}
}
