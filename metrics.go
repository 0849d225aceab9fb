package multicluster

import (
	"strconv"
	"time"

	"clusterset.local/multicluster/indexer"

	"github.com/coredns/coredns/plugin"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// programming has the shape of the kubernetes plugin's histogram of the same
// purpose, so that one query serves both.
var programming = promauto.NewHistogramVec(prometheus.HistogramOpts{
	Namespace: plugin.Namespace,
	Subsystem: pluginName,
	Name:      "dns_programming_duration_seconds",
	Help:      "Time from a change of endpoints in their cluster (endpoints.kubernetes.io/last-change-trigger-time) until this server answers with it.",
	// From 1 ms to 8.7 minutes.
	Buckets:                     prometheus.ExponentialBuckets(0.001, 2, 20),
	NativeHistogramBucketFactor: plugin.NativeHistogramBucketFactor,
}, []string{"service_kind", "source_cluster"})

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(plugin.Namespace, pluginName, name), help, append([]string{"source"}, labels...), nil)
}

var (
	importsDesc    = describe("imports", "ServiceImports, by type.", "type")
	endpointsDesc  = describe("endpoints", "Endpoints of imported EndpointSlices, by source cluster and by whether they count as ready.", "source_cluster", "ready")
	leftOutDesc    = describe("left_out", "Parts of objects that cannot be served, by reason.", "reason")
	syncedDesc     = describe("synced", "1 once everything has been read completely, 0 before.")
	stalenessDesc  = describe("staleness_seconds", "Seconds since the last word from the API server, or the last look at the files, about a kind of object.", "kind")
	watchingDesc   = describe("watching", "1 while a kind of object is watched, 0 while it cannot be.", "kind")
	eventsDesc     = describe("events_total", "Events from the source, by kind of object and by what happened to it.", "kind", "event")
	generationDesc = describe("index_generation", "States of the index so far: grows with every change of what is answered.")
)

func init() { prometheus.MustRegister(collector{}) }

// collector reads the counts of all feeds when it is asked.
type collector struct{}

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{importsDesc, endpointsDesc, leftOutDesc, syncedDesc, stalenessDesc, watchingDesc, eventsDesc, generationDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Of two feeds of one source, as
// there are for a moment during some reloads, the newer counts.
func (collector) Collect(ch chan<- prometheus.Metric) {
	feeds.Lock()
	newest := make(map[string]*feed)
	for _, f := range feeds.running {
		newest[f.spec.String()] = f
	}
	feeds.Unlock()
	for name, f := range newest {
		f.collect(name, ch)
	}
}

func (f *feed) collect(name string, ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
	}
	stats, snap := f.index.Stats(), f.index.Snapshot()
	for _, k := range []indexer.Kind{indexer.ClusterSetIP, indexer.Headless} {
		gauge(importsDesc, float64(stats.Imports[k]), k.String())
	}
	for cluster, n := range stats.Endpoints {
		gauge(endpointsDesc, float64(n[0]), cluster, strconv.FormatBool(true))
		gauge(endpointsDesc, float64(n[1]), cluster, strconv.FormatBool(false))
	}
	for _, r := range indexer.Reasons {
		gauge(leftOutDesc, float64(stats.LeftOut[r]), string(r))
	}
	gauge(syncedDesc, truth(snap.Synced()))
	gauge(generationDesc, float64(snap.Generation()))
	for _, s := range f.source.Status() {
		if !s.Since.IsZero() {
			gauge(stalenessDesc, time.Since(s.Since).Seconds(), s.Kind.String())
		}
		gauge(watchingDesc, truth(s.Watching), s.Kind.String())
		for event, n := range stats.Events[s.Kind] {
			ch <- prometheus.MustNewConstMetric(eventsDesc, prometheus.CounterValue, float64(n), name, s.Kind.String(), indexer.Event(event).String())
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
