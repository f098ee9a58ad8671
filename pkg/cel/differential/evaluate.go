package main

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
)

// newEvaluator returns Kubernetes' environment with one variable, o.
func newEvaluator() *cel.Env {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 36))
	set, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("o", cel.DynType)},
	})
	check(err)
	env, err := set.Env(environment.StoredExpressions)
	check(err)
	return env
}

// evaluated returns cel-go's result of an expression: the compiler's errors, or the cost with a value or an error.
func evaluated(env *cel.Env, expression, object string) answer {
	tree, issues := env.Compile(expression)
	if issues.Err() != nil {
		return answer{Errors: issues.String()}
	}
	program, err := env.Program(tree, cel.InterruptCheckFrequency(100))
	if err != nil {
		return answer{Errors: "program: " + err.Error()}
	}
	var o any
	check(utiljson.Unmarshal([]byte(object), &o))
	value, details, err := program.ContextEval(context.Background(), map[string]any{"o": o})
	cost := uint64(0)
	if details != nil && details.ActualCost() != nil {
		cost = *details.ActualCost()
	}
	if err != nil {
		return answer{Errors: fmt.Sprintf("%d %s", cost, err)}
	}
	return answer{Value: fmt.Sprintf("%d %s", cost, show(value))}
}

// show formats a value in the notation of both sides.
func show(value ref.Val) string {
	switch value := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return fmt.Sprint(bool(value))
	case types.Int:
		return fmt.Sprint(int64(value))
	case types.Uint:
		return fmt.Sprintf("%du", uint64(value))
	case types.Double:
		if math.IsNaN(float64(value)) {
			return "nan"
		}
		return fmt.Sprintf("%016x", math.Float64bits(float64(value)))
	case types.String:
		return fmt.Sprintf("s%d:%s", len(value), string(value))
	case types.Bytes:
		return fmt.Sprintf("b%x", []byte(value))
	case types.Duration:
		return fmt.Sprintf("duration %d", int64(value.Duration))
	case types.Timestamp:
		return fmt.Sprintf("timestamp %d.%d", value.Unix(), value.Nanosecond())
	case *types.Type:
		return "type " + value.TypeName()
	case *types.Optional:
		if !value.HasValue() {
			return "none"
		}
		return "some(" + show(value.GetValue()) + ")"
	case traits.Lister:
		var items []string
		for it := value.Iterator(); it.HasNext() == types.True; {
			items = append(items, show(it.Next()))
		}
		return "[" + strings.Join(items, ",") + "]"
	case traits.Mapper:
		var entries []string
		for it := value.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, show(key)+":"+show(value.Get(key)))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ",") + "}"
	}
	return value.Type().TypeName()
}

// object returns a random input. Maps in which expressions can iterate have one key, because Go maps have no key order.
func object(random *rand.Rand) string {
	pick := func(from ...string) string { return from[random.Intn(len(from))] }
	return fmt.Sprintf(`{"i":%s,"d":%s,"s":%s,"b":%s,"l":%s,"t":%s,"m":%s,"n":%s,"z":null}`,
		pick("0", "1", "-7", "42", "9223372036854775807", "-9223372036854775808"), pick("0.5", "-1.25", "1e300", "3.0000001"),
		pick(`""`, `"a"`, `"Hello, world"`, `"héé"`, `"12"`, `"1.5"`, `"a,b,c"`), pick("true", "false"),
		pick("[]", "[1]", "[3,1,2]", "[1,1,5,9,-3]"), pick("[]", `["a"]`, `["b","a","é"]`, `["x","x"]`),
		pick("{}", `{"k":1}`, `{"k":"v"}`), pick(`{"o":{"p":[{"q":1},{"q":2}]}}`, `{"o":{"p":[]}}`, `{"o":{}}`, "{}"))
}

