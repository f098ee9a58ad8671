// Command porcupine checks that the calls of clients are linearizable, separately for each object. It reads a file with
// one call per line, and fails if the calls on an object have no sequential order that explains their results.
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

// limit is the timeout of the search for an order of one object's calls.
const limit = 60 * time.Second

// call is one call of a client, with its start and end (µs) and its result.
type call struct {
	Name, Kind string
	// Expected is the revision that an update replaces.
	Expected int64
	// Outcome is done, refused (with a code), late or unknown. A late call took effect at a revision, but the client
	// got no response.
	Outcome  string
	Code     int
	Revision int64
	Begun    int64
	Ended    int64
}

// object is the state of one object: its last known revision, and true in there if it exists.
type object struct {
	revision int64
	there    bool
}

// step returns the possible states after a call.
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
	fmt.Printf("porcupine: %d calls of %d objects: %d linearizable, not linearizable %v, undecided %v\n", count, len(calls),
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
