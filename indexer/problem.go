package indexer

import "fmt"

// A Reason says why a part of an object is left out of the zone. Reasons are
// the values of a metric's label: a closed set.
type Reason string

// The reasons.
const (
	ReasonAddress  Reason = "address"  // an address that is none, or not of the slice's family
	ReasonName     Reason = "name"     // an import or namespace that is not one DNS label
	ReasonType     Reason = "type"     // an import that is neither ClusterSetIP nor Headless
	ReasonHostname Reason = "hostname" // an endpoint's hostname that is not one DNS label
	ReasonCluster  Reason = "cluster"  // a slice with no source cluster, or one that is no name
	ReasonPort     Reason = "port"     // a port whose name, protocol or number cannot be in an SRV record
	ReasonLength   Reason = "length"   // a name of more than 253 octets
)

// Reasons lists every Reason.
var Reasons = []Reason{ReasonAddress, ReasonName, ReasonType, ReasonHostname, ReasonCluster, ReasonPort, ReasonLength}

// A Problem is something of one object that cannot be served. The rest of the
// object is.
type Problem struct {
	Reason Reason
	Count  int    // how many times, 1 or more
	Detail string // the first of them, for a log line
}

// leaveOut notes a problem. What is counted is bounded by the object, what is
// kept by the number of reasons.
func (o *object) leaveOut(r Reason, format string, args ...any) {
	for i := range o.problems {
		if o.problems[i].Reason == r {
			o.problems[i].Count++
			return
		}
	}
	o.problems = append(o.problems, Problem{r, 1, fmt.Sprintf(format, args...)})
}
