package multicluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"clusterset.local/multicluster/indexer"
	"clusterset.local/multicluster/source"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/dnsutil"
	"github.com/coredns/coredns/plugin/pkg/fall"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func init() { plugin.Register(pluginName, setup) }

func setup(c *caddy.Controller) error {
	m, err := parseStanza(c)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	src, err := source.Open(m.source, log)
	if err != nil {
		return plugin.Error(pluginName, err)
	}
	p := planOf(c)
	p.add(m)

	c.OnStartup(func() error { return m.start(p, src, boundAddrs(dnsserver.GetConfig(c).ListenHosts)) })
	c.OnShutdown(func() error { release(m); return nil })
	c.OnRestartFailed(func() error { releaseDropped(); return nil })

	dnsserver.GetConfig(c).AddPlugin(func(next plugin.Handler) plugin.Handler {
		m.Next = next
		return m
	})
	return nil
}

// stanza is what a Corefile says.
type stanza struct {
	source  source.Spec
	filter  indexer.Filter
	ttl     uint32 // seconds
	startup time.Duration
}

const (
	defaultZone = "clusterset.local."
	defaultTTL  = 5
	maxTTL      = 3600
)

// parser reads one stanza. lines tells where each word was first given.
type parser struct {
	*caddy.Controller
	lines map[string]int
	args  []string
}

func parseStanza(c *caddy.Controller) (*Multicluster, error) {
	var m *Multicluster
	for c.Next() {
		if m != nil {
			return nil, c.Err(plugin.ErrOnce.Error())
		}
		p := &parser{c, make(map[string]int), nil}
		m = &Multicluster{stanza: stanza{ttl: defaultTTL, startup: 5 * time.Second}}
		origins, err := p.origins(c.RemainingArgs())
		if err != nil {
			return nil, err
		}
		for _, o := range origins {
			m.zones = append(m.zones, newZone(o))
		}
		for c.NextBlock() {
			if err := p.property(m, c.Val()); err != nil {
				return nil, err
			}
		}
		if err := p.conflicts(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// origins returns the zones: the arguments, or those of the server block, or,
// in a server block for the root, clusterset.local.
func (p *parser) origins(args []string) ([]string, error) {
	for _, arg := range args {
		if _, ok := dns.IsDomainName(arg); !ok || strings.ContainsAny(arg, "/\\ ") || len(plugin.Host(arg).NormalizeExact()) != 1 {
			return nil, p.Errf("%q is not a domain name", arg)
		}
	}
	var zones []string
	for _, z := range plugin.OriginsFromArgsOrServerBlock(args, p.ServerBlockKeys) {
		if z == "." && len(args) == 0 {
			z = defaultZone
		}
		if dnsutil.IsReverse(z) == 0 {
			zones = append(zones, z)
		}
	}
	if len(zones) == 0 {
		return nil, p.Err("a zone for reverse look-ups holds no services")
	}
	return zones, nil
}

// property reads one line of the block.
func (p *parser) property(m *Multicluster, word string) error {
	if _, again := p.lines[word]; again && word != "namespaces" && word != "manifests" {
		return p.Errf("%s is given twice", word)
	}
	p.lines[word] = p.Line()
	p.args = p.RemainingArgs()
	switch word {
	case "kubeconfig":
		return p.kubeconfig(&m.source)
	case "manifests":
		m.source.Manifests = append(m.source.Manifests, p.args...)
		return p.count(1, many)
	case "namespaces":
		for _, ns := range p.args {
			m.filter.Namespaces = append(m.filter.Namespaces, strings.ToLower(ns))
		}
		return p.count(1, many)
	case "namespace_labels":
		return p.selector(&m.filter.NamespaceLabels)
	case "labels":
		return p.selector(&m.filter.Labels)
	case "endpoint_pod_names":
		m.filter.PodNames = true
		return p.count(0, 0)
	case "ignore":
		return p.ignore(&m.filter)
	case "noendpoints":
		m.filter.NoEndpoints = true
		return p.count(0, 0)
	case "ttl":
		return p.ttl(&m.ttl)
	case "fallthrough":
		return p.fallThrough(&m.Fall)
	case "startup_timeout":
		return p.duration(&m.startup)
	}
	return p.Errf("unknown property '%s'", word)
}

const many = 1 << 16

func (p *parser) count(least, most int) error {
	if len(p.args) < least || len(p.args) > most {
		return p.ArgErr()
	}
	return nil
}

func (p *parser) kubeconfig(s *source.Spec) error {
	if err := p.count(1, 2); err != nil {
		return err
	}
	s.Kubeconfig = p.args[0]
	if len(p.args) == 2 {
		s.Context = p.args[1]
	}
	return nil
}

func (p *parser) selector(sel *labels.Selector) error {
	if err := p.count(1, many); err != nil {
		return err
	}
	expr := strings.Join(p.args, " ")
	parsed, err := metav1.ParseToLabelSelector(expr)
	if err == nil {
		*sel, err = metav1.LabelSelectorAsSelector(parsed)
	}
	if err != nil {
		return p.Errf("unable to parse label selector %q: %v", expr, err)
	}
	return nil
}

func (p *parser) ignore(f *indexer.Filter) error {
	if err := p.count(1, 1); err != nil {
		return err
	}
	if p.args[0] != "empty_service" {
		return p.Errf("unable to parse ignore value %q: want empty_service", p.args[0])
	}
	f.IgnoreEmpty = true
	return nil
}

func (p *parser) ttl(ttl *uint32) error {
	if err := p.count(1, 1); err != nil {
		return err
	}
	n, err := strconv.Atoi(p.args[0])
	if err != nil {
		return p.Errf("ttl %q is not a number of seconds", p.args[0])
	}
	if n < 0 || n > maxTTL {
		return p.Errf("ttl must be in range [0, %d]: %d", maxTTL, n)
	}
	*ttl = uint32(n)
	return nil
}

func (p *parser) fallThrough(f *fall.F) error {
	for _, z := range p.args {
		if _, ok := dns.IsDomainName(z); !ok {
			return p.Errf("fallthrough zone %q is not a domain name", z)
		}
	}
	f.SetZonesFromArgs(p.args)
	return nil
}

func (p *parser) duration(d *time.Duration) (err error) {
	if err := p.count(1, 1); err != nil {
		return err
	}
	if *d, err = time.ParseDuration(p.args[0]); err != nil || *d < 0 {
		return p.Errf("failed to parse startup_timeout: %q is not a duration of 0 or more", p.args[0])
	}
	return nil
}

// conflicts refuses words that contradict each other, at the later one's line.
func (p *parser) conflicts() error {
	for _, c := range []struct{ a, b, why string }{
		{"kubeconfig", "manifests", "kubeconfig and manifests exclude each other"},
		{"namespaces", "namespace_labels", "namespaces and namespace_labels cannot both be set"},
		{"manifests", "namespace_labels", "namespace_labels needs a cluster: manifests hold no namespaces"},
		{"ignore", "noendpoints", "ignore empty_service needs endpoints: remove noendpoints"},
	} {
		a, haveA := p.lines[c.a]
		b, haveB := p.lines[c.b]
		if haveA && haveB {
			return fmt.Errorf("%s:%d - Error during parsing: %s", p.File(), max(a, b), c.why)
		}
	}
	return nil
}
