package indexer

import (
	"net/netip"
	"strings"
	"testing"
)

func TestAddressLabel(t *testing.T) {
	for addr, want := range map[string]string{
		"10.1.2.3":        "10-1-2-3",
		"2001:db8::1":     "2001-db8--1",
		"2001:db8::":      "2001-db8--0",
		"::1":             "0--1",
		"::":              "0--0",
		"fd00:0:0:1::":    "fd00-0-0-1--0",
		"1:2:3:4:5:6:7:8": "1-2-3-4-5-6-7-8",
	} {
		got := string(appendAddressLabel([]byte("x."), netip.MustParseAddr(addr)))
		if got != "x."+want {
			t.Errorf("%s: got %q, want %q", addr, got, "x."+want)
		}
	}
}

func TestLabels(t *testing.T) {
	for name, want := range map[string][2]bool{ // one label, one or more
		"a":                     {true, true},
		"a-1":                   {true, true},
		"1":                     {true, true},
		"east.registry-1":       {false, true},
		"":                      {false, false},
		"-a":                    {false, false},
		"a-":                    {false, false},
		"A":                     {false, false},
		"a_b":                   {false, false},
		"a..b":                  {false, false},
		".a":                    {false, false},
		"a.":                    {false, false},
		"a b":                   {false, false},
		"é":                     {false, false},
		"*":                     {false, false},
		strings.Repeat("a", 63): {true, true},
		strings.Repeat("a", 64): {false, false},
	} {
		if got := [2]bool{isLabel(name), isLabels(name)}; got != want {
			t.Errorf("%q: one label, one or more: got %v, want %v", name, got, want)
		}
	}
}

func TestHashSpreadsSimilarNamesOverTheRing(t *testing.T) {
	const pods, arcs = 4096, 16
	var n [arcs]int
	for i := range pods {
		a := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).As16()
		n[Hash(a[:])>>28]++
	}
	for arc, got := range n {
		if want := pods / arcs; got < want*3/4 || got > want*5/4 {
			t.Errorf("arc %d of %d has %d of %d addresses", arc, arcs, got, pods)
		}
	}
}
