package main

import (
	"encoding/base64"
	"fmt"
	"sync"
	"time"
)

// ran records the jobs that ran, how often, and the times of the first and the last.
type ran struct {
	mu      sync.Mutex
	seen    []byte
	runs    int
	firstAt int64
	lastAt  int64
}

func (r *ran) note(n int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n < 0 || n>>3 >= len(r.seen) {
		return fmt.Errorf("nobody has stored a job %d", n)
	}
	r.seen[n>>3] |= 1 << (n & 7)
	r.lastAt = time.Now().UnixMilli()
	if r.runs == 0 {
		r.firstAt = r.lastAt
	}
	r.runs++
	return nil
}

// forget discards the runs of the warm-up.
func (r *ran) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.seen)
	r.runs = 0
}

func (r *ran) told() map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return map[string]any{"runs": r.runs, "firstAt": r.firstAt, "lastAt": r.lastAt, "seen": base64.StdEncoding.EncodeToString(r.seen)}
}

func (r *ran) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs
}
