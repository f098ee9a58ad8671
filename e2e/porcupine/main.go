// Command porcupine judges whether what clients were told about objects is linearizable, each object by itself. It reads
// a file with one call per line, and fails if an object's calls have no order that explains them.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// limit bounds the search for an order of one object's calls.
const limit = 60 * time.Second

// call is what a client did, between which times (µs), and what it was told.
type call struct {
	Name, Kind string
	// Expected is the revision that an update replaces.
	Expected int64
	// Outcome is done, refused (with a code), late (it happened, at a revision, but nobody was told) or unknown.
	Outcome  string
	Code     int
	Revision int64
	Begun    int64
	Ended    int64
}

// object is one object: the last revision that is known of it, and whether it is there.
type object struct {
	revision int64
	there    bool
}

// step says which states a call may lead to.
func step(state, input, _ interface{}) []interface{} {
	is, c := state.(object), input.(call)
	written := object{c.Revision, true}
	var fits bool
	switch c.Kind {
	case "get":
		if c.Revision == 0 {
			return only(is, !is.there)
		}
		return only(is, is.there && is.revision == c.Revision)
	case "delete":
		switch c.Outcome {
		case "done":
			return only(object{is.revision, false}, is.there)
		case "unknown":
			return []interface{}{is, object{is.revision, false}}
		}
		return only(is, c.Code != 404 || !is.there)
	case "create":
		if fits = !is.there; c.Outcome == "refused" {
			return only(is, c.Code != 409 || is.there)
		}
	case "update":
		if fits = is.there && is.revision == c.Expected; c.Outcome == "refused" {
			return only(is, !fits)
		}
	case "patch":
		if fits = is.there; c.Outcome == "refused" {
			return only(is, c.Code != 404 || !is.there)
		}
	}
	return only(written, fits && c.Revision > is.revision)
}

func only(state object, possible bool) []interface{} {
	if possible {
		return []interface{}{state}
	}
	return nil
}

func main() {
	file, err := os.Open(os.Args[1])
	must(err)
	calls, count := map[string][]porcupine.Operation{}, 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var c call
		must(json.Unmarshal(lines.Bytes(), &c))
		calls[c.Name] = append(calls[c.Name], porcupine.Operation{Input: c, Call: c.Begun, Return: c.Ended})
		count++
	}
	must(lines.Err())
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{object{}} },
		Step: step,
	}
	model := nondeterministic.ToModel()
	found := map[porcupine.CheckResult][]string{}
	for name, history := range calls {
		result := porcupine.CheckOperationsTimeout(model, history, limit)
		found[result] = append(found[result], name)
	}
	sort.Strings(found[porcupine.Illegal])
	fmt.Printf("porcupine: %d calls of %d objects: %d linearizable, not linearizable %v, not decided %v\n", count, len(calls),
		len(found[porcupine.Ok]), found[porcupine.Illegal], found[porcupine.Unknown])
	if len(found[porcupine.Illegal]) > 0 {
		os.Exit(1)
	}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
