package multicluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clusterset.local/multicluster/source"

	"github.com/coredns/caddy"
	"k8s.io/apimachinery/pkg/labels"
)

// stanzaOf parses text as a server block of the given keys would.
func stanzaOf(text string, keys ...string) (*Multicluster, error) {
	c := caddy.NewTestController("dns", text)
	c.ServerBlockKeys = keys
	return parseStanza(c)
}

func origins(m *Multicluster) (zs []string) {
	for i := range m.zones {
		zs = append(zs, m.zones[i].origin)
	}
	return zs
}

func TestStanzasThatAreRight(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		keys       []string
		zones      string
		check      func(*Multicluster) bool
	}{
		{"alone, in a block for the root", "multicluster", []string{"dns://.:53"}, "clusterset.local.",
			func(m *Multicluster) bool { return m.ttl == 5 && m.startup == 5*time.Second && !m.Fall.Through("x.") }},
		{"alone, in a block for a zone", "multicluster", []string{"dns://Clusterset.Example:53"}, "clusterset.example.", nil},
		{"a block that has a reverse zone too", "multicluster", []string{"clusterset.local.", "10.in-addr.arpa."}, "clusterset.local.", nil},
		{"zones given", "multicluster clusterset.local Example.org", []string{"."}, "clusterset.local. example.org.", nil},
		{"the root zone, if it is said", "multicluster .", []string{"example.org."}, ".", nil},
		{"ttl", "multicluster {\n ttl 0\n}", nil, "", func(m *Multicluster) bool { return m.ttl == 0 }},
		{"ttl at its bound", "multicluster {\n ttl 3600\n}", nil, "", func(m *Multicluster) bool { return m.ttl == 3600 }},
		{"kubeconfig", "multicluster {\n kubeconfig /etc/kc\n}", nil, "",
			func(m *Multicluster) bool { return m.source.Kubeconfig == "/etc/kc" && m.source.Context == "" }},
		{"kubeconfig with a context", "multicluster {\n kubeconfig /etc/kc east\n}", nil, "",
			func(m *Multicluster) bool { return m.source.Context == "east" }},
		{"manifests on two lines", "multicluster {\n manifests a b\n manifests c\n}", nil, "",
			func(m *Multicluster) bool { return strings.Join(m.source.Manifests, " ") == "a b c" }},
		{"namespaces on two lines", "multicluster {\n namespaces a B\n namespaces c\n}", nil, "",
			func(m *Multicluster) bool { return strings.Join(m.filter.Namespaces, " ") == "a b c" }},
		{"namespace_labels", "multicluster {\n namespace_labels env in (a, b), tier\n}", nil, "",
			func(m *Multicluster) bool { return selects(m.filter.NamespaceLabels, "env", "a", "tier", "x") }},
		{"labels", "multicluster {\n labels env=a\n}", nil, "",
			func(m *Multicluster) bool {
				return selects(m.filter.Labels, "env", "a") && !selects(m.filter.Labels, "env", "b")
			}},
		{"endpoint_pod_names", "multicluster {\n endpoint_pod_names\n}", nil, "", func(m *Multicluster) bool { return m.filter.PodNames }},
		{"ignore", "multicluster {\n ignore empty_service\n}", nil, "", func(m *Multicluster) bool { return m.filter.IgnoreEmpty }},
		{"noendpoints", "multicluster {\n noendpoints\n}", nil, "", func(m *Multicluster) bool { return m.filter.NoEndpoints }},
		{"fallthrough", "multicluster {\n fallthrough\n}", nil, "", func(m *Multicluster) bool { return m.Fall.Through("x.clusterset.local.") }},
		{"fallthrough for a zone", "multicluster {\n fallthrough a.clusterset.local\n}", nil, "",
			func(m *Multicluster) bool {
				return m.Fall.Through("x.A.clusterset.local.") && !m.Fall.Through("x.b.clusterset.local.")
			}},
		{"startup_timeout", "multicluster {\n startup_timeout 1m30s\n}", nil, "", func(m *Multicluster) bool { return m.startup == 90*time.Second }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := stanzaOf(tt.text, append(tt.keys, "clusterset.local.")[:max(1, len(tt.keys))]...)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(origins(m), " "); tt.zones != "" && got != tt.zones {
				t.Errorf("zones %q, want %q", got, tt.zones)
			}
			if tt.check != nil && !tt.check(m) {
				t.Errorf("got %+v", m.stanza)
			}
		})
	}
}

func selects(s labels.Selector, kv ...string) bool {
	set := labels.Set{}
	for i := 0; i < len(kv); i += 2 {
		set[kv[i]] = kv[i+1]
	}
	return s != nil && s.Matches(set)
}