// typed returns a random expression that usually has the type kind: i, u, d, s, y (bytes), b, D (duration), T (timestamp),
// l (list of ints), t (list of strings), m (map), o (optional int).
func typed(random *rand.Rand, kind byte, depth int, scope []string) string {
	if random.Intn(60) == 0 {
		kind = "iudsybDTltmo"[random.Intn(12)]
	}
	var bound []string
	for _, name := range scope {
		if name[0] == kind {
			bound = append(bound, name)
		}
	}
	if len(bound) > 0 && random.Intn(3) == 0 {
		return bound[random.Intn(len(bound))]
	}
	forms := leaves[kind]
	if depth > 0 {
		forms = shapes[kind]
		if random.Intn(4) == 0 {
			forms = anyShapes
		}
	}
	form := strings.ReplaceAll(forms[random.Intn(len(forms))], "%K", "%"+string(kind))
	var made strings.Builder
	fresh := len(scope)
	inner := append([]string{}, scope...)
	for at := 0; at < len(form); at++ {
		switch {
		case form[at] == '%' && form[at+1] == '+':
			// Declares a variable of the type that follows; it is in scope from here on.
			inner = append(inner, fmt.Sprintf("%c%d", form[at+2], fresh))
			made.WriteString(inner[len(inner)-1])
			fresh++
			at += 2
		case form[at] == '%' && form[at+1] != ' ':
			made.WriteString(typed(random, form[at+1], max(depth-1-random.Intn(2), 0), inner))
			at++
		default:
			made.WriteByte(form[at])
		}
	}
	return made.String()
}

func lines(text string) []string {
	var forms []string
	for _, form := range strings.Split(text, "\n") {
		if form = strings.TrimSpace(form); form != "" {
			forms = append(forms, form)
		}
	}
	return forms
}

// Expressions without subexpressions, by type.
var leaves = map[byte][]string{
	'i': lines("0\n1\n-3\n7\n9223372036854775807\no.i\nsize(o.s)\no.l[0]\no.n.o.p[0].q\no.m.k"),
	'u': lines("0u\n1u\n18446744073709551615u\nuint(3)"),
	'd': lines("0.0\n1.5\n-2.25\n1e10\no.d"),
	's': lines("''\n'a'\n'héllo'\n'Hello, world'\no.s\no.t[0]\no.m['k']\nr'[a-z]+'\n'12'\n'a,b'"),
	'y': lines("b''\nb'abc'\nb'\\xff'\nbytes('é')"),
	'b': lines("true\nfalse\no.b\nhas(o.s)\nhas(o.x)\nhas(o.n.o.p)\nhas(o.m.k)"),
	'D': lines("duration('1h')\nduration('-90s')\nduration('0.5s')\nduration('9223372036854775807ns')\nduration('-9223372036854775808ns')"),
	'T': lines("timestamp('2024-02-29T12:30:45.5Z')\ntimestamp(0)\ntimestamp('1999-12-31T23:59:59+02:00')\ntimestamp('9999-12-31T23:59:59.9Z')\n" +
		"timestamp('0001-01-01T00:00:00Z')\ntimestamp('1677-09-21T00:12:43.2Z')"),
	'l': lines("[]\n[1, 2, 3]\no.l\n[o.i]\n[5, 1, 5]"),
	't': lines("[]\n['a', 'b']\no.t\n[o.s, 'z']"),
	'm': lines("{}\n{'k': 1}\no.m\n{o.s: 2}\no.n"),
	'o': lines("optional.none()\noptional.of(1)\no.?i\no.?x\no.n.?o.p[?0].q"),
}

// Expressions of any type.
var anyShapes = lines(`%b ? %K : %K
	[%K, %K][%i]
	{'k': %K}.k
	{'k': %K}[%s]
	dyn(%K)
	optional.of(%K).orValue(%K)
	[%K].map(x9, x9)[0]
	cel.bind(%+i, %i, %K)
	cel.bind(%+s, %s, %K)
	{'k': %K}.?k.orValue(%K)
	(%K)`)

