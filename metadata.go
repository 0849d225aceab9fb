package multicluster

import (
	"context"
	"strings"

	"clusterset.local/multicluster/indexer"

	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/request"
)

// Metadata implements metadata.Provider. It publishes what the name of the
// question names, whether or not it exists; a value that it does not name is
// empty.
func (m *Multicluster) Metadata(ctx context.Context, state request.Request) context.Context {
	if len(state.Req.Question) == 0 {
		return ctx
	}
	zone, left := matchZone(m.zones, strings.ToLower(state.Req.Question[0].Name))
	if zone == nil || !strings.HasSuffix(left, ".svc") {
		return ctx
	}
	q := parse(left)
	name, _, _ := strings.Cut(q.service, ".")
	cluster, label := q.cluster, q.label
	if q.kind == endpoint && m.names(&q) {
		cluster, label = q.below, "" // it is a cluster ID, or the end of one
	}
	for key, value := range map[string]string{
		"service": name, "namespace": q.namespace, "cluster": cluster, "endpoint": label,
		"port-name": q.port, "protocol": q.protocol, "kind": "svc",
	} {
		metadata.SetValueFunc(ctx, pluginName+"/"+key, func() string { return value })
	}
	return ctx
}

// names reports whether an endpoint's form of name is in truth a name above
// endpoints: a cluster ID.
func (m *Multicluster) names(q *question) bool {
	if q.cluster == "" {
		return true
	}
	svc := m.index.Snapshot().Service(m.lens, q.service)
	if svc == nil || svc.Kind() != indexer.Headless {
		return false
	}
	r := svc.Roster(m.lens)
	return r.Above(q.below) && !r.HasHost(q.label, q.cluster)
}
