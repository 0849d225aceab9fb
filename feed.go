package multicluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"clusterset.local/multicluster/indexer"
	"clusterset.local/multicluster/source"

	"github.com/coredns/caddy"
)

// A feed is one set of watches and the index that it fills. Stanzas of the
// same source share one, also those of an instance that a reload is about to
// replace, so that a reload neither reads everything again nor shows less than
// before for a moment.
type feed struct {
	source *source.Source
	spec   source.Spec
	needs  needs
	index  *indexer.Index
	stop   context.CancelFunc
	done   chan struct{} // closed when all that ran for the feed has ended
	users  map[*Multicluster]*plan
}

// needs is what an index has to keep for the stanzas that use it.
type needs struct {
	hostnames, podNames, labels, slices, namespaces bool
	nameLength                                      int
}

func (n needs) with(m *Multicluster) needs {
	f := &m.filter
	n.hostnames = n.hostnames || !f.PodNames
	n.podNames = n.podNames || f.PodNames
	n.labels = n.labels || f.Labels != nil
	n.slices = n.slices || !f.NoEndpoints
	n.namespaces = n.namespaces || f.NamespaceLabels != nil
	for i := range m.zones {
		if l := m.zones[i].nameLength(); n.nameLength == 0 || l < n.nameLength {
			n.nameLength = l
		}
	}
	return n
}

// cover reports whether what is kept for n is enough for o.
func (n needs) cover(o needs) bool {
	within := func(a, b bool) bool { return a || !b }
	return within(n.hostnames, o.hostnames) && within(n.podNames, o.podNames) && within(n.labels, o.labels) &&
		within(n.slices, o.slices) && within(n.namespaces, o.namespaces) && n.nameLength == o.nameLength
}

// plan is what the stanzas of one Corefile need together, by source. It is
// complete before the first of them starts.
type plan struct {
	mu     sync.Mutex
	needs  map[string]needs
	opened time.Time // when the first stanza started, zero before
}

type planKey struct{}

// planOf returns the plan of the instance that c sets up.
func planOf(c *caddy.Controller) *plan {
	if p, ok := c.Get(planKey{}).(*plan); ok {
		return p
	}
	p := &plan{needs: make(map[string]needs)}
	c.Set(planKey{}, p)
	return p
}

func (p *plan) add(m *Multicluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := m.source.Key()
	p.needs[key] = p.needs[key].with(m)
}

// feeds are all that run in this process.
var feeds struct {
	sync.Mutex
	running []*feed
}

// start joins m to a feed, started if need be, and waits until its first read
// is complete, or for the time that the stanza allows since the first stanza
// of the instance started.
func (m *Multicluster) start(p *plan, src *source.Source, addrs []netip.Addr) error {
	p.mu.Lock()
	if p.opened.IsZero() {
		p.opened = time.Now()
	}
	deadline := p.opened.Add(m.startup)
	p.mu.Unlock()

	m.addrs = addrs
	if err := m.join(p, src); err != nil {
		return err
	}
	for !m.Ready() {
		if !time.Now().Before(deadline) {
			log.Warningf("%s was not read within startup_timeout (%s): names in its zones answer SERVFAIL until it is", m.source, m.startup)
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

func (m *Multicluster) join(p *plan, src *source.Source) error {
	feeds.Lock()
	defer feeds.Unlock()
	want := p.needs[m.source.Key()]
	for _, f := range feeds.running {
		if f.spec.Key() == m.source.Key() && f.needs.cover(want) {
			return m.use(f, p)
		}
	}
	f := newFeed(src, m.source, want)
	feeds.running = append(feeds.running, f)
	return m.use(f, p)
}

func (m *Multicluster) use(f *feed, p *plan) (err error) {
	if m.lens, err = f.index.Lens(m.filter); err != nil {
		return fmt.Errorf("%s: %w", m.source, err)
	}
	m.index = f.index
	f.users[m] = p
	return nil
}

func newFeed(src *source.Source, spec source.Spec, n needs) *feed {
	ctx, stop := context.WithCancel(context.Background())
	f := &feed{source: src, spec: spec, needs: n, stop: stop, done: make(chan struct{}), users: make(map[*Multicluster]*plan)}
	f.index = indexer.New(indexer.Options{
		NameLength: n.nameLength, Hostnames: n.hostnames, PodNames: n.podNames, Labels: n.labels,
		Slices: n.slices, Namespaces: n.namespaces,
		Report: func(kind, name string, p indexer.Problem) {
			log.Warningf("%s %s: left out (%s, %d times): %s", kind, name, p.Reason, p.Count, p.Detail)
		},
		Latency: func(k indexer.Kind, cluster string, d time.Duration) {
			programming.WithLabelValues(k.String(), cluster).Observe(d.Seconds())
		},
	})
	stores := source.Stores{Imports: f.index.Imports()}
	if n.slices {
		stores.Slices = f.index.Slices()
	}
	if n.namespaces {
		stores.Namespaces = f.index.Namespaces()
	}
	go func() {
		defer close(f.done)
		src.Run(ctx, stores)
	}()
	return f
}

// release gives up m's share of its feed, and ends the feed with the last one.
// A second call does nothing.
func release(m *Multicluster) {
	feeds.Lock()
	defer feeds.Unlock()
	for i, f := range feeds.running {
		if _, ok := f.users[m]; !ok {
			continue
		}
		delete(f.users, m)
		f.index.Close(m.lens)
		if len(f.users) == 0 {
			feeds.running = append(feeds.running[:i:i], feeds.running[i+1:]...)
			f.stop()
			<-f.done
		}
		return
	}
}

// releaseDropped gives up the shares of instances that did not get as far as
// serving: Caddy drops those without their OnShutdown.
func releaseDropped() {
	live := make(map[*plan]bool)
	for _, inst := range caddy.Instances() {
		inst.StorageMu.RLock()
		if p, ok := inst.Storage[planKey{}].(*plan); ok {
			live[p] = true
		}
		inst.StorageMu.RUnlock()
	}
	var dropped []*Multicluster
	feeds.Lock()
	for _, f := range feeds.running {
		for m, p := range f.users {
			if !live[p] {
				dropped = append(dropped, m)
			}
		}
	}
	feeds.Unlock()
	for _, m := range dropped {
		release(m)
	}
}

// boundAddrs returns the addresses that the server listens on or, where that
// is every address, those of the host, loopback apart.
func boundAddrs(hosts []string) (addrs []netip.Addr) {
	for _, h := range hosts {
		if a, err := netip.ParseAddr(strings.Trim(h, "[]")); err == nil && !a.IsUnspecified() {
			addrs = append(addrs, a.Unmap().WithZone(""))
		}
	}
	if len(addrs) > 0 {
		return addrs
	}
	local, err := net.InterfaceAddrs()
	if err != nil {
		log.Warningf("The addresses of ns.dns are not known: %s", err)
	}
	for _, l := range local {
		p, err := netip.ParsePrefix(l.String())
		if a := p.Addr().Unmap(); err == nil && !a.IsLoopback() && !a.IsLinkLocalUnicast() {
			addrs = append(addrs, a)
		}
	}
	return addrs
}
