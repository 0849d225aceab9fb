package indexer

import (
	"net/netip"
	"strings"
)

// isLabel reports whether s can be one label of a host name: 1 to 63 letters,
// digits and inner hyphens (RFC 1123, 2.1), in lower case.
func isLabel(s string) bool {
	if len(s) == 0 || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return false
		}
	}
	return true
}

// isLabels reports whether s is one or more labels with dots between.
func isLabels(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if !isLabel(label) {
			return false
		}
	}
	return true
}

// lower returns s in lower case, s itself where it is so already.
func lower(s string) string { return strings.ToLower(s) }

// appendAddressLabel appends the address form of an endpoint's hostname:
// dots and colons turned to hyphens, and a 0 where a hyphen would begin or end
// the label.
func appendAddressLabel(b []byte, a netip.Addr) []byte {
	start := len(b)
	if b = a.AppendTo(b); b[start] == ':' {
		b = append(b, 0)
		copy(b[start+1:], b[start:])
		b[start] = '0'
	}
	for i := start; i < len(b); i++ {
		if b[i] == '.' || b[i] == ':' {
			b[i] = '-'
		}
	}
	if b[len(b)-1] == '-' {
		b = append(b, '0')
	}
	return b
}

// Hash places a name or an address on a ring of 2^32. It is the same in every
// process, so that replicas give one client the same part of a large RRset.
// It is FNV-1a with a final mix, which spreads the short and similar names of
// pods over the whole ring.
func Hash[S ~string | ~[]byte](s S) uint32 { return mix(fnv(offset64, s)) }

const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

func fnv[S ~string | ~[]byte](h uint64, s S) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime64
	}
	return h
}

func mix(h uint64) uint32 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return uint32(h >> 32)
}
