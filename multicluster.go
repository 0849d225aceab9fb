// Package multicluster answers the names of services that the clusters of a
// clusterset share, as the Multi-Cluster Services API (KEP-1645) wants them:
// <service>.<namespace>.svc.clusterset.local and what lies below.
//
// What it prevents is the wrong answer and the slow one. A server that builds
// its answer at the question, by going through lists of endpoints, gets slower
// with the size of the service; and one that shows what it has read so far
// tells a client at the wrong moment that a name does not exist. Here a
// question costs one look-up in an immutable view of one service (package
// indexer) and the making of the records that the reply has room for, and a
// view is shown when everything has been read, never before, and never in
// parts.
//
//	parse.go   what a name names
//	answer.go  a service's view and a question -> records
//	handler.go question -> reply
//	feed.go    what stanzas share: watches and index
package multicluster

import (
	"net/netip"

	"clusterset.local/multicluster/indexer"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/metadata"
	"github.com/coredns/coredns/plugin/pkg/fall"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/coredns/coredns/plugin/ready"
	"github.com/coredns/coredns/plugin/transfer"
)

const pluginName = "multicluster"

var log = clog.NewWithPlugin(pluginName)

// Multicluster is one stanza in the plugin chain. Its methods may be called
// from any goroutine once it has started.
type Multicluster struct {
	Next plugin.Handler
	Fall fall.F

	stanza
	zones []zone

	index *indexer.Index // shared with the stanzas of the same source
	lens  *indexer.Lens  // what this stanza shows of it
	addrs []netip.Addr   // of this server, where a query does not tell
}

// Name implements plugin.Handler.
func (m *Multicluster) Name() string { return pluginName }

var (
	_ plugin.Handler      = (*Multicluster)(nil)
	_ ready.Readiness     = (*Multicluster)(nil)
	_ metadata.Provider   = (*Multicluster)(nil)
	_ transfer.Transferer = (*Multicluster)(nil)
)