var shapes = map[byte][]string{
	'i': lines("%i + %i\n%i - %i\n%i * %i\n%i / %i\n%i % %i\n-%i\nsize(%s)\nsize(%l)\n%t.size()\nsize(%m)\nint(%d)\nint(%s)\nint(%u)\n" +
		"%l[%i]\n%o.value()\n%o.orValue(%i)\n%l.sum()\n%l.max()\n%l.min()\n%l.indexOf(%i)\n%s.indexOf(%s)\n%s.lastIndexOf(%s)\n%T.getHours()\n" +
		"%T.getDayOfYear('Europe/Berlin')\n%D.getSeconds()\nint(%T)\n%m.k\n%m[%s]\n%T.getMilliseconds()"),
	'u': lines("%u + %u\n%u - %u\n%u * %u\n%u / %u\n%u % %u\nuint(%i)\nuint(%d)\nuint(%s)"),
	'd': lines("%d + %d\n%d - %d\n%d * %d\n%d / %d\n-%d\ndouble(%i)\ndouble(%s)\ndouble(%u)"),
	's': lines("%s + %s\nstring(%i)\nstring(%d)\nstring(%u)\nstring(%b)\nstring(%y)\nstring(%D)\nstring(%T)\n%t[%i]\n%t.join(%s)\n%t.join()\n" +
		"%s.substring(%i)\n%s.substring(%i, %i)\n%s.replace(%s, %s)\n%s.replace(%s, %s, %i)\n%s.lowerAscii()\n%s.upperAscii()\n%s.trim()\n%s.charAt(%i)\n" +
		"%s.find(%s)\n%m[%s]\n'%s-%d'.format([%s, %i])\n'%s'.format([%l])\nstrings.quote(%s)\n%s.split(%s)[%i]\n%s.reverse()"),
	'y': lines("%y + %y\nbytes(%s)"),
	'b': lines("%i < %i\n%i <= %d\n%i == %i\n%d > %u\n%s == %s\n%s < %s\n%b && %b\n%b || %b\n!%b\n%s.startsWith(%s)\n%s.endsWith(%s)\n%s.contains(%s)\n" +
		"%s.matches(%s)\n%i in %l\n%s in %t\n%s in %m\n%l == %l\n%t != %t\n%m == %m\n%y == %y\n%l.all(%+i, %b)\n%l.exists(%+i, %b)\n%l.exists_one(%+i, %b)\n" +
		"%t.all(%+s, %b)\n%t.exists(%+s, %b)\n%m.all(%+s, %b)\n%m.exists(%+s, %b)\n%l.all(%+i, %+i, %b)\n%m.exists(%+s, %+i, %b)\n%o.hasValue()\n%D < %D\n" +
		"%T >= %T\nbool(%s)\nsets.contains(%l, %l)\nsets.intersects(%l, %l)\nsets.equivalent(%t, %t)\n%l.isSorted()\ntype(%i) == type(%d)\n%i == %d\n%b == %b\n" +
		"%i in [1, 2, 3]\n%s in ['a', 'b']\nhas(%m.k)\nhas(dyn(%i).k)\nhas(dyn(%l).k)\nhas(dyn(%s).k)\nisQuantity(%s)\nisURL(%s)\nip.isCanonical(%s)\nisIP(%s)\nisCIDR(%s)\nquantity(%s).isGreaterThan(quantity('1'))\n" +
		"format.dns1123Label().value().validate(%s).hasValue()\n%o == %o\nisSemver(%s)\n%y < %y"),
	'D': lines("%D + %D\n%D - %D\n%T - %T\nduration(%s)\n-%D"),
	'T': lines("%T + %D\n%T - %D\ntimestamp(%i)\ntimestamp(%s)"),
	'l': lines("%l + %l\n%l.map(%+i, %i)\n%l.filter(%+i, %b)\n%l.map(%+i, %b, %i)\n[%i, %i]\n[%i, ?%o]\n%t.map(%+s, %i)\n%l.sort()\n%l.distinct()\n%l.reverse()\n" +
		"%l.slice(%i, %i)\n[%l, %l].flatten()\nlists.range(size(%t))\n%l.sortBy(%+i, %i)\n%l.transformList(%+i, %+i, %i)\n%m.map(%+s, %i)\n[%o].unwrap()\ndyn(%i).distinct()\ndyn(%s).sort()\ndyn(%m).distinct()"),
	't': lines("%t + %t\n%t.map(%+s, %s)\n%t.filter(%+s, %b)\n[%s, %s]\n%s.split(%s)\n%s.split(%s, %i)\n%t.sort()\n%t.distinct()\n%l.map(%+i, %s)\n%s.findAll(%s)\n" +
		"%s.findAll(%s, %i)\n%t.reverse()\n%t.sortBy(%+s, %i)\n%m.map(%+s, %s)"),
	'm': lines("{%s: %i}\n{'k': %i}\n{?'k': %o}\n{1: %i}\n{%s: %l}\n%m.transformMap(%+s, %+i, %i)\n%l.filter(%+i, false).transformMap(%+i, %+i, %i)"),
	'o': lines("optional.of(%i)\noptional.ofNonZeroValue(%i)\n%o.or(%o)\n%l[?%i]\n%m[?%s]\n%m.?k\n%o.optMap(%+i, %i)\n%o.optFlatMap(%+i, %o)\n%l.first()\n%l.last()"),
}