func TestStanzasThatAreWrongSayWhyAndAtWhichLine(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown word", "multicluster {\n pods insecure\n}", "Testfile:2 - Error during parsing: unknown property 'pods'"},
		{"twice in one block", "multicluster\nmulticluster", "Testfile:2 - Error during parsing: this plugin can only be used once per Server Block"},
		{"not a domain name", "multicluster a..b", `Testfile:1 - Error during parsing: "a..b" is not a domain name`},
		{"a network", "multicluster 10.0.0.0/8", `Testfile:1 - Error during parsing: "10.0.0.0/8" is not a domain name`},
		{"a label too long", "multicluster " + strings.Repeat("a", 64) + ".local", "is not a domain name"},
		{"a reverse zone", "multicluster 10.in-addr.arpa", "Testfile:1 - Error during parsing: a zone for reverse look-ups holds no services"},
		{"ttl without a value", "multicluster {\n ttl\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"ttl with two", "multicluster {\n ttl 1 2\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"ttl of a word", "multicluster {\n ttl soon\n}", `Testfile:2 - Error during parsing: ttl "soon" is not a number of seconds`},
		{"ttl below", "multicluster {\n ttl -1\n}", "Testfile:2 - Error during parsing: ttl must be in range [0, 3600]: -1"},
		{"ttl above", "multicluster {\n ttl 3601\n}", "Testfile:2 - Error during parsing: ttl must be in range [0, 3600]: 3601"},
		{"ttl twice", "multicluster {\n ttl 1\n ttl 1\n}", "Testfile:3 - Error during parsing: ttl is given twice"},
		{"kubeconfig without a file", "multicluster {\n kubeconfig\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"kubeconfig with three", "multicluster {\n kubeconfig a b c\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"manifests without a path", "multicluster {\n manifests\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"two sources", "multicluster {\n manifests a\n kubeconfig b\n ttl 1\n}", "Testfile:3 - Error during parsing: kubeconfig and manifests exclude each other"},
		{"namespaces without one", "multicluster {\n namespaces\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"namespaces both ways", "multicluster {\n namespace_labels a\n namespaces b\n}", "Testfile:3 - Error during parsing: namespaces and namespace_labels cannot both be set"},
		{"namespace_labels with manifests", "multicluster {\n namespace_labels a\n manifests b\n}", "Testfile:3 - Error during parsing: namespace_labels needs a cluster"},
		{"labels that are none", "multicluster {\n labels a in\n}", "Testfile:2 - Error during parsing: unable to parse label selector \"a in\""},
		{"namespace_labels without a value", "multicluster {\n namespace_labels\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"endpoint_pod_names with a value", "multicluster {\n endpoint_pod_names yes\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"ignore without a value", "multicluster {\n ignore\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"ignore something else", "multicluster {\n ignore errors\n}", `Testfile:2 - Error during parsing: unable to parse ignore value "errors": want empty_service`},
		{"noendpoints with a value", "multicluster {\n noendpoints x\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"ignore with noendpoints", "multicluster {\n ignore empty_service\n noendpoints\n}", "Testfile:3 - Error during parsing: ignore empty_service needs endpoints"},
		{"fallthrough to no zone", "multicluster {\n fallthrough a..b\n}", `Testfile:2 - Error during parsing: fallthrough zone "a..b" is not a domain name`},
		{"startup_timeout without a value", "multicluster {\n startup_timeout\n}", "Testfile:2 - Error during parsing: Wrong argument count"},
		{"startup_timeout of a number", "multicluster {\n startup_timeout 5\n}", `Testfile:2 - Error during parsing: failed to parse startup_timeout: "5" is not a duration of 0 or more`},
		{"startup_timeout below", "multicluster {\n startup_timeout -5s\n}", "is not a duration of 0 or more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := stanzaOf(tt.text, "clusterset.local.")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSetupRefusesASourceThatCannotBeRead(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for _, line := range []string{"manifests " + missing, "kubeconfig " + missing} {
		c := caddy.NewTestController("dns", "multicluster {\n "+line+"\n}")
		c.ServerBlockKeys = []string{"clusterset.local."}
		err := setup(c)
		if err == nil || !strings.HasPrefix(err.Error(), "plugin/multicluster: ") || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: got %v, want an error of plugin/multicluster that names the file", line, err)
		}
	}
}

// started starts a stanza as an instance of its own.
func started(t *testing.T, text string) *Multicluster {
	t.Helper()
	c := caddy.NewTestController("dns", text)
	c.ServerBlockKeys = []string{"clusterset.local."}
	m, err := parseStanza(c)
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.Open(m.source, log)
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(c)
	p.add(m)
	if err := m.start(p, src, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(m) })
	return m
}

func manifest(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	text := "apiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceImport\nmetadata: {name: web, namespace: shop}\nspec: {type: ClusterSetIP, ips: [10.96.0.1], ports: []}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func running() int {
	feeds.Lock()
	defer feeds.Unlock()
	return len(feeds.running)
}

func TestStanzasOfOneSourceShareWatchesAndIndex(t *testing.T) {
	file := manifest(t)
	a := started(t, "multicluster {\n manifests "+file+"\n ttl 1\n}")
	b := started(t, "multicluster clusterset.local {\n manifests "+file+"\n namespaces other\n}")
	if a.index != b.index || running() != 1 {
		t.Errorf("two stanzas of one source have %d feeds", running())
	}
	key := "web.shop"
	if a.index.Snapshot().Service(a.lens, key) == nil || b.index.Snapshot().Service(b.lens, key) != nil {
		t.Error("the stanzas' own filters do not hold")
	}
	release(b)
	release(b)
	if running() != 1 || !a.Ready() {
		t.Error("the feed ended while a stanza used it")
	}
	release(a)
	if running() != 0 {
		t.Error("the feed did not end with its last stanza")
	}
}

func TestAFeedThatKeepsTooLittleIsNotShared(t *testing.T) {
	file := manifest(t)
	a := started(t, "multicluster {\n manifests "+file+"\n}")
	b := started(t, "multicluster {\n manifests "+file+"\n endpoint_pod_names\n}")
	if a.index == b.index {
		t.Error("a stanza got an index that does not keep the names of pods")
	}
}
