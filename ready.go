package multicluster

// Ready implements ready.Readiness: true once everything that the stanza needs
// has been read completely. Losing the source later does not make it false.
func (m *Multicluster) Ready() bool { return m.index != nil && m.index.Snapshot().Synced() }
